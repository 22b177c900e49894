package bridge

import (
	"fmt"
	"math/bits"
	"slices"
	"time"
)

// pick is an offer chosen for a batch.
type pick struct {
	offer int // in the catalog
	each  int // gangs of one node on one machine
	most  int // machines that stock and the ceiling of one rental allow
	cost  Money
	gangs int // that cost is for
}

// choose finds the cheapest way to run gangs of a batch: the first market of
// policy's order that has machines, except that spot dearer than the same on
// demand is not taken for its name. Offers are compared by what the rental is
// expected to cost: today's rate over its life, in the cloud's billing steps.
func (l *look) choose(b *batch, t *Terms, gangs int) (pick, bool) {
	var best pick
	found := false
	for i, market := range b.view.markets {
		if found && (best.market(l) != Spot || market != OnDemand) {
			continue
		}
		p, ok := l.cheapest(b, t, b.view.lists[i], gangs)
		if ok && (!found || p.cheaper(&best) || !best.cheaper(&p)) {
			best, found = p, true
		}
	}
	return best, found
}

func (p *pick) market(l *look) Market { return l.catalog.offers[p.offer].Pool.Market }

// cheaper compares the cost of one gang; both are of one currency.
func (p *pick) cheaper(o *pick) bool {
	ah, al := bits.Mul64(uint64(p.cost.Micro), uint64(o.gangs))
	bh, bl := bits.Mul64(uint64(o.cost.Micro), uint64(p.gangs))
	return ah < bh || ah == bh && al < bl
}

// cheapest looks through offers in order of rate. For one machine the rate is
// a lower bound of the cost, so it may stop early.
func (l *look) cheapest(b *batch, t *Terms, offers []int32, gangs int) (pick, bool) {
	var best pick
	found := false
	single := b.nodes > 1 || gangs == 1
	least := max(b.nodes, t.Least, 1)
	for _, i := range offers {
		each := int(b.each[l.catalog.hw[i]])
		if each == 0 {
			continue
		}
		o := l.catalog.offers[i]
		life := lifeOf(t, b.limit, o.Boot)
		if single && found {
			floor, err := o.Rate.Cost(life, least, RoundUp)
			if err != nil || floor.Micro >= best.cost.Micro {
				if o.Boot >= l.catalog.offers[best.offer].Boot || err != nil {
					break
				}
			}
		}
		p, ok := l.price(b, t, int(i), each, gangs, life)
		if ok && (!found || p.cheaper(&best)) {
			best, found = p, true
		}
	}
	return best, found
}

// price computes what gangs of a batch cost on one offer, as far as its stock
// and the ceiling of one rental go.
func (l *look) price(b *batch, t *Terms, i, each, gangs int, life time.Duration) (pick, bool) {
	o := l.catalog.offers[i]
	least := max(b.nodes, t.Least, 1)
	p := pick{offer: i, each: each, most: l.catalog.has(i)}
	if p.most < least {
		return p, false
	}
	time := billed(life, o.Step, o.Minimum)
	if t.MaxCost.Micro > 0 {
		one, err := ceiling(o, t).Cost(time, 1, RoundUp)
		if err != nil || one.Currency != t.MaxCost.Currency || one.Micro <= 0 {
			return p, false
		}
		p.most = min(p.most, int(t.MaxCost.Micro/one.Micro))
		if p.most < least {
			return p, false
		}
	}
	machines := least
	p.gangs = 1
	if b.nodes == 1 {
		machines = min(max(ceilDiv(gangs, each), least), p.most)
		p.gangs = min(gangs, machines*each)
	}
	var err error
	p.cost, err = o.Rate.Cost(time, machines, RoundUp)
	return p, err == nil
}

