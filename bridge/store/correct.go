package store

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/ledger"
)

// Correct records corrections of rentals that are settled, all or none, with the
// news. One whose key is stored with the same content counts once and is no
// error, with another content it is ErrReused. The cost of a rental's row follows.
// It returns how many were new; news of a rental without a new one, and all news
// when nothing was new, are not told.
func (s *Store) Correct(ctx context.Context, cs []bridge.Correction, news ...bridge.News) (int, error) {
	if len(cs) == 0 {
		return 0, nil
	}
	var fresh []bridge.RentalID
	err := s.write(ctx, func(w *writing) error {
		fresh = nil
		for i := range cs {
			isNew, err := w.correct(ctx, &cs[i])
			if err != nil {
				return err
			}
			if isNew {
				fresh = append(fresh, cs[i].Rental)
			}
		}
		if len(fresh) == 0 {
			return nil
		}
		return w.tell(ctx, slices.DeleteFunc(slices.Clone(news), func(n bridge.News) bool {
			return n.Rental != "" && !slices.Contains(fresh, n.Rental)
		}))
	})
	if err != nil {
		return 0, fmt.Errorf("correct costs: %w", err)
	}
	return len(fresh), nil
}

func (w *writing) correct(ctx context.Context, c *bridge.Correction) (isNew bool, err error) {
	known, err := rows(ctx, w, scanCorrection, correctionColumns+` where key = ? and key <> ''`, c.Key)
	if err != nil {
		return false, err
	}
	if len(known) > 0 {
		if was := known[0]; !sameCorrection(was, *c) {
			return false, fmt.Errorf("correction %q of %s by %s, %s: %w", was.Key, was.Rental, was.Amount, was.Kind, ErrReused)
		}
		return false, nil
	}
	was, err := rentalByID(ctx, w, c.Rental)
	if err != nil {
		return false, fmt.Errorf("correction %q of %q: %w", c.Key, c.Rental, err)
	}
	hold, err := holdOf(ctx, w, c.Rental)
	if noRows(err) {
		return false, fmt.Errorf("correction %q of %s, which is %s and never held money: %w", c.Key, c.Rental, was.State, ErrState)
	}
	if err != nil {
		return false, err
	}
	hold, t, err := hold.Correct(w.now, c)
	if err != nil {
		return false, err
	}
	if err := w.record(ctx, hold, []ledger.Transaction{t}); err != nil {
		return false, err
	}
	next := clone(was)
	next.Cost = hold.Posted
	return true, w.update(ctx, was, &next, nil)
}

func sameCorrection(a, b bridge.Correction) bool {
	used := a.Used.Equal(b.Used)
	a.Used, b.Used = time.Time{}, time.Time{}
	return used && a == b
}

// Corrections returns those that were recorded in [from, to), oldest first.
func (s *Store) Corrections(ctx context.Context, from, to time.Time) ([]bridge.Correction, error) {
	out, err := rows(ctx, s.reads, scanCorrection, correctionColumns+` indexed by ledger_key where key <> '' and at >= ? and at < ? order by seq`, from.UnixNano(), to.UnixNano())
	if err != nil {
		return nil, fmt.Errorf("read corrections: %w", explain(err))
	}
	return out, nil
}

const correctionColumns = `select key, rental, kind, micro, currency, used, who, memo, fx from ledger`

func scanCorrection(r *sql.Rows) (c bridge.Correction, err error) {
	var used int64
	err = r.Scan(&c.Key, &c.Rental, &c.Kind, &c.Amount.Micro, &c.Amount.Currency, &used, &c.Who, &c.Memo, &c.FX)
	c.Used = stored(used)
	return c, err
}
