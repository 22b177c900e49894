package say

import (
	"context"
	"errors"
	"slices"
	"time"

	"spillway.sh/spillway/bot/card"
	"spillway.sh/spillway/bot/talk"
	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/desk"
)

// self is who the bot is when it looks for itself: it sees all and decides
// nothing, for it never asks the desk to.
var self = desk.Person{Name: "spillway-bot", Roles: []desk.Role{desk.Member, desk.Approver}}

// The keys of cards: that of a question in the channel, and that of a rental.
func askKey(id bridge.RentalID) string    { return "ask/" + string(id) }
func rentalKey(id bridge.RentalID) string { return "rental/" + string(id) }

// about says which cards a kind of news changes.
var about = map[bridge.NewsKind]struct{ ask, rental, idle bool }{
	bridge.NewsAsked: {ask: true}, bridge.NewsChanged: {ask: true}, bridge.NewsAgreed: {ask: true}, bridge.NewsEscalated: {ask: true},
	bridge.NewsDenied: {ask: true}, bridge.NewsLapsed: {ask: true}, bridge.NewsWithdrawn: {ask: true},
	bridge.NewsApproved: {ask: true, rental: true},
	bridge.NewsReserved: {rental: true}, bridge.NewsCreated: {rental: true}, bridge.NewsJoined: {rental: true}, bridge.NewsAdmitted: {rental: true},
	bridge.NewsKept: {idle: true}, bridge.NewsStarted: {rental: true, idle: true}, bridge.NewsFinished: {rental: true}, bridge.NewsDraining: {rental: true, idle: true},
	bridge.NewsReleasing: {rental: true, idle: true}, bridge.NewsGone: {rental: true, idle: true}, bridge.NewsSettled: {rental: true, idle: true}, bridge.NewsExtended: {rental: true}, bridge.NewsTimed: {rental: true}, bridge.NewsCorrected: {rental: true},
}

// Tell says what happened. Cards are drawn once for all news of a call, as
// things are now; an id that is not there any more is passed over.
func (c *Counter) Tell(ctx context.Context, news []bridge.News) ([]talk.Effect, error) {
	var out, cards []talk.Effect
	drawn := map[string]bool{}
	draw := func(key string, card func() (talk.Effect, bool, error)) error {
		if drawn[key] {
			return nil
		}
		drawn[key] = true
		e, ok, err := card()
		if ok {
			cards = append(cards, e)
		}
		return err
	}
	for i := range news {
		n := &news[i]
		also, err := c.tellOne(ctx, news, i)
		if err != nil {
			return nil, err
		}
		out = append(out, also...)
		if n.Rental == "" {
			continue
		}
		if about[n.Kind].ask {
			err = draw(askKey(n.Rental), func() (talk.Effect, bool, error) { return c.askCard(ctx, n.Rental) })
		}
		if about[n.Kind].rental {
			err = errors.Join(err, draw(rentalKey(n.Rental), func() (talk.Effect, bool, error) {
				e, ok, err := c.rentalCard(ctx, n.Rental)
				e.Edit = n.Kind == bridge.NewsCorrected // a bill months later shows no card anew
				return e, ok, err
			}))
		}
		if about[n.Kind].idle {
			err = errors.Join(err, draw("idle/"+string(n.Rental), func() (talk.Effect, bool, error) { return c.idleCard(ctx, n.Rental) }))
		}
		if err != nil {
			return nil, err
		}
	}
	return append(cards, out...), nil
}

// notThere reports whether an error says that something is not there.
func notThere(err error) bool { return err != nil && desk.AsError(err).Kind == desk.NotFound }

// channelPen draws for everybody in the channel.
func (c *Counter) channelPen() card.Pen { return c.penFor(c.Lang, nil) }

