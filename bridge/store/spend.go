package store

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/ledger"
)

// Spend is one account in one period, for people.
type Spend struct {
	bridge.Balance
	Every bridge.PeriodKind `json:"every"`
	Left  bridge.Money      `json:"left"` // of Limit, negative when over; zero without a limit
	// Limited is false for an account without a budget of its own; its period
	// is that of the nearest budget above it.
	Limited bool `json:"limited"`
}

// Spend returns the accounts at or below one (empty: all) in the periods that
// contain now: every budget, and every account without one that has posted or
// held money. They come in the order of a tree.
func (s *Store) Spend(ctx context.Context, now time.Time, budgets []bridge.Budget, below bridge.Account) ([]Spend, error) {
	var out []Spend
	err := s.read(ctx, func(tx prepared) error {
		var err error
		if out, err = spendOfBudgets(ctx, tx, now, budgets, below); err != nil {
			return err
		}
		rest, err := spendOfOthers(ctx, tx, now, budgets, below)
		out = append(out, rest...)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read spend: %w", err)
	}
	slices.SortStableFunc(out, func(a, b Spend) int {
		return cmp.Or(slices.Compare(strings.Split(string(a.Account), "/"), strings.Split(string(b.Account), "/")),
			strings.Compare(a.Cloud, b.Cloud), strings.Compare(a.GPU, b.GPU))
	})
	return out, nil
}

func spendOfBudgets(ctx context.Context, q asker, now time.Time, budgets []bridge.Budget, below bridge.Account) ([]Spend, error) {
	var out []Spend
	for i := range budgets {
		b := &budgets[i]
		if !within(b.Account, below) {
			continue
		}
		bal, err := balance(ctx, q, now, b)
		if err != nil {
			return nil, err
		}
		left, err := bal.Left()
		if err != nil {
			return nil, err
		}
		out = append(out, Spend{Balance: bal, Every: b.Every, Left: left, Limited: true})
	}
	return out, nil
}

func spendOfOthers(ctx context.Context, q asker, now time.Time, budgets []bridge.Budget, below bridge.Account) ([]Spend, error) {
	purses, err := rows(ctx, q, func(r *sql.Rows) (p ledger.Purse, err error) {
		err = r.Scan(&p.Account, &p.Currency)
		return p, err
	}, `select distinct account, currency from held order by account, currency`)
	if err != nil {
		return nil, err
	}
	var out []Spend
	for _, p := range purses {
		if !within(p.Account, below) || slices.ContainsFunc(budgets, func(b bridge.Budget) bool { return b.Scope() == p.Scope }) {
			continue
		}
		b := nearest(p.Account, budgets)
		start, end := bridge.Span(now, b.Every, b.Zone)
		posted, held, err := sums(ctx, q, p.Scope, p.Currency, start, end)
		if err != nil {
			return nil, err
		}
		if posted.IsZero() && held.IsZero() {
			continue
		}
		bal := bridge.Balance{Account: p.Account, Period: bridge.PeriodOf(now, b.Every, b.Zone), Posted: posted, Held: held}
		out = append(out, Spend{Balance: bal, Every: b.Every})
	}
	return out, nil
}

// nearest returns the deepest budget for all that an account spends; a month in
// UTC if there is none.
func nearest(a bridge.Account, budgets []bridge.Budget) bridge.Budget {
	out := bridge.Budget{Every: bridge.Month, Zone: time.UTC}
	above := slices.DeleteFunc(slices.Clone(budgets), func(b bridge.Budget) bool { return !within(a, b.Account) || b.Cloud != "" || b.GPU != "" })
	if len(above) > 0 {
		out = slices.MaxFunc(above, func(a, b bridge.Budget) int { return cmp.Compare(len(a.Account), len(b.Account)) })
	}
	return out
}

func within(a, above bridge.Account) bool {
	return above == "" || slices.Contains(a.Ancestors(), above)
}
