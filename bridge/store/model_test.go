package store_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"pgregory.net/rapid"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/store"
)

// firm is a store that random people and bridges use.
type firm struct {
	root    testing.TB
	clock   *hands
	dir     string
	s       *store.Store
	rentals map[bridge.RentalID]bridge.Rental
	budgets []bridge.Budget
	allowed int64 // micro-units above limits, by approvals
	over    bool  // something ran beyond its hold
}

func (f *firm) open(t *rapid.T) {
	s, err := store.Open(f.root.Context(), f.dir, store.Options{Now: f.clock.now})
	if err != nil {
		t.Fatal(err)
	}
	f.s = s
}

func (f *firm) keep(t *rapid.T, r bridge.Rental, err error) {
	if err != nil {
		t.Fatal(err)
	}
	f.rentals[r.ID] = r
}

func (f *firm) rent(t *rapid.T) {
	r := newRental(f.root, f.s, bridge.StateLaunching, 0)
	r.Hold.Micro = rapid.Int64Range(1, 400).Draw(t, "hold")
	r.Account = rapid.SampledFrom([]bridge.Account{"org/a/p/ann", "org/a/q/bob", "org/b/p/cyd"}).Draw(t, "account")
	saved, err := f.s.Reserve(f.root.Context(), r, f.budgets)
	if err == nil {
		f.keep(t, saved, nil)
		return
	}
	r.State = bridge.StateWaiting
	saved, err = f.s.Propose(f.root.Context(), r, news(bridge.NewsAsked))
	f.keep(t, saved, err)
}

// pick draws a rental in one of some states; false if there is none.
func (f *firm) pick(t *rapid.T, in func(bridge.State) bool) (bridge.Rental, bool) {
	live, err := f.s.Live(f.root.Context())
	if err != nil {
		t.Fatal(err)
	}
	var fit []bridge.Rental
	for _, r := range live {
		if in(r.State) {
			fit = append(fit, r)
		}
	}
	if len(fit) == 0 {
		return bridge.Rental{}, false
	}
	return fit[rapid.IntRange(0, len(fit)-1).Draw(t, "rental")], true
}

func (f *firm) answer(t *rapid.T) {
	r, ok := f.pick(t, func(s bridge.State) bool { return s == bridge.StateWaiting })
	if !ok {
		return
	}
	d := yes(r, "boss")
	if rapid.Bool().Draw(t, "no") {
		r.State = bridge.StateClosed
		r, err := f.s.Save(f.root.Context(), r, news(bridge.NewsDenied))
		f.keep(t, r, err)
		return
	}
	r.State = bridge.StateLaunching
	saved, err := f.s.Approve(f.root.Context(), d, r, f.budgets, news(bridge.NewsApproved))
	if err == nil {
		f.keep(t, saved, nil)
		f.allowed += r.Hold.Micro
	}
}

func (f *firm) move(t *rapid.T) {
	r, ok := f.pick(t, func(s bridge.State) bool { return s.Held() && s != bridge.StateReleasing })
	if !ok {
		return
	}
	next := map[bridge.State][]bridge.State{
		bridge.StateLaunching: {bridge.StateJoining, bridge.StateReleasing}, bridge.StateJoining: {bridge.StateAdmitted, bridge.StateReleasing},
		bridge.StateAdmitted: {bridge.StateDraining, bridge.StateReleasing}, bridge.StateDraining: {bridge.StateReleasing},
	}
	r.State = rapid.SampledFrom(next[r.State]).Draw(t, "next")
	r, err := f.s.Save(f.root.Context(), r)
	f.keep(t, r, err)
}

func (f *firm) meter(t *rapid.T) {
	r, ok := f.pick(t, bridge.State.Held)
	if !ok {
		return
	}
	r.Cost = usd(0)
	r.Cost.Micro = rapid.Int64Range(0, r.Hold.Micro+20).Draw(t, "cost")
	f.over = f.over || r.Cost.Micro > r.Hold.Micro
	var err error
	if r.State == bridge.StateReleasing && rapid.Bool().Draw(t, "settle") {
		r.State = bridge.StateSettled
		r, err = f.s.Settle(f.root.Context(), r, news(bridge.NewsSettled))
	} else {
		r, err = f.s.Post(f.root.Context(), r)
	}
	f.keep(t, r, err)
}

func (f *firm) extend(t *rapid.T) {
	if r, ok := f.pick(t, bridge.State.Held); ok {
		more := usd(0)
		more.Micro = rapid.Int64Range(1, 100).Draw(t, "more")
		if saved, err := f.s.Extend(f.root.Context(), r, more, f.budgets); err == nil {
			f.keep(t, saved, nil)
		}
	}
}

// crash goes on with the files as a killed process leaves them.
func (f *firm) crash(t *rapid.T) {
	next := f.root.TempDir()
	for _, name := range []string{"spillway.db", "spillway.db-wal"} {
		b, err := os.ReadFile(filepath.Join(f.dir, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(next, name), b, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := f.s.Close(); err != nil {
		t.Fatal(err)
	}
	f.dir = next
	f.open(t)
}

func (f *firm) wait(t *rapid.T) {
	f.clock.add(time.Duration(rapid.Int64Range(1, 20*24*60).Draw(t, "minutes")) * time.Minute)
}

func (f *firm) check(t *rapid.T) {
	report := checked(f.root, f.s)
	held := 0
	for id, want := range f.rentals {
		got, err := f.s.Rental(f.root.Context(), id)
		if err != nil || got.Version != want.Version || got.State != want.State || got.Cost != want.Cost || got.Hold != want.Hold {
			t.Fatalf("%s is %+v, want %+v: %v", id, got, want, err)
		}
		if got.State.Held() {
			held++
		}
	}
	if report.OpenHolds != held || f.root.Failed() {
		t.Fatalf("%d open holds of %d held rentals; %v", report.OpenHolds, held, report.Faults)
	}
	balances, err := f.s.Balances(f.root.Context(), f.clock.now(), f.budgets)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range balances {
		used := b.Posted.Micro + b.Held.Micro
		if most := b.Limit.Micro; !f.over && (used > most+f.allowed || b.Hard && used > most) { // I10
			t.Fatalf("%s in %s uses %d of %d, %d were allowed", b.Account, b.Period, used, most, f.allowed)
		}
	}
}

func TestStoreKeepsTheBooksWhateverHappens(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		f := &firm{root: t, clock: newHands(noon), dir: t.TempDir(), rentals: map[bridge.RentalID]bridge.Rental{}}
		for _, b := range []bridge.Budget{budget("org", 0, true), budget("org/a", 0, false), budget("org/a/p", 0, false)} {
			b.Limit.Micro = rapid.Int64Range(50, 1500).Draw(rt, "limit")
			b.Every = rapid.SampledFrom([]bridge.PeriodKind{bridge.Day, bridge.Week, bridge.Month}).Draw(rt, "every")
			f.budgets = append(f.budgets, b)
		}
		f.open(rt)
		defer func() {
			if err := f.s.Close(); err != nil {
				rt.Error(err)
			}
		}()
		rt.Repeat(map[string]func(*rapid.T){
			"rent": f.rent, "rent again": f.rent, "answer": f.answer, "move": f.move, "move again": f.move,
			"meter": f.meter, "meter again": f.meter, "extend": f.extend, "crash": f.crash, "wait": f.wait, "": f.check,
		})
	})
}
