package desk

import (
	"context"
	"errors"
	"strings"
	"time"

	"spillway.sh/spillway/bridge"
)

// whenToRelease reads the words of a release.
func (d *Desk) whenToRelease(q *ReleaseRequest) error {
	zone, err := zoneOf(q.Zone)
	if err != nil {
		return err
	}
	s := sentence{known: &Known{Now: d.Now(), Zone: zone}, words: tidy(strings.Join(q.Words, " "))}
	drain := false
	for len(s.words) > 0 {
		switch w := strings.TrimPrefix(s.take(), "--"); w {
		case "now":
			q.Now = true
		case "drain", "after":
			drain = true
		case "at":
			if q.At, err = s.when("at"); err != nil {
				e := AsError(err)
				e.Try = "spillway release " + q.Rental + " at 18:00"
				return e
			}
		default:
			return wrong(BadRequest, "spillway release "+q.Rental+" now", "the word %q means nothing in a release; it may be now, drain or at and a time", w)
		}
	}
	switch {
	case q.Now && drain:
		return wrong(BadRequest, "spillway release "+q.Rental+" now", "now and drain contradict each other")
	case q.Now && !q.At.IsZero():
		return wrong(BadRequest, "spillway release "+q.Rental+" now", "now and at contradict each other")
	case !q.At.IsZero() && !q.At.After(d.Now()):
		return wrong(BadRequest, "spillway release "+q.Rental, "%s has passed: it is %s now", Clock(q.At), Clock(d.Now()))
	}
	return nil
}

// releaseAt notes when a rental is to be drained. Its end stays where it was,
// should that come first.
func (d *Desk) releaseAt(ctx context.Context, p Person, r bridge.Rental, at time.Time) (Released, error) {
	was := r.State
	for range 5 {
		switch {
		case r.State == bridge.StateWaiting || r.State == bridge.StateDraining || r.State == bridge.StateReleasing || r.State.Ended():
			return d.release(ctx, p, r, false)
		case r.ReleaseAt.Equal(at):
			return Released{asRental(&r, d.Now()), was, false, "it goes back at " + Clock(at) + " already"}, nil
		case !r.Expires.IsZero() && !at.Before(r.Expires):
			return Released{}, wrong(BadRequest, "spillway release "+string(r.ID), "%s ends at %s anyway", r.ID, Clock(r.Expires))
		}
		changed := r
		changed.ReleaseAt = at
		saved, err := d.Writer.Save(ctx, changed, bridge.News{
			At: d.Now(), Kind: bridge.NewsTimed, Cluster: r.Cluster, Rental: r.ID, Who: p.Name, Why: bridge.ReasonAskedRelease, Pool: &r.Pool, Cost: r.Cost, Text: "at " + Clock(at),
		})
		if err == nil {
			return Released{asRental(&saved, d.Now()), was, true, "it goes back at " + Clock(at) + ", when its jobs have ended"}, nil
		}
		if !errors.Is(err, bridge.ErrVersion) {
			return Released{}, unstored(err)
		}
		if r, err = d.Reader.Rental(ctx, r.ID); err != nil {
			return Released{}, unreadable(err)
		}
	}
	return Released{}, wrong(Conflict, "spillway release "+string(r.ID), "rental %s keeps changing; nothing was done", r.ID)
}
