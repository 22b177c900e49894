package say

import (
	"context"
	"strconv"
	"time"

	"spillway.sh/spillway/bot/card"
	"spillway.sh/spillway/bot/talk"
	"spillway.sh/spillway/bot/words"
	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/desk"
)

// status shows rentals: those named, that of a job, or all of the asker's own.
func (t *turn) status(ctx context.Context, r *words.Request) ([]talk.Effect, error) {
	ids := r.Rentals
	if r.Job != "" {
		rs, err := t.Desk.Rentals(ctx, t.who.Person, desk.RentalsRequest{})
		if err != nil {
			return nil, err
		}
		for i := range rs.Rentals {
			for _, j := range rs.Rentals[i].Jobs {
				if j == r.Job {
					ids = append(ids, string(rs.Rentals[i].ID))
				}
			}
		}
		if len(ids) == 0 {
			return t.reply(fill(t.words.NothingForJob, "job", string(r.Job))), nil
		}
	}
	if len(ids) == 0 {
		return t.list(ctx, r)
	}
	var out []talk.Effect
	for _, id := range ids {
		a, err := t.Desk.Rental(ctx, t.who.Person, desk.RentalRequest{Rental: id})
		if err != nil {
			return nil, err
		}
		out = append(out, t.show(t.rental(&a))...)
	}
	return out, nil
}

// rental is one rental in a sentence and as its card.
func (t *turn) rental(a *desk.RentalAnswer) talk.Message {
	m := t.pen.Rental(a, t.Clock())
	m.Text = t.stands(&a.Rental)
	return m
}

// stands says where a rental stands, in one sentence.
func (t *turn) stands(r *desk.Rental) string {
	now := t.Clock()
	switch {
	case r.State == bridge.StateWaiting:
		return fill(t.words.StandsWaiting, "id", string(r.ID), "most", r.Hold.String(), "until", t.when(r.AskUntil))
	case r.State.Ended():
		return fill(t.words.StandsEnded, "id", string(r.ID), "state", t.words.States[r.State], "at", t.when(r.Since), "cost", r.Cost.String())
	}
	text := fill(t.words.Stands, "id", string(r.ID), "state", t.words.States[r.State], "ran", t.span(int64(now.Sub(r.Created)/time.Second)), "of", t.span(r.Life),
		"place", placed(r.Pool), "market", t.market(r.Pool.Market), "cost", r.Cost.String(), "most", r.Hold.String())
	if !r.ReleaseAt.IsZero() {
		text += t.words.Gap + fill(t.words.StandsUntil, "at", t.when(r.ReleaseAt))
	} else if !r.Expires.IsZero() {
		text += t.words.Gap + fill(t.words.StandsUntil, "at", t.when(r.Expires))
	}
	if r.IdleSecs > 0 {
		text += t.words.Gap + fill(t.words.StandsIdle, "for", t.span(r.IdleSecs))
	}
	if r.State == bridge.StateAdmitted {
		text += t.words.Gap + t.use(r)
	}
	return text
}

// use says how much the GPUs of a rental do, as far as its machines tell.
func (t *turn) use(r *desk.Rental) string {
	use, known := r.Use()
	if !known {
		return t.words.StandsUseNot
	}
	return fill(t.words.StandsUse, "n", strconv.Itoa((use+5)/10))
}

// list shows the asker's own rentals.
func (t *turn) list(ctx context.Context, r *words.Request) ([]talk.Effect, error) {
	rs, err := t.Desk.Rentals(ctx, t.who.Person, desk.RentalsRequest{User: t.who.Person.Name, All: r.All})
	if err != nil {
		return nil, err
	}
	return t.show(t.pen.Rentals(rs.Rentals, t.Clock())), nil
}

