package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"

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

// NewsFilter says which news are meant. Rental and Job together mean news of
// either.
type NewsFilter struct {
	After  int64 // ids above this one
	Limit  int   // at most this many; with After zero the latest ones
	Rental bridge.RentalID
	Job    bridge.JobID
}

// News returns what was told, oldest first.
func (s *Store) News(ctx context.Context, f NewsFilter) ([]bridge.News, error) {
	where, args := "id > ?", []any{f.After}
	switch {
	case f.Rental != "" && f.Job != "":
		where, args = where+" and (rental = ? or job = ?)", append(args, f.Rental, f.Job)
	case f.Rental != "":
		where, args = where+" and rental = ?", append(args, f.Rental)
	case f.Job != "":
		where, args = where+" and job = ?", append(args, f.Job)
	}
	order := "asc"
	if f.After == 0 {
		order = "desc" // the latest ones, turned round below
	}
	out, err := rows(ctx, s.reads, scanNews, `select id, body from news where `+where+` order by id `+order+` limit ?`, append(args, f.Limit)...)
	if err != nil {
		return nil, fmt.Errorf("read news: %w", explain(err))
	}
	if f.After == 0 {
		slices.Reverse(out)
	}
	return out, nil
}

func scanNews(r *sql.Rows) (n bridge.News, err error) {
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
}
