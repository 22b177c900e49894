package bridge

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// nearness orders causes from the furthest from a purchase to the nearest.
var nearness = []Reason{ReasonNoOffer, ReasonLacks, ReasonNetwork, ReasonNotRestartable, ReasonNoCheckpoint, ReasonOldCheckpoint, ReasonTooDear, ReasonNoBudget, ReasonImplausible, ReasonNoExchange, ReasonOldExchange, ReasonNoPrice, ReasonEndsFirst, ReasonLate, ReasonPoolsDown, ReasonAhead, ReasonAheadOfPace}

// explain says why nothing can be bought for a batch: of all causes the one
// that is nearest to a purchase.
func (l *look) explain(b *batch, t *Terms) *Verdict {
	why, at, until := l.nearest(b, t)
	if at < 0 {
		return l.explainMisfit(b, t)
	}
	o := l.catalog.offers[at]
	v := &Verdict{Kind: Wait, Why: why, Pool: &l.catalog.pools[at], Detail: l.fact(b, t, at, why)}
	// A worst case that does not fit in 64 bits is not shown.
	life, _ := l.lifeOn(b, t, at)
	v.Cost, _ = o.Billing().Worst(ceiling(o, t), life, b.least(t))
	switch v.Why {
	case ReasonPoolsDown:
		v.Until = until
	case ReasonLacks, ReasonNetwork:
		v.Kind, v.Cost = Never, Money{}
	case ReasonImplausible, ReasonNoExchange, ReasonOldExchange:
		v.Cost = Money{}
	case ReasonLate, ReasonTooDear:
		v.Kind = Never
	case ReasonAhead:
		v.Detail = "the last machines in stock go to jobs ahead of it"
	case ReasonNotRestartable:
		v.Kind, v.Detail = Never, "only spot would do, and the scheduler may not requeue it"
	case ReasonNoCheckpoint:
		v.Kind, v.Detail = Never, "only spot would do, and no complete checkpoint of it is known"
	case ReasonOldCheckpoint:
		v.Kind, v.Detail = Never, "only spot would do, and its checkpoints are further apart than "+t.Checkpoint.MaxAge.String()
	case ReasonAheadOfPace:
		v.Detail = "no spot machine is to be had, and it can still wait for one"
	case ReasonNoOffer:
		v.Kind, v.Detail = Never, "what would fit is in no cloud, region or market that policy allows"
	default: // the fact says it
	}
	return v.ofClass(t)
}

// ofClass says of a job that may have reserved capacity alone that there is none
// for it, rather than what else there is.
func (v *Verdict) ofClass(t *Terms) *Verdict {
	if t.Class == P0 && v.Why == ReasonNoOffer {
		v.Why, v.Pool, v.Cost, v.Detail = ReasonReserved, nil, Money{}, ""
	}
	return v
}

// nearest returns the fitting offer that is nearest to a purchase and why it
// was not bought, -1 if none fits, and when the first pool that is down comes
// back.
func (l *look) nearest(b *batch, t *Terms) (why Reason, at int, until time.Time) {
	best, at := -1, -1
	fits := l.fitting(b.key.shape)
	for i := range l.catalog.offers {
		st := &l.catalog.state[i]
		if !fits.has(i) {
			continue
		}
		r := l.bars(b, t, i)
		if r == ReasonPoolsDown && !st.down.IsZero() && (until.IsZero() || st.down.Before(until)) {
			until = st.down
		}
		if n := slices.Index(nearness, r); n > best {
			best, at, why = n, i, r
		}
	}
	return why, at, until
}

// bars returns why an offer that fits was not bought.
func (l *look) bars(b *batch, t *Terms, i int) Reason {
	if r := b.view.barred[i]; r != "" {
		return r
	}
	_, whole := l.lifeOn(b, t, i)
	switch {
	case !whole && b.view.lastsOn(i) < l.catalog.state[i].left:
		return ReasonLacks
	case !whole:
		return ReasonEndsFirst
	case l.catalog.has(i) >= b.least(t):
		return ReasonTooDear
	case l.catalog.state[i].taken:
		return ReasonAhead
	}
	return ReasonPoolsDown
}

// fact is what stands behind a reason that is about the offer itself, in words;
// empty where the reason says it all.
func (l *look) fact(b *batch, t *Terms, i int, why Reason) string {
	o := l.catalog.offers[i]
	switch why {
	case ReasonLacks: // it is counted in whole hours
		w, _ := o.Lacks(t.Attributes, l.s.Now.Add(needOf(t, b.limit)+o.Boot+time.Hour))
		return lacking(o, w)
	case ReasonNetwork:
		return tooSlow(o, t)
	case ReasonImplausible:
		return o.BarWhy
	case ReasonLate:
		return tooLate(o, b.view.slow)
	case ReasonTooDear:
		return tooDear(o, t)
	case ReasonNoPrice:
		return "the latest price is of " + o.SampledAt.UTC().Format(time.RFC3339)
	case ReasonEndsFirst:
		return "the contract ends at " + o.Until.UTC().Format(time.RFC3339)
	case ReasonNoBudget, ReasonNoExchange, ReasonOldExchange:
		return fmt.Sprintf("the offer is in %s, the budget in %s", o.Rate.Currency, b.view.currency)
	default:
		return ""
	}
}

func lacking(o *Offer, attribute string) string {
	return o.Pool.Cloud + " does not have " + attribute + " until the rental would end"
}

func tooSlow(o *Offer, t *Terms) string {
	return fmt.Sprintf("the network is %s, policy wants %s", cmp.Or(o.Network, "plain"), t.Network)
}

func tooLate(o *Offer, slow time.Duration) string {
	return fmt.Sprintf("its machines take %s to come, the deadline leaves time for %s", o.Boot, slow)
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

// explainMisfit names the dimensions in which the nearest allowed offer is too
// small.
func (l *look) explainMisfit(b *batch, t *Terms) *Verdict {
	v := &Verdict{Kind: Never, Why: ReasonNoOffer, Detail: "no cloud offers anything"}
	least := -1
	for i, o := range l.catalog.offers {
		if !poolAllowed(&o.Pool, t, b.key.rule) {
			continue
		}
		lacks, short := o.lacks(b.shape)
		if least < 0 || short < least {
			least = short
			v.Pool, v.Detail = &l.catalog.pools[i], "the nearest offer lacks "+joinWords(lacks)
		}
	}
	if least < 0 && len(l.catalog.offers) > 0 {
		v.Detail = "no cloud, region or market that policy allows offers anything"
	}
	return v.ofClass(t)
}
