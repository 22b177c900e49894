package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/desk"
	"spillway.sh/spillway/bridge/store"
)

// A limit lowered below what is held is told once, in both languages, and again
// when it is lowered further; a limit that is just used up is not.
func TestOverCommittedBudgetsAreToldOnce(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	s, err := store.Open(t.Context(), t.TempDir(), store.Options{Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	usd := func(n int64) bridge.Money { return bridge.Money{Micro: n * bridge.Micro, Currency: "USD"} }
	budgets := []bridge.Budget{
		{Account: "lab", Every: bridge.Month, Zone: time.UTC, Limit: usd(100)},
		{Account: "lab", Cloud: "north", GPU: "h100", Every: bridge.Week, Zone: time.UTC, Limit: usd(60), Hard: true},
		{Account: "lab", Cloud: "south", Every: bridge.Month, Zone: time.UTC, Limit: usd(1)},
	}
	r := bridge.Draw(bridge.NewRentalID(1), &bridge.Order{
		Cluster: "main", Account: "lab/a/b/ana", Requester: "ana", Gang: 1, Count: 1, MaxRate: bridge.Rate(usd(10)), Life: 6 * time.Hour, Hold: usd(60),
		Offer: bridge.Offer{Pool: bridge.Pool{Cloud: "north", Region: "r", Zone: "z", Type: "g8", Market: bridge.OnDemand}, Shape: bridge.Shape{CPUs: 8, GPUs: 8, GPUType: "h100"}, Rate: bridge.Rate(usd(10))},
	}, now)
	if _, err := s.Reserve(t.Context(), r, budgets); err != nil {
		t.Fatal(err)
	}
	say := func() {
		bs, err := s.Balances(t.Context(), now, budgets)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.TellOnce(t.Context(), overCommitted(now, budgets, bs)...); err != nil {
			t.Fatal(err)
		}
	}
	say() // nothing: the second is used up exactly
	budgets[1].Limit = usd(50)
	say()
	say()
	budgets[1].Limit = usd(40)
	say()
	news, err := s.News(t.Context(), store.NewsFilter{Limit: 10})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, n := range news {
		got = append(got, n.Text)
	}
	want := []string{
		"the budget of lab h100 on north is over-committed: 50.00 USD in 2026-W49, and 60.00 USD are spent and held already; what runs goes on, nothing new is rented in it",
		"the budget of lab h100 on north is over-committed: 40.00 USD in 2026-W49, and 60.00 USD are spent and held already; what runs goes on, nothing new is rented in it",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("news (-want +got):\n%s", diff)
	}
	if zh := desk.Chinese.Told(got[0]); !strings.Contains(zh, "2026-W49") || strings.Contains(zh, "budget") {
		t.Errorf("in Chinese: %s", zh)
	}
}
