package say

import (
	"context"

	"spillway.sh/spillway/bot/card"
	"spillway.sh/spillway/bot/talk"
	"spillway.sh/spillway/bridge/desk"
)

// home draws the asker's home tab.
func (t *turn) home(ctx context.Context) ([]talk.Effect, error) {
	var tab card.Tab
	rs, err := t.Desk.Rentals(ctx, t.who.Person, desk.RentalsRequest{User: t.who.Person.Name})
	if err != nil {
		return nil, err
	}
	tab.Rentals = rs.Rentals
	qs, err := t.Desk.Question(ctx, t.who.Person, desk.QuestionRequest{Lang: t.who.Lang})
	if err != nil {
		return nil, err
	}
	tab.Questions = qs.Questions
	spend, err := t.Desk.Spend(ctx, t.who.Person, desk.SpendRequest{})
	if err != nil {
		return nil, err
	}
	tab.Accounts = spend.Accounts
	return []talk.Effect{{Surface: talk.Tab, Lane: talk.Reports, User: t.who.Slack, Message: t.pen.Home(&tab, t.Clock())}}, nil
}
