package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"spillway.sh/spillway/bridge"
)

// NextID gives an id that no rental of this store had or will have.
func (s *Store) NextID(ctx context.Context) (bridge.RentalID, error) {
	var id bridge.RentalID
	err := s.write(ctx, func(w *writing) (err error) {
		id, err = w.nextID(ctx)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("give a rental id: %w", err)
	}
	return id, nil
}

// nextID skips ids that came in from outside, with machines that were adopted
// after a store was lost.
func (w *writing) nextID(ctx context.Context) (bridge.RentalID, error) {
	for {
		var n int64
		if err := w.QueryRowContext(ctx, `update meta set rentals = rentals + 1 returning rentals`).Scan(&n); err != nil {
			return "", err
		}
		id := bridge.NewRentalID(n)
		var taken bool
		if err := w.QueryRowContext(ctx, `select exists (select 1 from rentals where id = ?)`, id).Scan(&taken); err != nil || !taken {
			return id, err
		}
	}
}

// Propose stores a new rental that waits for a person; nothing is held.
func (s *Store) Propose(ctx context.Context, r bridge.Rental, news ...bridge.News) (bridge.Rental, error) {
	return s.change(ctx, "propose", r, news, func(w *writing, next *bridge.Rental) error {
		if next.State != bridge.StateWaiting || !next.Cost.IsZero() {
			return fmt.Errorf("new, %s: %w", next.State, ErrState)
		}
		next.Revision, next.Digest, next.Yeses = 1, bridge.DigestOf(next), nil
		return w.insert(ctx, next)
	})
}

// Save stores the next version of a rental whose hold and cost do not change.
// A rental that is as it was, without news, is not written again. A waiting one
// with another price, size or place is a new question, to which nobody said yes.
func (s *Store) Save(ctx context.Context, r bridge.Rental, news ...bridge.News) (bridge.Rental, error) {
	return s.change(ctx, "save", r, news, func(w *writing, next *bridge.Rental) error {
		was, err := w.rental(ctx, next)
		if err != nil {
			return err
		}
		if err := step(was.State, next.State); err != nil {
			return err
		}
		if was.State.Held() != next.State.Held() || was.Hold != next.Hold && was.State.Held() || was.Cost != next.Cost || was.Key != next.Key {
			return fmt.Errorf("%s to %s, hold %s to %s, cost %s to %s: %w", was.State, next.State, was.Hold, next.Hold, was.Cost, next.Cost, ErrMoney)
		}
		if was.State.Held() && was.Scope() != next.Scope() {
			return fmt.Errorf("%s to %s: %w", was.Scope(), next.Scope(), ErrMoney)
		}
		ask(was, next)
		return w.update(ctx, was, next, news)
	})
}

// ask keeps what the answers to a question are bound to in step with it.
func ask(was, next *bridge.Rental) {
	next.Revision, next.Digest, next.Yeses = was.Revision, was.Digest, slices.Clone(was.Yeses)
	if next.State != bridge.StateWaiting {
		return
	}
	if d := bridge.DigestOf(next); d != was.Digest {
		next.Revision, next.Digest, next.Yeses = was.Revision+1, d, nil
		next.Reminded, next.Escalated = time.Time{}, time.Time{}
	}
}

// change runs one transaction that ends with a new version of a rental and
// returns that version. The caller's rental is not touched.
func (s *Store) change(ctx context.Context, what string, r bridge.Rental, news []bridge.News, do func(*writing, *bridge.Rental) error) (bridge.Rental, error) {
	next := clone(&r)
	err := s.write(ctx, func(w *writing) error {
		if err := do(w, &next); err != nil {
			return err
		}
		return w.tell(ctx, news)
	})
	if err != nil {
		return r, fmt.Errorf("%s rental %s: %w", what, r.ID, err)
	}
	return next, nil
}

// rental returns the stored row that next follows; bridge.ErrVersion if
// somebody else changed it meanwhile.
func (w *writing) rental(ctx context.Context, next *bridge.Rental) (*bridge.Rental, error) {
	was, err := rentalByID(ctx, w, next.ID)
	if err != nil {
		return nil, err
	}
	if was.Version != next.Version {
		return nil, fmt.Errorf("version %d, the store has %d: %w", next.Version, was.Version, bridge.ErrVersion)
	}
	return was, nil
}

func (w *writing) insert(ctx context.Context, r *bridge.Rental) error {
	if r.Version != 0 {
		return fmt.Errorf("new, version %d: %w", r.Version, bridge.ErrVersion)
	}
	if _, err := bridge.ParseRentalID(string(r.ID)); err != nil {
		return err
	}
	r.Version = 1
	body, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	var id, key bool
	err = w.QueryRowContext(ctx, `select exists (select 1 from rentals where id = ?1), exists (select 1 from rentals where key = ?2 and ?2 <> '')`,
		r.ID, r.Key).Scan(&id, &key)
	switch {
	case err != nil:
		return err
	case id:
		return fmt.Errorf("it is there already: %w", bridge.ErrVersion)
	case key:
		return fmt.Errorf("key %q: %w", r.Key, ErrReused)
	}
	_, err = w.ExecContext(ctx, `insert into rentals (id, version, state, ended, cluster, account, key, changed, body) values (?, 1, ?, ?, ?, ?, ?, ?, ?)`,
		r.ID, r.State, r.State.Ended(), r.Cluster, r.Account, r.Key, w.now.UnixNano(), string(body))
	return err
}

// update writes the version after was. Without news and without a difference
// it writes nothing and the version stays.
func (w *writing) update(ctx context.Context, was, next *bridge.Rental, news []bridge.News) error {
	if len(news) == 0 {
		a, err := json.Marshal(was)
		if err != nil {
			return fmt.Errorf("encode: %w", err)
		}
		b, err := json.Marshal(next)
		if err != nil {
			return fmt.Errorf("encode: %w", err)
		}
		if string(a) == string(b) {
			return nil
		}
	}
	next.Version = was.Version + 1
	body, err := json.Marshal(next)
	if err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	_, err = w.ExecContext(ctx, `update rentals set version = ?, state = ?, ended = ?, cluster = ?, account = ?, changed = ?, body = ? where id = ?`,
		next.Version, next.State, next.State.Ended(), next.Cluster, next.Account, w.now.UnixNano(), string(body), next.ID)
	return err
}

// step refuses a change of state that no single event makes.
func step(from, to bridge.State) error {
	if !from.Reaches(to) || from == to && from.Ended() {
		return fmt.Errorf("from %s to %s: %w", from, to, ErrState)
	}
	return nil
}

// Rental returns one rental, ended or not; ErrNoRental if there is none.
func (s *Store) Rental(ctx context.Context, id bridge.RentalID) (bridge.Rental, error) {
	r, err := rentalByID(ctx, s.reads, id)
	if err != nil {
		return bridge.Rental{}, fmt.Errorf("read rental %s: %w", id, explain(err))
	}
	return *r, nil
}

func rentalByID(ctx context.Context, q asker, id bridge.RentalID) (*bridge.Rental, error) {
	var body string
	err := q.QueryRowContext(ctx, `select body from rentals where id = ?`, id).Scan(&body)
	if noRows(err) {
		return nil, ErrNoRental
	}
	if err != nil {
		return nil, err
	}
	return decodeRental(body)
}

func decodeRental(body string) (*bridge.Rental, error) {
	var r bridge.Rental
	if err := json.Unmarshal([]byte(body), &r); err != nil {
		return nil, fault(ErrCorrupt, err)
	}
	return &r, nil
}

// ByKey returns the rental that was made for a request by hand, ended or not;
// ErrNoRental if there is none.
func (s *Store) ByKey(ctx context.Context, key string) (bridge.Rental, error) {
	var body string
	err := s.reads.QueryRowContext(ctx, `select body from rentals where key = ? and key <> ''`, key).Scan(&body)
	if noRows(err) {
		err = ErrNoRental
	}
	if err != nil {
		return bridge.Rental{}, fmt.Errorf("read rental of request %q: %w", key, explain(err))
	}
	r, err := decodeRental(body)
	if err != nil {
		return bridge.Rental{}, fmt.Errorf("read rental of request %q: %w", key, err)
	}
	return *r, nil
}

// Recent returns up to limit rentals, the newest first, ended ones too.
func (s *Store) Recent(ctx context.Context, limit int) ([]bridge.Rental, error) {
	out, err := rows(ctx, s.reads, scanRental, `select body from rentals order by num desc limit ?`, limit)
	if err != nil {
		return nil, fmt.Errorf("read recent rentals: %w", explain(err))
	}
	return out, nil
}

func scanRental(r *sql.Rows) (bridge.Rental, error) {
	var body string
	if err := r.Scan(&body); err != nil {
		return bridge.Rental{}, err
	}
	v, err := decodeRental(body)
	if err != nil {
		return bridge.Rental{}, err
	}
	return *v, nil
}

// Live returns all rentals that have not ended, the oldest first. The values
// are the caller's. Only rows that changed since the last call are decoded. To
// a bridge that another one has replaced they are no longer shown: it gets
// bridge.ErrEpoch, so that it stops though it has nothing to write.
func (s *Store) Live(ctx context.Context) ([]bridge.Rental, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []bridge.Rental
	err := s.read(ctx, func(tx prepared) error {
		if err := s.current(ctx, tx); err != nil {
			return err
		}
		keys, err := rows(ctx, tx, func(r *sql.Rows) (k bridge.Rental, err error) {
			err = r.Scan(&k.ID, &k.Version)
			return k, err
		}, `select id, version from rentals where ended = 0 order by num`)
		if err != nil {
			return err
		}
		live := make(map[bridge.RentalID]bridge.Rental, len(keys))
		out = make([]bridge.Rental, len(keys))
		for i, k := range keys {
			r, ok := s.live[k.ID]
			if !ok || r.Version != k.Version {
				fresh, err := rentalByID(ctx, tx, k.ID)
				if err != nil {
					return err
				}
				r = *fresh
			}
			live[k.ID], out[i] = r, clone(&r)
		}
		s.live = live
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read live rentals: %w", err)
	}
	return out, nil
}

// current refuses a writer whose epoch is not the store's any more.
func (s *Store) current(ctx context.Context, tx prepared) error {
	if s.db == nil {
		return nil // it only reads
	}
	var epoch int64
	if err := tx.QueryRowContext(ctx, `select epoch from meta`).Scan(&epoch); err != nil {
		return err
	}
	if epoch != s.epoch {
		return bridge.ErrEpoch
	}
	return nil
}
