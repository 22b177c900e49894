package storetest_test

import (
	"testing"
	"time"

	"spillway.sh/spillway/bridge/store"
	"spillway.sh/spillway/bridge/store/storetest"
)

// A year that was written at once is as one that was lived.
func TestTheBooksOfAYearBalance(t *testing.T) {
	until := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	s, err := store.Open(t.Context(), storetest.Year{Rentals: 500, Until: until}.Dir(t), store.Options{Now: func() time.Time { return until }})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	report, err := s.CheckLedger(t.Context())
	if err != nil || !report.Balanced() || report.OpenHolds != 0 || report.Transactions < 2500 {
		t.Errorf("%+v: %v", report, err)
	}
	all, err := s.RentalsBetween(t.Context(), until.AddDate(-1, 0, 0), until)
	if err != nil || len(all) != 500 {
		t.Errorf("%d rentals: %v", len(all), err)
	}
	if late, err := s.Corrections(t.Context(), until.AddDate(-1, 0, 0), until); err != nil || len(late) == 0 {
		t.Errorf("%d corrections: %v", len(late), err)
	}
	balances, err := s.Balances(t.Context(), until.Add(-24*time.Hour), storetest.Budgets())
	if err != nil || balances[0].Posted.IsZero() || balances[1].Posted.Micro >= balances[0].Posted.Micro {
		t.Errorf("%+v: %v", balances, err)
	}
}
