package store_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"spillway.sh/spillway/bridge"
)

// What settled rentals are charged and what open ones posted is together what
// the books say was posted, in any month, late corrections included.
func TestChargesAddUpToTheBooks(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 6))
	clock := newHands(time.Date(2026, 10, 20, 0, 0, 0, 0, time.UTC))
	s := open(t, t.TempDir(), clock)
	budgets := []bridge.Budget{budget("org", 1e6, true)}
	var settled []bridge.Rental
	for n := range 40 {
		x := newRental(t, s, bridge.StateLaunching, 100)
		x.Account = bridge.Account(fmt.Sprintf("org/team/proj%d/ann", n%3))
		x.Pool.Cloud, x.Shape.GPUType = fmt.Sprintf("cloud%d", n%2), "h100"
		x = must[bridge.Rental](t)(s.Reserve(t.Context(), x, budgets))
		for range 1 + r.IntN(4) {
			clock.add(time.Duration(r.Int64N(int64(9 * time.Hour))))
			x.Cost.Currency = "USD"
			x.Cost.Micro += r.Int64N(40_000_000)
			x = must[bridge.Rental](t)(s.Post(t.Context(), x))
		}
		if n%5 == 4 {
			continue // runs on
		}
		x.State = bridge.StateReleasing
		x = must[bridge.Rental](t)(s.Save(t.Context(), x))
		x.State = bridge.StateSettled
		settled = append(settled, must[bridge.Rental](t)(s.Settle(t.Context(), x)))
	}
	for i := range settled {
		c := bridge.Correction{
			Key: fmt.Sprintf("bill/%d", i), Rental: settled[i].ID, Kind: []bridge.CorrectionKind{bridge.ByBill, bridge.ByRefund, bridge.ByCredit}[i%3], Who: "root",
			Amount: bridge.Money{Micro: r.Int64N(900_000) - 400_000, Currency: "USD"}, Used: time.Date(2026, time.Month(9+i%4), 3, 0, 0, 0, 0, time.UTC),
		}
		if c.Kind != bridge.ByBill {
			c.Amount.Micro = -r.Int64N(100) - 1
		}
		if settled[i].Cost.Micro+c.Amount.Micro < 0 || c.Amount.Micro == 0 || c.Used.After(clock.now()) {
			continue
		}
		must[int](t)(s.Correct(t.Context(), []bridge.Correction{c}))
	}
	checked(t, s)
	all := int64(0)
	for m := time.August; m <= time.December; m++ {
		from, to := time.Date(2026, m, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, m+1, 1, 0, 0, 0, 0, time.UTC)
		sums := map[bridge.Scope]int64{}
		for _, c := range must[[]bridge.Charge](t)(s.ChargesBetween(t.Context(), from, to)) {
			sums[c.Scope] += c.Amount.Micro
			all += c.Amount.Micro
			if c.First.Before(from) || !c.Last.Before(to) || c.Last.Before(c.First) {
				t.Errorf("%s: %+v", m, c)
			}
		}
		for _, p := range must[[]bridge.PostedSum](t)(s.PostedBetween(t.Context(), from, to)) {
			sums[p.Scope] -= p.Amount.Micro
		}
		for scope, rest := range sums { // is open: never more than was posted
			if rest > 0 {
				t.Errorf("%s: %s is charged %d more than the books say", m, scope, rest)
			}
		}
	}
	want := int64(0)
	for i := range settled {
		want += must[bridge.Rental](t)(s.Rental(t.Context(), settled[i].ID)).Cost.Micro
	}
	if all != want {
		t.Errorf("%d is charged, settled rentals cost %d", all, want)
	}
}
