package store_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/store"
)

func TestRentalLivesFromHoldToSettlement(t *testing.T) {
	clock := newHands(noon)
	s := open(t, t.TempDir(), clock)
	budgets := []bridge.Budget{budget("org", 100, true), budget("org/team/proj", 50, false)}
	is := must[bridge.Rental](t)

	r := is(s.Reserve(t.Context(), newRental(t, s, bridge.StateLaunching, 40), budgets, news(bridge.NewsReserved)))
	if r.Version != 1 {
		t.Errorf("version after reserve is %d, want 1", r.Version)
	}
	if got := is(s.Rental(t.Context(), r.ID)); cmp.Diff(r, got) != "" {
		t.Errorf("stored rental differs:\n%s", cmp.Diff(r, got))
	}
	if _, err := s.Reserve(t.Context(), newRental(t, s, bridge.StateLaunching, 11), budgets); !errors.Is(err, bridge.ErrOverBudget) {
		t.Errorf("reserve above the project's budget: %v", err)
	}

	r.State = bridge.StateJoining
	r = is(s.Save(t.Context(), r, news(bridge.NewsCreated)))
	r.State, r.Cost = bridge.StateAdmitted, usd(10)
	r = is(s.Post(t.Context(), r))
	balances := must[[]bridge.Balance](t)(s.Balances(t.Context(), clock.now(), budgets))
	want := []bridge.Balance{
		{Account: "org", Period: "2026-11", Limit: usd(100), Posted: usd(10), Held: usd(30), Hard: true},
		{Account: "org/team/proj", Period: "2026-11", Limit: usd(50), Posted: usd(10), Held: usd(30)},
	}
	if diff := cmp.Diff(want, balances); diff != "" {
		t.Errorf("balances differ (-want +got):\n%s", diff)
	}
	if _, err := s.Extend(t.Context(), r, usd(1000), budgets); !errors.Is(err, bridge.ErrOverBudget) {
		t.Errorf("an extension beyond every budget: %v", err)
	}
	r = is(s.Extend(t.Context(), r, usd(5), budgets, news(bridge.NewsExtended)))
	if r.Hold != usd(45) {
		t.Errorf("hold after extension is %s, want 45", r.Hold)
	}
	r.State = bridge.StateReleasing
	r = is(s.Save(t.Context(), r))
	r.State, r.Cost = bridge.StateSettled, usd(12)
	is(s.Settle(t.Context(), r, news(bridge.NewsSettled)))

	report := checked(t, s)
	if report.OpenHolds != 0 || cmp.Diff([]bridge.Money{usd(12)}, report.Posted) != "" || cmp.Diff([]bridge.Money{usd(0)}, report.Held) != "" {
		t.Errorf("report after settlement: %+v", report)
	}
	if live := must[[]bridge.Rental](t)(s.Live(t.Context())); len(live) != 0 {
		t.Errorf("%d rentals are live after settlement", len(live))
	}
	var kinds []bridge.NewsKind
	for _, n := range must[[]bridge.News](t)(s.News(t.Context(), store.NewsFilter{Limit: 100})) {
		kinds = append(kinds, n.Kind)
	}
	if diff := cmp.Diff([]bridge.NewsKind{"reserved", "created", "extended", "settled"}, kinds); diff != "" {
		t.Errorf("news differ (-want +got):\n%s", diff)
	}
}