// extend asks for more time.
func (t *turn) extend(ctx context.Context, r *words.Request) ([]talk.Effect, error) {
	id, no, err := t.one(ctx, r, func(r *desk.Rental) bool { return r.State == bridge.StateAdmitted || r.State == bridge.StateJoining })
	if id == "" {
		return no, err
	}
	ws := r.Words
	if len(ws) > 0 && ws[0] == "by" {
		ws = ws[1:]
	}
	if len(ws) == 0 {
		a, err := t.Desk.Rental(ctx, t.who.Person, desk.RentalRequest{Rental: id})
		if err != nil {
			return nil, err
		}
		return []talk.Effect{{Surface: talk.Form, View: t.pen.ExtendForm(&a.Rental, ""), Message: card.Quote(fill(t.words.ExtendHow, "id", id))}}, nil
	}
	return t.longer(ctx, id, ws, r.Twice)
}

// longer extends one rental, and says the three numbers.
func (t *turn) longer(ctx context.Context, id string, ws []string, twice bool) ([]talk.Effect, error) {
	a, err := t.Desk.Extend(ctx, t.who.Person, desk.ExtendRequest{Rental: id, Words: ws, Zone: t.who.Zone.String(), Again: twice, Asked: t.in.At})
	if err != nil {
		return nil, err
	}
	by := t.span(int64(a.Until.Sub(a.Was) / time.Second))
	switch {
	case a.Question != nil && a.Repeated:
		return t.reply(fill(t.words.ExtendAsked, "id", id, "question", string(a.Question.ID), "until", t.when(a.Question.AskUntil))), nil
	case a.Repeated:
		return t.reply(fill(t.words.ExtendedBefore, "id", id, "until", t.when(a.Until), "try", "/rent extend "+id+" "+desk.Line(ws)+" --again")), nil
	case a.Question != nil:
		m := card.Quote(fill(t.words.ExtendWaits, "by", by, "id", id, "question", string(a.Question.ID), "expected", a.Expected.String(), "more", a.More.String(),
			"left", t.short(a.Budgets, a.More), "who", t.people(a.Approvers), "was", t.when(a.Was)))
		m.Blocks = append(m.Blocks, t.inChannel()...)
		return t.show(m), nil
	}
	return t.reply(fill(t.words.Extended, "by", by, "id", id, "expected", a.Expected.String(), "more", a.More.String(), "until", t.when(a.Until), "keeps", t.keeps(a.Budgets, a.More))), nil
}

// one is the rental that a request means: the one named, or the asker's only
// one of a kind.
func (t *turn) one(ctx context.Context, r *words.Request, meant func(*desk.Rental) bool) (string, []talk.Effect, error) {
	if len(r.Rentals) > 0 {
		return r.Rentals[0], nil, nil
	}
	rs, err := t.Desk.Rentals(ctx, t.who.Person, desk.RentalsRequest{User: t.who.Person.Name})
	if err != nil {
		return "", nil, err
	}
	var found []desk.Rental
	for i := range rs.Rentals {
		if meant(&rs.Rentals[i]) {
			found = append(found, rs.Rentals[i])
		}
	}
	switch len(found) {
	case 0:
		return "", t.reply(fill(t.words.NoneSuch, "verb", string(r.Verb))), nil
	case 1:
		return string(found[0].ID), nil, nil
	}
	m := t.pen.Rentals(found, t.Clock())
	m.Blocks = append(card.Quote(fill(t.words.WhichRental, "try", "/rent "+string(r.Verb)+" "+string(found[0].ID))).Blocks, m.Blocks...)
	return "", t.show(m), nil
}

// cancel takes back what waits for an answer.
func (t *turn) cancel(ctx context.Context, r *words.Request) ([]talk.Effect, error) {
	id, no, err := t.one(ctx, r, func(r *desk.Rental) bool { return r.State == bridge.StateWaiting })
	if id == "" {
		return no, err
	}
	return t.takeBack(ctx, id)
}

func (t *turn) takeBack(ctx context.Context, id string) ([]talk.Effect, error) {
	a, err := t.Desk.Cancel(ctx, t.who.Person, desk.CancelRequest{Rental: id})
	switch {
	case err != nil:
		return nil, err
	case !a.Changed:
		return t.reply(fill(t.words.CancelledBefore, "id", string(a.Rental.ID), "at", t.when(a.Rental.Since))), nil
	}
	return t.reply(fill(t.words.Cancelled, "id", string(a.Rental.ID))), nil
}
