package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"regexp"
	"time"

	"spillway.sh/spillway/bridge"
)

// SaveBill stores lines of bills, all or none. A line that is there with the
// same content is counted as known; one whose key is there with another content
// gives ErrReused, and one that cannot be of a bill ErrBill.
func (s *Store) SaveBill(ctx context.Context, lines []bridge.BillLine) (added, known int, err error) {
	if len(lines) == 0 {
		return 0, 0, nil
	}
	err = s.write(ctx, func(w *writing) error {
		added, known = 0, 0
		for i := range lines {
			isNew, err := w.bill(ctx, lines[i])
			if err != nil {
				return fmt.Errorf("line %d, key %q of %s: %w", i+1, lines[i].Key, lines[i].Cloud, err)
			}
			if isNew {
				added++
			} else {
				known++
			}
		}
		return nil
	})
	if err != nil {
		return 0, 0, fmt.Errorf("save bill: %w", err)
	}
	return added, known, nil
}

var currency = regexp.MustCompile(`^[A-Z]{3}$`)

func (w *writing) bill(ctx context.Context, l bridge.BillLine) (isNew bool, err error) {
	switch {
	case l.Cloud == "" || l.Key == "":
		return false, fmt.Errorf("no cloud or no key: %w", ErrBill)
	case !currency.MatchString(string(l.Amount.Currency)):
		return false, fmt.Errorf("currency %q: %w", l.Amount.Currency, ErrBill)
	case l.From.IsZero() || l.To.Before(l.From):
		return false, fmt.Errorf("from %s to %s: %w", l.From.UTC(), l.To.UTC(), ErrBill)
	}
	l.From, l.To = l.From.UTC(), l.To.UTC()
	body, err := json.Marshal(l)
	if err != nil {
		return false, fmt.Errorf("encode: %w", err)
	}
	var was string
	err = w.QueryRowContext(ctx, `select body from bills where cloud = ? and key = ?`, l.Cloud, l.Key).Scan(&was)
	switch {
	case noRows(err):
		_, err = w.ExecContext(ctx, `insert into bills (cloud, key, "from", until, at, body) values (?, ?, ?, ?, ?, ?)`,
			l.Cloud, l.Key, l.From.UnixNano(), l.To.UnixNano(), w.now.UnixNano(), string(body))
		return err == nil, err
	case err != nil:
		return false, err
	case was != string(body):
		return false, fmt.Errorf("the line is stored as %s: %w", was, ErrReused)
	}
	return false, nil
}

// BillLines returns the lines of a cloud, empty meaning all, whose time overlaps
// [from, to), by when they begin. A line of a single instant is in it from its
// instant on.
func (s *Store) BillLines(ctx context.Context, cloud string, from, to time.Time) ([]bridge.BillLine, error) {
	out, err := rows(ctx, s.reads, func(r *sql.Rows) (l bridge.BillLine, err error) {
		var body string
		if err := r.Scan(&body); err != nil {
			return l, err
		}
		if err := json.Unmarshal([]byte(body), &l); err != nil {
			return l, fault(ErrCorrupt, err)
		}
		return l, nil
	}, `select body from bills where until >= ?1 and (until > ?1 or "from" = until) and "from" < ?2 and (?3 = '' or cloud = ?3) order by "from", cloud, key`,
		from.UnixNano(), to.UnixNano(), cloud)
	if err != nil {
		return nil, fmt.Errorf("read bill of %s: %w", cloud, explain(err))
	}
	return out, nil
}