// askCard is the card of a question as it stands.
func (c *Counter) askCard(ctx context.Context, id bridge.RentalID) (talk.Effect, bool, error) {
	a, err := c.Desk.Question(ctx, self, desk.QuestionRequest{Rental: string(id), Lang: c.Lang})
	if notThere(err) {
		return talk.Effect{}, false, nil
	}
	if err != nil {
		return talk.Effect{}, false, err
	}
	q := &a.Questions[0]
	if r := &q.Rental; r.State == bridge.StateWaiting && !r.AskUntil.IsZero() && !c.Clock().Before(r.AskUntil) {
		// Its time is over, whether or not the engine has closed it yet.
		q.Ended = &desk.Result{Kind: desk.ResultLapsed, Rental: r.ID, At: r.AskUntil, Hold: r.Hold, Account: r.Account.Project()}
	}
	m := c.channelPen().Approval(q, c.Clock())
	if q.Rental.Extends != "" {
		until := card.Quote(fill(textsOf(c.Lang).Extends, "id", string(q.Rental.Extends))).Blocks
		m.Blocks = slices.Insert(m.Blocks, min(1, len(m.Blocks)), until...)
	}
	return talk.Effect{Surface: talk.Card, Lane: talk.Decisions, Key: askKey(id), Channel: c.Channel, Message: card.Fit(m)}, true, nil
}

// question is the card of a question after somebody pressed a button of it.
func (c *Counter) question(ctx context.Context, id string) (talk.Effect, bool) {
	e, ok, err := c.askCard(ctx, bridge.RentalID(id))
	return e, ok && err == nil // the news draw it again anyway
}

// rentalCard is the card of a rental as it stands. A question that extends
// another one never becomes one.
func (c *Counter) rentalCard(ctx context.Context, id bridge.RentalID) (talk.Effect, bool, error) {
	r, err := c.rental(ctx, id)
	if err != nil || r == nil || r.Extends != "" || r.State == bridge.StateWaiting || r.State == bridge.StateClosed {
		return talk.Effect{}, false, err
	}
	return talk.Effect{Surface: talk.Card, Lane: talk.Reports, Key: rentalKey(id), Channel: c.Channel, Message: c.channelPen().Grant(r, c.Clock())}, true, nil
}

// rental reads one rental; nil when there is none.
func (c *Counter) rental(ctx context.Context, id bridge.RentalID) (*desk.Rental, error) {
	a, err := c.answer(ctx, id)
	if a == nil {
		return nil, err
	}
	return &a.Rental, nil
}

// answer is all that the desk says of one rental; nil when there is none.
func (c *Counter) answer(ctx context.Context, id bridge.RentalID) (*desk.RentalAnswer, error) {
	if id == "" {
		return nil, nil //nolint:nilnil // News of no rental.
	}
	a, err := c.Desk.Rental(ctx, self, desk.RentalRequest{Rental: string(id)})
	if notThere(err) {
		return nil, nil //nolint:nilnil // It is not there any more.
	}
	if err != nil {
		return nil, err
	}
	return &a, nil
}

// tellOne says what one piece of news has to say besides its card: a line in
// the card's thread, a word to the requester.
func (c *Counter) tellOne(ctx context.Context, news []bridge.News, i int) ([]talk.Effect, error) {
	n := &news[i]
	switch n.Kind { //nolint:exhaustive // All others only change cards, or nothing.
	case bridge.NewsReminded, bridge.NewsEscalated:
		return c.nudge(ctx, n)
	case bridge.NewsApproved, bridge.NewsDenied, bridge.NewsLapsed, bridge.NewsAdmitted, bridge.NewsSettled:
		return c.tellRequester(ctx, n)
	case bridge.NewsAlert:
		return c.budgetAlert(ctx, n.Alert)
	case bridge.NewsPeriod:
		return c.periodEnded(n), nil
	case bridge.NewsCorrected:
		return c.corrected(ctx, news, i)
	case bridge.NewsIdle:
		return c.idle(ctx, n)
	case bridge.NewsDaily:
		return c.daily(ctx, n)
	case bridge.NewsWeekly:
		return c.weekly(ctx, n)
	}
	return c.alert(ctx, n)
}

