package bridge

import (
	"math"
	"math/bits"
	"slices"
	"time"
)

// entry is what a decision needs of a demand, worked out once and kept as long
// as the demand and its terms stay the same.
type entry struct {
	demand *Demand
	at     int32 // of demand, in its queue
	job    JobID
	terms  *Terms
	limit  time.Duration // zero: none
	over   int64         // when its waiting time is over, Unix nanoseconds
	home   int32         // number of its cluster
	part   int32         // number of its partition
	shape  int32
	terno  int32 // number of terms
	payer  int32
	batch  int32
	count  int32  // gangs
	nodes  int32  // of one gang
	closed gateNo // what closed the first two gates
	rule   marketRule
	slow   time.Duration // longest boot that its deadline allows; zero: any
	timed  bool          // has a start estimate or a deadline
}

// gateNo is one of the first two gates, which look at nothing but the demand
// and its terms.
type gateNo uint8

const (
	noGate gateNo = iota
	byStandingGate
	byTermsGate
)

// remembered is the last look at one cluster. Its demands belong to the
// snapshot they came in and must not have changed since.
type remembered struct {
	demands []Demand
	entries []entry // in the scheduler's order
	facts   Facts
	spare   []entry // of the look before: memory to write the next into
}

// prepare returns the entries of a queue in the scheduler's order, taking from
// the last look all that did not change.
func (d *Decider) prepare(c *cluster) []entry {
	last := d.last[c.q.Cluster]
	if last == nil {
		last = &remembered{}
		d.last[c.q.Cluster] = last
	}
	moved := make([]int32, len(last.demands)) // where old demands are now, plus one
	var fresh []entry
	if len(last.demands) == 0 {
		fresh = make([]entry, 0, len(c.q.Demands))
		d.batches.index.reserve(len(c.q.Demands))
	}
	old := 0
	for i := range c.q.Demands {
		demand := &c.q.Demands[i]
		old = last.seek(old, c.q.Demands[i:])
		if old < len(last.demands) && equalDemand(&last.demands[old], demand) {
			moved[old] = int32(i) + 1
			old++
			continue
		}
		fresh = append(fresh, entry{demand: demand, at: int32(i)})
		d.fill(&fresh[len(fresh)-1], c)
	}
	// Demands are read in the order they lie in, and batches, which are read
	// when they are served, are laid out in that order.
	fresh = sortEntries(fresh)
	for i := range fresh {
		if fresh[i].closed == noGate {
			d.place(&fresh[i], c)
		}
	}
	entries := mergeEntries(last.spare[:0], last.entries, fresh, moved)
	same := sameTerms(d.policy, &last.facts, &c.facts)
	for i := range entries {
		e := &entries[i]
		if e.demand = &c.q.Demands[e.at]; len(last.entries) > 0 {
			d.renew(e, c, same)
		}
	}
	*last = remembered{demands: c.q.Demands, entries: entries, facts: c.facts, spare: last.entries}
	return entries
}

// seek returns which old demand to compare the first of rest with: the one at
// hand, unless a few went or came.
func (m *remembered) seek(at int, rest []Demand) int {
	const window = 8
	if at >= len(m.demands) || m.demands[at].Job == rest[0].Job {
		return at
	}
	for k := at + 1; k < min(at+window, len(m.demands)); k++ {
		if m.demands[k].Job == rest[0].Job {
			return k
		}
	}
	for k := 1; k < min(window, len(rest)); k++ {
		if m.demands[at].Job == rest[k].Job {
			return at // rest[0] is new, the old one comes later
		}
	}
	return at + 1 // it was replaced; equalDemand of the next will tell
}

// sameTerms reports whether policy gives equal demands equal terms under both
// facts.
func sameTerms(p Policy, a, b *Facts) bool {
	if *a == *b {
		return true
	}
	s, ok := p.(SteadyPolicy)
	return ok && s.SameTerms(a, b)
}

// fill works out an entry from nothing.
func (d *Decider) fill(e *entry, c *cluster) {
	n := e.demand
	e.job, e.limit = n.Job, max(n.TimeLimit, 0)
	e.count, e.nodes = clamp32(n.Count), clamp32(n.Nodes)
	e.timed = !n.StartEstimate.IsZero() || !n.Deadline.IsZero()
	if kind, _ := byStanding(n); kind != "" {
		e.closed = byStandingGate
		return
	}
	e.shape = d.shapes.number(&n.Shape)
	e.home, e.part = d.names.number(n.Cluster), d.names.number(n.Partition)
	d.applyTerms(e, c)
}

