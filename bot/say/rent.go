package say

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/slack-go/slack"

	"spillway.sh/spillway/bot/card"
	"spillway.sh/spillway/bot/talk"
	"spillway.sh/spillway/bot/words"
	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/desk"
)

// quoteGood is how long the desk keeps a quote, for a text without its time.
const quoteGood = 10 * time.Minute

// rent asks for machines: it opens the form for what is missing, asks once
// more before much money is held, and then asks the desk.
func (t *turn) rent(ctx context.Context, r *words.Request) ([]talk.Effect, error) {
	req := desk.RentRequest{Wish: r.Wish, Quote: r.Quote, Offer: r.Offer, Again: r.Twice, Delivery: t.in.Key, Lang: t.who.Lang}
	if r.Quote != "" {
		return t.ask(ctx, &req, r)
	}
	if form, missing := t.missing(r); missing {
		return form, nil
	}
	return t.wish(ctx, &req, r)
}

// wish asks for a wish that lacks nothing.
func (t *turn) wish(ctx context.Context, req *desk.RentRequest, r *words.Request) ([]talk.Effect, error) {
	q, err := t.Desk.Quote(ctx, t.who.Person, desk.QuoteRequest{Wish: req.Wish, Lang: t.who.Lang})
	if err != nil {
		return nil, err
	}
	if len(q.Offers) > 0 && q.Offers[0].Outcome == desk.AtOnce {
		best := &q.Offers[0]
		if req.AtMost = best.AtMost; !r.Yes && t.much(best, q.Budgets) {
			return t.confirm(&q, r), nil
		}
	}
	return t.ask(ctx, req, r)
}

// much reports whether a person is asked once more before money is held.
func (t *turn) much(o *desk.Quoted, bs []desk.Balance) bool {
	if c, err := o.AtMost.Cmp(t.Confirm); err != nil || c > 0 {
		return true // another currency is not compared with this limit
	}
	return slices.ContainsFunc(bs, func(b desk.Balance) bool {
		return b.Left.Currency != o.AtMost.Currency || o.AtMost.Micro > b.Left.Micro/100*t.ConfirmPart
	})
}

// confirm says the three numbers and has a button that rents just this.
func (t *turn) confirm(q *desk.QuoteAnswer, r *words.Request) []talk.Effect {
	o := &q.Offers[0]
	until := q.Good
	text := fill(t.words.Confirm, "what", t.what(o.Machines, &o.Shape, o.Pool.Type), "market", t.market(o.Pool.Market), "for", t.span(q.Duration), "place", placed(o.Pool),
		"project", project(q.Account), "expected", o.Expected.String(), "most", o.AtMost.String(), "keeps", t.keeps(q.Budgets, o.AtMost), "until", t.when(until)) + t.read(r)
	m := card.Quote(text)
	if value := card.Seal(t.Key, q.ID, 0, card.Rent); value != "" {
		b := slack.NewButtonBlockElement(string(card.Rent), value, slack.NewTextBlockObject(slack.PlainTextType, fill(t.words.ConfirmButton, "most", o.AtMost.String()), false, false))
		b.Style = slack.StylePrimary
		m.Blocks = append(m.Blocks, slack.NewActionBlock("confirm:"+q.ID, b))
	}
	return t.show(m)
}

// ask asks the desk, and says what became of it.
func (t *turn) ask(ctx context.Context, req *desk.RentRequest, r *words.Request) ([]talk.Effect, error) {
	a, err := t.Desk.Rent(ctx, t.who.Person, *req)
	if err != nil {
		return nil, err
	}
	text := ""
	switch {
	case a.Repeated:
		text = fill(t.words.Repeated, "id", string(a.Rental.ID), "state", t.words.States[a.Rental.State], "try", "/rent again "+string(a.Rental.ID))
	case a.Waiting:
		text = t.waits(&a)
	default:
		text = t.rented(&a)
	}
	m := card.Quote(text + t.read(r))
	if a.Waiting {
		m.Blocks = append(m.Blocks, t.inChannel()...)
	}
	return t.show(m), nil
}

