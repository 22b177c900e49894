package card

import (
	"strconv"
	"time"

	"github.com/slack-go/slack"

	"spillway.sh/spillway/bot/talk"
	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/desk"
)

// Tab is what a person's home tab shows.
type Tab struct {
	Rentals   []desk.Rental   // of theirs that have not ended
	Questions []desk.Question // that wait; those they may not decide are left out
	Accounts  []desk.Balance  // they spend from
}

// Home draws a home tab: my rentals, what waits for me, and the budgets.
func (p Pen) Home(t *Tab, now time.Time) talk.Message {
	w := p.words()
	m := talk.Message{Text: w.HomeTitle, Blocks: []slack.Block{header(w.HomeTitle)}}
	m.Blocks = append(m.Blocks, p.actions("home", now.Unix(), p.button(Ask, "home", 0, w.HomeRent, slack.StylePrimary))...)
	m.Blocks = append(m.Blocks, p.homeQuestions(t)...)
	m.Blocks = append(m.Blocks, slack.NewDividerBlock(), header(w.HomeRentals))
	if len(t.Rentals) == 0 {
		m.Blocks = append(m.Blocks, section(w.HomeNone))
	}
	for i := range t.Rentals[:min(len(t.Rentals), mostLines)] {
		m.Blocks = append(m.Blocks, p.homeRental(&t.Rentals[i], now)...)
	}
	if n := len(t.Rentals) - mostLines; n > 0 {
		m.Blocks = append(m.Blocks, small(put(w.More, "n", strconv.Itoa(n))))
	}
	if len(t.Accounts) > 0 {
		m.Blocks = append(m.Blocks, slack.NewDividerBlock(), header(w.HomeBudgets))
	}
	for i := range t.Accounts[:min(len(t.Accounts), mostLines)] {
		m.Blocks = append(m.Blocks, section(p.budget(&t.Accounts[i])+"\n"+bar(&t.Accounts[i])))
	}
	m.Blocks = append(m.Blocks, small(put(w.HomeAt, "at", p.when(now))))
	return FitView(m)
}

func (p Pen) homeQuestions(t *Tab) []slack.Block {
	w := p.words()
	var out []slack.Block
	for i := range t.Questions {
		q := &t.Questions[i]
		if !q.Mine || len(out) >= mostLines {
			continue
		}
		r := &q.Rental
		text := put(w.HomeQuestion, "rental", string(r.ID), "who", p.who(r.Requester), "what", escape(p.what(r.Count, &r.Shape)),
			"for", p.span(seconds(r.Life)), "place", escape(p.place(r.Pool)), "project", escape(lastOf(r.Account)), "most", r.Hold.String(), "at", p.when(r.AskUntil))
		out = append(out, section(text))
		yes := confirm(p.button(Approve, string(r.ID), r.Revision, put(w.Approve, "most", r.Hold.String()), slack.StylePrimary), w,
			put(w.ApproveTitle, "rental", string(r.ID)), put(w.ApproveBody, "who", r.Requester, "most", r.Hold.String(), "project", lastOf(r.Account)), put(w.Approve, "most", r.Hold.String()))
		out = append(out, p.actions(string(r.ID), r.Revision, yes, p.button(Deny, string(r.ID), r.Revision, w.Deny, slack.StyleDanger))...)
	}
	if len(out) == 0 {
		return nil
	}
	return append([]slack.Block{slack.NewDividerBlock(), header(w.HomeQuestions)}, out...)
}

func (p Pen) homeRental(r *desk.Rental, now time.Time) []slack.Block {
	w := p.words()
	text := w.HomeLine
	if r.State == bridge.StateWaiting {
		text = w.HomeWaits
	}
	out := []slack.Block{section(put(text, "rental", string(r.ID), "what", escape(p.what(r.Count, &r.Shape)), "state", w.States[r.State],
		"where", escape(p.place(r.Pool)), "cost", amount(r.Cost), "most", amount(r.Hold), "ends", p.ends(r, now), "at", p.when(r.AskUntil)))}
	if r.State == bridge.StateWaiting {
		return append(out, p.actions(string(r.ID), r.Revision, p.cancel(r))...)
	}
	return append(out, p.rentalButtons(r)...)
}
