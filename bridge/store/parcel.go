package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"spillway.sh/spillway/bridge"
)

// Knock keeps what people did, before anybody is told that it was received. The
// same key again is not fresh, and changes nothing.
func (s *Store) Knock(ctx context.Context, ks []bridge.Knock) (fresh []bool, err error) {
	err = s.write(ctx, func(w *writing) error {
		fresh = make([]bool, len(ks))
		for i, k := range ks {
			res, err := w.ExecContext(ctx, `insert into knocks (key, at, body) values (?, ?, ?) on conflict do nothing`, k.Key, k.At.UnixNano(), string(k.Body))
			if err != nil {
				return err
			}
			n, err := res.RowsAffected()
			if err != nil {
				return err
			}
			fresh[i] = n == 1
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("keep knock: %w", err)
	}
	return fresh, nil
}

// Knocks returns what was not answered, oldest first, at most limit.
func (s *Store) Knocks(ctx context.Context, limit int) ([]bridge.Knock, error) {
	out, err := rows(ctx, s.reads, func(r *sql.Rows) (k bridge.Knock, err error) {
		var at int64
		err = r.Scan(&k.Key, &at, &k.Body)
		k.At = time.Unix(0, at).UTC()
		return k, err
	}, `select key, at, body from knocks where done = 0 order by at limit ?`, limit)
	if err != nil {
		return nil, fmt.Errorf("read knocks: %w", explain(err))
	}
	return out, nil
}

// Answer closes a knock and sends its answer on the way. A knock that is closed
// already sends nothing: false.
func (s *Store) Answer(ctx context.Context, key string, ps []bridge.Parcel) (first bool, err error) {
	err = s.write(ctx, func(w *writing) error {
		res, err := w.ExecContext(ctx, `update knocks set done = 1, body = '' where key = ? and done = 0`, key)
		if err != nil {
			return err
		}
		n, err := res.RowsAffected()
		if first = n == 1; err != nil || !first {
			return err
		}
		return w.send(ctx, ps)
	})
	if err != nil {
		return false, fmt.Errorf("answer knock: %w", err)
	}
	return first, nil
}

// Told moves the cursor of the news to id and sends what they give on the way.
func (s *Store) Told(ctx context.Context, id int64, ps []bridge.Parcel) error {
	err := s.write(ctx, func(w *writing) error {
		if _, err := w.ExecContext(ctx, `insert into news_cursor (only, id) values (1, ?)
			on conflict do update set id = max(id, excluded.id)`, id); err != nil {
			return err
		}
		return w.send(ctx, ps)
	})
	if err != nil {
		return fmt.Errorf("send news: %w", err)
	}
	return nil
}

// Send sends parcels on the way.
func (s *Store) Send(ctx context.Context, ps []bridge.Parcel) error {
	if err := s.write(ctx, func(w *writing) error { return w.send(ctx, ps) }); err != nil {
		return fmt.Errorf("send parcels: %w", err)
	}
	return nil
}

func (w *writing) send(ctx context.Context, ps []bridge.Parcel) error {
	for i := range ps {
		p := &ps[i]
		if p.Once != "" {
			res, err := w.ExecContext(ctx, `insert into parcels_once (name, at) values (?, ?) on conflict do nothing`, p.Once, w.now.UnixNano())
			if err != nil {
				return err
			}
			if n, err := res.RowsAffected(); err != nil || n == 0 {
				if err != nil {
					return err
				}
				continue
			}
		}
		if _, err := w.ExecContext(ctx, `insert into parcels (rev, lane, surface, key, target, source, after, tries, made, body) values (1, ?, ?, ?, ?, ?, ?, 0, ?, ?)
			on conflict (key) where key <> '' do update set rev = rev + 1, lane = min(lane, excluded.lane), source = excluded.source, body = excluded.body`,
			p.Lane, p.Surface, p.Key, p.Target, p.Source, nanos(p.After), w.now.UnixNano(), string(p.Body)); err != nil {
			return err
		}
	}
	return nil
}

// nanos is a time as stored; the zero time is zero.
func nanos(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

// SentOnce reports which of the names went out already.
func (s *Store) SentOnce(ctx context.Context, name string) (bool, error) {
	var n int
	if err := s.reads.QueryRowContext(ctx, `select count(*) from parcels_once where name = ?`, name).Scan(&n); err != nil {
		return false, fmt.Errorf("look whether %s went out: %w", name, explain(err))
	}
	return n > 0, nil
}

// Parcels returns what waits to be delivered without the bodies, the most
// urgent first, then the oldest.
func (s *Store) Parcels(ctx context.Context, limit int) ([]bridge.Parcel, error) {
	out, err := rows(ctx, s.reads, func(r *sql.Rows) (p bridge.Parcel, err error) {
		var after, made int64
		err = r.Scan(&p.ID, &p.Rev, &p.Lane, &p.Surface, &p.Key, &p.Target, &p.Source, &after, &p.Tries, &made)
		p.After, p.Made = time.Unix(0, after).UTC(), time.Unix(0, made).UTC()
		return p, err
	}, `select id, rev, lane, surface, key, target, source, after, tries, made from parcels order by lane, id limit ?`, limit)
	if err != nil {
		return nil, fmt.Errorf("read parcels: %w", explain(err))
	}
	return out, nil
}

// Parcel returns one that waits, with its body; false when it waits no more.
func (s *Store) Parcel(ctx context.Context, id int64) (p bridge.Parcel, ok bool, err error) {
	var after, made int64
	err = s.reads.QueryRowContext(ctx, `select id, rev, lane, surface, key, target, source, after, tries, made, body from parcels where id = ?`, id).
		Scan(&p.ID, &p.Rev, &p.Lane, &p.Surface, &p.Key, &p.Target, &p.Source, &after, &p.Tries, &made, &p.Body)
	if noRows(err) {
		return p, false, nil
	}
	if err != nil {
		return p, false, fmt.Errorf("read parcel: %w", explain(err))
	}
	p.After, p.Made = time.Unix(0, after).UTC(), time.Unix(0, made).UTC()
	return p, true, nil
}

// Delivered takes a parcel off the list and keeps where it is shown. One whose
// body was replaced meanwhile stays and is delivered again, not before next.
func (s *Store) Delivered(ctx context.Context, p bridge.Parcel, next time.Time, shown ...bridge.Copy) error {
	err := s.write(ctx, func(w *writing) error {
		if _, err := w.ExecContext(ctx, `delete from parcels where id = ? and rev = ?`, p.ID, p.Rev); err != nil {
			return err
		}
		if _, err := w.ExecContext(ctx, `update parcels set after = ?, tries = 0 where id = ?`, nanos(next), p.ID); err != nil {
			return err
		}
		return w.show(ctx, shown)
	})
	if err != nil {
		return fmt.Errorf("close parcel: %w", err)
	}
	return nil
}

// PutOff says when a parcel is tried again.
func (s *Store) PutOff(ctx context.Context, id int64, until time.Time) error {
	err := s.write(ctx, func(w *writing) error {
		_, err := w.ExecContext(ctx, `update parcels set after = ?, tries = tries + 1 where id = ?`, nanos(until), id)
		return err
	})
	if err != nil {
		return fmt.Errorf("put off parcel: %w", err)
	}
	return nil
}

// Show keeps where messages are shown.
func (s *Store) Show(ctx context.Context, shown ...bridge.Copy) error {
	if err := s.write(ctx, func(w *writing) error { return w.show(ctx, shown) }); err != nil {
		return fmt.Errorf("keep copies: %w", err)
	}
	return nil
}

func (w *writing) show(ctx context.Context, shown []bridge.Copy) error {
	for _, c := range shown {
		if _, err := w.ExecContext(ctx, `insert into copies (key, channel, ts, target, hash, at) values (?, ?, ?, ?, ?, ?)
			on conflict do update set hash = excluded.hash, at = excluded.at`, c.Key, c.Channel, c.TS, c.Target, c.Hash, nanos(c.At)); err != nil {
			return err
		}
	}
	return nil
}

// Hide forgets a copy that is no more.
func (s *Store) Hide(ctx context.Context, c bridge.Copy) error {
	err := s.write(ctx, func(w *writing) error {
		_, err := w.ExecContext(ctx, `delete from copies where key = ? and channel = ? and ts = ?`, c.Key, c.Channel, c.TS)
		return err
	})
	if err != nil {
		return fmt.Errorf("forget copy: %w", err)
	}
	return nil
}

// Copies returns where the message of a key is shown, the first one first.
func (s *Store) Copies(ctx context.Context, key string) ([]bridge.Copy, error) {
	out, err := rows(ctx, s.reads, func(r *sql.Rows) (c bridge.Copy, err error) {
		var at int64
		err = r.Scan(&c.Key, &c.Channel, &c.TS, &c.Target, &c.Hash, &at)
		c.At = time.Unix(0, at).UTC()
		return c, err
	}, `select key, channel, ts, target, hash, at from copies where key = ? order by ts, channel`, key)
	if err != nil {
		return nil, fmt.Errorf("read copies: %w", explain(err))
	}
	return out, nil
}

// NewsAfter returns news above an id, oldest first.
func (s *Store) NewsAfter(ctx context.Context, id int64, limit int) ([]bridge.News, error) {
	out, err := rows(ctx, s.reads, scanNews, `select id, body from news where id > ? order by id limit ?`, id, limit)
	if err != nil {
		return nil, fmt.Errorf("read news: %w", explain(err))
	}
	return out, nil
}

// NewsCursor is the last news that was told. At first it stands before the
// first news of a rental that lives now, or else at the end: nobody wants to be
// told of last year.
func (s *Store) NewsCursor(ctx context.Context) (id int64, err error) {
	err = s.reads.QueryRowContext(ctx, `select coalesce(
		(select id from news_cursor),
		(select min(id) - 1 from news where rental in (select id from rentals where ended = 0)),
		(select max(id) from news), 0)`).Scan(&id)
	if err != nil {
		return 0, fmt.Errorf("read news cursor: %w", explain(err))
	}
	return id, nil
}

const (
	knocksKept = 24 * time.Hour
	onceKept   = 400 * 24 * time.Hour // longer than the longest budget period
	copiesKept = 90 * 24 * time.Hour
)

// ForgetParcels drops what is too old to matter: answered knocks, names of messages
// that went out, copies of old messages.
func (s *Store) ForgetParcels(ctx context.Context) error {
	err := s.write(ctx, func(w *writing) error {
		for query, kept := range map[string]time.Duration{
			`delete from knocks where done = 1 and at < ?`: knocksKept,
			`delete from parcels_once where at < ?`:        onceKept,
			`delete from copies where at < ?`:              copiesKept,
		} {
			if _, err := w.ExecContext(ctx, query, w.now.Add(-kept).UnixNano()); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("forget old parcels: %w", err)
	}
	return nil
}
