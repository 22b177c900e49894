package say

import (
	"cmp"
	"context"
	"slices"
	"time"

	"spillway.sh/spillway/bot/card"
	"spillway.sh/spillway/bot/talk"
	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/desk"
)

// idleKey is the key of the card that tells of one time without a job, of all
// machines that were found so together: the next time has a card of its own,
// for nobody hears of an edit.
func idleKey(n *bridge.News) string {
	return "idle/" + string(n.Rental) + "/" + n.At.UTC().Format(time.RFC3339)
}

// idle tells the owner of a rental that it has no job, in their own messages,
// or in the channel where they have no Slack user. Where nobody is known to own
// it, the approvers of its budget are told.
func (c *Counter) idle(ctx context.Context, n *bridge.News) ([]talk.Effect, error) {
	r, err := c.rental(ctx, n.Rental)
	if err != nil || r == nil || !card.IsIdle(r) {
		return nil, err // it found work, or went, before it was told
	}
	owner := cmp.Or(n.Who, r.Requester)
	told := []string{owner}
	if owner == "" {
		if told, err = c.whoPays(ctx, r); err != nil {
			return nil, err
		}
	}
	e := talk.Effect{Surface: talk.Card, Lane: talk.Alerts, Key: idleKey(n), Else: c.Channel}
	if len(told) == 0 {
		e.Channel, e.Message = c.Channel, c.channelPen().Idle(r, owner, c.Clock())
		return []talk.Effect{e}, nil
	}
	var out []talk.Effect
	for _, account := range told {
		e.Account, e.Message = account, c.penFor(c.langOf(account), nil).Idle(r, owner, c.Clock())
		out = append(out, e)
	}
	return out, nil
}

// whoPays are the people who approve for what a rental costs, of the nearest
// budget that names any.
func (c *Counter) whoPays(ctx context.Context, r *desk.Rental) ([]string, error) {
	chain := r.Account.Ancestors()
	slices.Reverse(chain)
	who, err := c.approversOf(ctx, chain...)
	return persons(who), err
}

// idleCard draws the card of a rental's last time without a job as things are
// now, where it is shown.
func (c *Counter) idleCard(ctx context.Context, id bridge.RentalID) (talk.Effect, bool, error) {
	a, err := c.answer(ctx, id)
	if err != nil || a == nil {
		return talk.Effect{}, false, err
	}
	for i := len(a.News) - 1; i >= 0; i-- {
		n := &a.News[i]
		if n.Kind != bridge.NewsIdle {
			continue
		}
		owner, l := cmp.Or(n.Who, a.Rental.Requester), c.Lang
		if owner != "" {
			l = c.langOf(owner)
		}
		return talk.Effect{Surface: talk.Card, Lane: talk.Reports, Key: idleKey(n), Edit: true, Message: c.penFor(l, nil).Idle(&a.Rental, owner, c.Clock())}, true, nil
	}
	return talk.Effect{}, false, nil
}
