package store_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/ledger"
	"spillway.sh/spillway/bridge/store"
)

func yes(r bridge.Rental, who string) bridge.Decision {
	return bridge.Decision{Rental: r.ID, Version: r.Version, Yes: true, Who: who, At: noon}
}

func checkedLedger(t testing.TB, s *store.Store) []ledger.Transaction {
	t.Helper()
	checked(t, s)
	return must[[]ledger.Transaction](t)(s.Ledger(t.Context(), 0, 1000))
}

func TestApprovalWritesOverageAndHoldTogether(t *testing.T) {
	is := must[bridge.Rental]
	for name, c := range map[string]struct {
		budgets []bridge.Budget
		hold    float64
		want    map[bridge.Account]bridge.Money // overages
		err     error
	}{
		"within every budget, nothing is allowed": {[]bridge.Budget{budget("org", 100, true), budget("org/team", 100, false)}, 40, map[bridge.Account]bridge.Money{}, nil},
		"a soft budget lacks a part":              {[]bridge.Budget{budget("org", 100, true), budget("org/team", 50, false)}, 40, map[bridge.Account]bridge.Money{"org/team": usd(20)}, nil},
		"two soft budgets lack different parts": {
			[]bridge.Budget{budget("org/team", 60, false), budget("org/team/proj", 35, false), budget("org", 100, true)},
			40,
			map[bridge.Account]bridge.Money{"org/team": usd(10), "org/team/proj": usd(35)},
			nil,
		},
		"a budget that is over already lacks the hold and no more": {[]bridge.Budget{budget("org", 10, false)}, 40, map[bridge.Account]bridge.Money{"org": usd(40)}, nil},
		"no budget at all":                    {nil, 40, nil, bridge.ErrOverBudget},
		"a hard budget without room is final": {[]bridge.Budget{budget("org", 60, true), budget("org/team", 50, false)}, 40, nil, bridge.ErrOverBudget},
		"room for just the hold is enough":    {[]bridge.Budget{budget("org", 70, true)}, 40, map[bridge.Account]bridge.Money{}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, t.TempDir(), newHands(noon))
			is(t)(s.Reserve(t.Context(), newRental(t, s, bridge.StateLaunching, 30), wide)) // is held by another
			asked := is(t)(s.Propose(t.Context(), newRental(t, s, bridge.StateWaiting, c.hold)))
			r := asked
			r.State = bridge.StateLaunching
			got, err := s.Approve(t.Context(), yes(asked, "boss"), r, c.budgets, news(bridge.NewsApproved))
			if !errors.Is(err, c.err) || c.err == nil && err != nil {
				t.Fatalf("got %v, want %v", err, c.err)
			}
			if err != nil {
				if diff := cmp.Diff(asked, is(t)(s.Rental(t.Context(), r.ID))); diff != "" {
					t.Errorf("a refusal left a trace:\n%s", diff)
				}
				checked(t, s)
				return
			}
			if got.ApprovedBy != "boss" || got.Version != asked.Version+1 {
				t.Errorf("approved by %q, version %d", got.ApprovedBy, got.Version)
			}
			allowed := map[bridge.Account]bridge.Money{}
			for _, tx := range checkedLedger(t, s) {
				if tx.Kind == ledger.KindOverage {
					allowed[tx.Account] = tx.Amount
					if tx.Who != "boss" || tx.Rental != r.ID || tx.Period != "2026-11" {
						t.Errorf("overage by %q for %s in %s", tx.Who, tx.Rental, tx.Period)
					}
				}
			}
			if diff := cmp.Diff(c.want, allowed); diff != "" {
				t.Errorf("overages differ (-want +got):\n%s", diff)
			}
		})
	}
}

