package card

import (
	"strconv"
	"time"

	"github.com/slack-go/slack"

	"spillway.sh/spillway/bot/talk"
	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/desk"
)

// Grant is the card of a rental from the hold to the end: starting, running,
// going back, released with its cost.
func (p Pen) Grant(r *desk.Rental, now time.Time) talk.Message {
	w := p.words()
	title := map[bridge.State]string{
		bridge.StateLaunching: w.GrantStarting, bridge.StateJoining: w.GrantStarting, bridge.StateAdmitted: w.GrantRunning,
		bridge.StateDraining: w.GrantDraining, bridge.StateReleasing: w.GrantReleasing, bridge.StateSettled: w.GrantReleased,
		bridge.StateClosed: w.GrantNever, bridge.StateWaiting: w.GrantStarting,
	}[r.State]
	text := put(title, "rental", string(r.ID), "what", escape(p.what(r.Count, &r.Shape)), "project", escape(lastOf(r.Account)))
	m := talk.Message{Text: text, Blocks: []slack.Block{section("*" + text + "*")}}
	switch r.State {
	case bridge.StateSettled:
		m.Blocks = append(m.Blocks, fields(w.Total, put(w.TotalNow, "cost", amount(r.Cost)), w.AtMost, amount(r.Hold), w.By, p.who(r.Requester), w.Where, escape(p.place(r.Pool))))
		if rest, err := r.Hold.Sub(r.Cost); err == nil && rest.Micro > 0 {
			m.Blocks = append(m.Blocks, small(put(w.GoesBack, "money", rest.Floor(), "project", escape(lastOf(r.Account)))))
		}
	case bridge.StateClosed:
	default:
		m.Blocks = append(m.Blocks, p.facts(r, now))
	}
	return Fit(talk.Message{Text: m.Text, Blocks: append(m.Blocks, p.rentalButtons(r)...)})
}

func (p Pen) facts(r *desk.Rental, now time.Time) slack.Block {
	w := p.words()
	ends, joined, idle := "", "", ""
	if !r.Expires.IsZero() {
		ends = put(w.EndsIn, "at", p.when(r.Expires), "left", p.span(max(0, r.Expires.Sub(now))))
	}
	if r.State == bridge.StateLaunching || r.State == bridge.StateJoining {
		joined = put(w.Joined, "n", strconv.Itoa(joinedOf(r)), "all", strconv.Itoa(r.Count))
	}
	if r.IdleSecs > 0 {
		idle = put(w.Idle, "for", p.span(seconds(r.IdleSecs)))
	}
	running := r.Running
	if len(running) == 0 {
		running = r.Jobs
	}
	state := joined
	if state == "" {
		state = idle
	}
	return fields(w.By, p.who(r.Requester), w.Where, escape(p.place(r.Pool)), w.SoFar, amount(r.Cost), w.AtMost, amount(r.Hold),
		w.Ends, ends, w.Jobs, jobs(running), w.State, state)
}

func joinedOf(r *desk.Rental) int {
	n := 0
	for i := range r.Machines {
		switch r.Machines[i].State {
		case bridge.MachineJoined, bridge.MachineNoticed:
			n++
		case bridge.MachineIntended, bridge.MachineCreated, bridge.MachineReleasing, bridge.MachineGone:
		}
	}
	return n
}

// rentalButtons are what can still be done with a rental.
func (p Pen) rentalButtons(r *desk.Rental) []slack.Block {
	w := p.words()
	var out []*slack.ButtonBlockElement
	switch r.State {
	case bridge.StateAdmitted:
		out = append(out, p.button(Extend, string(r.ID), r.Version, w.ExtendB, ""), p.release(r))
	case bridge.StateLaunching, bridge.StateJoining, bridge.StateDraining:
		out = append(out, p.release(r))
	case bridge.StateWaiting, bridge.StateReleasing, bridge.StateSettled, bridge.StateClosed:
	}
	return p.actions(string(r.ID), r.Version, out...)
}

func (p Pen) release(r *desk.Rental) *slack.ButtonBlockElement {
	w := p.words()
	return confirm(p.button(Release, string(r.ID), r.Version, w.ReleaseB, slack.StyleDanger), w, put(w.ReleaseTitle, "rental", string(r.ID)),
		put(w.ReleaseNowBody, "what", p.what(r.Count, &r.Shape)), w.ReleaseNow)
}

func (p Pen) releaseNow(r *desk.Rental) *slack.ButtonBlockElement {
	b := p.release(r)
	b.Text = plain(p.words().ReleaseNow)
	return b
}

// ReleaseAsk asks how one rental is to be given back.
func (p Pen) ReleaseAsk(r *desk.Rental, now time.Time) talk.Message {
	w := p.words()
	running := ""
	if len(r.Running) > 0 {
		running = put(w.JobsRun, "jobs", jobs(r.Running))
	}
	text := put(w.ReleaseAsk, "rental", string(r.ID), "what", escape(p.what(r.Count, &r.Shape)), "jobs", running, "left", p.span(max(0, r.Expires.Sub(now))))
	m := Say(text)
	m.Blocks = append(m.Blocks, p.actions(string(r.ID), r.Version,
		p.button(Release, string(r.ID), r.Version, w.ReleaseNow, slack.StyleDanger),
		p.button(Drain, string(r.ID), r.Version, w.ReleaseAfter, slack.StylePrimary),
		p.button(Keep, string(r.ID), r.Version, w.KeepB, ""))...)
	return Fit(m)
}

// Alert tells news that people should see at once; false for all others. The
// rental is nil for news of none.
func (p Pen) Alert(n *bridge.News, r *desk.Rental) (talk.Message, bool) {
	w := p.words()
	text := map[bridge.NewsKind]string{
		bridge.NewsNotice: w.Notice, bridge.NewsCalledOff: w.CalledOff, bridge.NewsReclaimed: w.Reclaimed, bridge.NewsRequeued: w.Requeued,
		bridge.NewsResumed: w.Resumed, bridge.NewsLost: w.LostWork, bridge.NewsFrozen: w.Frozen, bridge.NewsThawed: w.Thawed,
		bridge.NewsProtected: w.Protected, bridge.NewsOrphan: w.Orphan, bridge.NewsExtended: w.Extended, bridge.NewsChanged: w.Changed, bridge.NewsAgreed: w.Agreed, bridge.NewsWarning: w.Warning,
	}[n.Kind]
	if text == "" {
		return talk.Message{}, false
	}
	project := ""
	if r != nil {
		project = escape(lastOf(r.Account))
	}
	overrun := n.Kind == bridge.NewsWarning && n.Cost.Micro > 0 && n.Rental != ""
	if overrun {
		text = w.Overrun
	}
	at := ""
	if r != nil && n.Kind == bridge.NewsNotice {
		for i := range r.Machines {
			if m := &r.Machines[i]; m.Node == n.Node && !m.ReclaimAt.IsZero() {
				at = put(w.NoticeAt, "at", p.when(m.ReclaimAt))
			}
		}
	}
	m := Say(put(text, "rental", string(n.Rental), "node", escape(n.Node), "job", escape(string(n.Job)), "who", p.who(n.Who), "at", at,
		"machine", escape(n.Machine), "cost", amount(n.Cost), "over", amount(n.Cost), "project", project))
	if n.Text != "" && !overrun {
		m.Blocks = append(m.Blocks, said("", p.Lang.Told(n.Text)))
	}
	return Fit(m), true
}
