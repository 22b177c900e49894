package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"spillway.sh/spillway/bridge"
)

// highWaterStep is how far the latest time ever seen may run ahead of the
// stored one before it alone is worth a write; a quiet system writes nothing.
const highWaterStep = 10 * time.Minute

// Marks returns what the engine remembered; the zero value at first.
func (s *Store) Marks(ctx context.Context) (bridge.Marks, error) {
	m, _, err := marks(ctx, s.reads)
	if err != nil {
		return m, fmt.Errorf("read marks: %w", explain(err))
	}
	return m, nil
}

func marks(ctx context.Context, q asker) (m bridge.Marks, body string, err error) {
	err = q.QueryRowContext(ctx, `select body from marks`).Scan(&body)
	if noRows(err) {
		return m, "", nil
	}
	if err != nil {
		return m, "", err
	}
	if err := json.Unmarshal([]byte(body), &m); err != nil {
		return m, "", fault(ErrCorrupt, err)
	}
	return m, body, nil
}

// SaveMarks replaces what the engine remembers. What is equal to the stored
// marks, or differs only in a high-water mark less than ten minutes ahead, is
// not written.
func (s *Store) SaveMarks(ctx context.Context, m bridge.Marks, news ...bridge.News) error {
	err := s.write(ctx, func(w *writing) error {
		was, old, err := marks(ctx, w)
		if err != nil {
			return err
		}
		if ahead := m.HighWater.Sub(was.HighWater); old != "" && ahead >= 0 && ahead < highWaterStep {
			m.HighWater = was.HighWater
		}
		body, err := json.Marshal(m)
		if err != nil {
			return fmt.Errorf("encode: %w", err)
		}
		if string(body) != old {
			if _, err := w.ExecContext(ctx, `insert into marks (only, body) values (1, ?)
				on conflict do update set body = excluded.body`, string(body)); err != nil {
				return err
			}
		}
		return w.tell(ctx, news)
	})
	if err != nil {
		return fmt.Errorf("save marks: %w", err)
	}
	return nil
}