// What an approver allowed one rental gives no other rental room, while it runs
// and after.
func TestAnOverageServesOneRentalOnly(t *testing.T) {
	s := open(t, t.TempDir(), newHands(noon))
	soft := []bridge.Budget{budget("org", 50, false)}
	is := must[bridge.Rental](t)
	asked := is(s.Propose(t.Context(), newRental(t, s, bridge.StateWaiting, 80)))
	r := asked
	r.State = bridge.StateLaunching
	r = is(s.Approve(t.Context(), yes(asked, "boss"), r, soft))
	if _, err := s.Reserve(t.Context(), newRental(t, s, bridge.StateLaunching, 1), soft); !errors.Is(err, bridge.ErrOverBudget) {
		t.Errorf("a second rental while the first is allowed: %v", err)
	}
	r.State = bridge.StateReleasing
	r = is(s.Save(t.Context(), r))
	r.State, r.Cost = bridge.StateSettled, usd(20)
	is(s.Settle(t.Context(), r))
	if _, err := s.Reserve(t.Context(), newRental(t, s, bridge.StateLaunching, 31), soft); !errors.Is(err, bridge.ErrOverBudget) {
		t.Errorf("more than the limit leaves: %v", err)
	}
	is(s.Reserve(t.Context(), newRental(t, s, bridge.StateLaunching, 30), soft))
	checked(t, s)
}

func TestAnswersThatDoNotFitTheQuestion(t *testing.T) {
	for name, c := range map[string]struct {
		change func(d *bridge.Decision, r *bridge.Rental)
		want   error
	}{
		"an answer to an older question": {func(d *bridge.Decision, _ *bridge.Rental) { d.Version-- }, bridge.ErrVersion},
		"an answer to another rental":    {func(d *bridge.Decision, _ *bridge.Rental) { d.Rental = "r-0011" }, bridge.ErrVersion},
		"a no":                           {func(d *bridge.Decision, _ *bridge.Rental) { d.Yes = false }, store.ErrState},
		"the requester's own answer":     {func(d *bridge.Decision, _ *bridge.Rental) { d.Who = "ann" }, store.ErrOwn},
		"nobody's answer":                {func(d *bridge.Decision, _ *bridge.Rental) { d.Who = "" }, store.ErrOwn},
		"a requester exchanged with it": {func(d *bridge.Decision, r *bridge.Rental) {
			d.Who, r.Requester = "ann", "bob"
		}, store.ErrOwn},
		"more money than was asked for": {func(_ *bridge.Decision, r *bridge.Rental) { r.Hold = usd(11) }, store.ErrMoney},
		"a higher ceiling":              {func(_ *bridge.Decision, r *bridge.Rental) { r.MaxRate = bridge.Rate{Micro: 1, Currency: "USD"} }, store.ErrMoney},
		"an account exchanged with it":  {func(_ *bridge.Decision, r *bridge.Rental) { r.Account = "org/rich" }, store.ErrMoney},
		"a state that is not held":      {func(_ *bridge.Decision, r *bridge.Rental) { r.State = bridge.StateClosed }, store.ErrState},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, t.TempDir(), newHands(noon))
			asked := must[bridge.Rental](t)(s.Propose(t.Context(), newRental(t, s, bridge.StateWaiting, 10)))
			r, d := asked, yes(asked, "boss")
			r.State = bridge.StateLaunching
			c.change(&d, &r)
			if _, err := s.Approve(t.Context(), d, r, wide); !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
			if report := checked(t, s); report.OpenHolds != 0 || report.Transactions != 0 {
				t.Errorf("a refusal wrote to the ledger: %+v", report)
			}
		})
	}
}

func TestAnswerAfterTheQuestionWasClosed(t *testing.T) {
	s := open(t, t.TempDir(), newHands(noon))
	asked := must[bridge.Rental](t)(s.Propose(t.Context(), newRental(t, s, bridge.StateWaiting, 10)))
	closed := asked
	closed.State = bridge.StateClosed
	must[bridge.Rental](t)(s.Save(t.Context(), closed, news(bridge.NewsLapsed)))
	r := asked
	r.State = bridge.StateLaunching
	if _, err := s.Approve(t.Context(), yes(asked, "boss"), r, wide); !errors.Is(err, bridge.ErrVersion) { // I21
		t.Errorf("got %v, want %v", err, bridge.ErrVersion)
	}
}

