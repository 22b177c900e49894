package calendar

import (
	"testing"
	"time"

	"spillway.sh/spillway/bridge/store"
	"spillway.sh/spillway/bridge/store/storetest"
)

// BenchmarkLook is the look of each minute at the books of a year of 100,000 rentals
// and 27 budgets: the first of a daemon, that reads four weeks of days, and those after it.
func BenchmarkLook(b *testing.B) {
	now := time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	s, err := store.Open(b.Context(), storetest.Year{Rentals: 100_000, Until: now}.Dir(b), store.Options{Now: func() time.Time { return now }})
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			b.Error(err)
		}
	}()
	o := Options{Store: s, Since: now.AddDate(0, -1, 0), Budgets: storetest.Budgets(), Reports: Reports{Daily: &nine, Weekly: &weekly}}
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			if err := New(o).Look(b.Context(), now); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("each", func(b *testing.B) {
		c := New(o)
		for b.Loop() {
			if err := c.Look(b.Context(), now); err != nil {
				b.Fatal(err)
			}
		}
	})
}
