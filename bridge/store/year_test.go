package store_test

import (
	"testing"
	"time"

	"spillway.sh/spillway/bridge/store"
	"spillway.sh/spillway/bridge/store/storetest"
)

// BenchmarkLedgerCheckYear proves the books of a year of 100,000 rentals that
// were metered each quarter hour: every hash, every sum, every row.
func BenchmarkLedgerCheckYear(b *testing.B) {
	until := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	s, err := store.Open(b.Context(), storetest.Year{Rentals: 100_000, Until: until}.Dir(b), store.Options{Now: func() time.Time { return until }})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		report, err := s.CheckLedger(b.Context())
		if err != nil || !report.Balanced() {
			b.Fatalf("%+v: %v", report, err)
		}
		b.ReportMetric(float64(report.Transactions), "entries")
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
}
