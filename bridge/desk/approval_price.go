package desk

import (
	"context"
	"errors"

	"spillway.sh/spillway/bridge"
)

// dearer refuses a yes to a price that is no longer had: the approver agreed
// to a ceiling. Where policy and the requester allow the new price the question
// is asked anew with it, and old buttons are superseded; else it stays as it is.
func (d *Desk) dearer(ctx context.Context, p Person, r *bridge.Rental) error {
	if r.Extends != "" {
		return nil // its machines run, at the ceiling they were rented with
	}
	snap, _, err := d.look()
	if err != nil {
		return err
	}
	for i := range snap.Offers {
		o := &snap.Offers[i]
		if o.Pool == r.Pool && (o.Rate.Currency != r.MaxRate.Currency || o.Rate.Micro > r.MaxRate.Micro) {
			return d.askAnew(ctx, p, r, o)
		}
	}
	return nil
}

// askAnew puts the price of today into a question.
func (d *Desk) askAnew(ctx context.Context, p Person, r *bridge.Rental, o *bridge.Offer) error {
	next := *r
	t := d.termsOf(r)
	price, err := bridge.PriceOf(o, t, r.Life, r.Count)
	if err != nil || !allowed(t, o, price.Most, r) {
		res := d.result(ResultDearer, r)
		res.Detail = Place(r.Pool) + ": " + hourly(o.Rate) + " > " + hourly(r.MaxRate)
		return res.no(Conflict, "spillway deny "+string(r.ID))
	}
	next.Rate, next.MaxRate, next.Hold, next.FX = o.Rate, price.Ceiling, price.Most, o.FX
	next.Step, next.Minimum, next.Term, next.EarlyPM = o.Step, o.Minimum, o.Term, o.EarlyPM
	next.Cost.Currency = price.Most.Currency
	next.Machines = append([]bridge.Machine{}, r.Machines...)
	for i := range next.Machines {
		next.Machines[i].Rate = o.Rate
	}
	saved, err := d.Writer.Save(ctx, next, bridge.News{
		At: d.Now(), Kind: bridge.NewsChanged, Cluster: r.Cluster, Rental: r.ID, Who: p.Name, Why: r.Why, Pool: &r.Pool, Cost: price.Most,
		Digest: bridge.DigestOf(&next),
	})
	if err != nil {
		return d.undecided(r, err)
	}
	d.Loop.Wake()
	res := d.result(ResultSuperseded, &saved)
	res.Was = r.Hold
	return res.no(Conflict, "spillway rentals "+string(r.ID))
}

// allowed reports whether policy and the requester would have asked for this
// price.
func allowed(t *bridge.Terms, o *bridge.Offer, most bridge.Money, r *bridge.Rental) bool {
	if _, err := most.Sub(r.Hold); errors.Is(err, bridge.ErrCurrency) {
		return false
	}
	rate := bridge.Money(o.Rate)
	return t.Burst && !above(rate, bridge.Money(t.MaxRate)) && !above(most, t.MaxCost) && !above(most, r.Most)
}

// termsOf is what policy says of a rental today.
func (d *Desk) termsOf(r *bridge.Rental) *bridge.Terms {
	dem := bridge.Demand{
		Cluster: r.Cluster, User: r.Requester, Account: lastOf(r.Account.Project()), Partition: r.Origin,
		Nodes: max(r.Gang, 1), Count: 1, Restartable: true, TimeLimit: r.Life, Shape: r.Shape,
	}
	return d.Rules.Terms(&dem, &bridge.Facts{Cluster: r.Cluster})
}

func hourly(r bridge.Rate) string { return bridge.Money(r).String() }
