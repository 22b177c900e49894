package bridge

import (
	"math"
	"math/bits"
	"slices"
	"sort"
	"time"
)

// rest is what one batch may choose from where budgets are of single clouds or
// classes and some of them are used up. It is kept between decisions, and holds
// while the catalog and the money are the same.
type rest struct {
	used    bool // in this plan
	version uint64
	view    *view
	limit   time.Duration
	money   uint64   // hash of what the budgets have
	beyond  offerSet // what they do not pay for
	single  quick    // choices among the others
	group   quick
}

// of narrows a set of offers to what may be chosen; nil leaves all.
func (x *rest) of(s offerSet) offerSet {
	if x == nil {
		return s
	}
	out := make(offerSet, len(s))
	for w := range s {
		out[w] = s[w] &^ x.beyond[w]
	}
	return out
}

func (x *rest) pause() {
	if x != nil {
		x.used = false
	}
}

// choices returns what is chosen from for a purchase or a question.
func (b *batch) choices(question bool) *rest {
	if x := b.rest[index(question)]; x != nil && x.used {
		return x
	}
	return nil
}

// kept is the choice that may hold from before: for one gang or for several,
// among all or the rest.
func (b *batch) kept(x *rest, several bool) *quick {
	switch {
	case x != nil && several:
		return &x.group
	case x != nil:
		return &x.single
	case !several:
		return &b.single
	case b.group == nil:
		b.group = new(quick)
	}
	return b.group
}

