package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"spillway.sh/spillway/bridge"
)

// adopted stands in the ledger at money that was spent before anybody asked.
const adopted = "adopted: no budget was asked"

// Adopt stores a rental that is found running, in the state it is found in,
// with its hold. Its money is being spent already, so no budget is asked, and
// the ledger says so. One that waits for an answer here was answered somewhere
// else; one that is held here already may have moved on there, and hold more,
// but never less, nor for somebody else. ErrState if it has ended here.
func (s *Store) Adopt(ctx context.Context, r bridge.Rental, news ...bridge.News) (bridge.Rental, error) {
	return s.change(ctx, "adopt", r, news, func(w *writing, next *bridge.Rental) error {
		if !next.State.Held() || next.State == bridge.StateLaunching {
			return fmt.Errorf("found %s: %w", next.State, ErrState)
		}
		was, err := rentalByID(ctx, w, next.ID)
		switch {
		case errors.Is(err, ErrNoRental):
			if !next.Cost.IsZero() {
				return fmt.Errorf("found with a cost of %s: %w", next.Cost, ErrMoney)
			}
			if err := w.insert(ctx, next); err != nil {
				return err
			}
			return w.open(ctx, next, adopted)
		case err != nil:
			return err
		case was.State.Ended():
			return fmt.Errorf("%s here: %w", was.State, ErrState)
		case was.Version != next.Version:
			return fmt.Errorf("version %d, the store has %d: %w", next.Version, was.Version, bridge.ErrVersion)
		case was.State == bridge.StateWaiting:
			if err := w.open(ctx, next, adopted); err != nil {
				return err
			}
			return w.update(ctx, was, next, news)
		}
		return w.catchUp(ctx, was, next, news)
	})
}

// catchUp stores how far a held rental is found to be. A hold that must reach
// further is extended by the difference.
func (w *writing) catchUp(ctx context.Context, was, next *bridge.Rental, news []bridge.News) error {
	hold, err := holdOf(ctx, w, next.ID)
	if err != nil {
		return err
	}
	if was.Scope() != next.Scope() || was.Cost != next.Cost || was.Key != next.Key {
		return fmt.Errorf("%s at a cost of %s to %s at %s: %w", was.Scope(), was.Cost, next.Scope(), next.Cost, ErrMoney)
	}
	more, err := next.Hold.Sub(hold.Total)
	switch {
	case err != nil:
		return err
	case more.Micro < 0:
		return fmt.Errorf("hold %s to %s: %w", hold.Total, next.Hold, ErrMoney)
	case more.Micro > 0:
		after, txs, err := hold.Extend(w.now, more)
		if err != nil {
			return err
		}
		for i := range txs {
			txs[i].Memo = adopted
		}
		if err := w.record(ctx, after, txs); err != nil {
			return err
		}
	}
	return w.update(ctx, was, next, news)
}

// Given is the number of the latest rental that NextID gave an id to.
func (s *Store) Given(ctx context.Context) (n int64, err error) {
	if err := s.reads.QueryRowContext(ctx, `select rentals from meta`).Scan(&n); err != nil {
		return 0, fmt.Errorf("read the number of rentals: %w", explain(err))
	}
	return n, nil
}

// SkipIDs makes the next rental's number larger than n: those up to there were
// given already, by a store that is lost.
func (s *Store) SkipIDs(ctx context.Context, n int64) error {
	err := s.write(ctx, func(w *writing) error {
		_, err := w.ExecContext(ctx, `update meta set rentals = max(rentals, ?)`, n)
		return err
	})
	if err != nil {
		return fmt.Errorf("skip rental ids up to number %d: %w", n, err)
	}
	return nil
}

// Lock keeps every bridge out of a data directory until it is unlocked.
// ErrLocked while one is in it.
func Lock(dir string) (unlock func() error, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("lock store %s: %w", dir, explain(err))
	}
	lock, err := acquire(dir)
	if err != nil {
		return nil, fmt.Errorf("lock store %s: %w", dir, explain(err))
	}
	return lock.Close, nil
}

// Place moves the store of another directory of the same file system, which
// nobody has open, to where a directory that the caller has locked keeps its own.
// What is there is set aside under its name with a suffix, and returned; its log
// goes first, for it must not be taken for the new store's.
func Place(dir, from, suffix string) (aside []string, err error) {
	for _, tail := range []string{"-wal", "-shm", ""} {
		old := filepath.Join(dir, fileName+tail)
		err := os.Rename(old, old+"."+suffix)
		if err == nil {
			aside = append(aside, old+"."+suffix)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return aside, fmt.Errorf("set aside %s: %w", old, explain(err))
		}
	}
	if err := os.Rename(filepath.Join(from, fileName), filepath.Join(dir, fileName)); err != nil {
		return aside, fmt.Errorf("place store: %w", explain(err))
	}
	d, err := os.Open(dir)
	if err != nil {
		return aside, fmt.Errorf("place store: %w", explain(err))
	}
	if err := errors.Join(d.Sync(), d.Close()); err != nil {
		return aside, fmt.Errorf("place store: %w", explain(err))
	}
	return aside, nil
}
