package store

import "spillway.sh/spillway/bridge"

// Forget empties what the store remembers of live rentals, as a start does.
func (s *Store) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.live = map[bridge.RentalID]bridge.Rental{}
}