// Twenty people answer at once; one answer counts and the money is held once.
func TestManyAnswersAtOnce(t *testing.T) {
	s := open(t, t.TempDir(), newHands(noon))
	asked := must[bridge.Rental](t)(s.Propose(t.Context(), newRental(t, s, bridge.StateWaiting, 10)))
	errs := make([]error, 20)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() {
			r := asked
			if i%4 == 3 {
				r.State = bridge.StateClosed
				_, errs[i] = s.Save(t.Context(), r)
				return
			}
			r.State = bridge.StateLaunching
			_, errs[i] = s.Approve(t.Context(), yes(asked, "boss"), r, wide)
		})
	}
	wg.Wait()
	won := 0
	for _, err := range errs {
		switch {
		case err == nil:
			won++
		case !errors.Is(err, bridge.ErrVersion):
			t.Errorf("a lost race gives %v", err)
		}
	}
	if won != 1 {
		t.Errorf("%d answers counted", won)
	}
	checked(t, s)
}

func TestNothingIsHeldWithoutABudget(t *testing.T) {
	s := open(t, t.TempDir(), newHands(noon))
	if _, err := s.Reserve(t.Context(), newRental(t, s, bridge.StateLaunching, 10), nil); !errors.Is(err, bridge.ErrOverBudget) {
		t.Errorf("got %v, want %v", err, bridge.ErrOverBudget)
	}
	checked(t, s)
}

// Forty rentals ask for the last money at once; the limit is never exceeded.
func TestManyReservationsAtOnce(t *testing.T) {
	s := open(t, t.TempDir(), newHands(noon))
	limits := []bridge.Budget{budget("org", 1000, true), budget("org/team/proj", 95, true)}
	var rentals []bridge.Rental
	for range 40 {
		rentals = append(rentals, newRental(t, s, bridge.StateLaunching, 10))
	}
	var wg sync.WaitGroup
	errs := make([]error, len(rentals))
	for i := range rentals {
		wg.Go(func() { _, errs[i] = s.Reserve(t.Context(), rentals[i], limits) })
	}
	wg.Wait()
	held := 0
	for _, err := range errs {
		switch {
		case err == nil:
			held++
		case !errors.Is(err, bridge.ErrOverBudget):
			t.Error(err)
		}
	}
	if held != 9 {
		t.Errorf("%d rentals of 10 fit into 95", held)
	}
	checked(t, s)
}

// A hold made in the last minute of a month takes its rest from the next month
// until it is settled, and what is posted counts where it is posted.
func TestHoldsOverTheEndOfAMonth(t *testing.T) {
	clock := newHands(time.Date(2026, 11, 30, 23, 59, 0, 0, time.UTC))
	s := open(t, t.TempDir(), clock)
	limits := []bridge.Budget{budget("org", 100, true)}
	is := must[bridge.Rental](t)
	left := func() string {
		b := must[[]bridge.Balance](t)(s.Balances(t.Context(), clock.now(), limits))[0]
		m := must[bridge.Money](t)(b.Left())
		return b.Period + " " + m.Floor()
	}
	r := is(s.Reserve(t.Context(), newRental(t, s, bridge.StateLaunching, 80), limits))
	r.State, r.Cost = bridge.StateJoining, usd(5)
	r = is(s.Post(t.Context(), r))
	var got []string
	got = append(got, left())
	clock.add(time.Hour)
	got = append(got, left())
	r.State, r.Cost = bridge.StateAdmitted, usd(35)
	r = is(s.Post(t.Context(), r))
	got = append(got, left())
	r.State = bridge.StateReleasing
	r = is(s.Save(t.Context(), r))
	r.State = bridge.StateSettled
	is(s.Settle(t.Context(), r))
	got = append(got, left())
	want := []string{"2026-11 20.00 USD", "2026-12 25.00 USD", "2026-12 25.00 USD", "2026-12 70.00 USD"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what is left differs (-want +got):\n%s", diff)
	}
	checked(t, s)
}

