package policies

import (
	"math/bits"
	"sync"
	"sync/atomic"

	"spillway.sh/spillway/bridge"
)

// The bounds of what is remembered. Past them a memory is emptied, which costs
// time and changes no answer.
const (
	maxRemembered = 1 << 17
	maxClusters   = 64
)

// engine judges demands by a file. Leaves of conditions are remembered by the
// value of the fact they look at, so that a queue of 100,000 jobs costs as
// many evaluations as it has different values.
type engine struct {
	file    *File
	columns []column    // a job's facts that leaves or lists look at alone
	mixed   []int       // leaves that look at several facts
	tuple   uses        // the job's facts that those look at
	moving  bool        // one of those looks at the cluster too
	common  []int       // leaves about the cluster alone
	payer   [texts]bool // the facts that decide who pays

	used int // groups of leaves the file needs
	most int // what each memory holds at most

	last atomic.Pointer[view]

	mu      sync.RWMutex // over everything below, and the memories above
	views   map[string]*view
	several map[tuple]*outcome
	people  [texts]names // of the facts that decide who pays
	payers  map[payerKey]*payer
	choices map[outcome]choice
	shared  map[verdict]*bridge.Terms
}

var _ bridge.SteadyPolicy = (*engine)(nil)

// column is one fact of jobs with what follows from its values.
type column struct {
	fact    *fact
	leaves  []int
	stay    []string // patterns of opt_out
	split   bool     // the value is a list with commas
	front   front
	texts   map[string]*outcome
	numbers map[int64]*outcome
}

// view is the engine at one set of a cluster's figures.
type view struct {
	facts   bridge.Facts
	outcome outcome
	several map[tuple]*outcome
}

// tuple is the values of several facts; what no leaf looks at is zero.
type tuple struct {
	texts   [texts]string
	numbers [numbers]int64
}

// groups of 64 leaves each.
const groups = 4

// outcome is what is known of leaves, by bit: those that hold and those that
// could not be evaluated. The others do not hold.
type outcome struct {
	held, failed [groups]uint64
	stays        bool
}

func (o *outcome) set(leaf int, holds bool, err error) {
	switch {
	case err != nil:
		o.failed[leaf/64] |= 1 << (leaf % 64)
	case holds:
		o.held[leaf/64] |= 1 << (leaf % 64)
	}
}

func (o *outcome) join(p *outcome, used int) {
	for i := range used {
		o.held[i] |= p.held[i]
		o.failed[i] |= p.failed[i]
	}
	o.stays = o.stays || p.stays
}

// Policy returns the judge of this file. It is safe for concurrent use.
func (f *File) Policy() bridge.Policy {
	e := &engine{
		file: f, views: map[string]*view{}, several: map[tuple]*outcome{}, payers: map[payerKey]*payer{},
		choices: map[outcome]choice{}, shared: map[verdict]*bridge.Terms{}, payer: f.payerFacts(), most: maxRemembered,
		used: (len(f.leaves) + 63) / 64,
	}
	byFact := map[int][]int{}
	for i, l := range f.leaves {
		job := l.uses & jobFacts
		switch {
		case job == 0:
			e.common = append(e.common, i)
		case job == l.uses && bits.OnesCount32(uint32(job)) == 1:
			fact := bits.TrailingZeros32(uint32(job))
			byFact[fact] = append(byFact[fact], i)
		default:
			e.mixed = append(e.mixed, i)
			e.tuple |= job
			e.moving = e.moving || job != l.uses
		}
	}
	stay := map[int][]string{factPartition: f.optOut.partitions, factQOS: f.optOut.qos}
	for i := range texts + numbers {
		if len(byFact[i]) > 0 || len(stay[i]) > 0 {
			e.columns = append(e.columns, column{
				fact: &facts[i], leaves: byFact[i], stay: stay[i], split: i == factPartition,
				texts: map[string]*outcome{}, numbers: map[int64]*outcome{},
			})
		}
	}
	return e
}

