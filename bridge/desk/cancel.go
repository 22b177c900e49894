package desk

import (
	"context"

	"spillway.sh/spillway/bridge"
)

// CancelRequest takes back a question that waits for an answer.
type CancelRequest struct {
	Rental string `json:"rental"`
}

// CancelAnswer is the rental after it. Changed is false when it was taken back before.
type CancelAnswer struct {
	Rental  Rental `json:"rental"`
	Changed bool   `json:"changed"`
}

// Cancel takes back what waits for an approver: by who asked, or an admin.
// Machines are never given back by it; that is what a release is for.
func (d *Desk) Cancel(ctx context.Context, p Person, q CancelRequest) (CancelAnswer, error) {
	if err := d.open(); err != nil {
		return CancelAnswer{}, err
	}
	r, err := d.rental(ctx, p, q.Rental)
	if err != nil {
		return CancelAnswer{}, err
	}
	switch {
	case !p.owns(&r) && !p.may(ReleaseAny):
		return CancelAnswer{}, wrong(Forbidden, "spillway rentals "+string(r.ID), "%s was asked for by %s; only they or an admin may take it back", r.ID, r.Requester)
	case r.State == bridge.StateClosed:
		return CancelAnswer{Rental: asRental(&r, d.Now())}, nil
	case r.State != bridge.StateWaiting:
		return CancelAnswer{}, wrong(Conflict, "spillway release "+string(r.ID), "%s does not wait for an answer: it is %s, and holds money", r.ID, r.State)
	}
	done, err := d.release(ctx, p, r, false)
	if err != nil {
		return CancelAnswer{}, err
	}
	d.Loop.Wake()
	return CancelAnswer{Rental: done.Rental, Changed: done.Changed}, nil
}
