package bridge

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// cluster is one queue being judged.
type cluster struct {
	q       *Queue
	facts   Facts
	local   []*localNode
	rooms   []*room // of rentals that serve, by id
	listed  map[JobID][]*room
	full    map[fullKey]bool // shapes for which no local node has room any more
	already map[*Demand]served
}

type fullKey struct {
	shape     int32
	partition string
}

// served is how much of a demand rentals that list it can take.
type served struct {
	gangs  int
	first  *room
	asked  int // of them, by rentals that wait for an answer
	asking *room
}

// judge gives every demand of a queue its verdict, or opens it for buying.
// The gates, in order; the first that closes names the reason:
//
//	the view is stale                                        wait
//	more machines would not help it (standing)               never, or wait: eligible soon
//	policy does not let it out (terms)                       never
//	a rental made for it boots, runs or waits for an answer  burst, or ask
//	a person said no, or nobody answered, not long ago       wait
//	an idle rented machine of its project fits               burst, by a route
//	a local node with room fits                              wait
//	its waiting time is not over                             wait
//	it starts locally before a machine could boot            wait
//	it could not end before its deadline                     never
//	new money is frozen, or the breaker is open              wait
//	nobody on its account's path has a budget                wait
//
// What passes is offered machines in the same order, see serve.
func (l *look) judge(q *Queue) {
	if l.s.Stale(q) {
		l.waitAll(q)
		return
	}
	rented := l.rented[q.Cluster]
	c := &cluster{q: q, facts: factsOf(q, l.s.Now, rented), local: localNodes(q, rented), full: map[fullKey]bool{}}
	demands := inOrder(q.Demands)
	l.occupy(c, demands)
	for _, d := range demands {
		l.verdicts = append(l.verdicts, Verdict{Cluster: q.Cluster, Job: d.Job})
		l.gate(c, d, &l.verdicts[len(l.verdicts)-1])
	}
}

func (l *look) waitAll(q *Queue) {
	for _, d := range inOrder(q.Demands) {
		l.verdicts = append(l.verdicts, Verdict{
			Cluster: q.Cluster, Job: d.Job, Kind: Wait, Why: ReasonStale,
			Detail: "the queue was last seen whole at " + q.ObservedAt.UTC().Format(time.RFC3339),
		})
	}
}

// occupy computes the room of the cluster's rentals and fills it with the
// pending demands they were made for, so that it is counted once.
func (l *look) occupy(c *cluster, demands []*Demand) {
	nodes := make(map[string]*Node, len(c.q.Nodes))
	for i := range c.q.Nodes {
		nodes[c.q.Nodes[i].Name] = &c.q.Nodes[i]
	}
	c.listed = map[JobID][]*room{}
	for i := range l.s.Rentals {
		r := &l.s.Rentals[i]
		if r.Cluster == c.q.Cluster && serves(r.State) {
			c.rooms = append(c.rooms, roomOf(r, c.q, nodes))
		}
	}
	slices.SortFunc(c.rooms, func(a, b *room) int {
		return strings.Compare(string(a.rental.ID), string(b.rental.ID))
	})
	for _, m := range c.rooms {
		for _, j := range m.rental.Jobs {
			c.listed[j] = append(c.listed[j], m)
		}
	}
	if len(c.listed) == 0 {
		return
	}
	c.already = map[*Demand]served{}
	for _, d := range demands {
		if rooms := c.roomsFor(d); len(rooms) > 0 && wanted(d) {
			c.already[d] = l.settleIn(d, rooms)
		}
	}
}

func (c *cluster) roomsFor(d *Demand) []*room {
	rooms := c.listed[d.Job]
	if base := baseOf(d.Job); base != d.Job {
		rooms = append(slices.Clone(rooms), c.listed[base]...)
	}
	return rooms
}

// wanted reports whether a demand still needs what was rented for it.
func wanted(d *Demand) bool {
	switch d.Standing {
	case StandingHelps, StandingBehind, StandingSoon, StandingHasNode:
		return true
	case StandingDoubtful, StandingPolicy, StandingUser, StandingConfig, StandingUnplaceable, StandingWorkflow:
		return false
	}
	return false
}

// settleIn puts as many gangs of a demand as fit into the rentals made for it.
func (l *look) settleIn(d *Demand, rooms []*room) served {
	var out served
	for _, m := range rooms {
		for out.gangs+out.asked < max(d.Count, 1) && takeGang(m.places, &d.Shape, max(d.Nodes, 1)) {
			m.vacant = false
			if m.rental.State == StateWaiting {
				out.asked++
				out.asking = m
				continue
			}
			out.gangs++
			if out.first == nil {
				out.first = m
			}
			l.needed[m.rental.ID] = true
		}
	}
	return out
}

