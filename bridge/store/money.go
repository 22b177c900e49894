package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/ledger"
)

// Reserve stores a new rental with its hold and its create intent, if every
// budget of its account and of the accounts above has room for the whole hold.
// Otherwise *OverBudget, and nothing is stored. An account that none of the
// budgets covers has no room.
func (s *Store) Reserve(ctx context.Context, r bridge.Rental, budgets []bridge.Budget, news ...bridge.News) (bridge.Rental, error) {
	return s.change(ctx, "reserve", r, news, func(w *writing, next *bridge.Rental) error {
		if next.State != bridge.StateLaunching || !next.Cost.IsZero() {
			return fmt.Errorf("new, %s: %w", next.State, ErrState)
		}
		short, err := w.short(ctx, next.Scope(), next.Hold, budgets)
		if err != nil {
			return err
		}
		if len(short) > 0 {
			return &OverBudget{short[0].balance, next.Hold}
		}
		if err := w.insert(ctx, next); err != nil {
			return err
		}
		return w.open(ctx, next, "")
	})
}

// Approve turns a waiting rental into a held one by a person's yes. Budgets are
// checked again: what a soft one lacks is written as an overage in the
// decider's name together with the hold, a hard one without room gives
// *OverBudget. bridge.ErrVersion when the question that was answered is not the
// one that is open now, bridge.ErrLapsed when its time is over. A yes that is not
// the last of those needed is stored, and holds nothing.
func (s *Store) Approve(ctx context.Context, d bridge.Decision, r bridge.Rental, budgets []bridge.Budget, news ...bridge.News) (bridge.Rental, error) {
	return s.change(ctx, "approve", r, news, func(w *writing, next *bridge.Rental) error {
		was, err := w.rental(ctx, next)
		if err != nil {
			return err
		}
		if err := w.approvable(&d, was, next); err != nil {
			return err
		}
		if next.Extends != "" && next.State != bridge.StateWaiting {
			return fmt.Errorf("it extends %s and becomes no machines: %w", next.Extends, ErrState)
		}
		next.Yeses = append(slices.Clone(was.Yeses), bridge.Yes{Who: d.Who, At: w.now})
		if next.State == bridge.StateWaiting {
			return w.update(ctx, was, next, news)
		}
		next.ApprovedBy = d.Who
		short, err := w.short(ctx, next.Scope(), next.Hold, budgets)
		if err != nil {
			return err
		}
		var allowed []ledger.Transaction
		for _, over := range short {
			if over.budget.Hard {
				return &OverBudget{over.balance, next.Hold}
			}
			allowed = append(allowed, ledger.Allow(w.now, next, &over.budget, over.missing, d.Who))
		}
		if err := w.append(ctx, allowed); err != nil {
			return err
		}
		if err := w.open(ctx, next, ""); err != nil {
			return err
		}
		return w.update(ctx, was, next, news)
	})
}

// approvable refuses a decision that is not another person's yes to the very
// question that is open.
func (w *writing) approvable(d *bridge.Decision, was, next *bridge.Rental) error {
	to := bridge.StateLaunching
	if len(was.Yeses)+1 < d.Needs {
		to = bridge.StateWaiting // one yes of several
	}
	another := d.Digest != "" && d.Digest != was.Digest
	switch {
	case another || d.Rental != next.ID || d.Version != was.Version:
		return fmt.Errorf("the answer is to version %d of %s, digest %.8s: %w", d.Version, d.Rental, d.Digest, bridge.ErrVersion)
	case !d.Yes || was.State != bridge.StateWaiting || next.State != to:
		return fmt.Errorf("from %s to %s, yes: %t, of %d needed: %w", was.State, next.State, d.Yes, d.Needs, ErrState)
	case !was.AskUntil.IsZero() && !w.now.Before(was.AskUntil):
		return fmt.Errorf("open until %s: %w", was.AskUntil.UTC(), bridge.ErrLapsed)
	case d.Who == "" || d.Who == was.Requester || was.Agreed(d.Who):
		return fmt.Errorf("%q: %w", d.Who, ErrOwn)
	}
	return sameQuestion(was, next)
}

// sameQuestion refuses a rental that is not what was asked about; a question
// of before there were digests is compared by itself. One whose end was named may
// live shorter, and hold less, the later the yes comes.
func sameQuestion(was, next *bridge.Rental) error {
	as := *next
	if c, err := next.Hold.Cmp(was.Hold); err == nil && c <= 0 && next.Life <= was.Life && !was.Until.IsZero() {
		as.Life, as.Hold = was.Life, was.Hold
	}
	if asked := cmp.Or(was.Digest, bridge.DigestOf(was)); was.Cost != next.Cost || asked != bridge.DigestOf(&as) || !was.Until.Equal(next.Until) {
		return fmt.Errorf("who, what, where, hold, ceiling, time or account of the question changed: %w", ErrMoney)
	}
	return nil
}