// rented says the three numbers of a rental that was made.
func (t *turn) rented(a *desk.RentAnswer) string {
	r := &a.Rental
	boot, idle := "", ""
	if a.Offer != nil && a.Offer.Boot > 0 {
		boot = fill(t.words.Boot, "for", t.span(a.Offer.Boot))
	}
	if r.IdleMost > 0 {
		idle = t.words.Gap + fill(t.words.IdleIs, "for", t.span(r.IdleMost))
	}
	return fill(t.words.Rented, "id", string(r.ID), "what", t.what(r.Count, &r.Shape, r.Pool.Type), "market", t.market(r.Pool.Market), "for", t.span(a.Duration), "life", t.span(r.Life),
		"place", placed(r.Pool), "project", project(r.Account), "expected", r.Expected.String(), "most", r.Hold.String(),
		"keeps", t.keeps(a.Budgets, r.Hold), "boot", boot, "idle", idle)
}

// waits says whom a rental waits for.
func (t *turn) waits(a *desk.RentAnswer) string {
	r := &a.Rental
	return fill(t.words.Waits, "id", string(r.ID), "expected", r.Expected.String(), "market", t.market(r.Pool.Market), "most", r.Hold.String(),
		"left", t.short(a.Budgets, r.Hold), "who", t.people(a.Approvers), "until", t.when(r.AskUntil), "for", t.span(int64(r.AskUntil.Sub(t.Clock())/time.Second)))
}

// inChannel says where the question is. It is mrkdwn, and nobody else's text.
func (t *turn) inChannel() []slack.Block {
	if t.ChannelName == "" {
		return nil
	}
	return card.Say(fill(t.words.InChannel, "channel", t.ChannelName)).Blocks
}

// missing opens the form, filled with what was understood, when what or how
// long or who pays was not said. Its text stands where no form can open.
func (t *turn) missing(r *words.Request) ([]talk.Effect, bool) {
	size, length := r.Missing()
	mine := t.names.Mine
	nobody := r.Wish.Project == "" && r.Wish.Job == "" && len(mine) != 1
	understood := r.Wish.String()
	if size && length && understood == "" {
		return t.form(&r.Wish, "", t.words.TellMe), true
	}
	w := r.Wish
	if w.Project == "" && len(mine) == 1 {
		w.Project = mine[0]
	}
	switch {
	case size:
		return t.form(&w, t.words.WhatMachines, fill(t.words.Have, "words", understood, "question", t.words.WhatMachines, "try", "/rent 8xh100 "+understood)), true
	case length:
		return t.form(&w, t.words.HowLong, fill(t.words.Have, "words", t.have(&w), "question", t.words.HowLong, "try", "/rent "+understood+" for 2h")), true
	case nobody && len(mine) > 1:
		which := fill(t.words.WhichProject, "projects", strings.Join(mine, ", "))
		return t.form(&w, which, fill(t.words.Have, "words", understood, "question", which, "try", "/rent "+understood+" project "+mine[0])), true
	}
	return nil, false
}

// have is what a wish holds so far, for people.
func (t *turn) have(w *desk.Wish) string {
	if w.Project == "" || w.GPUs == 0 || w.Machines > 0 {
		return w.String()
	}
	gpu := w.GPUType
	if gpu == "" {
		gpu = "GPU"
	}
	return fill(t.words.SizeFor, "what", fmt.Sprintf("%d × %s", w.GPUs, gpu), "project", w.Project)
}

// form opens the form to rent.
func (t *turn) form(w *desk.Wish, wrong, instead string) []talk.Effect {
	return []talk.Effect{{Surface: talk.Form, Lane: talk.Decisions, View: t.pen.RentForm(w, wrong, t.in.Channel), Message: card.Quote(instead)}}
}

