package say

import (
	"context"
	"strings"

	"spillway.sh/spillway/bot/card"
	"spillway.sh/spillway/bot/talk"
	"spillway.sh/spillway/bot/words"
	"spillway.sh/spillway/bridge/desk"
)

// pressed answers a button. Its value says only what was meant: rights, state
// and money are asked anew.
func (t *turn) pressed(ctx context.Context) ([]talk.Effect, error) {
	verb := card.Verb(t.in.Action)
	v, err := card.OpenAs(t.Key, t.in.Value, verb)
	if err != nil {
		return t.reply(t.words.NotOurs), nil //nolint:nilerr // Somebody else's value is answered, not failed at.
	}
	out, err := t.press(ctx, v)
	if err != nil {
		out, err = t.refuse(err)
	}
	return append(out, t.redraw(ctx, v)...), err
}

func (t *turn) press(ctx context.Context, v card.Value) ([]talk.Effect, error) {
	switch v.Verb {
	case card.Approve:
		text, err := t.decide(ctx, desk.DecideRequest{Rental: v.ID, Revision: v.Revision, Yes: true})
		if err != nil {
			return nil, err
		}
		return t.reply(text), nil
	case card.Deny:
		return t.denyForm(ctx, v.ID)
	case card.Details, card.Show:
		return t.status(ctx, &words.Request{Verb: words.Status, Rentals: []string{v.ID}})
	case card.Cancel:
		return t.takeBack(ctx, v.ID)
	case card.Release, card.Drain:
		return t.back(ctx, desk.ReleaseRequest{Rental: v.ID, Now: v.Verb == card.Release})
	case card.Keep:
		return t.reply(fill(t.words.Kept, "id", v.ID)), nil
	case card.KeepOn:
		return t.keepOn(ctx, v.ID)
	case card.Budget:
		return t.budget(ctx, &words.Request{Words: []string{v.ID}})
	case card.Extend:
		a, err := t.Desk.Rental(ctx, t.who.Person, desk.RentalRequest{Rental: v.ID})
		if err != nil {
			return nil, err
		}
		return []talk.Effect{{Surface: talk.Form, Lane: talk.Decisions, View: t.pen.ExtendForm(&a.Rental, ""), Message: card.Quote(fill(t.words.ExtendHow, "id", v.ID))}}, nil
	case card.Rent:
		req := desk.RentRequest{Quote: v.ID, Offer: int(v.Revision) + 1, Delivery: t.in.Key, Lang: t.who.Lang}
		return t.ask(ctx, &req, &words.Request{})
	case card.Instead:
		return t.less(ctx, v)
	case card.Ask:
		return t.form(&desk.Wish{}, "", t.words.TellMe), nil
	}
	return t.reply(t.words.NotOurs), nil
}

// less asks for a smaller size of what was denied, as a request of its own. One
// button rents once, however often it is pressed.
func (t *turn) less(ctx context.Context, v card.Value) ([]talk.Effect, error) {
	id, size, most, ok := v.Less()
	if !ok {
		return t.reply(t.words.NotOurs), nil
	}
	req := desk.RentRequest{Like: id, Size: size, AtMost: most, Delivery: "instead of " + v.ID, Lang: t.who.Lang}
	return t.ask(ctx, &req, &words.Request{})
}

// redraw draws the card whose button was pressed as things are now: a click
// that came too late still ends what looks live.
func (t *turn) redraw(ctx context.Context, v card.Value) []talk.Effect {
	switch v.Verb {
	case card.Approve, card.Deny, card.Cancel:
		if e, ok := t.question(ctx, v.ID); ok {
			return []talk.Effect{e}
		}
	case card.Release, card.KeepOn:
		return t.pressedIdle(ctx, v.ID)
	case card.Details, card.Show, card.Drain, card.Keep, card.Extend, card.Rent, card.Ask, card.Instead, card.Budget:
	}
	return nil
}

// sent answers a form.
func (t *turn) sent(ctx context.Context) ([]talk.Effect, error) {
	var out []talk.Effect
	var err error
	switch t.in.Callback {
	case card.FormRent:
		out, err = t.sentRent(ctx)
	case card.FormDeny:
		out, err = t.sentDeny(ctx)
	case card.FormExtend:
		out, err = t.sentExtend(ctx)
	}
	if err != nil {
		return t.refuse(err)
	}
	return out, nil
}

// sentRent makes a line of the form, so that it is read as if it was typed.
func (t *turn) sentRent(ctx context.Context) ([]talk.Effect, error) {
	k, err := t.known(ctx)
	if err != nil {
		return nil, err
	}
	r, err := words.Parse(words.RentCommand, typedIn(t.in.State), k)
	if err != nil {
		return []talk.Effect{{Surface: talk.FormErrors, Errors: map[string]string{field(desk.AsError(err), t.in.State): t.who.Lang.Wrong(desk.AsError(err))}}}, nil
	}
	size, length := r.Missing()
	switch {
	case size:
		return wrongField(card.FieldCount, t.words.WhatMachines), nil
	case length:
		return wrongField(card.FieldFor, t.words.HowLong), nil
	}
	if mine := t.names.Mine; r.Wish.Project == "" && r.Wish.Job == "" && len(mine) > 1 {
		return wrongField(card.FieldProject, fill(t.words.WhichProject, "projects", strings.Join(mine, ", "))), nil
	}
	req := desk.RentRequest{Wish: r.Wish, Delivery: t.in.Key, Lang: t.who.Lang}
	out, err := t.wish(ctx, &req, &r)
	for i := range out {
		if out[i].Surface == talk.Reply {
			out[i].Channel = t.in.Private // where the form was asked for
		}
	}
	return out, err
}

func (t *turn) sentDeny(ctx context.Context) ([]talk.Effect, error) {
	v, err := card.OpenAs(t.Key, t.in.Private, card.Deny)
	if err != nil {
		return t.reply(t.words.NotOurs), nil //nolint:nilerr // Somebody else's value is answered, not failed at.
	}
	text, wrong := t.pen.DenyReason(t.in.State)
	if wrong != "" {
		return wrongField(card.FieldReason, wrong), nil
	}
	said, err := t.decide(ctx, desk.DecideRequest{Rental: v.ID, Revision: v.Revision, Text: text})
	if err != nil {
		return nil, err
	}
	return append(t.reply(said), t.redraw(ctx, v)...), nil
}

func (t *turn) sentExtend(ctx context.Context) ([]talk.Effect, error) {
	v, err := card.OpenAs(t.Key, t.in.Private, card.Extend)
	if err != nil {
		return t.reply(t.words.NotOurs), nil //nolint:nilerr // Somebody else's value is answered, not failed at.
	}
	text := desk.Tidy(t.in.State[card.FieldFor])
	if timeOfDay(text) {
		text = "until " + text
	}
	out, err := t.longer(ctx, v.ID, []string{text}, false)
	if err != nil && desk.AsError(err).Kind == desk.BadRequest {
		return wrongField(card.FieldFor, t.who.Lang.Wrong(desk.AsError(err))), nil
	}
	return out, err
}

func wrongField(field, text string) []talk.Effect {
	return []talk.Effect{{Surface: talk.FormErrors, Errors: map[string]string{field: text}}}
}
