package main

import (
	"fmt"

	"spillway.sh/spillway/bridge/desk"
)

type extendCmd struct {
	format
	ID    string   `arg:"" predictor:"rental" help:"The rental."`
	Words []string `arg:"" help:"How much longer, or until when: 2h, until 18:00, until fri 18:00."`
	Yes   bool     `short:"y" help:"Do not ask at the terminal first."`
	Again bool     `help:"Once more, though the same was asked for a moment ago."`
}

// Help gives examples.
func (extendCmd) Help() string {
	return `Examples:
  spillway extend r-0013 2h
  spillway extend r-0013 until fri 18:00

More time is a second hold. Above the budget an approver is asked, and the rental ends when it did until they say yes.

JSON keys: rental, was, until, expected, more, outcome, done, repeated, question, over, approvers[], budgets[].`
}

// Run extends a rental, after showing what it would cost.
func (c *extendCmd) Run(a *app) error {
	req := desk.ExtendRequest{Rental: c.ID, Words: c.Words, Zone: zoneHere(), Again: c.Again, DryRun: true}
	would, err := ask(a, desk.AskExtend, req)
	if err != nil {
		return err
	}
	if !would.Repeated {
		question := fmt.Sprintf("%s would live until %s: expected %s more, at most %s more. Extend it?", would.Rental.ID, desk.Clock(would.Until), would.Expected, would.More)
		if err := a.confirm(c.Yes, question); err != nil {
			return err
		}
	}
	req.DryRun, req.AtMost = false, would.More
	got, err := ask(a, desk.AskExtend, req)
	if err != nil {
		return err
	}
	return c.print(a, got, func(p *page) { sayExtend(p, &got) })
}

func sayExtend(p *page, got *desk.ExtendAnswer) {
	id := got.Rental.ID
	switch {
	case got.Question != nil && got.Repeated:
		p.line("%s asks for that already; open until %s.", got.Question.ID, desk.Clock(got.Question.AskUntil))
	case got.Repeated:
		p.line("You asked for that a moment ago: %s lives until %s. For more: --again", id, desk.Clock(got.Until))
	case got.Question != nil:
		p.line("%s needs a yes: at most %s more for %s.", got.Question.ID, got.More, id)
		p.line("Asked: %s. Open until %s. Until then %s still ends at %s.", nobodyIfEmpty(got.Approvers), desk.Clock(got.Question.AskUntil), id, desk.Clock(got.Was))
	default:
		p.line("%s lives until %s. Expected %s more, at most %s more.", id, desk.Clock(got.Until), got.Expected, got.More)
		for i := range got.Budgets {
			if left, err := got.Budgets[i].Left.Sub(got.More); err == nil {
				p.line("%s keeps %s of %s.", got.Budgets[i].Scope(), left.Floor(), got.Budgets[i].Limit)
			}
		}
	}
}

type cancelCmd struct {
	format
	ID string `arg:"" predictor:"rental" help:"The rental that waits for a yes."`
}

// Help gives examples.
func (cancelCmd) Help() string {
	return `Examples:
  spillway cancel r-0026

Takes back what waits for an approver. Machines are given back with spillway release.

JSON keys: rental, changed.`
}

// Run takes a question back.
func (c *cancelCmd) Run(a *app) error {
	got, err := ask(a, desk.AskCancel, desk.CancelRequest{Rental: c.ID})
	if err != nil {
		return err
	}
	return c.print(a, got, func(p *page) {
		if !got.Changed {
			p.line("%s was closed already. Nothing changed.", got.Rental.ID)
			return
		}
		p.line("%s is taken back. Nothing was rented or held.", got.Rental.ID)
	})
}
