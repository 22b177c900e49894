package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"spillway.sh/spillway/bridge"
)

// Balances returns what each budget has left in the period that contains now,
// in the order of the budgets.
func (s *Store) Balances(ctx context.Context, now time.Time, budgets []bridge.Budget) ([]bridge.Balance, error) {
	out := make([]bridge.Balance, len(budgets))
	err := s.read(ctx, func(tx prepared) (err error) {
		for i := range budgets {
			if out[i], err = balance(ctx, tx, now, &budgets[i]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read balances: %w", err)
	}
	return out, nil
}

func balance(ctx context.Context, q asker, now time.Time, b *bridge.Budget) (bridge.Balance, error) {
	start, end := bridge.Span(now, b.Every, b.Zone)
	posted, held, err := sums(ctx, q, b.Scope(), b.Limit.Currency, start, end)
	if err != nil {
		return bridge.Balance{}, fmt.Errorf("balance of %s: %w", b.Scope(), err)
	}
	return bridge.Balance{
		Account: b.Account, Cloud: b.Cloud, GPU: b.GPU, Period: bridge.PeriodOf(now, b.Every, b.Zone),
		Limit: b.Limit, Posted: posted, Held: held, Hard: b.Hard,
	}, nil
}

func sums(ctx context.Context, q asker, s bridge.Scope, c bridge.Currency, start, end time.Time) (posted, held bridge.Money, err error) {
	posted, held = bridge.Money{Currency: c}, bridge.Money{Currency: c}
	err = q.QueryRowContext(ctx, `select
		coalesce((select sum(micro) from posted where account = ?1 and currency = ?2 and quarter >= ?3 and quarter < ?4
			and (?5 = '' or cloud = ?5) and (?6 = '' or gpu = ?6)), 0),
		coalesce((select sum(micro) from held where account = ?1 and currency = ?2 and (?5 = '' or cloud = ?5) and (?6 = '' or gpu = ?6)), 0)`,
		s.Account, c, bridge.Quarter(start), bridge.Quarter(end), s.Cloud, s.GPU).Scan(&posted.Micro, &held.Micro)
	return posted, held, err
}

// shortage is a budget without room for an amount.
type shortage struct {
	budget  bridge.Budget
	balance bridge.Balance
	missing bridge.Money // at most the amount itself
}

// short returns the budgets that cover what is spent in a scope and have no room
// for an amount, hard ones first. A scope that no budget covers is an error: money
// is never held without a limit. Nothing has room everywhere.
func (w *writing) short(ctx context.Context, spent bridge.Scope, amount bridge.Money, budgets []bridge.Budget) ([]shortage, error) {
	var out []shortage
	covered := false
	for _, b := range budgets {
		if !b.Scope().Covers(spent) {
			continue
		}
		covered = true
		bal, err := balance(ctx, w, w.now, &b)
		if err != nil {
			return nil, err
		}
		left, err := bal.Left()
		if err != nil {
			return nil, err
		}
		missing, err := amount.Sub(left)
		if err != nil {
			return nil, fmt.Errorf("budget of %s: %w", b.Scope(), err)
		}
		if missing.Micro <= 0 || amount.Micro == 0 {
			continue
		}
		missing.Micro = min(missing.Micro, amount.Micro)
		out = append(out, shortage{b, bal, missing})
	}
	if !covered {
		return nil, fmt.Errorf("no budget covers account %s: %w", spent, bridge.ErrOverBudget)
	}
	slices.SortStableFunc(out, func(a, b shortage) int {
		switch {
		case a.budget.Hard == b.budget.Hard:
			return 0
		case a.budget.Hard:
			return -1
		}
		return 1
	})
	return out, nil
}
