package store_test

import (
	"errors"
	"testing"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/store"
)

// An overrun is told when it begins, not at each of the meter's ticks after.
func TestB_F18_AnOverrunIsToldOnce(t *testing.T) {
	s := open(t, t.TempDir(), newHands(noon))
	r := reach(t, s, bridge.StateAdmitted)
	for tick := range 200 {
		r.Cost = usd(9 + float64(tick)/10)
		r = must[bridge.Rental](t)(s.Post(t.Context(), r))
	}
	if told := must[[]bridge.News](t)(s.News(t.Context(), store.NewsFilter{Limit: 500, Rental: r.ID})); len(told) != 1 || told[0].Kind != bridge.NewsWarning {
		t.Errorf("200 ticks, %d of them beyond the hold, told %d times", 189, len(told))
	}
	checked(t, s)
}

// Sums that a float cannot hold are exact: the limit may be reached to the last
// micro-unit, and not one more fits.
func TestB_F26_CentsAddUpToTheLimitExactly(t *testing.T) {
	const n = 1000
	s := open(t, t.TempDir(), newHands(noon))
	limits := []bridge.Budget{budget("org", 0.1*n, true)}
	for i := range n {
		if _, err := s.Reserve(t.Context(), newRental(t, s, bridge.StateLaunching, 0.1), limits); err != nil {
			t.Fatalf("rental %d of %d at 0.10 against %d: %v", i+1, n, n/10, err)
		}
	}
	var over *store.OverBudget
	one := newRental(t, s, bridge.StateLaunching, 0.000001)
	if _, err := s.Reserve(t.Context(), one, limits); !errors.As(err, &over) || !errors.Is(err, bridge.ErrOverBudget) {
		t.Errorf("one micro-unit more: %v", err)
	}
	left := must[[]bridge.Balance](t)(s.Balances(t.Context(), noon.Add(time.Hour), limits))
	if got, err := left[0].Left(); err != nil || got.Micro != 0 {
		t.Errorf("left %s, %v; want nothing", got, err)
	}
	checked(t, s)
}