// gate runs one demand through the gates of judge.
func (l *look) gate(c *cluster, d *Demand, v *Verdict) {
	if kind, why := byStanding(d); kind != "" {
		v.Kind, v.Why, v.Detail = kind, why, d.Hurdle
		if v.Detail == "" {
			v.Detail = d.Word
		}
		return
	}
	t := l.policy.Terms(d, &c.facts)
	if !l.allowed(t, v) {
		return
	}
	payer := l.purses.of(t.Account, d.User)
	v.Account = payer.full
	left, before := max(d.Count, 1), ""
	if s, ok := c.already[d]; ok {
		left -= s.gangs + s.asked
		s.tell(v, d)
		before = v.Detail
		if left <= 0 {
			return
		}
	}
	o := opening{verdict: len(l.verdicts) - 1, demand: d, nodes: max(d.Nodes, 1), left: left, before: before, payer: payer, terms: t, termsNo: l.terms.number(t), shape: l.shapes.number(&d.Shape)}
	o.rule = l.marketRule(c, d, t)
	v.Detail = before
	if l.answered(d, v) || l.route(c, &o, v) || c.fitsLocally(&o, v) || l.early(d, t, v) || l.blocked(&o, v) {
		return
	}
	l.openFor(c, &o)
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

// allowed applies the terms of policy.
func (l *look) allowed(t *Terms, v *Verdict) bool {
	v.Kind = Never
	if t == nil {
		v.Why = ReasonNoRule
		return false
	}
	v.Rule, v.Class, v.Account = t.Rule, t.Class, t.Account
	switch {
	case t.Class == P0:
		v.Why = ReasonReserved
	case !t.Burst && t.Why == "":
		v.Why = ReasonNoRule
	case !t.Burst:
		v.Why = t.Why
	case t.Account == "":
		v.Why = ReasonNoAccount
	default:
		return true
	}
	return false
}

// tell says which rental serves a demand already; a part that is left over
// overwrites the verdict and keeps the detail.
func (s served) tell(v *Verdict, d *Demand) {
	first := s.first
	switch {
	case s.gangs > 0:
		v.Kind, v.Why = Burst, ReasonUnderway
	case s.asked > 0:
		v.Kind, v.Why = Ask, ReasonAsked
		first = s.asking
		v.Until = first.rental.AskUntil
	default:
		return
	}
	v.Rental, v.Pool, v.Cost = first.rental.ID, &first.rental.Pool, first.rental.Hold
	if n := s.gangs + s.asked; n < d.Count {
		v.Detail = fmt.Sprintf("%d of %d are served already", n, d.Count)
	}
}

// answered applies a no that is not over.
func (l *look) answered(d *Demand, v *Verdict) bool {
	var last *Answer
	for _, id := range []JobID{d.Job, baseOf(d.Job)} {
		for _, a := range l.answers[id] {
			if a.Cluster != "" && a.Cluster != v.Cluster {
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

// fitsLocally lets the scheduler use its own free nodes first.
func (c *cluster) fitsLocally(o *opening, v *Verdict) bool {
	d := o.demand
	if len(c.local) == 0 || d.Standing != StandingHelps {
		return false
	}
	key := fullKey{o.shape, d.Partition}
	if o.nodes == 1 && c.full[key] {
		return false
	}
	var places []*place
	var names []string
	for _, n := range c.local {
		if inPartition(d.Partition, n.partitions) {
			places, names = append(places, &n.place), append(names, n.name)
		}
	}
	name := ""
	if i := slices.IndexFunc(places, func(p *place) bool { return p.holds(&d.Shape) }); i >= 0 {
		name = names[i]
	}
	for o.left > 0 && takeGang(places, &d.Shape, o.nodes) {
		o.left--
		v.Kind, v.Why, v.Detail = Wait, ReasonLocalFree, name
	}
	if o.left > 0 && o.nodes == 1 {
		c.full[key] = true
	}
	return o.left == 0
}

// early applies the waiting time, the scheduler's own estimate and the deadline.
func (l *look) early(d *Demand, t *Terms, v *Verdict) bool {
	now, boot := l.s.Now, l.catalog.boot
	over := waitsSince(d).Add(t.Wait)
	switch {
	case t.Wait > 0 && waitsSince(d).IsZero():
		v.Kind, v.Why, v.Detail = Wait, ReasonWaitPolicy, "its scheduler does not say since when it waits"
	case now.Before(over):
		v.Kind, v.Why, v.Until = Wait, ReasonWaitPolicy, over
	case !d.StartEstimate.IsZero() && !d.StartEstimate.After(now.Add(boot)) && !d.StartEstimate.Before(now.Add(-time.Minute)):
		v.Kind, v.Why, v.Until = Wait, ReasonStartsSoon, d.StartEstimate
	case !d.Deadline.IsZero() && now.Add(boot+d.TimeLimit).After(d.Deadline):
		v.Kind, v.Why, v.Until = Never, ReasonDeadline, d.Deadline
	default:
		return false
	}
	return true
}

// blocked applies what stops all new money, or all of one account.
func (l *look) blocked(o *opening, v *Verdict) bool {
	v.Kind = Wait
	switch {
	case l.s.Frozen:
		v.Why = ReasonFrozen
	case l.s.Protected:
		v.Why = ReasonProtected
	case len(o.payer.purses) == 0:
		v.Why, v.Limit, v.Detail = ReasonNoBudget, o.payer.full, "no budget is set for the account or any above it"
	case o.payer.mixed:
		v.Why, v.Limit, v.Detail = ReasonNoBudget, o.payer.full, "the budgets on the account's path are in several currencies"
	default:
		return false
	}
	return true
}

// marketRule says how a demand's own history narrows its markets.
func (l *look) marketRule(c *cluster, d *Demand, t *Terms) marketRule {
	if t.Reclaims > 0 && len(l.s.Reclaims) > 0 {
		lost := l.s.Reclaims[c.q.Cluster]
		if max(lost[d.Job], lost[baseOf(d.Job)]) >= t.Reclaims {
			return onDemandOnly
		}
	}
	if !d.Restartable {
		return noSpot
	}
	return anyMarket
}
