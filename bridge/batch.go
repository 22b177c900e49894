package bridge

import (
	"fmt"
	"time"
)

// opening is a demand that may be bought for, with what is still unserved.
type opening struct {
	*entry
	verdict int
	left    int // gangs
	payer   *payer
	before  string // what is said of the part that is served already
}

// batch is all open demands that may share rentals: one cluster, partition,
// project, shape, class and size of gang, and time limits within a factor of
// two, so that a short job never holds money for a life much longer than its
// own.
type batch struct {
	key    batchKey
	cycle  uint32 // that what follows is of
	view   *view
	fits   *fitSet
	shape  *Shape
	limit  time.Duration // longest of its members; zero: one has none
	left   int           // gangs not served yet
	plain  *draft
	asks   []*draft // one for each requester
	asking bool     // so large that a person is asked
	broke  bool     // its budgets pay for no more machine
	stuck  *Verdict // what stops it for the rest of this plan
	single quick    // choice for one gang, kept between decisions
}

// quick is a choice that holds while the catalog and what is sold out in it
// stay the same.
type quick struct {
	version uint64
	sold    uint64
	view    *view
	limit   time.Duration
	pick    pick
	ok      bool
}

type batchKey struct {
	cluster   int32
	partition int32
	payer     int32 // the project, or the payer where it has a budget of its own
	shape     int32
	terms     int32
	nodes     int32
	rule      marketRule
	own       bool
	limit     uint8 // doubling of the time limit
}

// batchTable numbers batches. What is of one decision is begun anew in the
// first use of each cycle.
type batchTable struct {
	index hashIndex
	list  []batch
	cycle uint32
}

func (t *batchTable) number(k batchKey) int32 {
	h := mix(uint64(k.cluster)<<32|uint64(uint32(k.partition)), uint64(k.payer)<<32|uint64(uint32(k.shape)))
	h = mix(h, uint64(k.terms)<<32|uint64(uint32(k.nodes)))
	h = mix(h, uint64(k.rule)<<8|uint64(k.limit))
	for i := t.index.first(h); i >= 0; i = t.index.next(h) {
		if t.list[i].key == k {
			return i
		}
	}
	n := int32(len(t.list))
	t.list = append(t.list, batch{key: k})
	t.index.add(h, n)
	return n
}

// openFor puts a demand that passed all gates into its batch.
func (l *look) openFor(o *opening) {
	d := o.demand
	b := &l.batches.list[o.batch]
	if b.cycle != l.batches.cycle {
		*b = batch{
			key: b.key, cycle: l.batches.cycle, single: b.single, limit: d.TimeLimit, shape: &d.Shape,
			fits: l.hardware.fit(o.shape, &d.Shape), view: l.catalog.view(o.terno, o.terms, o.rule, o.payer.currency),
		}
	}
	b.left += o.left
	if b.limit > 0 {
		b.limit = max(b.limit, d.TimeLimit)
	}
	if d.TimeLimit <= 0 {
		b.limit = 0
	}
	l.open = append(l.open, *o)
}

// serve buys for one demand: it fills machines ordered so far, then adds
// machines within budget, then asks for them, and else says what was missing.
func (l *look) serve(o *opening) {
	b, v := &l.batches.list[o.batch], &l.verdicts[o.verdict]
	all := o.left
	for o.left > 0 && (l.fill(b, o, v) || l.add(b, o, v)) {
	}
	b.left -= all
	if o.left > 0 && v.Order > 0 {
		d := l.drafts[v.Order-1]
		v.Detail = joinDetail(fmt.Sprintf("%d of %d are ordered, the rest: %s", all-o.left, all, v.Why), v.Detail)
		v.Kind, v.Why = kindOf(&d.order)
		v.Pool = &l.catalog.pools[d.offer]
	}
	if o.before != "" {
		v.Detail = joinDetail(o.before, v.Detail)
	}
}

// fill uses room that is paid for already.
func (l *look) fill(b *batch, o *opening, v *Verdict) bool {
	if b.plain == nil || b.plain.free == 0 {
		return false
	}
	l.join(b.plain, o, v)
	return true
}

// join puts as much of a demand as there is room for into a draft.
func (l *look) join(d *draft, o *opening, v *Verdict) {
	n := min(o.left, d.free)
	o.left -= n
	d.free -= n
	if k := len(d.order.Jobs); k == 0 || d.order.Jobs[k-1] != o.demand.Job {
		d.order.Jobs = append(d.order.Jobs, o.demand.Job)
	}
	if v.Order == 0 {
		v.Order = d.index + 1
		v.Kind, v.Why = kindOf(&d.order)
		v.Pool, v.Detail = &l.catalog.pools[d.offer], ""
		v.Limit, v.Left = "", Money{}
	}
}

func kindOf(o *Order) (Kind, Reason) {
	if o.Ask != "" {
		return Ask, o.Ask
	}
	return Burst, ReasonCheapest
}

// asksFor returns the batch's question of a demand's own user: nobody decides
// on machines for oneself through somebody else's question.
func (b *batch) asksFor(o *opening) *draft {
	for _, d := range b.asks {
		if d.payer == o.payer {
			return d
		}
	}
	return nil
}
