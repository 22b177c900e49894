package main

import (
	"fmt"

	"spillway.sh/spillway/bridge/desk"
)

type approveCmd struct {
	format
	ID      string `arg:"" optional:"" predictor:"rental" help:"The rental that waits; without it, all that wait are listed."`
	Yes     bool   `short:"y" help:"Do not ask at the terminal first."`
	Expect  int64  `help:"Only if the question is still of this version." placeholder:"VERSION"`
	Because string `help:"A word for the record." placeholder:"TEXT"`
}

// Help gives examples.
func (approveCmd) Help() string {
	return `Examples:
  spillway approve              what waits for a yes
  spillway approve r-0013       look at it, and say yes
  spillway deny r-0013 --because "wait for the queue"

Who asked never decides. A question that changed since you saw it is asked again.
Above the policy's second limit two persons have to say yes.

JSON keys: rental, repeated, result, budgets[]; without an id: questions[] (rental, why, budgets[], exceeds[], approvers[], mine, not, needs, urgent, ended,
local).`
}

// Run lists questions, or says yes to one.
func (c *approveCmd) Run(a *app) error {
	got, err := ask(a, desk.AskQuestion, desk.QuestionRequest{Rental: c.ID, Lang: a.lang()})
	if err != nil {
		return err
	}
	if c.ID == "" {
		return c.print(a, got, func(p *page) { sayQuestions(p, got.Questions) })
	}
	q := &got.Questions[0]
	if q.Mine {
		if c.Output == "text" {
			if err := c.print(a, nil, func(p *page) { sayQuestion(p, q) }); err != nil {
				return err
			}
		}
		// Without a terminal the command line is the yes.
		if err := a.confirm(c.Yes || !a.atTerminal(), fmt.Sprintf("Approve %s, at most %s?", q.Rental.ID, q.Rental.Hold)); err != nil {
			return err
		}
	}
	req := answerTo(&q.Rental, c.Expect)
	req.Yes, req.Text = true, c.Because
	done, err := ask(a, desk.AskDecide, req)
	if err != nil {
		return err
	}
	return c.print(a, done, func(p *page) {
		if done.Repeated {
			p.line("You had approved %s before. Nothing changed.", done.Rental.ID)
			return
		}
		p.line("%s", a.lang().Result(&done.Result))
		if done.Result.Kind == desk.ResultAgreed {
			return
		}
		for i := range done.Budgets {
			p.line("%s", leftOf(&done.Budgets[i]))
		}
		p.line("Follow it: spillway news --follow --rental %s", done.Rental.ID)
	})
}

// answerTo is an answer to the question as it was read, or only to that of a
// version.
func answerTo(r *desk.Rental, expect int64) desk.DecideRequest {
	q := desk.DecideRequest{Rental: string(r.ID), Version: expect, Revision: r.Revision}
	if expect == 0 && r.Revision == 0 { // no question, or one of before there were revisions
		q.Version = r.Version
	}
	return q
}

// leftOf says what a budget has left, or by how much it was approved to exceed.
func leftOf(b *desk.Balance) string {
	if b.Left.Micro >= 0 {
		return fmt.Sprintf("%s has %s left.", b.Scope(), b.Left.Floor())
	}
	over := b.Left
	over.Micro = -over.Micro
	return fmt.Sprintf("%s is %s over its limit, as approved.", b.Scope(), over)
}

func sayQuestions(p *page, qs []desk.Question) {
	if len(qs) == 0 {
		p.line("Nothing waits for a decision.")
		return
	}
	var rows []string
	for i := range qs {
		r := &qs[i].Rental
		decide := "you"
		if !qs[i].Mine {
			decide = nobodyIfEmpty(qs[i].Approvers)
		}
		rows = append(rows, row(r.ID, r.Requester, what(r), forWhom(r), r.Account, r.Hold, desk.Clock(r.AskUntil), decide))
	}
	p.table("RENTAL\tASKED BY\tWHAT\tFOR\tPAID BY\tAT MOST\tOPEN UNTIL\tDECIDES", rows)
	p.line("")
	p.line("Decide: spillway approve %s, or spillway deny %s", qs[0].Rental.ID, qs[0].Rental.ID)
}

func sayQuestion(p *page, q *desk.Question) {
	r := &q.Rental
	p.line("%s asks for %s.", r.Requester, what(r))
	rows := []string{row("For", forWhom(r)), row("Each has", r.Shape.String()), row("Why it is asked", q.Why), row("At most", r.Hold.String())}
	if r.Note != "" {
		rows = append(rows, row("They say", r.Note))
	}
	if q.Needs > 1 {
		rows = append(rows, row("Needs", fmt.Sprintf("%d persons, %d said yes", q.Needs, len(r.Yeses))))
	}
	for i := range q.Exceeds {
		b := &q.Exceeds[i]
		if over, err := r.Hold.Sub(b.Left); err == nil {
			rows = append(rows, row("Over budget", fmt.Sprintf("%s by %s (%s left of %s)", b.Scope(), over, b.Left.Floor(), b.Limit.Floor())))
		}
	}
	if l := q.Local; l != nil {
		rows = append(rows, row("Without it", fmt.Sprintf("job %s starts locally %s, by the scheduler's own estimate", l.Job, desk.Clock(l.Start))))
	}
	p.table("", rows)
}

type denyCmd struct {
	format
	ID      string `arg:"" predictor:"rental" help:"The rental that waits."`
	Because string `help:"Why; the requester reads it." placeholder:"TEXT"`
	Expect  int64  `help:"Only if the question is still of this version." placeholder:"VERSION"`
}

// Help gives examples.
func (denyCmd) Help() string {
	return `Examples:
  spillway deny r-0013 --because "wait for the queue, it starts at 03:10"

JSON keys: rental, repeated, result, budgets[].`
}

// Run says no.
func (c *denyCmd) Run(a *app) error {
	got, err := ask(a, desk.AskQuestion, desk.QuestionRequest{Rental: c.ID, Lang: a.lang()})
	if err != nil {
		return err
	}
	req := answerTo(&got.Questions[0].Rental, c.Expect)
	req.Text = c.Because
	done, err := ask(a, desk.AskDecide, req)
	if err != nil {
		return err
	}
	return c.print(a, done, func(p *page) {
		if done.Repeated {
			p.line("You had denied %s before. Nothing changed.", done.Rental.ID)
			return
		}
		p.line("%s is denied. Nothing was held; its jobs wait for local machines.", done.Rental.ID)
	})
}