func index(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// outcome is what came of trying to begin an order.
type outcome int8

const (
	ordered outcome = iota
	refused         // the verdict says why
	nothing         // is on offer
)

// attempt begins an order, or puts the question why, on the best offer that
// budgets let through. An offer that a budget of its cloud or class does not pay
// for is passed over for the next that fits; where there are no such budgets,
// the best offer alone is tried.
func (l *look) attempt(b *batch, o *opening, v *Verdict, want int, why Reason) (d draft, came outcome) {
	for {
		x := b.choices(b.asking || why != "")
		p, ok := l.choose(b, o.terms, want, x)
		switch {
		case !ok && x == nil:
			return d, nothing
		case !ok:
			return d, l.allRefused(b, o, v, x, b.asking || why != "")
		}
		d = l.draft(b, o, l.spread(b, o.terms, p, max(want-(o.all-o.left), 1), x))
		d.order.Ask = why
		if b.asking = b.asking || why == "" && l.asksAbove(b, &d, o.terms); b.asking {
			d.order.Ask = ReasonAskAbove
		}
		if l.start(b, &d, o, v) {
			return d, ordered
		}
		if !o.payer.narrow || !l.passOver(b, o, &d) {
			return d, refused
		}
	}
}

// passOver leaves out all offers whose first machines the payer's budgets do
// not pay for. It reports whether the draft's offer is one of them.
func (l *look) passOver(b *batch, o *opening, d *draft) bool {
	question := d.order.Ask != ""
	x, money := b.rest[index(question)], o.payer.money()
	same := x != nil && x.version == l.catalog.version && x.view == b.view && x.limit == b.limit
	if !same || x.money != money {
		beyond := l.unpaid(b, o, question)
		if !same || !slices.Equal(x.beyond, beyond) { // else the choices hold
			x = &rest{version: l.catalog.version, view: b.view, limit: b.limit, beyond: beyond}
			b.rest[index(question)] = x
		}
		x.money = money
	}
	x.used = true
	return x.beyond.has(d.offer)
}

// unpaid are the offers that fit and are beyond the payer's budgets, or in none.
// Offers lie in order of rate: from a certain rate on, all of a budget are beyond
// it, and a budget that has more than any of them could cost needs no look.
func (l *look) unpaid(b *batch, o *opening, question bool) offerSet {
	t, fits := o.terms, l.fitting(b.key.shape)
	out, covered := newOfferSet(len(l.catalog.offers)), newOfferSet(len(l.catalog.offers))
	most := l.mostWorst(b, t)
	for _, p := range o.payer.purses {
		set, has := p.offersOf(l.catalog), p.has(question, t.Ask)
		for w := range covered {
			covered[w] |= fits[w] & set[w]
		}
		if has >= most {
			continue
		}
		from := l.catalog.from(dearest(max(has, 0)+1, needOf(t, b.limit), b.least(t)))
		for w := range out {
			in := fits[w] & set[w]
			out[w] |= in & atLeast(from, w)
			for left := in &^ out[w]; left != 0; left &= left - 1 {
				i := w<<6 + bits.TrailingZeros64(left)
				if hold, ok := l.worst(b, t, i); b.view.barred[i] == "" && (!ok || hold > max(has, 0)) {
					out.add(i)
				}
			}
		}
	}
	for w := range out {
		out[w] |= fits[w] &^ covered[w]
	}
	return out
}

// has is the most that a purchase, or a question, may take of the budget.
func (b *purse) has(question, mayAsk bool) int64 {
	if !question {
		return b.left
	}
	most := int64(math.MaxInt64)
	if !mayAsk {
		most = b.left
	}
	if b.hard {
		most = min(most, b.left-b.asked)
	}
	return most
}

// offersOf are the offers that count in the budget.
func (b *purse) offersOf(c *catalog) offerSet {
	if b.offers != nil {
		return b.offers
	}
	b.offers = newOfferSet(len(c.offers))
	for i, o := range c.offers {
		if b.covers(Scope{b.scope.Account, o.Pool.Cloud, o.Shape.GPUType}) {
			b.offers.add(i)
		}
	}
	return b.offers
}

// from is the first offer of a rate, or of more.
func (c *catalog) from(rate int64) int {
	return sort.Search(len(c.offers), func(i int) bool { return c.offers[i].Rate.Micro >= rate })
}

// atLeast are the bits of word w of a set that are for offer i and those after it.
func atLeast(i, w int) uint64 {
	switch i -= w << 6; {
	case i <= 0:
		return ^uint64(0)
	case i >= 64:
		return 0
	}
	return ^uint64(0) << i
}

// extent is what no offer exceeds.
type extent struct {
	rate       int64
	boot, paid time.Duration // paid: what is charged whatever the life
}

func extentOf(c *catalog) *extent {
	e := &extent{}
	for _, o := range c.offers {
		e.rate = max(e.rate, o.Rate.Micro)
		e.boot = max(e.boot, o.Boot)
		e.paid = max(e.paid, o.Minimum, o.Term, o.Step)
	}
	return e
}

// mostWorst is no less than what the first machines of an order are held for, on
// any offer.
func (l *look) mostWorst(b *batch, t *Terms) int64 {
	if l.extent == nil {
		l.extent = extentOf(l.catalog)
	}
	rate := Rate{Micro: max(l.extent.rate/1000*SpotHeadroomPM+SpotHeadroomPM, t.MaxRate.Micro), Currency: b.view.currency}
	life := lifeOf(t, b.limit, l.extent.boot)
	hold, err := rate.Cost(max(life, l.extent.paid)+l.extent.paid, b.least(t), RoundUp)
	if err != nil {
		return math.MaxInt64
	}
	return hold.Micro + int64(b.least(t)) // each machine may be rounded by itself
}

// money is a hash of all that pays depends on.
func (y *payer) money() uint64 {
	h := uint64(len(y.purses))
	for _, b := range y.purses {
		h = mix(mix(h, uint64(b.left)), uint64(b.asked)<<1|uint64(index(b.hard)))
		if b.narrow {
			h = mixString(mixString(h, b.scope.Cloud), b.scope.GPU)
		}
	}
	return h
}

// allRefused says why budgets let no offer through: by the best one, or the
// cheapest that any budget covers where none covers the best.
func (l *look) allRefused(b *batch, o *opening, v *Verdict, x *rest, question bool) outcome {
	p, ok := l.choose(b, o.terms, 1, nil)
	if !ok {
		return nothing
	}
	at, budgets := p.offer, l.budgetsOf(o.payer, p.offer)
	for i := 0; i < len(l.catalog.offers) && len(budgets) == 0; i++ {
		if x.beyond.has(i) && b.view.barred[i] == "" {
			at, budgets = i, l.budgetsOf(o.payer, i)
		}
	}
	if len(budgets) == 0 {
		l.refuse(&draft{offer: p.offer}, ReasonUnfunded, Money{}, v)
		v.Kind, v.Detail = Never, covered(l.catalog.offers[p.offer])
		return refused
	}
	hold, _ := l.worst(b, o.terms, at)
	short := budgets.stop(hold, hold, question, o.terms.Ask)
	if short == nil {
		return nothing // it cannot be priced
	}
	l.refuse(&draft{offer: at}, ReasonNoBudget, Money{hold, short.currency}, v)
	v.limitedBy(short)
	if question && short.asked > 0 {
		v.Detail = short.askedText()
	}
	return refused
}

func (l *look) budgetsOf(y *payer, offer int) purses {
	o := l.catalog.offers[offer]
	return y.on(o.Pool.Cloud, o.Shape.GPUType)
}

// covered says what a budget would have to cover for an offer.
func covered(o *Offer) string {
	if o.Shape.GPUType == "" {
		return "machines of " + o.Pool.Cloud
	}
	return o.Shape.GPUType + " on " + o.Pool.Cloud
}
