package card

import (
	"strconv"
	"strings"
	"time"

	"github.com/slack-go/slack"

	"spillway.sh/spillway/bot/talk"
	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/desk"
)

// Approval is the card of a question for those who decide: with buttons while
// it is open, with how it ended after. It is a pure function of the question.
func (p Pen) Approval(q *desk.Question, now time.Time) talk.Message {
	w, r := p.words(), &q.Rental
	m := p.question(q, now)
	if q.Ended == nil && r.State == bridge.StateWaiting {
		project := lastOf(r.Account)
		yes := p.button(Approve, string(r.ID), r.Revision, put(w.Approve, "most", r.Hold.String()), slack.StylePrimary)
		confirm(yes, w, put(w.ApproveTitle, "rental", string(r.ID)),
			put(w.ApproveBody, "who", r.Requester, "most", r.Hold.String(), "project", project), put(w.Approve, "most", r.Hold.String()))
		m.Blocks = append(m.Blocks, p.actions(string(r.ID), r.Revision, yes,
			p.button(Deny, string(r.ID), r.Revision, w.Deny, slack.StyleDanger),
			p.button(Details, string(r.ID), r.Revision, w.Details, ""))...)
	}
	return Fit(m)
}

// Request is the same card for the requester, who may cancel and not decide.
func (p Pen) Request(q *desk.Question, now time.Time) talk.Message {
	w, r := p.words(), &q.Rental
	m := p.question(q, now)
	if q.Ended == nil && r.State == bridge.StateWaiting {
		m.Text = put(w.Requested, "rental", string(r.ID), "expected", amount(r.Expected), "most", r.Hold.String())
		m.Blocks = append(m.Blocks, p.actions(string(r.ID), r.Revision, p.cancel(r))...)
	}
	return Fit(m)
}

func (p Pen) cancel(r *desk.Rental) *slack.ButtonBlockElement {
	w := p.words()
	return confirm(p.button(Cancel, string(r.ID), r.Revision, w.Cancel, slack.StyleDanger), w,
		put(w.CancelTitle, "rental", string(r.ID)), w.CancelBody, w.Cancel)
}

// question is all of a question's card but its buttons.
func (p Pen) question(q *desk.Question, now time.Time) talk.Message {
	w, r := p.words(), &q.Rental
	what, length, project := p.what(r.Count, &r.Shape), p.span(seconds(r.Life)), lastOf(r.Account)
	title := put(w.AskTitle, "what", what, "for", length, "project", project)
	if r.Extends != "" {
		title = put(w.AskLonger, "rental", string(r.Extends), "for", length, "project", project)
	}
	if over, _, ok := overBudget(q); ok && r.State == bridge.StateWaiting {
		title = put(w.AskOver, "title", title, "over", over.String())
	}
	m := talk.Message{
		Text: put(w.AskText, "rental", string(r.ID), "who", escape(r.Requester), "what", what, "for", length, "most", r.Hold.String()),
		Blocks: []slack.Block{
			header(title),
			fields(w.Who, p.who(r.Requester), w.Pays, escape(string(r.Account)), w.What, escape(what), w.Where, escape(p.place(r.Pool)),
				w.For, p.lasts(r), w.Expected, amount(r.Expected), w.AtMost, "*"+r.Hold.String()+"*", w.Left, p.left(q), w.Jobs, jobs(r.Jobs),
				w.QueueIf, p.ifDenied(q, now)),
		},
	}
	if q.Why != "" && r.State == bridge.StateWaiting {
		m.Blocks = append(m.Blocks, small(w.Why+": "+escape(q.Why)))
	}
	if r.Note != "" && (q.Ended == nil || q.Ended.Kind != desk.ResultRefused) {
		m.Blocks = append(m.Blocks, said(w.Says, r.Note))
	}
	m.Blocks = append(m.Blocks, p.standing(q, now)...)
	m.Blocks = append(m.Blocks, small(put(w.Rev, "rental", string(r.ID), "n", strconv.FormatInt(max(r.Revision, 1), 10))))
	return m
}

// lasts says how long a rental lives, and the end that who asked named.
func (p Pen) lasts(r *desk.Rental) string {
	if r.Until.IsZero() {
		return p.span(seconds(r.Life))
	}
	return put(p.words().ForUntil, "for", p.span(seconds(r.Life)), "at", p.when(r.Until))
}

