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
	v := &Verdict{Kind: Wait, Why: why, Pool: &l.catalog.pools[at]}
	// A worst case that does not fit in 64 bits is not shown.
	life, _ := l.lifeOn(b, t, at)
	v.Cost, _ = o.Billing().Worst(ceiling(o, t), life, b.least(t))
	switch v.Why {
	case ReasonPoolsDown:
		v.Until = until
	case ReasonLacks:
		v.Kind, v.Cost, v.Detail = Never, Money{}, l.lacking(b, t, at)
	case ReasonNetwork:
		v.Kind, v.Cost, v.Detail = Never, Money{}, tooSlow(o, t)
	case ReasonImplausible:
		v.Cost, v.Detail = Money{}, o.BarWhy
	case ReasonLate:
		v.Kind, v.Detail = Never, tooLate(o, b.view.slow)
	case ReasonAhead:
		v.Detail = "the last machines in stock go to jobs ahead of it"
	case ReasonNoPrice:
		v.Detail = "the latest price is of " + o.SampledAt.UTC().Format(time.RFC3339)
	case ReasonNoExchange, ReasonOldExchange:
		v.Cost, v.Detail = Money{}, fmt.Sprintf("the offer is in %s, the budget in %s", o.Rate.Currency, b.view.currency)
	case ReasonNoBudget:
		v.Detail = fmt.Sprintf("the offer is in %s, the budget in %s", o.Rate.Currency, b.view.currency)
	case ReasonTooDear:
		v.Kind, v.Detail = Never, tooDear(o, t)
	case ReasonNotRestartable:
		v.Kind, v.Detail = Never, "only spot would do, and the scheduler may not requeue it"
	case ReasonNoCheckpoint:
		v.Kind, v.Detail = Never, "only spot would do, and no complete checkpoint of it is known"
	case ReasonOldCheckpoint:
		v.Kind, v.Detail = Never, "only spot would do, and its checkpoints are further apart than "+t.Checkpoint.MaxAge.String()
	case ReasonAheadOfPace:
		v.Detail = "no spot machine is to be had, and it can still wait for one"
	case ReasonEndsFirst:
		v.Detail = "the contract ends at " + o.Until.UTC().Format(time.RFC3339)
	case ReasonNoOffer:
		v.Kind, v.Detail = Never, "what would fit is in no cloud, region or market that policy allows"
	default: // nearness has no other
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

// lacking names what policy asks of a provider and it does not have for long
// enough: it is counted in whole hours.
func (l *look) lacking(b *batch, t *Terms, i int) string {
	o := l.catalog.offers[i]
	w, _ := o.Lacks(t.Attributes, l.s.Now.Add(needOf(t, b.limit)+o.Boot+time.Hour))
	return o.Pool.Cloud + " does not have " + w + " until the rental would end"
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
