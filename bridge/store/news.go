package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"spillway.sh/spillway/bridge"
)

// Tell appends news that belong to no change.
func (s *Store) Tell(ctx context.Context, news ...bridge.News) error {
	if len(news) == 0 {
		return nil
	}
	if err := s.write(ctx, func(w *writing) error { return w.tell(ctx, news) }); err != nil {
		return fmt.Errorf("tell news: %w", err)
	}
	return nil
}

// News returns up to limit news after an id, in the order they were told.
func (s *Store) News(ctx context.Context, afterID int64, limit int) ([]bridge.News, error) {
	out, err := rows(ctx, s.reads, func(r *sql.Rows) (n bridge.News, err error) {
		var id int64
		var body string
		if err := r.Scan(&id, &body); err != nil {
			return n, err
		}
		if err := json.Unmarshal([]byte(body), &n); err != nil {
			return n, fault(ErrCorrupt, err)
		}
		n.ID = id
		return n, nil
	}, `select id, body from news where id > ? order by id limit ?`, afterID, limit)
	if err != nil {
		return nil, fmt.Errorf("read news: %w", explain(err))
	}
	return out, nil
}
