package main

import (
	"crypto/rand"
	"fmt"
	"strings"

	"spillway.sh/spillway/bridge/desk"
)

type rentCmd struct {
	format
	wishFlags
	Yes    bool   `short:"y" help:"Do not ask at the terminal first."`
	DryRun bool   `help:"The same as spillway quote."`
	Again  bool   `help:"Really a second one, though the same was rented a moment ago."`
	Key    string `help:"Name of this request: sent twice, it rents once." placeholder:"NAME"`
}

// Help gives examples.
func (rentCmd) Help() string {
	return `Examples:
  spillway rent 8xh100 for 6h spot project nlp
  spillway rent 2 nodes 8xa100 90m max '$$200' because "deadline on Friday"
  spillway rent 8xh100 until 18:00
  spillway rent job 4711 --yes

Words may come in any order. Duration and money are never guessed. Within budget the machines are rented at once;
above it an approver is asked, and nothing is held meanwhile.

JSON keys: rental, offer, understood, duration_seconds, waiting, repeated, approvers[], budgets[].`
}

// Run rents, after showing what it would cost.
func (c *rentCmd) Run(a *app) error {
	if c.DryRun {
		q := quoteCmd{c.format, c.wishFlags}
		return q.Run(a)
	}
	if len(c.Words) == 1 && desk.IsQuote(c.Words[0]) {
		return c.quoted(a)
	}
	quote, err := ask(a, desk.AskQuote, desk.QuoteRequest{Wish: c.wish(), Lang: a.lang()})
	if err != nil {
		return err
	}
	req := desk.RentRequest{Wish: c.wish(), Key: c.Key, Again: c.Again, Lang: a.lang()}
	if len(quote.Offers) > 0 && quote.Offers[0].Outcome != desk.Refused {
		best := &quote.Offers[0]
		req.AtMost = best.AtMost
		question := fmt.Sprintf("%d x %s, paid by %s: expected %s, at most %s, and it %s. Rent it?",
			best.Machines, desk.Place(best.Pool), quote.Account, best.Expected, best.AtMost, outcome(best))
		if err := a.confirm(c.Yes, question); err != nil {
			return err
		}
	}
	if req.Key == "" && req.Again {
		req.Key = strings.ToLower(rand.Text())
	}
	got, err := ask(a, desk.AskRent, req)
	if err != nil {
		return err
	}
	return c.print(a, got, func(p *page) { sayRent(p, &got) })
}

// quoted rents what a quote of the last minutes offered first.
func (c *rentCmd) quoted(a *app) error {
	if err := a.confirm(c.Yes, "Rent what "+c.Words[0]+" offered first?"); err != nil {
		return err
	}
	got, err := ask(a, desk.AskRent, desk.RentRequest{Quote: c.Words[0], Key: c.Key, Again: c.Again, Lang: a.lang()})
	if err != nil {
		return err
	}
	return c.print(a, got, func(p *page) { sayRent(p, &got) })
}

func sayRent(p *page, got *desk.RentAnswer) {
	r := &got.Rental
	switch {
	case got.Repeated:
		p.line("You asked for that before: it is %s, %s. For a second one: --again", r.ID, r.State)
	case got.Waiting:
		p.line("%s needs a yes: %s, at most %s.", r.ID, what(r), r.Hold)
		if got.Offer != nil && got.Offer.Over.Micro > 0 {
			p.line("It is %s over budget.", got.Offer.Over)
		}
		p.line("Asked: %s. Open until %s. Nothing is held meanwhile.", nobodyIfEmpty(got.Approvers), desk.Clock(r.AskUntil))
	default:
		p.line("%s: %s for %s.", r.ID, what(r), r.Account)
		if got.Offer != nil {
			p.line("Expected %s, at most %s.", got.Offer.Expected, r.Hold)
		}
		for i := range got.Budgets {
			if left, err := got.Budgets[i].Left.Sub(r.Hold); err == nil {
				p.line("%s keeps %s of %s.", got.Budgets[i].Scope(), left.Floor(), got.Budgets[i].Limit)
			}
		}
	}
	p.line("Follow it: spillway news --follow --rental %s", r.ID)
}

func nobodyIfEmpty(names []string) string {
	if len(names) == 0 {
		return "nobody is set in the policy"
	}
	return strings.Join(names, ", ")
}