// quote says what a wish would cost.
func (t *turn) quote(ctx context.Context, r *words.Request) ([]talk.Effect, error) {
	if form, missing := t.missing(r); missing {
		return form, nil
	}
	q, err := t.Desk.Quote(ctx, t.who.Person, desk.QuoteRequest{Wish: r.Wish, Lang: t.who.Lang})
	if err != nil {
		return nil, err
	}
	good := quoteGood
	if !q.Good.IsZero() {
		good = q.Good.Sub(q.At)
	}
	m := t.pen.Quotes(q.ID, &q, good)
	if q.ID != "" {
		m.Blocks = append(m.Blocks, card.Quote(fill(t.words.RentIt, "try", "/rent "+q.ID)+t.read(r)).Blocks...)
	}
	return t.show(m), nil
}

// again asks for what an earlier rental was asked for.
func (t *turn) again(ctx context.Context, r *words.Request) ([]talk.Effect, error) {
	req := desk.RentRequest{Again: true, Delivery: t.in.Key, Lang: t.who.Lang}
	if len(r.Rentals) > 0 {
		req.Like = r.Rentals[0]
	}
	return t.ask(ctx, &req, r)
}

// what says what machines are: "16 × h100 (2 machines)".
func (t *turn) what(n int, s *bridge.Shape, kind string) string {
	switch {
	case s.GPUs == 0:
		return fmt.Sprintf("%d × %s", n, kind)
	case n == 1:
		return fmt.Sprintf("%d × %s", s.GPUs, gpuOf(s))
	}
	return fill(t.words.OnMachines, "what", fmt.Sprintf("%d × %s", n*s.GPUs, gpuOf(s)), "n", strconv.Itoa(n))
}

func gpuOf(s *bridge.Shape) string {
	if s.GPUType == "" {
		return "GPU"
	}
	return s.GPUType
}

func (t *turn) market(m bridge.Market) string {
	if m == bridge.Spot {
		return t.words.Spot
	}
	return t.words.OnDemand
}

// placed says where a pool is, as narrowly as it knows.
func placed(p bridge.Pool) string {
	for _, s := range []string{p.Zone, p.Region} {
		if s != "" {
			return p.Cloud + " " + s
		}
	}
	return p.Cloud
}

func project(a bridge.Account) string {
	p := string(a.Project())
	return p[strings.LastIndex(p, "/")+1:]
}

func accounts(as []bridge.Account) string {
	out := make([]string, 0, len(as))
	for _, a := range as {
		out = append(out, string(a))
	}
	return strings.Join(out, ", ")
}

// span says a duration.
func (t *turn) span(seconds int64) string {
	s := desk.Span(time.Duration(seconds) * time.Second)
	if t.who.Lang == desk.Chinese {
		return strings.NewReplacer(" min", " 分钟", " h", " 小时", " d", " 天", " s", " 秒").Replace(s)
	}
	return s
}

// keeps says what the narrowest budget has left after a hold.
func (t *turn) keeps(bs []desk.Balance, hold bridge.Money) string {
	if len(bs) == 0 {
		return ""
	}
	b := &bs[len(bs)-1]
	left, err := b.Left.Sub(hold)
	if err != nil {
		return ""
	}
	return fill(t.words.Keeps, "project", t.budgetName(b), "left", left.Floor(), "limit", b.Limit.Floor(), "period", b.Period)
}

// short says what the tightest budget lacks for a hold.
func (t *turn) short(bs []desk.Balance, hold bridge.Money) string {
	text, most := "", int64(-1)
	for i := range bs {
		b := &bs[i]
		over, err := hold.Sub(b.Left)
		if err != nil || over.Micro <= 0 || over.Micro <= most {
			continue
		}
		most = over.Micro
		facts := []string{"project", t.budgetName(b), "left", b.Left.Floor(), "over", over.String()}
		if text = fill(t.words.Short, facts...); b.Left.Micro < 0 {
			gone := b.Left
			gone.Micro = -gone.Micro
			text = fill(t.words.ShortOver, append(facts, "gone", gone.String())...)
		}
	}
	if text == "" {
		return t.keeps(bs, hold)
	}
	return text
}

func (t *turn) people(accounts []string) string {
	if len(accounts) == 0 {
		return t.words.Nobody
	}
	return strings.Join(accounts, ", ")
}
