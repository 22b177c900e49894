package desk

import (
	"fmt"
	"slices"
	"time"

	"spillway.sh/spillway/bridge"
)

// price works out what a quote costs. Boot and the margin that a decision gives
// to jobs are paid for too, so that the asker has the whole time asked for.
func (q *Quoted) price(r *request) error {
	q.life = r.wish.duration()
	if r.wish.Until.IsZero() {
		q.life += q.offer.Boot.Round(time.Second) + bridge.LifeMargin
	}
	p, err := bridge.PriceOf(&q.offer, r.terms, q.life, q.Machines)
	if err != nil {
		return fmt.Errorf("work out price: %w", err)
	}
	q.Expected, q.AtMost, q.ceiling = p.Likely, p.Most, p.Ceiling
	return nil
}

// rank puts what can be had before what cannot, and last what policy rules out.
func (q *Quoted) rank() int {
	switch {
	case q.Outcome == AtOnce:
		return 0
	case q.Outcome == AskOne:
		return 1
	case !q.barred:
		return 2
	}
	return 3
}

// means reports whether a wish leaves an offer in question: its market, type
// and place.
func (w *Wish) means(p *bridge.Pool) bool {
	if w.Market != "" && p.Market != w.Market || w.Type != "" && p.Type != w.Type {
		return false
	}
	return w.Place == "" || slices.Contains([]string{p.Cloud, p.Region, p.Zone}, w.Place)
}

// machines is how many machines of an offer a wish means; false if it does not
// mean this offer.
func (r *request) machines(o *bridge.Offer) (int, bool) {
	w := &r.wish
	if !w.means(&o.Pool) {
		return 0, false
	}
	if r.demand != nil && w.Machines == 0 && w.GPUs == 0 && w.CPUs == 0 {
		fit, ok := bridge.FitOffer(o, &r.demand.Shape, r.demand.Nodes, r.demand.Count)
		return fit.Machines, ok
	}
	shape := bridge.Shape{CPUs: w.CPUs, MemoryMiB: w.MemoryMiB, GPUType: w.GPUType}
	n := max(w.Machines, 1)
	switch {
	case w.GPUs > 0 && w.Machines > 0:
		shape.GPUs = w.GPUs
	case w.GPUs > 0:
		if o.Shape.GPUs == 0 {
			return 0, false
		}
		shape.GPUs = min(w.GPUs, o.Shape.GPUs)
		n = (w.GPUs + o.Shape.GPUs - 1) / o.Shape.GPUs
	}
	return n, o.Holds(&shape)
}

// judge says what asking for a quoted offer now would lead to.
func (d *Desk) judge(r *request, q *Quoted) error {
	t, o := r.terms, &q.offer
	q.Outcome = Refused
	switch {
	case !t.Burst:
		q.Why = t.Why
	case rulesOut(t, &o.Pool):
		q.Why, q.barred = bridge.ReasonNoOffer, true
	case o.Bar != "":
		q.Why = o.Bar
	case lacksAttribute(t, o, d.Now().Add(q.life)):
		q.Why = bridge.ReasonLacks
	case !o.Network.Holds(t.Network):
		q.Why = bridge.ReasonNetwork
	case r.tooDear(q):
		q.Why = bridge.ReasonTooDear
	case !o.Until.IsZero() && d.Now().Add(q.life).After(o.Until):
		q.Why = bridge.ReasonEndsFirst
	case r.wish.duration() > t.Life && t.Life > 0:
		q.Why = bridge.ReasonMost
	case q.Machines+r.rented() > t.Most:
		q.Why = bridge.ReasonMost
	case r.snap.Frozen:
		q.Why = bridge.ReasonFrozen
	case r.snap.Protected:
		q.Why = bridge.ReasonProtected
	case !o.Fresh(d.Now()):
		q.Why = bridge.ReasonNoPrice
	case o.Available >= 0 && o.Available < q.Machines, r.down(o.Pool, d.Now()):
		q.Why = bridge.ReasonPoolsDown
	default:
		return r.afford(q)
	}
	return nil
}

// tooDear reports whether a quoted offer is above policy's rate, or above what
// policy or the person lets one rental cost.
func (r *request) tooDear(q *Quoted) bool {
	most, rate := r.terms.MaxRate, q.offer.Rate
	return most.Micro > 0 && (rate.Currency != most.Currency || rate.Micro > most.Micro) ||
		above(q.AtMost, r.terms.MaxCost) || above(q.AtMost, r.wish.Max)
}

// rulesOut reports whether policy does not allow a pool at all.
func rulesOut(t *bridge.Terms, p *bridge.Pool) bool {
	if t.Class == bridge.P0 && p.Market != bridge.Reserved {
		return true
	}
	return p.Market != bridge.Reserved && !slices.Contains(t.Markets, p.Market) ||
		len(t.Clouds) > 0 && !slices.Contains(t.Clouds, p.Cloud) ||
		len(t.Regions) > 0 && !slices.Contains(t.Regions, p.Region)
}

// lacksAttribute reports whether a provider does not have what policy asks for
// until a time.
func lacksAttribute(t *bridge.Terms, o *bridge.Offer, until time.Time) bool {
	_, lacks := o.Lacks(t.Attributes, until)
	return lacks
}

func above(m, limit bridge.Money) bool {
	if limit.Micro == 0 {
		return false
	}
	c, err := m.Cmp(limit)
	return err != nil || c > 0
}

// rented counts the machines the project has already.
func (r *request) rented() int {
	n := 0
	for i := range r.snap.Rentals {
		if x := &r.snap.Rentals[i]; x.State.Held() && x.Account.Project() == r.account.Project() {
			n += x.Count
		}
	}
	return n
}

func (r *request) down(p bridge.Pool, now time.Time) bool {
	return slices.ContainsFunc(r.snap.Pools, func(h bridge.PoolHealth) bool { return h.Pool.Covers(p) && now.Before(h.DownUntil) })
}

// scope is where a rental of an offer counts.
func (r *request) scope(o *bridge.Offer) bridge.Scope {
	return bridge.Scope{Account: r.account, Cloud: o.Pool.Cloud, GPU: o.Shape.GPUType}
}

// afford looks at the budgets: room, a question, or no.
func (r *request) afford(q *Quoted) error {
	bs := covering(r.bs, r.scope(&q.offer))
	if len(bs) == 0 {
		q.Why = bridge.ReasonUnfunded
		return nil
	}
	q.Outcome, q.Why = AtOnce, ""
	for i := range bs {
		b := &bs[i]
		left, err := b.Left()
		if err != nil {
			return fmt.Errorf("balance of %s: %w", b.Account, err)
		}
		over, err := q.AtMost.Sub(left)
		if err != nil { // another currency: no rate is ever guessed
			q.Outcome, q.Why, q.tight = Refused, bridge.ReasonNoBudget, *b
			return nil //nolint:nilerr // an amount this budget cannot pay is an answer, not a fault
		}
		if over.Micro <= 0 || q.AtMost.IsZero() { // nothing has room everywhere
			continue
		}
		if over.Micro > q.Over.Micro || b.Hard {
			q.Over, q.tight = over, *b
		}
		if b.Hard || !r.terms.Ask {
			q.Outcome, q.Why = Refused, bridge.ReasonNoBudget
			return nil
		}
		q.Outcome, q.Why = AskOne, bridge.ReasonOverBudget
	}
	if q.Outcome == AtOnce && above(q.AtMost, r.terms.AskAbove) {
		q.Outcome, q.Why = AskOne, bridge.ReasonAskAbove
	}
	return nil
}
