package bridge

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// cluster is one queue being judged.
type cluster struct {
	q        *Queue
	facts    Facts
	reclaims map[JobID]int
	marks    map[JobID]Checkpoint // the newest of each job
	span     *span                // while the rules that a deadline gives hold
	boot     time.Duration        // to be expected
	boots    []time.Duration      // of all offers, sorted
	local    []*localNode
	lower    roof              // over the local nodes, as they were when the look began
	upper    roof              // and over all rooms
	full     map[fullKey]bool  // shapes for which no local node has room any more
	rooms    []*room           // of rentals that serve, by id
	listed   map[JobID][]*room // by the jobs they were made for
	overlays map[string]*room  // by overlay partition
	already  map[*Demand]served
}

type fullKey struct {
	shape     int32
	partition string
}

// judge gives every demand of a queue its verdict, or opens it for buying.
// The gates, in order; the first that closes names the reason:
//
//	the view is stale                                        wait
//	more machines would not help it (standing)               never, or wait: eligible soon
//	policy does not let it out (terms)                       never
//	a rental made for it, or that it was let into, has room  burst, or ask
//	a person said no, or nobody answered, not long ago       wait
//	a rented machine of its project has room                 burst, by a route
//	a local node with room fits                              wait
//	it lost so many machines that it waits for local nodes   wait
//	its checkpoints are looked for the first time            wait
//	its waiting time is not over                             wait
//	it starts locally before a machine could boot            wait
//	it could not end before its deadline                     never
//	new money is frozen, or the breaker is open              wait
//	no budget covers its account                             never
//
// What passes is offered machines in the same order, see serve. A demand of
// several gangs may be stopped by a gate for a part of them only; the rest goes
// on to the next.
func (l *look) judge(q *Queue) {
	rented := l.rented[q.Cluster]
	l.seen[q] = figuresOf(q, l.s.Now, rented)
	c := &cluster{q: q, facts: l.seen[q].Facts, reclaims: l.s.Reclaims[q.Cluster], full: map[fullKey]bool{}}
	c.marks, c.span, c.boot, c.boots = l.s.Checkpoints[q.Cluster], &l.span, l.catalog.boot, l.catalog.boots
	if l.s.Stale(q) {
		l.waitAll(q)
		return
	}
	entries := l.prepare(c)
	c.local = localNodes(q, rented)
	for _, n := range c.local {
		c.lower.cover(&n.free)
	}
	l.occupy(c, entries)
	for i := range entries {
		l.gate(c, &entries[i])
		l.judged++
	}
}

// waitAll lets everything in a queue that is seen badly wait.
func (l *look) waitAll(q *Queue) {
	order := make([]*Demand, 0, len(q.Demands))
	for i := range q.Demands {
		order = append(order, &q.Demands[i])
	}
	slices.SortFunc(order, compareDemands)
	detail := "the queue was last seen whole at " + q.ObservedAt.UTC().Format(time.RFC3339)
	for _, d := range order {
		l.verdicts[l.judged] = Verdict{Cluster: q.Cluster, Job: d.Job, Kind: Wait, Why: ReasonStale, Detail: detail}
		l.judged++
	}
}

// gate runs one demand through the gates of judge.
func (l *look) gate(c *cluster, e *entry) {
	v := &l.verdicts[l.judged]
	switch e.closed {
	case byStandingGate:
		v.Cluster, v.Job, v.Detail = c.q.Cluster, e.job, cmp.Or(e.demand.Hurdle, e.demand.Word)
		v.Kind, v.Why = byStanding(e.demand)
		return
	case byTermsGate:
		v.Cluster, v.Job = c.q.Cluster, e.job
		v.Kind, v.Why = byTerms(e.terms)
		if e.terms != nil {
			v.Rule, v.Class, v.Account = e.terms.Rule, e.terms.Class, e.terms.Account
		}
		return
	case noGate:
	}
	o := opening{entry: e, cluster: c.q.Cluster, verdict: l.judged, left: int(e.count), payer: l.payers.list[e.payer]}
	if l.closes(c, &o, v) {
		o.sign(v)
		if o.before != "" {
			v.Detail = joinDetail(o.before, v.Detail)
		}
		return
	}
	l.openFor(&o)
}

