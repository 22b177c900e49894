package bridge

import (
	"fmt"
	"time"
)

// opening is a demand that may be bought for, with what is still unserved.
type opening struct {
	*entry
	cluster string
	verdict int
	left    int // gangs
	all     int // gangs it began to be served with
	asked   int // gangs put to a person
	open    int // gangs that an earlier question asks for
	payer   *payer
	before  string // what is said of the part that is served already
}

// batch is all open demands that may share rentals: one cluster, partition,
// project, shape, class and size of gang, and time limits within a factor of
// two, so that a short job never holds money for a life much longer than its
// own.
type batch struct {
	key    batchKey
	cycle  uint32        // that what follows is of
	left   int32         // gangs not served yet
	open   int32         // gangs that earlier questions ask for
	asking bool          // so large that a person is asked
	broke  bool          // its budgets pay for no more machine
	limit  time.Duration // longest of its members; zero: one has none
	view   *view
	shape  *Shape
	plain  *draft
	asks   []*draft // one for each payer
	stuck  *Verdict // what stops it for the rest of this plan
	single quick    // choice for one gang, kept between decisions
	group  *quick   // choice for several
	rest   [2]*rest // what is chosen from for purchases, and for questions; nil: all
}

// quick is a choice that holds while the catalog, and the stock that matters to
// it, stay the same.
type quick struct {
	version uint64
	stock   uint64
	view    *view
	limit   time.Duration
	gangs   int
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
	slow      time.Duration
	own       bool
	limit     uint8 // doubling of the time limit
}

// batchTable numbers batches. What is of one decision is begun anew in the
// first use of each cycle.
type batchTable struct {
	index  hashIndex
	blocks [][]batch // of batchBlock each, so that growing moves nothing
	used   int
	cycle  uint32
}

const batchBlock = 1 << 10

func (t *batchTable) at(n int32) *batch { return &t.blocks[n/batchBlock][n%batchBlock] }

func (t *batchTable) number(k batchKey) int32 {
	h := mix(uint64(k.cluster)<<32|uint64(uint32(k.partition)), uint64(k.payer)<<32|uint64(uint32(k.shape)))
	h = mix(h, uint64(k.terms)<<32|uint64(uint32(k.nodes)))
	h = mix(h, uint64(k.rule)<<8|uint64(k.limit)) ^ uint64(k.slow)
	for i := t.index.first(h); i >= 0; i = t.index.next(h) {
		if t.at(i).key == k {
			return i
		}
	}
	n := int32(t.used)
	if t.used == len(t.blocks)*batchBlock {
		t.blocks = append(t.blocks, make([]batch, batchBlock))
	}
	t.used++
	t.at(n).key = k
	t.index.add(h, n)
	return n
}

// openFor puts a demand that passed all gates into its batch.
func (l *look) openFor(o *opening) {
	b := l.batches.at(o.batch)
	if b.cycle != l.batches.cycle {
		b.cycle, b.left, b.open, b.limit = l.batches.cycle, 0, 0, o.limit
		b.asking, b.broke, b.plain, b.asks, b.stuck = false, false, nil, nil, nil
		b.rest[0].pause()
		b.rest[1].pause()
		b.shape = &l.shapes.shapes[o.shape]
		if v := b.view; v == nil || v.version != l.catalog.version || v.currency != o.payer.currency {
			b.view = l.catalog.view(o.terms, o.rule, o.payer.currency, o.slow)
		}
	}
	b.left += int32(o.left)
	b.open += int32(o.open)
	if o.limit == 0 || b.limit == 0 {
		b.limit = 0
	} else {
		b.limit = max(b.limit, o.limit)
	}
	l.open = append(l.open, *o)
}

// serve buys for one demand: it fills machines ordered so far, then adds
// machines within budget, then asks for them, and else says what was missing.
func (l *look) serve(o *opening) {
	b, v := l.batches.at(o.batch), &l.verdicts[o.verdict]
	o.sign(v)
	o.all = o.left
	for o.left > 0 && (l.fill(b, o, v) || l.add(b, o, v)) {
	}
	b.left -= int32(o.all)
	if v.Order > 0 {
		l.conclude(o, v, o.all)
	}
	if o.before != "" {
		v.Detail = joinDetail(o.before, v.Detail)
	}
}

// conclude makes the verdict of a demand that was ordered speak of its first
// order, and says what became of the rest.
func (l *look) conclude(o *opening, v *Verdict, all int) {
	d := l.drafts[v.Order-1]
	rest := v.Why
	v.Kind, v.Why = kindOf(&d.order)
	v.Pool = &l.catalog.pools[d.offer]
	detail := v.Detail
	v.Detail = ""
	if o.asked > 0 && d.order.Ask == "" {
		v.Detail = fmt.Sprintf("%d of %d wait for an answer", o.asked, all)
	}
	if o.left == 0 {
		v.Limit, v.Left, v.Scope = "", Money{}, nil
		return
	}
	missing := joinDetail(fmt.Sprintf("%d of %d are not ordered: %s", o.left, all, rest), detail)
	if v.Detail != "" {
		missing = joinDetail(v.Detail, missing)
	}
	v.Detail = missing
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
	if d.order.Ask != "" {
		o.asked += n
	}
	if v.Order == 0 {
		v.Order = d.index + 1
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
