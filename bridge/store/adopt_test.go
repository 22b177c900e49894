package store_test

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/store"
)

// TestAdoptTakesWhatIsFoundRunning holds in which states and beside which rows a
// rental is taken that costs money already, and that its hold is there once.
func TestAdoptTakesWhatIsFoundRunning(t *testing.T) {
	is := must[bridge.Rental](t)
	for name, c := range map[string]struct {
		row    bridge.State // of the same id; empty: none
		change func(was *bridge.Rental)
		want   error
		held   bridge.Money
	}{
		"one that is not there":             {held: usd(10), change: func(r *bridge.Rental) { r.State = bridge.StateAdmitted }},
		"one that is on its way out":        {held: usd(10), change: func(r *bridge.Rental) { r.State = bridge.StateReleasing }},
		"one that only asks here":           {row: bridge.StateWaiting, held: usd(10), change: func(r *bridge.Rental) { r.State = bridge.StateAdmitted }},
		"one that was not so far":           {row: bridge.StateLaunching, held: usd(10), change: func(r *bridge.Rental) { r.State = bridge.StateDraining }},
		"one that lives longer":             {row: bridge.StateAdmitted, held: usd(14), change: func(r *bridge.Rental) { r.Hold = usd(14) }},
		"one that would hold less":          {row: bridge.StateAdmitted, held: usd(10), change: func(r *bridge.Rental) { r.Hold = usd(9) }, want: store.ErrMoney},
		"one of somebody else":              {row: bridge.StateAdmitted, held: usd(10), change: func(r *bridge.Rental) { r.Account = "org/team/other/cyd" }, want: store.ErrMoney},
		"one with another cost":             {row: bridge.StateAdmitted, held: usd(10), change: func(r *bridge.Rental) { r.Cost = usd(1) }, want: store.ErrMoney},
		"one that has ended here":           {row: bridge.StateSettled, change: func(r *bridge.Rental) { r.State = bridge.StateAdmitted }, want: store.ErrState},
		"one that may still be created":     {change: func(r *bridge.Rental) { r.State = bridge.StateLaunching }, want: store.ErrState},
		"one that somebody changed":         {row: bridge.StateAdmitted, held: usd(10), change: func(r *bridge.Rental) { r.Version-- }, want: bridge.ErrVersion},
		"one that has cost something, anew": {change: func(r *bridge.Rental) { r.State, r.Cost = bridge.StateAdmitted, usd(1) }, want: store.ErrMoney},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, t.TempDir(), newHands(noon))
			r := newRental(t, s, bridge.StateAdmitted, 10)
			if c.row != "" {
				r = reach(t, s, c.row)
			}
			next := r
			c.change(&next)
			_, err := s.Adopt(t.Context(), next, news(bridge.NewsAdopted))
			if !errors.Is(err, c.want) {
				t.Errorf("%v, want %v", err, c.want)
			}
			if told := must[[]bridge.News](t)(s.News(t.Context(), store.NewsFilter{Limit: 100})); slices.ContainsFunc(told, func(n bridge.News) bool { return n.Kind == bridge.NewsAdopted }) != (c.want == nil) {
				t.Errorf("told %d times", len(told))
			}
			checked(t, s)
			wide := must[[]bridge.Balance](t)(s.Balances(t.Context(), noon, []bridge.Budget{budget("org", 1, true)}))
			if want := cmp.Or(c.held, usd(0)); wide[0].Held != want {
				t.Errorf("%s is held, want %s", wide[0].Held, want)
			}
			if c.want == nil {
				if got := is(s.Rental(t.Context(), next.ID)); got.State != next.State || got.Version != r.Version+1 {
					t.Errorf("%s, version %d", got.State, got.Version)
				}
			}
		})
	}
}

func TestSkippedIDsAreNotGiven(t *testing.T) {
	s := open(t, t.TempDir(), newHands(noon))
	for _, n := range []int64{40, 7} { // never back
		if err := s.SkipIDs(t.Context(), n); err != nil {
			t.Fatal(err)
		}
	}
	if id := must[bridge.RentalID](t)(s.NextID(t.Context())); id != bridge.NewRentalID(41) {
		t.Errorf("%s is number %d", id, id.Number())
	}
	if n := must[int64](t)(s.Given(t.Context())); n != 41 {
		t.Errorf("%d were given", n)
	}
}

// TestPlaceSetsTheOldStoreAside holds that a store comes into place with nothing
// of the one before, and that nothing of that is lost.
func TestPlaceSetsTheOldStoreAside(t *testing.T) {
	dir, from := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{"spillway.db": "old", "spillway.db-wal": "old log", "keys": "keys"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	fresh, err := store.Open(t.Context(), from, store.Options{Now: newHands(noon).now, StoreID: "fresh"})
	if err != nil {
		t.Fatal(err)
	}
	if err := fresh.Close(); err != nil {
		t.Fatal(err)
	}
	unlock, err := store.Lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Open(t.Context(), dir, store.Options{}); !errors.Is(err, store.ErrLocked) {
		t.Errorf("beside the lock: %v", err)
	}
	aside, err := store.Place(dir, from, "lost")
	if err != nil || len(aside) != 2 {
		t.Errorf("set aside %v: %v", aside, err)
	}
	if err := unlock(); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"spillway.db.lost": "old", "spillway.db-wal.lost": "old log", "keys": "keys"} {
		if b, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(b) != want {
			t.Errorf("%s is %q: %v", name, b, err)
		}
	}
	s := open(t, dir, newHands(noon.Add(time.Hour)))
	if s.StoreID() != "fresh" {
		t.Errorf("the store in place is %s", s.StoreID())
	}
	checked(t, s)
}