// A clock that steps back opens no period that is over.
func TestStepsBackOfTheClockFreeNothing(t *testing.T) {
	clock := newHands(noon)
	s := open(t, t.TempDir(), clock)
	limits := []bridge.Budget{budget("org", 100, true)}
	r := must[bridge.Rental](t)(s.Reserve(t.Context(), newRental(t, s, bridge.StateLaunching, 90), limits))
	r.State, r.Cost = bridge.StateJoining, usd(90)
	r = must[bridge.Rental](t)(s.Post(t.Context(), r))
	clock.add(-400 * 24 * time.Hour)
	if _, err := s.Reserve(t.Context(), newRental(t, s, bridge.StateLaunching, 11), limits); !errors.Is(err, bridge.ErrOverBudget) {
		t.Errorf("reserve in a period that is over: %v", err)
	}
	r.Cost = usd(89)
	must[bridge.Rental](t)(s.Post(t.Context(), r))
	for _, tx := range checkedLedger(t, s) {
		if tx.At.Before(noon) {
			t.Errorf("transaction %d is of %s", tx.Seq, tx.At)
		}
	}
}

func TestCostBeyondTheHoldIsRecordedAndTold(t *testing.T) {
	s := open(t, t.TempDir(), newHands(noon))
	r := reach(t, s, bridge.StateReleasing)
	r.State, r.Cost = bridge.StateSettled, usd(12.5)
	must[bridge.Rental](t)(s.Settle(t.Context(), r, news(bridge.NewsSettled)))
	var kinds []ledger.Kind
	for _, tx := range checkedLedger(t, s) {
		kinds = append(kinds, tx.Kind)
	}
	if diff := cmp.Diff([]ledger.Kind{ledger.KindHold, ledger.KindPost, ledger.KindAdjust, ledger.KindSettle}, kinds); diff != "" {
		t.Errorf("kinds differ (-want +got):\n%s", diff)
	}
	told := must[[]bridge.News](t)(s.News(t.Context(), store.NewsFilter{Limit: 9, Rental: r.ID}))
	if len(told) != 1 || told[0].Kind != bridge.NewsWarning || told[0].Cost != usd(2.5) {
		t.Errorf("news of the overrun: %+v", told)
	}
}

func TestSpendShowsBudgetsAndWhoUsesThem(t *testing.T) {
	s := open(t, t.TempDir(), newHands(noon))
	limits := []bridge.Budget{budget("org", 100, true), budget("org/team/proj", 50, false), budget("org/other", 10, false)}
	r := must[bridge.Rental](t)(s.Reserve(t.Context(), newRental(t, s, bridge.StateLaunching, 20), limits))
	r.State, r.Cost = bridge.StateJoining, usd(5)
	must[bridge.Rental](t)(s.Post(t.Context(), r))
	row := func(a bridge.Account, limit, left float64, hard, limited bool) store.Spend {
		v := store.Spend{Balance: bridge.Balance{Account: a, Period: "2026-11", Posted: usd(5), Held: usd(15), Hard: hard}, Every: bridge.Month, Limited: limited}
		if limited {
			v.Limit, v.Left = usd(limit), usd(left)
		}
		return v
	}
	idle := row("org/other", 10, 10, false, true)
	idle.Posted, idle.Held = usd(0), usd(0)
	all := []store.Spend{
		row("org", 100, 80, true, true), idle, row("org/team", 0, 0, false, false),
		row("org/team/proj", 50, 30, false, true), row("org/team/proj/ann", 0, 0, false, false),
	}
	for below, want := range map[bridge.Account][]store.Spend{"": all, "org": all, "org/team": all[2:], "org/team/proj/ann": all[4:], "nobody": nil} {
		got := must[[]store.Spend](t)(s.Spend(t.Context(), noon, limits, below))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("spend below %q differs (-want +got):\n%s", below, diff)
		}
	}
}
