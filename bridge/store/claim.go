package store

import (
	"context"
	"fmt"

	"spillway.sh/spillway/bridge"
)

// ClaimEnrolment uses a rental's ticket for one machine, known by its
// provider's id. The same machine may come again from the same address, for its
// answer may have been lost; from another address it is bridge.ErrClaimed. Whether the
// machine belongs to the rental is the caller's to know.
func (s *Store) ClaimEnrolment(ctx context.Context, id bridge.RentalID, machine, address string) error {
	err := s.write(ctx, func(w *writing) error {
		r, err := rentalByID(ctx, w, id)
		if err != nil {
			return err
		}
		if !r.State.Held() {
			return fmt.Errorf("%s: %w", r.State, ErrState)
		}
		var first string
		err = w.QueryRowContext(ctx, `select address from enrolments where rental = ? and machine = ?`, id, machine).Scan(&first)
		switch {
		case noRows(err):
			_, err = w.ExecContext(ctx, `insert into enrolments (rental, machine, address, at) values (?, ?, ?, ?)`, id, machine, address, w.now.UnixNano())
			return err
		case err != nil:
			return err
		case first != address:
			return fmt.Errorf("from %s, now from %s: %w", first, address, bridge.ErrClaimed)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("enrol machine %s of rental %s: %w", machine, id, err)
	}
	return nil
}
