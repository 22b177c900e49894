package say

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"spillway.sh/spillway/bot/card"
	"spillway.sh/spillway/bot/talk"
	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/desk"
)

// budgetAlert tells the channel and the budget's approvers that a share of it
// is reached.
//
// Each threshold is a message of its own, and the one before it stays as it
// was: Slack tells nobody of an edit, so that a budget that climbs from 50 to
// 100 % in one edited message would be noticed at 50 and never again. There
// are at most three for each measure and period, for one that is jumped over is
// never told. The key has the scope, the period, the limit, the measure and the
// threshold: the same alert told again finds its message and posts none.
func (c *Counter) budgetAlert(ctx context.Context, a *bridge.Alert) ([]talk.Effect, error) {
	if a == nil {
		return nil, nil
	}
	who, err := c.approversOf(ctx, a.Scope, bridge.Scope{Account: a.Scope.Account})
	if err != nil {
		return nil, err
	}
	key := fmt.Sprintf("alert/%s/%s/%s/%s/%d of %d", a.Scope, a.Every, a.Period, a.Measure, a.Percent, a.Limit.Micro)
	out := []talk.Effect{{Surface: talk.Card, Lane: talk.Alerts, Key: key, Channel: c.Channel, Message: c.channelPen().BudgetAlert(a, who)}}
	for _, account := range persons(who) {
		m := c.penFor(c.langOf(account), nil).BudgetAlert(a, who)
		out = append(out, talk.Effect{Surface: talk.Direct, Lane: talk.Alerts, Key: key + "/" + account, Account: account, Message: m})
	}
	return out, nil
}

// approversOf are who may approve above a budget: those whom the first of some
// scopes names that names any, else those who have the role.
func (c *Counter) approversOf(ctx context.Context, scopes ...bridge.Scope) ([]string, error) {
	a, err := c.Desk.Spend(ctx, self, desk.SpendRequest{})
	if err != nil {
		return nil, err
	}
	who := slices.Clone(a.Approvers)
	for _, s := range scopes {
		var named []string
		for i := range a.Accounts {
			if b := &a.Accounts[i]; b.Scope() == s {
				named = append(named, b.Approvers...)
			}
		}
		if len(named) > 0 {
			who = named
			break
		}
	}
	slices.Sort(who)
	return slices.Compact(who), nil
}

// persons are those of some approvers who have messages of their own; groups
// read the channel.
func persons(approvers []string) []string {
	return slices.DeleteFunc(slices.Clone(approvers), func(a string) bool { return strings.HasPrefix(a, "@") })
}

// periodEnded is one line in the channel.
func (c *Counter) periodEnded(n *bridge.News) []talk.Effect {
	if n.Alert == nil {
		return nil
	}
	key := fmt.Sprintf("period/%s/%s/%s", n.Alert.Scope, n.Alert.Every, n.Alert.Period)
	return []talk.Effect{{Surface: talk.Card, Lane: talk.Reports, Key: key, Channel: c.Channel, Message: c.channelPen().PeriodEnded(n.Alert, n.Cost)}}
}

// oneImport is how far apart the news of one import of a bill may be.
const oneImport = time.Minute

// corrected says in one line what one import of a bill changed: the first news
// of it speaks for all that follow.
func (c *Counter) corrected(ctx context.Context, news []bridge.News, i int) ([]talk.Effect, error) {
	first := &news[i]
	same := func(n *bridge.News) bool {
		return n.Kind == bridge.NewsCorrected && n.Who == first.Who && n.At.Sub(first.At).Abs() <= oneImport
	}
	if slices.ContainsFunc(news[:i], func(n bridge.News) bool { return same(&n) }) {
		return nil, nil
	}
	sum := card.Corrected{}
	by := bridge.Money{Currency: first.Cost.Currency}
	for j := i; j < len(news); j++ {
		n := &news[j]
		if !same(n) || n.Cost.Currency != by.Currency {
			continue
		}
		by.Micro += n.Cost.Micro
		if slices.Contains(sum.Rentals, n.Rental) {
			continue
		}
		r, err := c.rental(ctx, n.Rental)
		if err != nil {
			return nil, err
		}
		if r != nil && r.Cost.Currency == by.Currency {
			sum.Rentals = append(sum.Rentals, n.Rental)
			sum.Now.Micro += r.Cost.Micro
		}
	}
	if len(sum.Rentals) == 0 {
		return nil, nil
	}
	sum.Now.Currency = by.Currency
	sum.Was = bridge.Money{Micro: sum.Now.Micro - by.Micro, Currency: by.Currency}
	key := "corrected/" + string(first.Rental) + "/" + first.At.UTC().Format(time.RFC3339Nano)
	return []talk.Effect{{Surface: talk.Card, Lane: talk.Reports, Key: key, Channel: c.Channel, Message: c.channelPen().Corrected(&sum)}}, nil
}
