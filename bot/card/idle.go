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

// IsIdle reports whether a rental costs money and has no job.
func IsIdle(r *desk.Rental) bool {
	return r.State == bridge.StateAdmitted && r.IdleSecs > 0 && len(r.Running) == 0
}

// spell is a time without a job: of a whole rental, or of some of its machines.
type spell struct {
	nodes []string // of some; none: the whole
	since time.Time
	goes  time.Time // zero: not before somebody was told
}

// spellOf is the time without a job that a rental is in, if it is in one.
func spellOf(r *desk.Rental, now time.Time) (spell, bool) {
	if r.State != bridge.StateAdmitted {
		return spell{}, false
	}
	if IsIdle(r) {
		return spell{since: now.Add(-seconds(r.IdleSecs)), goes: r.Goes}, true
	}
	var s spell
	for i := range r.Machines {
		m := &r.Machines[i]
		if m.State != bridge.MachineJoined || m.IdleSince.IsZero() {
			continue
		}
		if s.nodes = append(s.nodes, m.Node); s.since.IsZero() || m.IdleSince.Before(s.since) {
			s.since = m.IdleSince
		}
		if s.goes.IsZero() || !m.Goes.IsZero() && m.Goes.Before(s.goes) {
			s.goes = m.Goes
		}
	}
	return s, len(s.nodes) > 0
}

// HasIdle reports whether a rental, or some machine of it, has no job.
func HasIdle(r *desk.Rental, now time.Time) bool {
	_, idle := spellOf(r, now)
	return idle
}

// Idle is the card of a rental that was found without a job, as it stands: idle
// with what can be done about it, kept, at work again, going back, or gone. The
// owner is an account; empty: nobody known. Of a rental that is idle in part,
// nothing can be given back by a press: its other machines have jobs, and the
// idle ones go by themselves.
func (p Pen) Idle(r *desk.Rental, owner string, now time.Time) talk.Message {
	w := p.words()
	facts := []string{"rental", string(r.ID), "what", escape(p.what(r.Count, &r.Shape)), "cost", amount(r.Cost), "jobs", jobs(r.Running), "at", p.when(r.Keep)}
	s, idle := spellOf(r, now)
	switch {
	case r.State.Ended():
		return Fit(Say(put(w.IdleGone, facts...)))
	case r.State != bridge.StateAdmitted:
		return Fit(Say(put(w.IdleGoing, facts...)))
	case !idle:
		return Fit(Say(put(w.IdleJob, facts...)))
	}
	text, n, kept := w.IdleAlert, r.Count, r.Keep.After(now)
	if len(s.nodes) > 0 {
		text, n = w.IdlePart, len(s.nodes)
	}
	hour, err := r.Rate.Cost(time.Hour, n, bridge.RoundUp)
	if err != nil {
		hour = bridge.Money(r.Rate)
	}
	text = put(put(text, "for", p.span(max(0, now.Sub(s.since))), "rate", amount(hour), "n", strconv.Itoa(n), "all", strconv.Itoa(r.Count),
		"nodes", escape(strings.Join(s.nodes, ", "))), facts...)
	more := w.IdleNobody
	if owner != "" {
		more = w.IdleOwner
	}
	more = put(more, "who", p.who(owner), "project", escape(lastOf(r.Account)))
	switch {
	case kept:
		more += p.gap() + put(w.IdleKept, facts...)
	case !s.goes.IsZero():
		more += p.gap() + put(w.IdleEnds, "at", p.when(s.goes))
	}
	m := talk.Message{Text: text, Blocks: []slack.Block{section(text), small(more)}}
	keep := p.button(KeepOn, string(r.ID), r.Version, w.KeepHourB, "")
	buttons := []*slack.ButtonBlockElement{p.releaseNow(r), keep}
	if len(s.nodes) > 0 {
		buttons = buttons[1:]
	}
	m.Blocks = append(m.Blocks, p.actions(string(r.ID), r.Version, buttons...)...)
	return Fit(m)
}