// sign says whose verdict it is and by what terms.
func (o *opening) sign(v *Verdict) {
	t := o.terms
	v.Cluster, v.Job, v.Rule, v.Class, v.Account = o.cluster, o.job, t.Rule, t.Class, o.payer.full
}

// closes runs a demand that standing and terms let through by the other gates.
func (l *look) closes(c *cluster, o *opening, v *Verdict) bool {
	if c.already != nil {
		if s, ok := c.already[o.demand]; ok {
			o.left -= s.gangs + s.asked
			o.open = s.asked
			s.tell(v, int(o.count))
			o.before, v.Detail = v.Detail, ""
			if o.left == 0 {
				return true
			}
		}
	}
	return l.answered(c, o.demand, v) || l.route(c, o, v) || l.fitsLocally(c, o, v) || c.weary(o, v) || l.looking(c, o, v) || l.early(o.entry, v) || l.blocked(o.payer, v)
}

// byStanding returns the verdict a standing alone decides.
func byStanding(d *Demand) (Kind, Reason) {
	switch d.Standing {
	case StandingHelps, StandingBehind:
		return "", ""
	case StandingSoon:
		return Wait, ReasonSoon
	case StandingHasNode:
		return Wait, ReasonLocalFree
	case StandingPolicy:
		return Never, ReasonSitePolicy
	case StandingUser:
		return Never, ReasonUserHold
	case StandingConfig:
		return Never, ReasonSiteConfig
	case StandingUnplaceable:
		return Never, ReasonUnplaceable
	case StandingWorkflow:
		return Never, ReasonWorkflow
	case StandingDoubtful:
	}
	return Never, ReasonDoubtful
}

// byTerms returns the verdict policy alone decides.
func byTerms(t *Terms) (Kind, Reason) {
	switch {
	case t == nil:
		return Never, ReasonNoRule
	case !t.Burst && t.Why != "":
		return Never, t.Why
	case t.Class == P0 && !slices.Contains(t.Markets, Reserved):
		return Never, ReasonReserved
	case !t.Burst:
		return Never, ReasonNoRule
	case t.Account == "":
		return Never, ReasonNoAccount
	}
	return "", ""
}

// answered applies a no that is not over.
func (l *look) answered(c *cluster, d *Demand, v *Verdict) bool {
	if len(l.answers) == 0 {
		return false
	}
	var last *Answer
	for _, id := range []JobID{d.Job, d.Job.Base()} {
		for _, a := range l.answers[id] {
			if a.Cluster != "" && a.Cluster != c.q.Cluster {
				continue
			}
			if last == nil || a.Until.After(last.Until) || a.Until.Equal(last.Until) && a.Why < last.Why {
				last = a
			}
		}
	}
	if last == nil {
		return false
	}
	v.Kind, v.Why, v.Until = Wait, last.Why, last.Until
	return true
}

// localGrace is how long a scheduler may leave an idle node and a job that fits
// it apart: after that it has a reason that nodes do not show, and the node no
// longer holds the job back.
const localGrace = 2 * time.Minute

// fitsLocally lets the scheduler use its own free nodes first, also for a job it
// has not looked at yet.
func (l *look) fitsLocally(c *cluster, o *opening, v *Verdict) bool {
	d, nodes := o.demand, int(o.nodes)
	if !c.lower.under(&d.Shape) {
		return false
	}
	key := fullKey{o.shape, d.Partition}
	if nodes == 1 && c.full[key] {
		return false
	}
	places, names, passed := l.localPlaces(c, d)
	name := ""
	if i := slices.IndexFunc(places, func(p *place) bool { return p.holds(&d.Shape) }); i >= 0 {
		name = names[i]
	}
	all := o.left
	for o.left > 0 && takeGang(places, &d.Shape, nodes) {
		o.left--
	}
	if o.left == 0 {
		v.Kind, v.Why, v.Detail = Wait, ReasonLocalFree, name
		return true
	}
	if o.left < all {
		o.before = joinDetail(fmt.Sprintf("%d of %d fit on local nodes", all-o.left, int(o.count)), o.before)
	}
	if nodes == 1 && !passed {
		c.full[key] = true
	}
	return false
}

