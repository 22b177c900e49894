package say

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"spillway.sh/spillway/bot/card"
	"spillway.sh/spillway/bot/talk"
	"spillway.sh/spillway/bot/words"
	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/desk"
)

// idleKey is the key of the card that tells of one time without a job, of all
// machines that were found so together: the next time has a card of its own,
// for nobody hears of an edit.
func idleKey(n *bridge.News) string {
	return "idle/" + string(n.Rental) + "/" + n.At.UTC().Format(time.RFC3339)
}

// idle tells the owner of a rental that it has no job, in their own messages,
// or in the channel where they have no Slack user. Where nobody is known to own
// it, the approvers of its budget are told.
func (c *Counter) idle(ctx context.Context, n *bridge.News) ([]talk.Effect, error) {
	r, err := c.rental(ctx, n.Rental)
	if err != nil || r == nil || !card.HasIdle(r, c.Clock()) {
		return nil, err // it found work, or went, before it was told
	}
	owner := ownerOf(n, r)
	told := []string{owner}
	if owner == "" {
		if told, err = c.whoPays(ctx, r); err != nil {
			return nil, err
		}
	}
	e := talk.Effect{Surface: talk.Card, Lane: talk.Alerts, Key: idleKey(n), Else: c.Channel}
	if len(told) == 0 {
		e.Channel, e.Message = c.Channel, c.channelPen().Idle(r, owner, c.Clock())
		return []talk.Effect{e}, nil
	}
	var out []talk.Effect
	for _, account := range told {
		e.Account, e.Message = account, c.penFor(c.langOf(account), nil).Idle(r, owner, c.Clock())
		out = append(out, e)
	}
	return out, nil
}

// ownerOf is who is told of an idle rental; empty: nobody owns it.
func ownerOf(n *bridge.News, r *desk.Rental) string {
	if n.Who == "" && r.Unowned {
		return ""
	}
	return cmp.Or(n.Who, r.Requester)
}

// whoPays are the people who approve for what a rental costs, of the nearest
// budget that names any.
func (c *Counter) whoPays(ctx context.Context, r *desk.Rental) ([]string, error) {
	var scopes []bridge.Scope
	for _, a := range slices.Backward(r.Account.Ancestors()) {
		scopes = append(scopes, bridge.Scope{Account: a})
	}
	who, err := c.approversOf(ctx, scopes...)
	return persons(who), err
}

// pressedIdle draws the card whose button was pressed, of whichever time without
// a job it is.
func (t *turn) pressedIdle(ctx context.Context, id string) []talk.Effect {
	if !strings.HasPrefix(t.in.Card, "idle/"+id+"/") {
		return nil
	}
	e, ok, err := t.idleCard(ctx, bridge.RentalID(id))
	if err != nil || !ok {
		return nil // the news draw it anyway
	}
	e.Key = t.in.Card
	return []talk.Effect{e}
}

// keepOn keeps an idle rental for an hour from the press. A second press within
// the minute asks for the same, and one on an old card never shortens what was
// wished since.
func (t *turn) keepOn(ctx context.Context, id string) ([]talk.Effect, error) {
	until := t.in.At.UTC().Truncate(time.Minute).Add(keepFor)
	a, err := t.Desk.Rental(ctx, t.who.Person, desk.RentalRequest{Rental: id})
	if err != nil {
		return nil, err
	}
	if k := a.Rental.Keep; k.After(until) && a.Rental.State == bridge.StateAdmitted {
		return t.reply(fill(t.words.KeptBefore, "id", id, "until", t.when(k))), nil
	}
	return t.kept(ctx, desk.KeepRequest{Rental: id, Until: until})
}

// keepFor is how long the button keeps a rental.
const keepFor = time.Hour

// keep keeps a rental for as long as is said.
func (t *turn) keep(ctx context.Context, r *words.Request) ([]talk.Effect, error) {
	id, no, err := t.one(ctx, r, func(r *desk.Rental) bool { return r.State == bridge.StateAdmitted })
	if id == "" {
		return no, err
	}
	return t.kept(ctx, desk.KeepRequest{Rental: id, Words: r.Words, Zone: t.who.Zone.String()})
}

func (t *turn) kept(ctx context.Context, q desk.KeepRequest) ([]talk.Effect, error) {
	a, err := t.Desk.Keep(ctx, t.who.Person, q)
	if err != nil {
		return nil, err
	}
	text := t.words.KeptUntil
	switch {
	case !a.Changed:
		text = t.words.KeptBefore
	case a.Ends:
		text = t.words.KeptToEnd
	}
	return t.reply(fill(text, "id", string(a.Rental.ID), "until", t.when(a.Until))), nil
}

// idleCard draws the card of a rental's last time without a job as things are
// now, where it is shown.
func (c *Counter) idleCard(ctx context.Context, id bridge.RentalID) (talk.Effect, bool, error) {
	a, err := c.answer(ctx, id)
	if err != nil || a == nil {
		return talk.Effect{}, false, err
	}
	for i := len(a.News) - 1; i >= 0; i-- {
		n := &a.News[i]
		if n.Kind != bridge.NewsIdle {
			continue
		}
		owner, l := ownerOf(n, &a.Rental), c.Lang
		if owner != "" {
			l = c.langOf(owner)
		}
		return talk.Effect{Surface: talk.Card, Lane: talk.Reports, Key: idleKey(n), Edit: true, Message: c.penFor(l, nil).Idle(&a.Rental, owner, c.Clock())}, true, nil
	}
	return talk.Effect{}, false, nil
}
