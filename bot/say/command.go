package say

import (
	"context"
	"strings"

	"spillway.sh/spillway/bot/talk"
	"spillway.sh/spillway/bot/words"
	"spillway.sh/spillway/bridge/desk"
)

// answers is who answers each verb.
var answers = map[words.Verb]func(*turn, context.Context, *words.Request) ([]talk.Effect, error){
	words.Rent: (*turn).rent, words.Quote: (*turn).quote, words.Again: (*turn).again, words.Status: (*turn).status, words.List: (*turn).list,
	words.Extend: (*turn).extend, words.Cancel: (*turn).cancel, words.Snooze: (*turn).snooze, words.Keep: (*turn).keep, words.Approve: (*turn).approve,
	words.Deny: (*turn).deny, words.Spend: (*turn).spend, words.Report: (*turn).report, words.Budget: (*turn).budget, words.Prices: (*turn).prices, words.Clouds: (*turn).clouds,
	words.WhoAmI: (*turn).whoami, words.Help: (*turn).help, words.Freeze: (*turn).freeze, words.Thaw: (*turn).freeze, words.Release: (*turn).release,
}

// command answers a line.
func (t *turn) command(ctx context.Context) ([]talk.Effect, error) {
	k, err := t.known(ctx)
	if err != nil {
		return t.refuse(err)
	}
	r, err := words.Parse(t.in.Command, t.in.Text, k)
	if err != nil {
		return t.refuse(err)
	}
	out, err := answers[r.Verb](t, ctx, &r)
	if err != nil {
		return t.refuse(err)
	}
	return out, nil
}

// read tells which words a phone had changed.
func (t *turn) read(r *words.Request) string {
	var b strings.Builder
	for _, w := range r.Read {
		b.WriteString(t.words.Gap + fill(t.words.Read, "typed", w.Typed, "as", w.As))
	}
	return b.String()
}

// whoami says who the asker is taken for.
func (t *turn) whoami(ctx context.Context, _ *words.Request) ([]talk.Effect, error) {
	a, err := t.Desk.WhoAmI(ctx, t.who.Person, desk.WhoAmIRequest{})
	if err != nil {
		return nil, err
	}
	roles := make([]string, 0, len(a.Person.Roles))
	for _, r := range a.Person.Roles {
		roles = append(roles, t.words.Roles[string(r)])
	}
	text := fill(t.words.WhoAmI, "name", a.Person.Name, "roles", strings.Join(roles, ", "), "slack", t.in.Team+"/"+t.who.Slack, "zone", t.who.Zone.String())
	text += t.words.Gap + fill(t.words.WhoSpends, "projects", orNone(t.words, accounts(a.Projects)))
	if len(a.Approves) > 0 {
		text += t.words.Gap + fill(t.words.WhoApproves, "projects", accounts(a.Approves))
	}
	return t.reply(text), nil
}

func orNone(w *texts, s string) string {
	if s == "" {
		return w.None
	}
	return s
}

// help is static text.
func (t *turn) help(_ context.Context, r *words.Request) ([]talk.Effect, error) {
	return t.show(t.pen.Help(strings.Join(r.Words, " "))), nil
}

// freeze stops new money, or lets it flow.
func (t *turn) freeze(ctx context.Context, r *words.Request) ([]talk.Effect, error) {
	a, err := t.Desk.Freeze(ctx, t.who.Person, desk.FreezeRequest{Frozen: r.Verb == words.Freeze, Text: r.Text})
	switch {
	case err != nil:
		return nil, err
	case a.Frozen && a.Changed:
		return t.reply(t.words.Frozen), nil
	case a.Frozen:
		return t.reply(t.words.FrozenBefore), nil
	case a.Changed:
		return t.reply(t.words.Thawed), nil
	}
	return t.reply(t.words.ThawedBefore), nil
}