// explain says why nothing can be bought for a batch: of all causes the one
// that is nearest to a purchase.
func (l *look) explain(b *batch, t *Terms) *Verdict {
	best, at := -1, -1
	var why Reason
	var until time.Time
	for i := range l.catalog.offers {
		if b.each[l.catalog.hw[i]] == 0 {
			continue
		}
		r := l.bars(b, t, i)
		if r == ReasonPoolsDown && (until.IsZero() || l.catalog.down[i].Before(until)) {
			until = l.catalog.down[i]
		}
		if n := slices.Index(nearness, r); n > best {
			best, at, why = n, i, r
		}
	}
	if at < 0 {
		return l.explainMisfit(b, t)
	}
	v := &Verdict{Kind: Wait, Why: why, Pool: &l.catalog.pools[at]}
	o := l.catalog.offers[at]
	size := max(b.nodes, t.Least, 1)
	v.Cost, _ = ceiling(o, t).Cost(billed(lifeOf(t, b.limit, o.Boot), o.Step, o.Minimum), size, RoundUp)
	switch why {
	case ReasonPoolsDown:
		v.Until = until
	case ReasonAhead:
		v.Detail = "the last machines in stock go to jobs ahead of it"
	case ReasonNoPrice:
		v.Detail = "the latest price is of " + o.SampledAt.UTC().Format(time.RFC3339)
	case ReasonNoBudget:
		v.Detail = fmt.Sprintf("the offer is in %s, the budget in %s", o.Rate.Currency, b.view.currency)
	case ReasonTooDear:
		v.Kind, v.Detail = Never, tooDear(o, t)
	case ReasonNotRestartable:
		v.Kind = Never
	case ReasonNoOffer:
		v.Kind, v.Detail = Never, "what would fit is in no cloud, region or market that policy allows"
	}
	return v
}

// nearness orders causes from the furthest from a purchase to the nearest.
var nearness = []Reason{ReasonNoOffer, ReasonNotRestartable, ReasonTooDear, ReasonNoBudget, ReasonNoPrice, ReasonPoolsDown, ReasonAhead}

// bars returns why an offer that fits was not bought.
func (l *look) bars(b *batch, t *Terms, i int) Reason {
	if r := b.view.barred[i]; r != "" {
		return r
	}
	if l.catalog.has(i) >= max(b.nodes, t.Least, 1) {
		return ReasonTooDear
	}
	if l.catalog.taken[i] {
		return ReasonAhead
	}
	return ReasonPoolsDown
}

func tooDear(o *Offer, t *Terms) string {
	if t.MaxRate.Micro > 0 && t.MaxRate.Currency != o.Rate.Currency {
		return fmt.Sprintf("the price ceiling is in %s, the offer in %s", t.MaxRate.Currency, o.Rate.Currency)
	}
	if t.MaxRate.Micro > 0 && o.Rate.Micro > t.MaxRate.Micro {
		return fmt.Sprintf("%s an hour, the ceiling is %s", Money(o.Rate), Money(t.MaxRate))
	}
	return fmt.Sprintf("the ceiling of one rental is %s", t.MaxCost)
}

// explainMisfit names the dimension in which the nearest allowed offer is too
// small.
func (l *look) explainMisfit(b *batch, t *Terms) *Verdict {
	v := &Verdict{Kind: Never, Why: ReasonNoOffer, Detail: "no cloud offers anything"}
	fewest := -1
	for i, o := range l.catalog.offers {
		if !poolAllowed(&o.Pool, t, b.view.rule) {
			continue
		}
		lacks := o.lacks(b.shape)
		if fewest < 0 || len(lacks) < fewest {
			fewest = len(lacks)
			v.Pool, v.Detail = &l.catalog.pools[i], "the nearest offer lacks "+joinWords(lacks)
		}
	}
	if fewest < 0 && len(l.catalog.offers) > 0 {
		v.Detail = "no cloud, region or market that policy allows offers anything"
	}
	return v
}

// copyTo gives a demand the verdict of its batch.
func (v *Verdict) copyTo(to *Verdict) {
	to.Kind, to.Why, to.Until, to.Pool = v.Kind, v.Why, v.Until, v.Pool
	to.Cost, to.Left, to.Limit, to.Detail = v.Cost, v.Left, v.Limit, v.Detail
}
