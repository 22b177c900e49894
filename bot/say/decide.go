package say

import (
	"context"
	"strings"

	"spillway.sh/spillway/bot/talk"
	"spillway.sh/spillway/bot/words"
	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/desk"
)

// approve says yes to what is named, as it stands now; named nothing, it shows
// what waits.
func (t *turn) approve(ctx context.Context, r *words.Request) ([]talk.Effect, error) {
	if len(r.Rentals) == 0 {
		return t.waiting(ctx)
	}
	return t.decideAll(ctx, r.Rentals, true, r.Text)
}

// deny says no; the form asks for a reason that is missing.
func (t *turn) deny(ctx context.Context, r *words.Request) ([]talk.Effect, error) {
	if len(r.Rentals) == 0 {
		return t.waiting(ctx)
	}
	if r.Text == "" && len(r.Rentals) == 1 {
		return t.denyForm(ctx, r.Rentals[0])
	}
	return t.decideAll(ctx, r.Rentals, false, r.Text)
}

func (t *turn) decideAll(ctx context.Context, ids []string, yes bool, text string) ([]talk.Effect, error) {
	var lines []string
	for _, id := range ids {
		q, err := t.Desk.Question(ctx, t.who.Person, desk.QuestionRequest{Rental: id, Lang: t.who.Lang})
		line := ""
		if err == nil {
			line, err = t.decide(ctx, desk.DecideRequest{Rental: id, Version: q.Questions[0].Rental.Version, Revision: q.Questions[0].Rental.Revision, Yes: yes, Text: text})
		}
		if err != nil {
			return nil, err
		}
		lines = append(lines, line)
	}
	return t.reply(strings.Join(lines, "\n")), nil
}

// decide gives one answer to the desk. What is said of it is made of what came
// of it, never of what was pressed.
func (t *turn) decide(ctx context.Context, q desk.DecideRequest) (string, error) {
	a, err := t.Desk.Decide(ctx, t.who.Person, q)
	if err != nil {
		e := desk.AsError(err)
		if e.Kind == desk.Internal {
			return "", err
		}
		return t.no(e), nil
	}
	text := sentence(desk.InZone(t.who.Lang.Result(&a.Result), t.who.Zone), t.words.Stop)
	if (a.Result.Kind == desk.ResultApproved || a.Result.Kind == desk.ResultExtended) && len(a.Budgets) > 0 {
		text += t.words.Gap + t.leftNow(&a.Budgets[len(a.Budgets)-1]) + t.words.Stop
	}
	return text, nil
}

// budgetName is a budget's project, with its cloud or class where it is of one alone.
func (t *turn) budgetName(b *desk.Balance) string {
	return t.pen.Lang.Scope(bridge.Scope{Account: bridge.Account(lastLevel(string(b.Account))), Cloud: b.Cloud, GPU: b.GPU})
}

// leftNow says what a budget has left, or by how much it was approved to exceed.
func (t *turn) leftNow(b *desk.Balance) string {
	if b.Left.Micro >= 0 {
		return fill(t.words.Keeps, "project", t.budgetName(b), "left", b.Left.Floor(), "limit", b.Limit.Floor(), "period", b.Period)
	}
	over := b.Left
	over.Micro = -over.Micro
	return fill(t.words.Over, "project", t.budgetName(b), "over", over.String(), "limit", b.Limit.Floor(), "period", b.Period)
}

// waiting shows the questions the asker may decide.
func (t *turn) waiting(ctx context.Context) ([]talk.Effect, error) {
	a, err := t.Desk.Question(ctx, t.who.Person, desk.QuestionRequest{Lang: t.who.Lang})
	if err != nil {
		return nil, err
	}
	var out []talk.Effect
	for i := range a.Questions {
		if a.Questions[i].Mine {
			out = append(out, t.show(t.pen.Approval(&a.Questions[i], t.Clock()))...)
		}
	}
	if len(out) == 0 {
		return t.reply(t.words.NoQuestions), nil
	}
	return out, nil
}

func (t *turn) denyForm(ctx context.Context, id string) ([]talk.Effect, error) {
	a, err := t.Desk.Question(ctx, t.who.Person, desk.QuestionRequest{Rental: id, Lang: t.who.Lang})
	if err != nil {
		return nil, err
	}
	r := &a.Questions[0].Rental
	if r.State != bridge.StateWaiting { // what came of it is said at once, not after a reason was typed
		text, err := t.decide(ctx, desk.DecideRequest{Rental: id, Version: r.Version, Revision: r.Revision})
		if err != nil {
			return nil, err
		}
		return t.reply(text), nil
	}
	return []talk.Effect{{Surface: talk.Form, Lane: talk.Decisions, View: t.pen.DenyForm(r), Message: t.reply(fill(t.words.DenyHow, "id", string(r.ID)))[0].Message}}, nil
}
