package store_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/store"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// hands is a clock that tests move.
type hands struct{ at atomic.Int64 }

func (h *hands) now() time.Time       { return time.Unix(0, h.at.Load()).UTC() }
func (h *hands) add(d time.Duration)  { h.at.Add(int64(d)) }
func newHands(start time.Time) *hands { h := &hands{}; h.at.Store(start.UnixNano()); return h }
func usd(units float64) bridge.Money {
	return bridge.Money{Micro: int64(units * bridge.Micro), Currency: "USD"}
}
func news(k bridge.NewsKind) bridge.News { return bridge.News{At: noon, Kind: k} }

func open(t testing.TB, dir string, clock *hands) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), dir, store.Options{Now: clock.now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func budget(account bridge.Account, limit float64, hard bool) bridge.Budget {
	return bridge.Budget{Account: account, Every: bridge.Month, Zone: time.UTC, Limit: usd(limit), Hard: hard}
}

// newRental is a rental of one user that would hold an amount.
func newRental(t testing.TB, s *store.Store, state bridge.State, hold float64) bridge.Rental {
	t.Helper()
	id, err := s.NextID(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return bridge.Rental{
		ID: id, State: state, Since: noon, Cluster: "c1", Account: "org/team/proj/ann", Requester: "ann",
		Jobs: []bridge.JobID{"7"}, Gang: 1, Count: 1, Hold: usd(hold), Created: noon, Expires: noon.Add(time.Hour),
		Shape:  bridge.Shape{CPUs: 8, GRES: map[string]int{"shard": 2}, Features: [][]string{{"a", "b"}}},
		Launch: bridge.Launch{Tags: map[string]string{bridge.TagStore: s.StoreID()}},
	}
}

// checked fails the test unless the ledger balances.
func checked(t testing.TB, s *store.Store) store.LedgerReport {
	t.Helper()
	report, err := s.CheckLedger(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range report.Faults {
		t.Errorf("ledger: %s", f)
	}
	if err := s.Integrity(t.Context()); err != nil {
		t.Error(err)
	}
	return report
}

// must returns the value of a call that may not fail.
func must[T any](t testing.TB) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// contents is all that a store's files hold.
func contents(t testing.TB, dir string) string {
	t.Helper()
	var all []byte
	for _, name := range []string{"spillway.db", "spillway.db-wal"} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, b...)
	}
	return string(all)
}

// pageOf is the number of the first page of a table, which opening a store does
// not read.
func pageOf(t *testing.T, dir, table string) (page int) {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(dir, "spillway.db"))
	if err != nil {
		t.Fatal(err)
	}
	err = db.QueryRowContext(t.Context(), `select rootpage from sqlite_schema where name = ?`, table).Scan(&page)
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	return page
}
