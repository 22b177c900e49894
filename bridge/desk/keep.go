package desk

import (
	"context"
	"errors"
	"time"

	"spillway.sh/spillway/bridge"
)

// KeepRequest asks that a rental stays for a time though no job runs on it: for
// a duration from now, or until an instant; in words, or in fields.
type KeepRequest struct {
	Rental  string    `json:"rental"`
	Words   []string  `json:"words,omitempty"` // "1h", "for 1h", "until 18:00"
	Seconds int64     `json:"seconds,omitempty"`
	Until   time.Time `json:"until,omitzero"`
	Zone    string    `json:"zone,omitempty"` // that times in words are of
}

// KeepAnswer says until when it is kept. Ends is true where that is the end of
// the rental, sooner than was asked for: more needs an extension.
type KeepAnswer struct {
	Rental  Rental    `json:"rental"`
	Until   time.Time `json:"until"`
	Ends    bool      `json:"ends"`
	Changed bool      `json:"changed"`
}

// Keep postpones the release of idle machines, inside the time that is held for
// already: it costs nothing that was not promised. A later wish replaces an
// earlier one.
func (d *Desk) Keep(ctx context.Context, p Person, q KeepRequest) (KeepAnswer, error) {
	if err := d.open(); err != nil {
		return KeepAnswer{}, err
	}
	r, err := d.rental(ctx, p, q.Rental)
	if err != nil {
		return KeepAnswer{}, err
	}
	asked, err := d.keepUntil(&r, &q)
	if err != nil {
		return KeepAnswer{}, err
	}
	for range 5 {
		if err := d.keepable(p, &r); err != nil {
			return KeepAnswer{}, err
		}
		a := KeepAnswer{Until: asked}
		if !r.Expires.IsZero() && r.Expires.Before(asked) {
			a.Until, a.Ends = r.Expires, true
		}
		if r.KeepUntil.Equal(a.Until) {
			a.Rental = asRental(&r, d.Now())
			return a, nil
		}
		changed := r
		changed.KeepUntil = a.Until
		saved, err := d.Writer.Save(ctx, changed, bridge.News{
			At: d.Now(), Kind: bridge.NewsKept, Cluster: r.Cluster, Rental: r.ID, Who: p.Name, Pool: &r.Pool, Text: "until " + Clock(a.Until),
		})
		if err == nil {
			a.Rental, a.Changed = asRental(&saved, d.Now()), true
			d.Loop.Wake()
			return a, nil
		}
		if !errors.Is(err, bridge.ErrVersion) {
			return KeepAnswer{}, unstored(err)
		}
		if r, err = d.Reader.Rental(ctx, r.ID); err != nil {
			return KeepAnswer{}, unreadable(err)
		}
	}
	return KeepAnswer{}, wrong(Conflict, "spillway rentals "+string(r.ID), "rental %s keeps changing; nothing was done", r.ID)
}

// keepUntil reads how long it is to be kept. Nothing is guessed.
func (d *Desk) keepUntil(r *bridge.Rental, q *KeepRequest) (time.Time, error) {
	try := "spillway keep " + string(r.ID) + " 1h"
	words, more, err := d.timeAlone(try, q.Zone, q.Words, &Wish{Seconds: q.Seconds, Until: q.Until})
	switch {
	case err != nil:
		return time.Time{}, err
	case more != "":
		return time.Time{}, wrong(BadRequest, try, "what is kept is kept for a time, and %q is more than that", more)
	case words.Seconds == 0 && words.Until.IsZero():
		return time.Time{}, wrong(BadRequest, try, "for how long? A duration is never guessed")
	case words.Seconds != 0:
		return d.Now().Add(words.duration()).Truncate(time.Second), nil
	case !words.Until.After(d.Now()):
		return time.Time{}, wrong(BadRequest, try, "%s has passed: it is %s now", Clock(words.Until), Clock(d.Now()))
	}
	return words.Until, nil
}

// keepable refuses what is not the asker's to keep, or on its way out.
func (d *Desk) keepable(p Person, r *bridge.Rental) error {
	switch {
	case !d.disposes(p, r):
		return wrong(Forbidden, "spillway rentals", "rental %s belongs to %s; only they or an admin may keep it", r.ID, r.Requester)
	case r.State == bridge.StateDraining, r.State == bridge.StateReleasing, !r.State.Held():
		return wrong(Conflict, "spillway rentals "+string(r.ID), "%s is %s and cannot be kept", r.ID, r.State)
	}
	return nil
}

// disposes reports whether a person may keep a rental or give it back: its
// owner, an admin, and of what nobody owns who approves for its money.
func (d *Desk) disposes(p Person, r *bridge.Rental) bool {
	return p.owns(r) || p.may(ReleaseAny) || r.Unowned > 0 && d.approvesSome(p, r.Scope())
}
