package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"spillway.sh/spillway/bridge"
)

// AddUsage adds to what the GPUs of clusters did in some hours; ErrUsage, and
// nothing is added, for an hour that does not begin on one or a figure below zero.
func (s *Store) AddUsage(ctx context.Context, us ...bridge.Usage) error {
	if len(us) == 0 {
		return nil
	}
	err := s.write(ctx, func(w *writing) error {
		for i := range us {
			if err := w.use(ctx, &us[i]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("add usage: %w", err)
	}
	return nil
}

func (w *writing) use(ctx context.Context, u *bridge.Usage) error {
	least := min(u.Seconds, u.Owned, u.OwnedBusy, u.Rented, u.RentedBusy, u.Waiting, u.Measured, u.Useful)
	if least < 0 || u.Cluster == "" || u.Hour.IsZero() || !u.Hour.Truncate(time.Hour).Equal(u.Hour) {
		return fmt.Errorf("%d in the hour %s of cluster %q: %w", least, u.Hour.UTC(), u.Cluster, ErrUsage)
	}
	_, err := w.ExecContext(ctx, `insert into usage (hour, cluster, gpu, seconds, owned, owned_busy, rented, rented_busy, waiting, measured, useful)
		values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		on conflict do update set seconds = seconds + excluded.seconds, owned = owned + excluded.owned, owned_busy = owned_busy + excluded.owned_busy,
			rented = rented + excluded.rented, rented_busy = rented_busy + excluded.rented_busy, waiting = waiting + excluded.waiting,
			measured = measured + excluded.measured, useful = useful + excluded.useful`,
		u.Hour.UnixNano(), u.Cluster, u.GPU, u.Seconds, u.Owned, u.OwnedBusy, u.Rented, u.RentedBusy, u.Waiting, u.Measured, u.Useful)
	return err
}

// Usage returns the hours that begin in [from, to), oldest first, then by cluster
// and class.
func (s *Store) Usage(ctx context.Context, from, to time.Time) ([]bridge.Usage, error) {
	out, err := rows(ctx, s.reads, func(r *sql.Rows) (u bridge.Usage, err error) {
		var hour int64
		err = r.Scan(&hour, &u.Cluster, &u.GPU, &u.Seconds, &u.Owned, &u.OwnedBusy, &u.Rented, &u.RentedBusy, &u.Waiting, &u.Measured, &u.Useful)
		u.Hour = time.Unix(0, hour).UTC()
		return u, err
	}, `select hour, cluster, gpu, seconds, owned, owned_busy, rented, rented_busy, waiting, measured, useful
		from usage where hour >= ? and hour < ? order by hour, cluster, gpu`, from.UnixNano(), to.UnixNano())
	if err != nil {
		return nil, fmt.Errorf("read usage: %w", explain(err))
	}
	return out, nil
}
