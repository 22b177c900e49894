package store

import (
	"context"
	"fmt"

	"spillway.sh/spillway/bridge"
)

// TellOnce tells news whose names were not told before, each in the same
// transaction as its name; it returns how many.
func (s *Store) TellOnce(ctx context.Context, once ...bridge.Once) (int, error) {
	if len(once) == 0 {
		return 0, nil
	}
	told := 0
	err := s.write(ctx, func(w *writing) error {
		told = 0
		for i := range once {
			first, err := w.name(ctx, once[i].Name)
			if err != nil || !first {
				if err != nil {
					return err
				}
				continue
			}
			for _, other := range once[i].Silences {
				if _, err := w.name(ctx, other); err != nil {
					return err
				}
			}
			if err := w.tell(ctx, []bridge.News{once[i].News}); err != nil {
				return err
			}
			told++
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("tell news once: %w", err)
	}
	return told, nil
}

// name takes a name; false if it was taken before.
func (w *writing) name(ctx context.Context, name string) (first bool, err error) {
	res, err := w.ExecContext(ctx, `insert into news_once (name, at) values (?, ?) on conflict do nothing`, name, w.now.UnixNano())
	if err != nil {
		return false, err
	}
	n, err := res.RowsAffected()
	return n == 1, err
}
