package bridge

import (
	"math/bits"
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
	if x == nil || x.version != l.catalog.version || x.view != b.view || x.money != money || x.limit != b.limit {
		x = &rest{version: l.catalog.version, view: b.view, limit: b.limit, money: money, beyond: l.unpaid(b, o, question)}
		b.rest[index(question)] = x
	}
	x.used = true
	return x.beyond.has(d.offer)
}

// unpaid are the offers that fit and are beyond the payer's budgets.
func (l *look) unpaid(b *batch, o *opening, question bool) offerSet {
	out := newOfferSet(len(l.catalog.offers))
	for w, fits := range l.fitting(b.key.shape) {
		for set := fits; set != 0; set &= set - 1 {
			i := w<<6 + bits.TrailingZeros64(set)
			if b.view.barred[i] != "" {
				continue
			}
			hold, ok := l.worst(b, o.terms, i)
			if !ok || !o.payer.pays(l.catalog.offers[i], hold, question, o.terms.Ask) {
				out.add(i)
			}
		}
	}
	return out
}

// pays reports whether all budgets that an offer counts in, and at least one,
// let an amount through.
func (y *payer) pays(o *Offer, micro int64, question, mayAsk bool) bool {
	spent, covered := Scope{y.full, o.Pool.Cloud, o.Shape.GPUType}, false
	for i, b := range y.purses {
		if !b.covers(spent) {
			continue
		}
		covered = true
		if y.purses[i:i+1].stop(micro, micro, question, mayAsk) != nil {
			return false
		}
	}
	return covered
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
		if x.beyond.has(i) {
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
