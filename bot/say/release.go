package say

import (
	"context"
	"strings"

	"spillway.sh/spillway/bot/talk"
	"spillway.sh/spillway/bot/words"
	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/desk"
)

// release gives machines back. It asks nobody; where nothing is named, it shows
// what could be.
func (t *turn) release(ctx context.Context, r *words.Request) ([]talk.Effect, error) {
	q := desk.ReleaseRequest{Job: r.Job, Node: r.Node, All: r.All, Words: r.Words, Zone: t.who.Zone.String()}
	switch {
	case len(r.Rentals) == 0 && r.Job == "" && r.Node == "" && !r.All:
		return t.whatToRelease(ctx)
	case len(r.Rentals) == 0:
		return t.back(ctx, q)
	}
	var lines []string
	for _, id := range r.Rentals {
		q.Rental = id
		a, err := t.Desk.Release(ctx, t.who.Person, q)
		if err != nil {
			if desk.AsError(err).Kind == desk.Internal {
				return nil, err
			}
			lines = append(lines, t.no(desk.AsError(err))) // the others go back all the same
			continue
		}
		lines = append(lines, t.gone(&a)...)
	}
	return t.reply(strings.Join(lines, "\n")), nil
}

func (t *turn) back(ctx context.Context, q desk.ReleaseRequest) ([]talk.Effect, error) {
	a, err := t.Desk.Release(ctx, t.who.Person, q)
	if err != nil {
		return nil, err
	}
	if len(a.Released) == 0 {
		return t.reply(t.words.NothingMine), nil
	}
	return t.reply(strings.Join(t.gone(&a), "\n")), nil
}

// whatToRelease shows what is the asker's to give back.
func (t *turn) whatToRelease(ctx context.Context) ([]talk.Effect, error) {
	rs, err := t.Desk.Rentals(ctx, t.who.Person, desk.RentalsRequest{User: t.who.Person.Name})
	if err != nil {
		return nil, err
	}
	var live []desk.Rental
	for i := range rs.Rentals {
		if r := &rs.Rentals[i]; r.State.Held() && r.State != bridge.StateReleasing {
			live = append(live, *r)
		}
	}
	switch len(live) {
	case 0:
		return t.reply(t.words.NothingMine), nil
	case 1:
		return t.show(t.pen.ReleaseAsk(&live[0], t.Clock())), nil
	}
	return t.show(t.pen.Rentals(live, t.Clock())), nil
}

// gone says what became of each rental.
func (t *turn) gone(a *desk.ReleaseAnswer) []string {
	out := make([]string, 0, len(a.Released))
	for i := range a.Released {
		out = append(out, t.went(&a.Released[i]))
	}
	return out
}

func (t *turn) went(d *desk.Released) string {
	r := &d.Rental
	w := t.words
	rest, err := r.Hold.Sub(r.Cost)
	back := ""
	if err == nil && rest.Micro > 0 && r.State != bridge.StateClosed {
		back = w.Gap + fill(w.ReleasedBack, "rest", rest.Floor(), "project", project(r.Account))
	}
	facts := []string{"id", string(r.ID), "who", t.who.Person.Name, "cost", r.Cost.String(), "at", t.when(r.Since), "release", t.when(r.ReleaseAt), "jobs", jobs(r.Running)}
	switch {
	case !d.Changed && r.State == bridge.StateSettled:
		return fill(w.ReleasedBefore, facts...)
	case !d.Changed && r.State == bridge.StateClosed:
		return fill(w.NeverRented, facts...)
	case !d.Changed:
		return fill(w.ReleasingBefore, facts...)
	case r.State == bridge.StateClosed:
		return fill(w.Cancelled, facts...)
	case !r.ReleaseAt.IsZero() && r.State == d.Was:
		return fill(w.ReleasedAt, facts...)
	case r.State == bridge.StateDraining && len(r.Running) > 0:
		return fill(w.DrainingJobs, facts...)
	case r.State == bridge.StateDraining:
		return fill(w.Draining, facts...) + back
	}
	return fill(w.Released, facts...) + back
}

func jobs(ids []bridge.JobID) string {
	out := make([]string, 0, len(ids))
	for _, j := range ids {
		out = append(out, string(j))
	}
	return strings.Join(out, ", ")
}