// nudge asks once more for a decision.
func (c *Counter) nudge(ctx context.Context, n *bridge.News) ([]talk.Effect, error) {
	a, err := c.Desk.Question(ctx, self, desk.QuestionRequest{Rental: string(n.Rental), Lang: c.Lang})
	if notThere(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	q := &a.Questions[0]
	if q.Ended != nil || q.Rental.State != bridge.StateWaiting {
		return nil, nil
	}
	m := c.channelPen().Reminder(q)
	if n.Kind == bridge.NewsEscalated {
		m = c.channelPen().Escalation(q)
	}
	return []talk.Effect{{Surface: talk.Thread, Lane: talk.Decisions, Key: askKey(n.Rental), Channel: c.Channel, Message: m}}, nil
}

// tellRequester writes to who asked, in their language.
func (c *Counter) tellRequester(ctx context.Context, n *bridge.News) ([]talk.Effect, error) {
	a, err := c.answer(ctx, n.Rental)
	if err != nil || a == nil || a.Rental.Requester == "" {
		return nil, err
	}
	r := &a.Rental
	w := textsOf(c.langOf(r.Requester))
	text := map[bridge.NewsKind]string{
		bridge.NewsApproved: w.TellApproved, bridge.NewsDenied: w.TellDenied, bridge.NewsLapsed: w.TellLapsed,
		bridge.NewsAdmitted: w.TellReady, bridge.NewsSettled: w.TellSettled,
	}[n.Kind]
	because := ""
	if n.Kind == bridge.NewsDenied && n.Text != "" {
		because = fill(w.TellBecause, "text", n.Text)
	}
	if r.Extends != "" {
		text = map[bridge.NewsKind]string{bridge.NewsApproved: w.TellExtended, bridge.NewsDenied: w.TellNotExtended, bridge.NewsLapsed: w.TellNotExtended}[n.Kind]
	}
	if text == "" {
		return nil, nil
	}
	rest := ""
	if m, err := r.Hold.Sub(r.Cost); err == nil {
		rest = m.Floor()
	}
	m := card.Quote(fill(text, "id", string(r.ID), "extends", string(r.Extends), "who", n.Who, "most", r.Hold.String(), "cost", r.Cost.String(),
		"rest", rest, "project", project(r.Account), "until", desk.Clock(r.Expires), "because", because))
	if n.Kind == bridge.NewsDenied && a.Instead != nil {
		m.Blocks = append(m.Blocks, c.penFor(c.langOf(r.Requester), nil).Instead(r, a.Instead)...)
	}
	lane := talk.Decisions
	if n.Kind == bridge.NewsAdmitted || n.Kind == bridge.NewsSettled {
		lane = talk.Reports
	}
	return []talk.Effect{{Surface: talk.Direct, Lane: lane, Key: "tell/" + string(n.Kind) + "/" + string(n.Rental) + "/" + n.At.UTC().Format(time.RFC3339Nano), Account: r.Requester, Message: card.Fit(m)}}, nil
}

// alert puts what people should see at once under the rental's card, or into
// the channel when it is of none.
func (c *Counter) alert(ctx context.Context, n *bridge.News) ([]talk.Effect, error) {
	r, err := c.rental(ctx, n.Rental)
	if err != nil {
		return nil, err
	}
	m, ok := c.channelPen().Alert(n, r)
	if !ok {
		return nil, nil
	}
	e := talk.Effect{Surface: talk.Thread, Lane: talk.Alerts, Key: rentalKey(n.Rental), Channel: c.Channel, Message: m}
	if n.Kind == bridge.NewsChanged || n.Kind == bridge.NewsAgreed { // of a question, for those who decide
		e.Key, e.Lane = askKey(n.Rental), talk.Decisions
	}
	if n.Rental == "" {
		e.Surface, e.Key = talk.Card, "news/"+string(n.Kind)+"/"+n.At.UTC().Format(time.RFC3339Nano)
	}
	return []talk.Effect{e}, nil
}