// Terms returns what the file allows for a demand; see bridge.Policy.
func (e *engine) Terms(d *bridge.Demand, f *bridge.Facts) *bridge.Terms {
	if f == nil {
		f = &bridge.Facts{}
	}
	v := e.last.Load()
	if v == nil || v.facts != *f {
		v = e.look(f)
	}
	e.mu.RLock()
	t, ok := e.recall(d, v)
	e.mu.RUnlock()
	if ok {
		return t
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.learn(d, v)
}

// SameTerms reports whether every demand gets the same terms under two sets of
// figures of one cluster; see bridge.SteadyPolicy.
func (e *engine) SameTerms(a, b *bridge.Facts) bool {
	if *a == *b {
		return true
	}
	return !e.moving && e.look(a).outcome == e.look(b).outcome
}

// look returns the view of a cluster's figures, evaluating what depends on
// them alone.
func (e *engine) look(f *bridge.Facts) *view {
	e.mu.Lock()
	defer e.mu.Unlock()
	v := e.views[f.Cluster]
	if v == nil || v.facts != *f {
		v = &view{facts: *f, several: e.several}
		if e.moving {
			v.several = map[tuple]*outcome{}
		}
		e.evaluate(e.common, &bridge.Demand{}, f, &v.outcome)
		if len(e.views) >= maxClusters {
			clear(e.views)
		}
		e.views[f.Cluster] = v
	}
	e.last.Store(v)
	return v
}

func (e *engine) evaluate(leaves []int, d *bridge.Demand, f *bridge.Facts, into *outcome) {
	for _, i := range leaves {
		holds, err := e.file.leaves[i].holds(d, f)
		into.set(i, holds, err)
	}
}

// recall answers from memory alone, under the read lock.
func (e *engine) recall(d *bridge.Demand, v *view) (*bridge.Terms, bool) {
	all := v.outcome
	for i := range e.columns {
		o := e.columns[i].recall(d)
		if o == nil {
			return nil, false
		}
		all.join(o, e.used)
	}
	if len(e.mixed) > 0 {
		o := v.several[e.tupleOf(d)]
		if o == nil {
			return nil, false
		}
		all.join(o, e.used)
	}
	p, ok := e.payers[e.payerKey(d)]
	if !ok {
		return nil, false
	}
	c, ok := e.choices[all]
	if !ok {
		return nil, false
	}
	t := p.at(c.slot(e.says(d)))
	return t, t != nil
}

// learn fills every memory a demand needs, under the lock.
func (e *engine) learn(d *bridge.Demand, v *view) *bridge.Terms {
	all := v.outcome
	for i := range e.columns {
		all.join(e.columns[i].learn(e, d), e.used)
	}
	if len(e.mixed) > 0 {
		o := new(outcome)
		e.evaluate(e.mixed, d, &v.facts, o)
		all.join(o, e.used)
		remember(e.most, v.several, e.tupleOf(d), o)
	}
	key := e.addPeople(d)
	p, ok := e.payers[key]
	if !ok {
		p = e.newPayer(d)
		remember(e.most, e.payers, key, p)
	}
	c, ok := e.choices[all]
	if !ok {
		c = e.choose(&all)
		remember(e.most, e.choices, all, c)
	}
	slot := c.slot(e.says(d))
	t := p.at(slot)
	if t == nil {
		t = e.share(p, slot)
		p.terms = append(p.terms, slotTerms{slot, t})
	}
	return t
}

// remember adds to a memory that holds at most so many, emptying a full one.
func remember[K comparable, V any](most int, m map[K]V, k K, v V) {
	if len(m) >= most {
		clear(m)
	}
	m[k] = v
}

func (c *column) recall(d *bridge.Demand) *outcome {
	if c.fact.text != nil {
		value := c.fact.text(d)
		if o := c.front.text(value); o != nil {
			return o
		}
		return c.texts[value]
	}
	value := c.fact.number(d)
	if o := c.front.number(value); o != nil {
		return o
	}
	return c.numbers[value]
}

func (c *column) learn(e *engine, d *bridge.Demand) *outcome {
	if o := c.recall(d); o != nil {
		return o
	}
	o := new(outcome)
	e.evaluate(c.leaves, d, &bridge.Facts{}, o)
	if c.fact.text == nil {
		remember(e.most, c.numbers, c.fact.number(d), o)
		c.front.addNumber(c.fact.number(d), o)
		return o
	}
	value := c.fact.text(d)
	o.stays = matchAny(c.stay, value, c.split)
	remember(e.most, c.texts, value, o)
	c.front.addText(value, o)
	return o
}

func (e *engine) tupleOf(d *bridge.Demand) tuple {
	var t tuple
	for rest := e.tuple; rest != 0; rest &= rest - 1 {
		if i := bits.TrailingZeros32(uint32(rest)); i < texts {
			t.texts[i] = facts[i].text(d)
		} else {
			t.numbers[i-texts] = facts[i].number(d)
		}
	}
	return t
}
