package store

import (
	"context"
	"fmt"
	"slices"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/ledger"
)

// ApproveExtension closes the question q by a person's yes and adds its hold to
// the rental r that it wants to live longer, in one transaction; what a soft
// budget lacks is written as an overage in the decider's name. Both are as the
// caller saw them, changed to what they become: q closed, r with its later end.
func (s *Store) ApproveExtension(ctx context.Context, d bridge.Decision, q, r bridge.Rental, budgets []bridge.Budget, news ...bridge.News) (question, extended bridge.Rental, err error) {
	question, extended = clone(&q), clone(&r)
	err = s.write(ctx, func(w *writing) error {
		asked, err := w.rental(ctx, &question)
		if err != nil {
			return err
		}
		open := question
		open.State = bridge.StateLaunching // what any other question would become
		if err := w.approvable(&d, asked, &open); err != nil {
			return err
		}
		if asked.Extends != extended.ID || question.State != bridge.StateClosed {
			return fmt.Errorf("%s extends %q, not %s: %w", question.ID, asked.Extends, extended.ID, ErrState)
		}
		if err := w.lengthen(ctx, &d, asked, &extended, budgets, news); err != nil {
			return err
		}
		question.Yeses = append(slices.Clone(asked.Yeses), bridge.Yes{Who: d.Who, At: w.now})
		question.ApprovedBy = d.Who
		if err := w.update(ctx, asked, &question, news); err != nil {
			return err
		}
		return w.tell(ctx, news)
	})
	if err != nil {
		return q, r, fmt.Errorf("extend rental %s: %w", r.ID, err)
	}
	return question, extended, nil
}

// lengthen adds the hold of a question to that of a rental.
func (w *writing) lengthen(ctx context.Context, d *bridge.Decision, asked, r *bridge.Rental, budgets []bridge.Budget, news []bridge.News) error {
	was, hold, err := w.held(ctx, r)
	if err != nil {
		return err
	}
	if was.Cost != r.Cost || !r.State.Held() {
		return fmt.Errorf("cost %s to %s, %s: %w", was.Cost, r.Cost, r.State, ErrMoney)
	}
	short, err := w.short(ctx, r.Scope(), asked.Hold, budgets)
	if err != nil {
		return err
	}
	var allowed []ledger.Transaction
	for _, over := range short {
		if over.budget.Hard {
			return &OverBudget{over.balance, asked.Hold}
		}
		allowed = append(allowed, ledger.Allow(w.now, r, &over.budget, over.missing, d.Who))
	}
	if err := w.append(ctx, allowed); err != nil {
		return err
	}
	if err := w.extend(ctx, r, hold, asked.Hold); err != nil {
		return err
	}
	return w.update(ctx, was, r, news)
}
