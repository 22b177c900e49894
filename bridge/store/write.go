package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/ledger"
)

// asker is what reading needs of a connection or a transaction.
type asker interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// writing is one write transaction.
type writing struct {
	prepared
	now  time.Time
	head ledger.Head
}

// write runs do in one transaction. An error leaves no trace.
func (s *Store) write(ctx context.Context, do func(w *writing) error) error {
	if s.db == nil {
		return fault(ErrReadOnly, errors.New("opened for reading only"))
	}
	if err := s.inPlace(); err != nil {
		return explain(err)
	}
	s.writes.prepare(ctx, s.db)
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return explain(err)
	}
	defer func() { _ = tx.Rollback() }() // after a commit it does nothing
	w := &writing{prepared: prepared{tx, &s.writes}, now: s.now().UTC()}
	var epoch, latest int64
	err = w.QueryRowContext(ctx, `select epoch, ledger_seq, ledger_hash, coalesce((select at from ledger where seq = ledger_seq), 0) from meta`).
		Scan(&epoch, &w.head.Seq, &w.head.Hash, &latest)
	if err != nil {
		return explain(err)
	}
	// A clock that steps back is not believed: it would open a budget's period
	// that is over, and everything in it.
	if last := time.Unix(0, latest).UTC(); last.After(w.now) {
		w.now = last
	}
	if epoch != s.epoch { // I24: only the latest bridge writes
		return bridge.ErrEpoch
	}
	was := w.head
	if err := do(w); err != nil {
		return explain(err)
	}
	if w.head != was {
		if _, err := w.ExecContext(ctx, `update meta set ledger_seq = ?, ledger_hash = ?`, w.head.Seq, w.head.Hash); err != nil {
			return explain(err)
		}
	}
	return explain(tx.Commit())
}

// read runs do on one unchanging view of the store.
func (s *Store) read(ctx context.Context, do func(tx prepared) error) error {
	s.looks.prepare(ctx, s.reads)
	tx, err := s.reads.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return explain(err)
	}
	defer func() { _ = tx.Rollback() }()
	return explain(do(prepared{tx, &s.looks}))
}

// tell appends news; those without a time happen now.
func (w *writing) tell(ctx context.Context, news []bridge.News) error {
	for _, n := range news {
		if n.At.IsZero() {
			n.At = w.now
		}
		n.ID, n.At = 0, n.At.UTC()
		body, err := json.Marshal(n)
		if err != nil {
			return fmt.Errorf("encode news: %w", err)
		}
		if _, err := w.ExecContext(ctx, `insert into news (at, kind, rental, job, body) values (?, ?, ?, ?, ?)`,
			n.At.UnixNano(), n.Kind, n.Rental, n.Job, string(body)); err != nil {
			return err
		}
	}
	return nil
}

// rows reads all rows of a query with scan.
func rows[T any](ctx context.Context, q asker, scan func(*sql.Rows) (T, error), query string, args ...any) ([]T, error) {
	r, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }()
	var out []T
	for r.Next() {
		v, err := scan(r)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, r.Err()
}