// standing says where a question stands.
func (p Pen) standing(q *desk.Question, now time.Time) []slack.Block {
	w, r := p.words(), &q.Rental
	if q.Ended != nil {
		return p.end(q.Ended)
	}
	if r.State != bridge.StateWaiting {
		return []slack.Block{section(w.WasOther)}
	}
	lines := []string{put(w.OpenUntil, "at", p.when(r.AskUntil), "left", p.span(max(0, r.AskUntil.Sub(now))), "who", p.everyone(q.Approvers))}
	if q.Needs > 1 {
		lines = append(lines, w.TwoNeeded)
	}
	for _, y := range r.Yeses {
		lines = append(lines, put(w.OneOfTwo, "who", p.who(y.Who), "at", p.when(y.At), "n", strconv.Itoa(max(1, q.Needs-len(r.Yeses)))))
	}
	if q.Urgent {
		lines = append(lines, put(w.Urgent, "who", p.everyone(q.Approvers)))
	}
	return []slack.Block{section(strings.Join(lines, "\n"))}
}

// end says how a question ended; a reason is a person's text.
func (p Pen) end(e *desk.Result) []slack.Block {
	w := p.words()
	text := map[desk.ResultKind]string{
		desk.ResultAlready: w.WasApproved, desk.ResultApproved: w.WasApproved, desk.ResultExtended: w.WasApproved,
		desk.ResultRefused: w.WasDenied, desk.ResultDenied: w.WasDenied,
		desk.ResultLapsed: w.WasLapsed, desk.ResultWithdrawn: w.WasWithdrawn, desk.ResultSuperseded: w.WasSuperseded,
	}[e.Kind]
	if text == "" {
		text = w.WasOther
	}
	if e.Kind == desk.ResultWithdrawn && e.Who == "" {
		text = w.WasGone
	}
	out := []slack.Block{section(put(text, "who", p.who(e.Who), "at", p.when(e.At), "rental", string(e.Rental), "hold", amount(e.Hold)))}
	if e.Text != "" {
		out = append(out, said(w.Reason, e.Text))
	}
	return out
}

// Superseded is what stands where an older question about a rental was shown.
func (p Pen) Superseded(q *desk.Question, at time.Time) talk.Message {
	old := *q
	old.Ended = &desk.Result{Kind: desk.ResultSuperseded, Rental: q.Rental.ID, At: at, Hold: q.Rental.Hold}
	return Fit(p.question(&old, at))
}

// Reminder asks the approvers of a question once more.
func (p Pen) Reminder(q *desk.Question) talk.Message {
	return Say(put(p.words().Reminder, "rental", string(q.Rental.ID), "at", p.when(q.Rental.AskUntil)))
}

// Escalation asks further approvers about a question that is about to lapse.
func (p Pen) Escalation(q *desk.Question) talk.Message {
	return Say(put(p.words().Escalated, "rental", string(q.Rental.ID), "at", p.when(q.Rental.AskUntil), "who", p.everyone(q.Approvers)))
}

// left says what the budgets have left, the exceeded ones with by how much.
func (p Pen) left(q *desk.Question) string {
	w := p.words()
	if q.Rental.State != bridge.StateWaiting {
		return "" // it is of when it was asked
	}
	var lines []string
	for i := range q.Budgets {
		b := &q.Budgets[i]
		lines = append(lines, put(w.LeftOf, "left", b.Left.Floor(), "limit", b.Limit.Floor(), "account", escape(p.scope(b.Scope()))))
	}
	if over, b, ok := overBudget(q); ok {
		lines = append(lines, ":warning: "+put(w.OverBy, "over", over.String(), "account", escape(p.scope(b.Scope()))))
	}
	return strings.Join(lines, "\n")
}

// overBudget is by how much a question exceeds its tightest budget.
func overBudget(q *desk.Question) (over bridge.Money, of *desk.Balance, ok bool) {
	for i := range q.Exceeds {
		b := &q.Exceeds[i]
		if m, err := q.Rental.Hold.Sub(b.Left); err == nil && m.Micro > over.Micro {
			over, of, ok = m, b, true
		}
	}
	return over, of, ok
}

func jobs(ids []bridge.JobID) string {
	const most = 8
	out := make([]string, 0, most)
	for _, j := range ids[:min(len(ids), most)] {
		out = append(out, escape(string(j)))
	}
	if n := len(ids) - most; n > 0 {
		out = append(out, "… +"+strconv.Itoa(n))
	}
	return strings.Join(out, ", ")
}

func lastOf(a bridge.Account) string {
	project := string(a.Project())
	return project[strings.LastIndex(project, "/")+1:]
}
