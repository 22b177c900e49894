package say

import (
	"context"
	"fmt"
	"slices"
	"time"

	"spillway.sh/spillway/bot/talk"
	"spillway.sh/spillway/bot/words"
	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/desk"
)

// How long a snooze is where no time is given, and how many a person may have.
const (
	snoozeFor   = time.Hour
	mostSnoozes = 20
)

// snooze is a wish to be reminded of a rental. It is kept in memory: what it
// reminds of is in the store, and reminds by itself too.
type snooze struct {
	user   string // Slack id
	lang   desk.Lang
	person desk.Person
	id     string
	at     time.Time
}

// snooze notes when somebody wants to hear of a rental again.
func (t *turn) snooze(ctx context.Context, r *words.Request) ([]talk.Effect, error) {
	id, no, err := t.one(ctx, r, func(*desk.Rental) bool { return true })
	if id == "" {
		return no, err
	}
	if _, err := t.Desk.Rental(ctx, t.who.Person, desk.RentalRequest{Rental: id}); err != nil {
		return nil, err
	}
	at := t.Clock().Add(snoozeFor)
	if len(r.Words) > 0 {
		w, err := desk.ReadWords(r.Words, &desk.Known{Now: t.Clock().UTC(), Zone: t.who.Zone})
		switch {
		case err != nil:
			e := desk.AsError(err)
			e.Try = "/rent snooze " + id + " 1h"
			return nil, e
		case !w.Until.IsZero():
			at = w.Until
		case w.Seconds > 0:
			at = t.Clock().Add(time.Duration(w.Seconds) * time.Second)
		}
	}
	if !t.remember(snooze{t.who.Slack, t.who.Lang, t.who.Person, id, at}) {
		return t.reply(fill(t.words.SnoozeFull, "n", fmt.Sprint(mostSnoozes))), nil
	}
	return t.reply(fill(t.words.Snoozed, "id", id, "at", t.when(at))), nil
}

// remember keeps a snooze, in place of one of the same rental; false when the
// person has too many.
func (c *Counter) remember(s snooze) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.snoozes = slices.DeleteFunc(c.snoozes, func(o snooze) bool { return o.user == s.user && o.id == s.id })
	theirs := 0
	for _, o := range c.snoozes {
		if o.user == s.user {
			theirs++
		}
	}
	if theirs >= mostSnoozes {
		return false
	}
	c.snoozes = append(c.snoozes, s)
	return true
}

// due takes the snoozes whose time has come.
func (c *Counter) due(now time.Time) []snooze {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []snooze
	c.snoozes = slices.DeleteFunc(c.snoozes, func(s snooze) bool {
		if s.at.After(now) {
			return false
		}
		out = append(out, s)
		return true
	})
	return out
}

// Remind says what is due by now: snoozes that are over, and the cards of questions whose time is over, which must not look live.
func (c *Counter) Remind(ctx context.Context, now time.Time) ([]talk.Effect, error) {
	var out []talk.Effect
	for _, s := range c.due(now) {
		t := c.turn(talk.Asker{Person: s.person, Slack: s.user, Lang: s.lang}, talk.Interaction{})
		a, err := c.Desk.Rental(ctx, s.person, desk.RentalRequest{Rental: s.id})
		if err != nil || a.Rental.State.Ended() {
			continue // nothing to remind of
		}
		out = append(out, talk.Effect{Surface: talk.Direct, Lane: talk.Alerts, User: s.user, Once: "snooze/" + s.user + "/" + s.id + "/" + s.at.UTC().Format(time.RFC3339), Message: t.rental(&a)})
	}
	rs, err := c.Desk.Rentals(ctx, self, desk.RentalsRequest{})
	if err != nil {
		return out, nil //nolint:nilerr // The snoozes are due all the same; the next look comes soon.
	}
	for i := range rs.Rentals {
		e, ok := c.overdue(ctx, &rs.Rentals[i], now)
		if ok {
			out = append(out, e)
		}
	}
	return out, nil
}

// overdue is what one rental is due for.
func (c *Counter) overdue(ctx context.Context, r *desk.Rental, now time.Time) (talk.Effect, bool) {
	if r.State != bridge.StateWaiting || r.AskUntil.IsZero() || now.Before(r.AskUntil) {
		return talk.Effect{}, false
	}
	e, ok := c.question(ctx, string(r.ID))
	e.Lane, e.Once = talk.Expiries, fmt.Sprintf("lapsed/%s/%d", r.ID, r.Revision)
	return e, ok
}
