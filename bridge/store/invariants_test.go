package store_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/ledger"
	"spillway.sh/spillway/bridge/store"
)

// Fifty who ask at once, for five levels of accounts, two clouds and two classes,
// never get more than any budget has.
func TestI02NoInterleavingOfAdmissionsExceedsABudget(t *testing.T) {
	tree := newTree(t, memory(t), 60)
	got := tree.rush(t, 50, 12)
	if got.admitted == 0 || got.refused == 0 {
		t.Errorf("%d were admitted and %d refused: nothing was tight", got.admitted, got.refused)
	}
	tree.never(t)
	checked(t, tree.s)
}

// Of many who settle one rental, one does; nothing ends it a second time.
func TestI03AHoldEndsOnce(t *testing.T) {
	s := open(t, t.TempDir(), newHands(noon))
	for round := range 5 {
		r := reach(t, s, bridge.StateReleasing)
		r.State, r.Cost = bridge.StateSettled, usd(3)
		var ended atomic.Int64
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				if _, err := s.Settle(t.Context(), r); err == nil {
					ended.Add(1)
				} else if !errors.Is(err, bridge.ErrVersion) {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if ended.Load() != 1 {
			t.Errorf("round %d: settled %d times", round, ended.Load())
		}
		again := must[bridge.Rental](t)(s.Rental(t.Context(), r.ID))
		for name, err := range map[string]error{
			"settle": failed(s.Settle(t.Context(), again)), "post": failed(s.Post(t.Context(), again)), "extend": failed(s.Extend(t.Context(), again, usd(1), wide)),
		} {
			if !errors.Is(err, store.ErrState) {
				t.Errorf("%s of what is settled: %v", name, err)
			}
		}
	}
	ends := map[bridge.RentalID]int{}
	for _, tx := range checkedLedger(t, s) {
		if tx.Kind == ledger.KindSettle || tx.Kind == ledger.KindVoid {
			ends[tx.Rental]++
		}
	}
	for id, n := range ends {
		if n != 1 {
			t.Errorf("%s ended %d times", id, n)
		}
	}
	if len(ends) != 5 {
		t.Errorf("%d rentals ended", len(ends))
	}
}

func failed(_ any, err error) error { return err }

// The same key with the same content changes nothing more and is no error; with
// another content it is refused whole.
func TestI04AKeyStandsForOneContent(t *testing.T) {
	s := open(t, t.TempDir(), newHands(late))
	r := reach(t, s, bridge.StateReleasing)
	r.State, r.Cost = bridge.StateSettled, usd(5)
	r = must[bridge.Rental](t)(s.Settle(t.Context(), r))
	line := bridge.BillLine{Cloud: "north", Invoice: "1", Key: "1", From: noon, To: late, Kind: "usage", Amount: usd(2)}
	bill := bridge.Correction{Key: "north/1", Rental: r.ID, Kind: bridge.ByBill, Amount: usd(-2), Used: noon, Who: "root", Memo: "line 1"}
	for range 3 {
		must[int](t)(s.Correct(t.Context(), []bridge.Correction{bill}, bridge.News{Kind: bridge.NewsCorrected, Rental: r.ID}))
		if _, _, err := s.SaveBill(t.Context(), []bridge.BillLine{line}); err != nil {
			t.Fatal(err)
		}
	}
	elsewhere := bill
	elsewhere.Used = elsewhere.Used.In(time.FixedZone("", 8*3600)) // the same instant
	if n, err := s.Correct(t.Context(), []bridge.Correction{elsewhere}); n != 0 || err != nil {
		t.Errorf("the same instant in another zone: %d new, %v", n, err)
	}
	for name, change := range map[string]func(c *bridge.Correction, l *bridge.BillLine){
		"amount": func(c *bridge.Correction, l *bridge.BillLine) { c.Amount.Micro++; l.Amount.Micro++ },
		"time":   func(c *bridge.Correction, l *bridge.BillLine) { c.Used, l.To = c.Used.Add(1), l.To.Add(1) },
		"text":   func(c *bridge.Correction, l *bridge.BillLine) { c.Memo, l.Text = "other", "other" },
		"kind":   func(c *bridge.Correction, l *bridge.BillLine) { c.Kind, l.Kind = bridge.ByRefund, "refund" },
		"rate":   func(c *bridge.Correction, l *bridge.BillLine) { c.FX, l.Invoice = "1 CNY = 1 USD", "2" },
	} {
		t.Run(name, func(t *testing.T) {
			c, l := bill, line
			change(&c, &l)
			fresh := c
			fresh.Key = "north/2"
			if n, err := s.Correct(t.Context(), []bridge.Correction{fresh, c}); n != 0 || !errors.Is(err, store.ErrReused) {
				t.Errorf("correction: %d new, %v", n, err)
			}
			other := l
			other.Key = "2"
			if added, known, err := s.SaveBill(t.Context(), []bridge.BillLine{other, l}); added+known != 0 || !errors.Is(err, store.ErrReused) {
				t.Errorf("bill: %d and %d, %v", added, known, err)
			}
		})
	}
	cost := must[bridge.Rental](t)(s.Rental(t.Context(), r.ID)).Cost
	told := must[[]bridge.News](t)(s.NewsBetween(t.Context(), noon, late.Add(1), bridge.NewsCorrected))
	lines := must[[]bridge.BillLine](t)(s.BillLines(t.Context(), "north", noon, late))
	if cost != usd(3) || len(told) != 1 || len(lines) != 1 || lines[0] != line {
		t.Errorf("it costs %s, was told %d times, and the bill is %+v", cost, len(told), lines)
	}
	checked(t, s)
}

// What every account posted and holds is the sum of what those below it did, and
// of its own; so it is for each cloud and class.
func TestI05ChildrenSumToTheirParent(t *testing.T) {
	tree := newTree(t, memory(t), 1000)
	tree.rush(t, 4, 30)
	leaves := map[bridge.Scope][2]int64{}
	for _, tx := range checkedLedger(t, tree.s) {
		sum := leaves[tx.Scope()]
		for _, l := range tx.Lines {
			switch l.Book {
			case ledger.Posted:
				sum[0] += l.Amount.Micro
			case ledger.Held:
				sum[1] += l.Amount.Micro
			case ledger.Room, ledger.Overage:
			}
		}
		leaves[tx.Scope()] = sum
	}
	for _, b := range tree.balances(t) {
		var posted, held int64
		for spent, sum := range leaves {
			if b.Scope().Covers(spent) {
				posted, held = posted+sum[0], held+sum[1]
			}
		}
		if b.Posted.Micro != posted || b.Held.Micro != held {
			t.Errorf("%s has %d and %d, those below it %d and %d", b.Scope(), b.Posted.Micro, b.Held.Micro, posted, held)
		}
	}
}

// Killed at any time, a store has no hold of a rental that ended; when all have
// ended, nothing is held anywhere.
func TestI06NothingIsHeldWithoutALiveRental(t *testing.T) {
	dir := t.TempDir()
	said := map[bridge.RentalID]said{}
	for range 3 {
		runAndKill(t, dir, 30*time.Millisecond, said)
		s, err := store.Open(t.Context(), dir, store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range must[[]bridge.Rental](t)(s.Live(t.Context())) {
			end(t, s, r)
		}
		report := checked(t, s)
		balances := must[[]bridge.Balance](t)(s.Balances(t.Context(), time.Now(), wide))
		if report.OpenHolds != 0 || !balances[0].Held.IsZero() || report.Transactions < 2 {
			t.Errorf("%d holds are open, %s is held, after %d entries", report.OpenHolds, balances[0].Held, report.Transactions)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// end takes a rental to its settlement.
func end(t *testing.T, s *store.Store, r bridge.Rental) {
	t.Helper()
	is := must[bridge.Rental](t)
	if r.State != bridge.StateReleasing {
		r.State = bridge.StateReleasing
		r = is(s.Save(t.Context(), r))
	}
	r.State = bridge.StateSettled
	is(s.Settle(t.Context(), r))
}

// The days of a month add up to the month, in the zone of whoever looks, and so
// does what was posted in each of them, bills that came late included.
func TestI09DaysAddUpToTheirMonth(t *testing.T) {
	clock := newHands(time.Date(2026, 9, 20, 0, 0, 0, 0, time.UTC))
	s := open(t, memory(t), clock)
	random := rand.New(rand.NewPCG(9, 9))
	for range 40 {
		r := reach(t, s, bridge.StateAdmitted)
		for part := range 4 {
			clock.add(time.Duration(random.Int64N(1500)) * time.Minute)
			r.Cost = usd(float64(part) + random.Float64())
			r = must[bridge.Rental](t)(s.Post(t.Context(), r))
		}
		end(t, s, r)
		back := bridge.Correction{Key: string(r.ID), Rental: r.ID, Kind: bridge.ByCredit, Amount: usd(-random.Float64()), Who: "root", Used: clock.now().Add(-200 * time.Hour)}
		must[int](t)(s.Correct(t.Context(), []bridge.Correction{back}))
	}
	for _, name := range []string{"UTC", "Asia/Shanghai", "America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe"} {
		t.Run(name, func(t *testing.T) {
			zone, err := time.LoadLocation(name)
			if err != nil {
				t.Fatal(err)
			}
			for at := time.Date(2026, 9, 25, 0, 0, 0, 0, time.UTC); at.Before(clock.now()); at = at.AddDate(0, 1, 0) {
				month, days, sums := addUp(t, s, at, zone)
				if days != month || sums != month || month == 0 {
					t.Errorf("%s has %d, its days %d, what they posted %d", at.Format("2006-01"), month, days, sums)
				}
			}
		})
	}
}

// addUp sums a month of one account as a whole, by the balances of its days, and
// by what was posted in them.
func addUp(t *testing.T, s *store.Store, at time.Time, zone *time.Location) (month, days, sums int64) {
	t.Helper()
	b := budget("org/team", 1000, true)
	b.Zone = zone
	posted := func(at time.Time) int64 {
		return must[[]bridge.Balance](t)(s.Balances(t.Context(), at, []bridge.Budget{b}))[0].Posted.Micro
	}
	month = posted(at)
	b.Every = bridge.Day
	start, finish := bridge.Span(at, bridge.Month, zone)
	for day := start; day.Before(finish); {
		days += posted(day)
		_, next := bridge.Span(day, bridge.Day, zone)
		for _, sum := range must[[]bridge.PostedSum](t)(s.PostedBetween(t.Context(), day, next)) {
			sums += sum.Amount.Micro
		}
		day = next
	}
	return month, days, sums
}

// Whoever tells it, how often and after what restart: a name is told once, and
// so is what it silences.
func TestI13ANameIsToldOnce(t *testing.T) {
	dir, clock := t.TempDir(), newHands(noon)
	for range 3 {
		s, err := store.Open(t.Context(), dir, store.Options{Now: clock.now})
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for _, percent := range []int{100, 80, 50, 100} {
					o := bridge.Once{Name: fmt.Sprint("org 2026-11 posted ", percent), News: bridge.News{Kind: bridge.NewsAlert, Alert: &bridge.Alert{Percent: percent}}}
					for lower := 50; lower < percent; lower += 30 {
						o.Silences = append(o.Silences, fmt.Sprint("org 2026-11 posted ", lower))
					}
					if _, err := s.TellOnce(t.Context(), o, o); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		told := must[[]bridge.News](t)(s.NewsBetween(t.Context(), noon, noon.Add(1), bridge.NewsAlert))
		if len(told) != 1 || told[0].Alert.Percent != 100 {
			t.Errorf("told %+v, want the highest alone", told)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// What was posted in an old period neither frees nor blocks the new one; what an
// open hold still holds counts in it.
func TestI16AnOldPeriodIsOver(t *testing.T) {
	for name, every := range map[string]bridge.PeriodKind{"day": bridge.Day, "week": bridge.Week, "month": bridge.Month} {
		t.Run(name, func(t *testing.T) {
			is, clock := must[bridge.Rental](t), newHands(noon)
			s := open(t, t.TempDir(), clock)
			b := budget("org", 10, true)
			b.Every = every
			b.Zone = time.FixedZone("", 5*3600+45*60)
			one := []bridge.Budget{b}
			r := is(s.Reserve(t.Context(), newRental(t, s, bridge.StateLaunching, 10), one))
			r.Cost = usd(7)
			r = is(s.Post(t.Context(), r))
			_, over := bridge.Span(noon, every, b.Zone)
			clock.add(over.Sub(noon) - 1)
			if _, err := s.Reserve(t.Context(), newRental(t, s, bridge.StateLaunching, 1), one); !errors.Is(err, bridge.ErrOverBudget) {
				t.Errorf("at the last instant of the period: %v", err)
			}
			clock.add(1)
			// 7 of the old period are gone; 3 are still held by what runs.
			if _, err := s.Reserve(t.Context(), newRental(t, s, bridge.StateLaunching, 7.000001), one); !errors.Is(err, bridge.ErrOverBudget) {
				t.Errorf("more than the new period has: %v", err)
			}
			young := is(s.Reserve(t.Context(), newRental(t, s, bridge.StateLaunching, 7), one))
			end(t, s, r)
			left := must[[]bridge.Balance](t)(s.Balances(t.Context(), clock.now(), one))[0]
			if left.Posted != usd(0) || left.Held != usd(7) {
				t.Errorf("after the old rental ended: posted %s, held %s", left.Posted, left.Held)
			}
			late := bridge.Correction{Key: "late", Rental: r.ID, Kind: bridge.ByBill, Amount: usd(50), Used: over.Add(-1), Who: "root"}
			must[int](t)(s.Correct(t.Context(), []bridge.Correction{late}))
			if got := must[[]bridge.Balance](t)(s.Balances(t.Context(), clock.now(), one))[0]; got.Posted != left.Posted || got.Held != left.Held {
				t.Errorf("a bill of the old period: posted %s, held %s", got.Posted, got.Held)
			}
			if got := must[[]bridge.Balance](t)(s.Balances(t.Context(), noon, one))[0]; got.Posted != usd(57) {
				t.Errorf("the old period has posted %s", got.Posted)
			}
			end(t, s, young)
			checked(t, s)
		})
	}
}
