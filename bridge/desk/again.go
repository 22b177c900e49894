package desk

import (
	"context"
	"strings"

	"spillway.sh/spillway/bridge"
)

// asBefore is the wish that an earlier rental of the asker was made for: the
// one named, or the latest asked for by hand.
func (d *Desk) asBefore(ctx context.Context, p Person, typed string) (Wish, error) {
	if typed != "" {
		r, err := d.rental(ctx, p, typed)
		if err != nil {
			return Wish{}, err
		}
		w, ok := d.wishOf(p, &r)
		if !ok {
			return Wish{}, wrong(Conflict, "spillway rentals "+string(r.ID), "%s was not asked for by you in words that could be said again", r.ID)
		}
		return w, nil
	}
	recent, err := d.Reader.Recent(ctx, recentRentals)
	if err != nil {
		return Wish{}, unreadable(err)
	}
	for i := range recent {
		if w, ok := d.wishOf(p, &recent[i]); ok && recent[i].Key != "" {
			return w, nil
		}
	}
	return Wish{}, wrong(NotFound, "spillway rent 8xh100 for 2h", "you have asked for nothing yet that could be asked for again")
}

// wishOf reads the wish in a rental's key, or names the job it was made for.
func (d *Desk) wishOf(p Person, r *bridge.Rental) (Wish, bool) {
	if key, ok := strings.CutPrefix(r.Key, p.Name+"/"); ok && r.Extends == "" {
		if words, unnamed := beforeLast(key, "@"); unnamed {
			return Wish{Words: []string{words}}, true
		}
		return Wish{}, false
	}
	if p.owns(r) && len(r.Jobs) == 1 {
		return Wish{Job: r.Jobs[0]}, true
	}
	return Wish{}, false
}