// Extend adds to a rental's hold, if every budget has room for it; r.Hold of
// the result is the new total, whatever the caller put there. Capacity that is
// paid for anyway may be extended by nothing.
func (s *Store) Extend(ctx context.Context, r bridge.Rental, more bridge.Money, budgets []bridge.Budget, news ...bridge.News) (bridge.Rental, error) {
	return s.change(ctx, "extend", r, news, func(w *writing, next *bridge.Rental) error {
		was, hold, err := w.held(ctx, next)
		if err != nil {
			return err
		}
		if was.Cost != next.Cost || !next.State.Held() {
			return fmt.Errorf("cost %s to %s, %s: %w", was.Cost, next.Cost, next.State, ErrMoney)
		}
		short, err := w.short(ctx, next.Scope(), more, budgets)
		if err != nil {
			return err
		}
		if len(short) > 0 {
			return &OverBudget{short[0].balance, more}
		}
		if err := w.extend(ctx, next, hold, more); err != nil {
			return err
		}
		return w.update(ctx, was, next, news)
	})
}

func (w *writing) extend(ctx context.Context, r *bridge.Rental, hold ledger.Hold, more bridge.Money) error {
	if more.IsZero() && r.Pool.Market == bridge.Reserved {
		r.Hold = hold.Total
		return nil
	}
	hold, txs, err := hold.Extend(w.now, more)
	if err != nil {
		return err
	}
	r.Hold = hold.Total
	return w.record(ctx, hold, txs)
}

// Post meters r.Cost, the whole cost so far: the difference is posted. Cost
// beyond the hold is recorded as an overrun with a warning, never refused. An equal
// cost in an equal rental without news writes nothing.
func (s *Store) Post(ctx context.Context, r bridge.Rental, news ...bridge.News) (bridge.Rental, error) {
	return s.change(ctx, "post cost of", r, news, func(w *writing, next *bridge.Rental) error {
		was, hold, err := w.held(ctx, next)
		if err != nil {
			return err
		}
		if was.Hold != next.Hold || !next.State.Held() {
			return fmt.Errorf("hold %s to %s, %s: %w", was.Hold, next.Hold, next.State, ErrMoney)
		}
		after, txs, err := hold.Post(w.now, next.Cost)
		if err != nil {
			return err
		}
		return w.metered(ctx, was, next, hold, after, txs, news)
	})
}

// Settle posts r.Cost as final, returns the rest of the hold and stores the
// rental as settled.
func (s *Store) Settle(ctx context.Context, r bridge.Rental, news ...bridge.News) (bridge.Rental, error) {
	return s.change(ctx, "settle", r, news, func(w *writing, next *bridge.Rental) error {
		was, hold, err := w.held(ctx, next)
		if err != nil {
			return err
		}
		if was.Hold != next.Hold || next.State != bridge.StateSettled {
			return fmt.Errorf("hold %s to %s, %s: %w", was.Hold, next.Hold, next.State, ErrMoney)
		}
		after, txs, err := hold.Settle(w.now, next.Cost)
		if err != nil {
			return err
		}
		return w.metered(ctx, was, next, hold, after, txs, news)
	})
}

// metered stores a step of Post or Settle, with one warning when the cost first
// goes beyond the hold.
func (w *writing) metered(ctx context.Context, was, next *bridge.Rental, from, to ledger.Hold, txs []ledger.Transaction, news []bridge.News) error {
	next.Cost = was.Cost
	if to.Posted.Micro != from.Posted.Micro {
		next.Cost = to.Posted
	}
	if err := w.record(ctx, to, txs); err != nil {
		return err
	}
	if to.Over().Micro > 0 && from.Over().Micro == 0 {
		warning := bridge.News{
			At: w.now, Kind: bridge.NewsWarning, Cluster: next.Cluster, Rental: next.ID, Pool: &next.Pool, Cost: to.Over(),
			Text: fmt.Sprintf("cost %s is beyond the hold of %s by %s", to.Posted, to.Total, to.Over()),
		}
		if err := w.tell(ctx, []bridge.News{warning}); err != nil {
			return err
		}
	}
	return w.update(ctx, was, next, news)
}

// held returns the stored row and the open hold that next follows.
func (w *writing) held(ctx context.Context, next *bridge.Rental) (*bridge.Rental, ledger.Hold, error) {
	was, err := w.rental(ctx, next)
	if err != nil {
		return nil, ledger.Hold{}, err
	}
	if err := step(was.State, next.State); err != nil {
		return nil, ledger.Hold{}, err
	}
	if was.Scope() != next.Scope() {
		return nil, ledger.Hold{}, fmt.Errorf("%s to %s: %w", was.Scope(), next.Scope(), ErrMoney)
	}
	hold, err := holdOf(ctx, w, next.ID)
	if noRows(err) {
		return nil, ledger.Hold{}, fmt.Errorf("%s without a hold: %w", was.State, ErrState)
	}
	return was, hold, err
}

// open makes the hold of a rental.
func (w *writing) open(ctx context.Context, r *bridge.Rental, memo string) error {
	hold, txs, err := ledger.Open(w.now, r, memo)
	if err != nil {
		return err
	}
	return w.record(ctx, hold, txs)
}