// applyTerms asks policy. It reports whether the answer puts the entry in
// another batch.
func (d *Decider) applyTerms(e *entry, c *cluster) bool {
	if e.closed == byStandingGate {
		return false // whatever policy says
	}
	t := d.policy.Terms(e.demand, &c.facts)
	if t == e.terms && t != nil {
		return false
	}
	e.terms, e.closed = t, noGate
	if kind, _ := byTerms(t); kind != "" {
		e.closed = byTermsGate
		return false
	}
	e.terno = d.terms.number(t)
	e.payer = d.payers.number(t.Account, e.demand.User)
	e.over = nanos(waitsSince(e.demand), t.Wait)
	return true
}

// renew brings an entry of an unchanged demand up to date.
func (d *Decider) renew(e *entry, c *cluster, same bool) {
	if !same && d.applyTerms(e, c) {
		d.place(e, c)
		return
	}
	if e.closed != noGate {
		return
	}
	if !e.demand.Deadline.IsZero() && c.slowest(e) != e.slow {
		d.place(e, c)
		return
	}
	if (len(c.reclaims) > 0 || e.rule == onDemandOnly || e.terms.Progress || e.terms.Checkpoint != nil) && c.marketRule(e) != e.rule {
		d.place(e, c)
	}
}

// place finds the entry's batch.
func (d *Decider) place(e *entry, c *cluster) {
	e.rule, e.slow = c.marketRule(e), c.slowest(e)
	y := d.payers.list[e.payer]
	key := batchKey{
		cluster: e.home, partition: e.part, payer: y.projectNo, shape: e.shape, terms: e.terno, nodes: e.nodes, rule: e.rule, slow: e.slow, own: y.own,
		limit: uint8(bits.Len64(uint64(e.limit / time.Minute))),
	}
	if y.own {
		key.payer = e.payer
	}
	e.batch = d.batches.number(key)
}

func clamp32(n int) int32 { return int32(min(max(n, 1), math.MaxInt32)) }

// nanos is t + d in Unix nanoseconds, the far past for no time at all, unless
// there is something to wait for.
func nanos(t time.Time, d time.Duration) int64 {
	const end = 1 << 32 // seconds: the year 2106
	switch {
	case t.IsZero() && d > 0:
		return math.MaxInt64
	case t.IsZero() || t.Unix() < -end || d < -end*time.Second:
		return math.MinInt64
	case t.Unix() > end || d > end*time.Second:
		return math.MaxInt64
	}
	return t.Add(d).UnixNano()
}

// equalDemand compares everything a policy or a decision may look at.
func equalDemand(a, b *Demand) bool { //nolint:gocyclo // One comparison for each field.
	return a.Job == b.Job && a.Priority == b.Priority && a.Nodes == b.Nodes && a.Count == b.Count &&
		a.TimeLimit == b.TimeLimit && a.Restarts == b.Restarts && a.Restartable == b.Restartable &&
		a.Submitted.Equal(b.Submitted) && a.Eligible.Equal(b.Eligible) &&
		a.Deadline.Equal(b.Deadline) && a.StartEstimate.Equal(b.StartEstimate) &&
		equalShape(&a.Shape, &b.Shape) && a.Standing == b.Standing &&
		a.User == b.User && a.Account == b.Account && a.Partition == b.Partition && a.QOS == b.QOS &&
		a.Name == b.Name && a.Comment == b.Comment && a.Cluster == b.Cluster && a.Word == b.Word && a.Hurdle == b.Hurdle && slices.Equal(a.Overlays, b.Overlays)
}

// nameTable numbers strings.
type nameTable struct {
	byName map[string]int32
	first  []string // the names with the first numbers, which are asked for most
}

func (t *nameTable) number(s string) int32 {
	for i, name := range t.first {
		if name == s {
			return int32(i)
		}
	}
	n, ok := t.byName[s]
	if !ok {
		n = int32(len(t.byName))
		if t.byName == nil {
			t.byName = map[string]int32{}
		}
		t.byName[s] = n
		if n < 8 {
			t.first = append(t.first, s)
		}
	}
	return n
}
