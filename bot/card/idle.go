package card

import (
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

// Idle is the card of a rental that was found without a job, as it stands: idle
// with what can be done about it, kept, at work again, going back, or gone. The
// owner is an account; empty: nobody known.
func (p Pen) Idle(r *desk.Rental, owner string, now time.Time) talk.Message {
	w := p.words()
	facts := []string{"rental", string(r.ID), "what", escape(p.what(r.Count, &r.Shape)), "cost", amount(r.Cost), "jobs", jobs(r.Running)}
	switch {
	case r.State.Ended():
		return Fit(Say(put(w.IdleGone, facts...)))
	case r.State != bridge.StateAdmitted:
		return Fit(Say(put(w.IdleGoing, facts...)))
	case !IsIdle(r):
		return Fit(Say(put(w.IdleJob, facts...)))
	}
	hour, err := r.Rate.Cost(time.Hour, r.Count, bridge.RoundUp)
	if err != nil {
		hour = bridge.Money(r.Rate)
	}
	text := put(put(w.IdleAlert, "for", p.span(seconds(r.IdleSecs)), "rate", amount(hour)), facts...)
	more := w.IdleNobody
	if owner != "" {
		more = w.IdleOwner
	}
	more = put(more, "who", p.who(owner), "project", escape(lastOf(r.Account)))
	if r.IdleMost > 0 && !r.IdleSince.IsZero() {
		more += p.gap() + put(w.IdleEnds, "at", p.when(r.IdleSince.Add(seconds(r.IdleMost))))
	}
	m := talk.Message{Text: text, Blocks: []slack.Block{section(text), small(more)}}
	m.Blocks = append(m.Blocks, p.actions(string(r.ID), r.Version, p.releaseNow(r), p.button(KeepOn, string(r.ID), r.Version, w.KeepHourB, ""))...)
	return Fit(m)
}
