package main

import (
	"context"
	"fmt"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/calendar"
)

// warnOfPolicy says at the start what the policy file probably does not mean,
// and which budgets have less than is spent and held in them already. Of those
// everybody who follows the news is told, once for each limit and period.
func (d *daemon) warnOfPolicy(ctx context.Context) {
	for _, w := range d.site.warnings() {
		d.log.Warn("the policy says what it probably does not mean", "at", w.Error())
	}
	now := utcNow()
	budgets := d.site.Budgets()
	store := through[calendar.Store](d.store)
	bs, err := store.Balances(ctx, now, budgets)
	if err != nil {
		d.log.Error("look for over-committed budgets", "error", err)
		return
	}
	told, err := store.TellOnce(ctx, overCommitted(now, budgets, bs)...)
	if err != nil {
		d.log.Error("tell of over-committed budgets", "error", err)
	}
	if told > 0 {
		d.log.Warn("budgets are over-committed; see: spillway spend", "new", told)
	}
}

// overCommitted is the news of budgets with less than is spent and held already;
// the balances are in their order.
func overCommitted(now time.Time, budgets []bridge.Budget, bs []bridge.Balance) []bridge.Once {
	var out []bridge.Once
	for i := range bs {
		b := &bs[i]
		if b.State() != bridge.BudgetOverCommitted {
			continue
		}
		sum, err := b.Posted.Add(b.Held)
		if err != nil {
			continue // a budget whose sum cannot be formed is used up, not over-committed
		}
		out = append(out, bridge.Once{
			Name: fmt.Sprintf("over-committed %s every %s %s %d %s", b.Scope(), budgets[i].Every, b.Period, b.Limit.Micro, b.Limit.Currency),
			News: bridge.News{
				At: now, Kind: bridge.NewsWarning,
				Text: fmt.Sprintf("the budget of %s is over-committed: %s in %s, and %s are spent and held already; what runs goes on, nothing new is rented in it",
					b.Scope(), b.Limit.Floor(), b.Period, sum),
			},
		})
	}
	return out
}