// localPlaces returns what the free nodes of a demand's partition have room for,
// with their names, and whether one was passed over because it and the demand
// were apart for too long.
func (l *look) localPlaces(c *cluster, d *Demand) (places []*place, names []string, passed bool) {
	patient := l.over(waitsSince(d), localGrace)
	for _, n := range c.local {
		switch {
		case !inPartition(d.Partition, n.partitions):
		case patient && !n.idleSince.IsZero() && l.over(n.idleSince, localGrace):
			passed = true
		default:
			places, names = append(places, &n.place), append(names, n.name)
		}
	}
	return places, names, passed
}

// weary lets a job that lost machine after machine wait for local nodes: as
// many on demand as policy accepts on spot, or all of those where it may not
// go on demand.
func (c *cluster) weary(o *opening, v *Verdict) bool {
	t, n := o.terms, c.taken(o.demand)
	most := 2 * t.Reclaims
	if !slices.Contains(t.Markets, OnDemand) {
		most = t.Reclaims
	}
	if t.Reclaims <= 0 || n < most {
		return false
	}
	v.Kind, v.Why, v.Detail = Wait, ReasonLocalOnly, fmt.Sprintf("%d machines were taken from it", n)
	return true
}

// looking lets a job whose market depends on its checkpoint wait for the first
// look at it.
func (l *look) looking(c *cluster, o *opening, v *Verdict) bool {
	if o.terms.Checkpoint == nil || !l.s.Looking[c.q.Cluster][o.job] {
		return false
	}
	v.Kind, v.Why = Wait, ReasonLooking
	return true
}

// early applies the waiting time, the scheduler's own estimate and the deadline.
func (l *look) early(e *entry, v *Verdict) bool {
	if !l.span.reached(e.over) {
		d := e.demand
		v.Kind, v.Why = Wait, ReasonWaitPolicy
		if since := waitsSince(d); since.IsZero() {
			v.Detail = "its scheduler does not say since when it waits"
		} else {
			v.Until = since.Add(e.terms.Wait)
		}
		return true
	}
	if !e.timed {
		return false
	}
	d, boot := e.demand, l.catalog.boot
	switch start := d.StartEstimate; {
	case !start.IsZero() && l.span.reached(nanos(start, -boot)) && !l.over(start, time.Minute):
		v.Kind, v.Why, v.Until = Wait, ReasonStartsSoon, start
	case !d.Deadline.IsZero() && l.over(d.Deadline, -l.catalog.fastest()-l.rest(e)):
		v.Kind, v.Why, v.Until = Never, ReasonDeadline, d.Deadline
	default:
		return false
	}
	return true
}

// over reports whether more than d has gone by since t, the far past where it
// is zero.
func (l *look) over(t time.Time, d time.Duration) bool {
	return t.IsZero() || l.span.reached(nanos(t, d+1))
}

// blocked applies what stops all new money, or all of one account.
func (l *look) blocked(y *payer, v *Verdict) bool {
	switch {
	case l.s.Frozen:
		v.Why = ReasonFrozen
	case l.s.Protected:
		v.Why = ReasonProtected
	case len(y.purses) == 0:
		v.Kind, v.Why = Never, ReasonUnfunded
		return true
	case y.mixed:
		v.Why, v.Detail = ReasonNoBudget, "the budgets on the account's path are in several currencies"
	default:
		return false
	}
	v.Kind = Wait
	return true
}

func joinDetail(a, b string) string {
	if b == "" {
		return a
	}
	return fmt.Sprintf("%s; %s", a, b)
}
