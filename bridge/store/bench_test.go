package store_test

import (
	"strings"
	"testing"
	"time"

	"spillway.sh/spillway/bridge"
)

// BenchmarkReserveCommit is a hold and a create intent made durable: one
// transaction with the sync of a real disk.
func BenchmarkReserveCommit(b *testing.B) {
	s := open(b, b.TempDir(), newHands(noon))
	script := strings.Repeat("a line of a boot script\n", 250)
	huge := []bridge.Budget{budget("org", 1e9, true), budget("org/team", 1e9, true), budget("org/team/proj", 1e9, false)}
	n := 0
	for b.Loop() {
		n++
		if _, err := s.Reserve(b.Context(), scripted(n, script), huge, news(bridge.NewsReserved)); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkLive reads 1,000 live rentals: as a cycle does, of which few or none
// changed since the last one, and as the first cycle after a start.
func BenchmarkLive(b *testing.B) {
	dir := b.TempDir()
	s := open(b, dir, newHands(noon))
	script := strings.Repeat("a line of a boot script\n", 250)
	for n := range 1000 {
		r := scripted(n+1, script)
		for i := range 4 {
			r.Machines = append(r.Machines, bridge.Machine{Ordinal: i, State: bridge.MachineIntended, Node: bridge.NodeName(r.ID, i)})
		}
		if _, err := s.Reserve(b.Context(), r, wide); err != nil {
			b.Fatal(err)
		}
	}
	read := func(b *testing.B) []bridge.Rental {
		live, err := s.Live(b.Context())
		if err != nil || len(live) != 1000 {
			b.Fatalf("%d rentals: %v", len(live), err)
		}
		return live
	}
	b.Run("unchanged", func(b *testing.B) {
		for b.Loop() {
			read(b)
		}
	})
	b.Run("one changed", func(b *testing.B) {
		r := read(b)[500]
		for b.Loop() {
			b.StopTimer()
			r.Note += "."
			var err error
			if r, err = s.Save(b.Context(), r); err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
			read(b)
		}
	})
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			s.Forget()
			b.StartTimer()
			read(b)
		}
	})
}

// BenchmarkBalances reads twenty budgets of a month in which every account
// posted in each quarter hour.
func BenchmarkBalances(b *testing.B) {
	clock := newHands(time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC))
	s := open(b, b.TempDir(), clock)
	r := scripted(1, "")
	r.Hold = usd(1e6)
	r, err := s.Reserve(b.Context(), r, []bridge.Budget{budget("org", 1e9, true)})
	for q := 0; err == nil && q < 31*96-1; q++ {
		clock.add(15 * time.Minute)
		r.Cost = usd(float64(q + 1))
		r, err = s.Post(b.Context(), r)
	}
	if err != nil {
		b.Fatal(err)
	}
	var budgets []bridge.Budget
	for range 5 {
		for _, a := range r.Account.Ancestors() {
			budgets = append(budgets, budget(a, 1e9, true))
		}
	}
	for b.Loop() {
		got, err := s.Balances(b.Context(), clock.now(), budgets)
		if err != nil || got[0].Posted != usd(31*96-1) {
			b.Fatalf("%+v: %v", got[0], err)
		}
	}
}

// BenchmarkCheckLedger reads and replays a ledger of 10,000 transactions.
func BenchmarkCheckLedger(b *testing.B) {
	s := open(b, b.TempDir(), newHands(noon))
	r := scripted(1, "")
	r.Hold = usd(1e6)
	r, err := s.Reserve(b.Context(), r, []bridge.Budget{budget("org", 1e9, true)})
	for n := 1; err == nil && n < 10_000; n++ {
		r.Cost = usd(float64(n))
		r, err = s.Post(b.Context(), r)
	}
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if report := checked(b, s); report.Transactions != 10_000 {
			b.Fatalf("%d transactions", report.Transactions)
		}
	}
}
