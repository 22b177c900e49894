package store_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/store"
)

// firm is a store that random people, clouds and bridges use, beside a model
// that knows what each of their calls must come to.
type firm struct {
	root    testing.TB
	clock   *hands
	dir     string
	s       *store.Store
	rentals map[bridge.RentalID]bridge.Rental // as they must be stored
	model
	step int
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
	r.Account = rapid.SampledFrom([]bridge.Account{"org/a/p/ann", "org/a/p/bob", "org/a/q/cyd", "org/b/p/dan"}).Draw(t, "account")
	r.Pool.Cloud = rapid.SampledFrom([]string{"north", "south"}).Draw(t, "cloud")
	r.Shape.GPUType = rapid.SampledFrom([]string{"", "a100", "h100"}).Draw(t, "class")
	short := f.short(r.Scope(), r.Hold.Micro, f.clock.now())
	saved, err := f.s.Reserve(f.root.Context(), r, f.budgets)
	f.judged(t, err, len(short) == 0, short)
	if err != nil {
		r.State = bridge.StateWaiting
		saved, err = f.s.Propose(f.root.Context(), r, news(bridge.NewsAsked))
		f.keep(t, saved, err)
		return
	}
	f.keep(t, saved, nil)
	f.lend(&saved, f.clock.now())
}

// judged compares the answer to an admission with that of the model.
func (f *firm) judged(t *rapid.T, err error, want bool, short map[int]int64) {
	var over *store.OverBudget
	switch {
	case want != (err == nil):
		t.Fatalf("admitted: %v, the model says %t; %v are missing", err, want, short)
	case err == nil:
	case !errors.As(err, &over):
		t.Fatal(err)
	default:
		hard := slices.ContainsFunc(f.budgets, func(b bridge.Budget) bool { return b.Hard && b.Scope() == over.Balance.Scope() })
		if f.hard(short) != hard {
			t.Fatalf("%s was named; %v are missing", over.Balance.Scope(), short)
		}
	}
}

// pick draws a rental in one of some states, no question for more time; false if
// there is none.
func (f *firm) pick(t *rapid.T, in func(bridge.State) bool) (bridge.Rental, bool) {
	var fit []bridge.Rental
	for _, r := range f.rentals {
		if in(r.State) && r.Extends == "" {
			fit = append(fit, r)
		}
	}
	if len(fit) == 0 {
		return bridge.Rental{}, false
	}
	slices.SortFunc(fit, func(a, b bridge.Rental) int { return cmpIDs(a.ID, b.ID) })
	return fit[rapid.IntRange(0, len(fit)-1).Draw(t, "rental")], true
}

func waits(s bridge.State) bool { return s == bridge.StateWaiting }

func (f *firm) answer(t *rapid.T) {
	r, ok := f.pick(t, waits)
	if !ok {
		return
	}
	if rapid.Bool().Draw(t, "no") {
		r.State = bridge.StateClosed
		r, err := f.s.Save(f.root.Context(), r, news(bridge.NewsDenied))
		f.keep(t, r, err)
		return
	}
	d := yes(r, "boss")
	short := f.short(r.Scope(), r.Hold.Micro, f.clock.now())
	r.State = bridge.StateLaunching
	saved, err := f.s.Approve(f.root.Context(), d, r, f.budgets, news(bridge.NewsApproved))
	f.judged(t, err, !f.hard(short), short)
	if err == nil {
		f.keep(t, saved, nil)
		f.lend(&saved, f.clock.now())
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

// meter posts a cost: mostly more than before, at times beyond the hold or less.
func (f *firm) meter(t *rapid.T) {
	r, ok := f.pick(t, bridge.State.Held)
	if !ok {
		return
	}
	r.Cost = usd(0)
	r.Cost.Micro = rapid.OneOf(
		rapid.Int64Range(min(f.lent[r.ID].cost, r.Hold.Micro), r.Hold.Micro),
		rapid.Int64Range(0, r.Hold.Micro+20),
	).Draw(t, "cost")
	cost := r.Cost.Micro
	var err error
	ends := r.State == bridge.StateReleasing && rapid.Bool().Draw(t, "settle")
	if ends {
		r.State = bridge.StateSettled
		r, err = f.s.Settle(f.root.Context(), r, news(bridge.NewsSettled))
	} else {
		r, err = f.s.Post(f.root.Context(), r)
	}
	f.keep(t, r, err)
	f.post(r.ID, f.clock.now(), cost)
	if ends {
		f.lent[r.ID].until = f.clock.now()
	}
}

func (f *firm) extend(t *rapid.T) {
	r, ok := f.pick(t, bridge.State.Held)
	if !ok {
		return
	}
	more := usd(0)
	more.Micro = rapid.Int64Range(1, 100).Draw(t, "more")
	short := f.short(r.Scope(), more.Micro, f.clock.now())
	saved, err := f.s.Extend(f.root.Context(), r, more, f.budgets)
	f.judged(t, err, len(short) == 0, short)
	if err == nil {
		f.keep(t, saved, nil)
		f.lent[r.ID].hold += more.Micro
	}
}

// askLonger extends a rental by a question and a person's yes.
func (f *firm) askLonger(t *rapid.T) {
	r, ok := f.pick(t, bridge.State.Held)
	if !ok {
		return
	}
	q := newRental(f.root, f.s, bridge.StateWaiting, 0)
	q.Hold.Micro, q.Account, q.Extends = rapid.Int64Range(1, 200).Draw(t, "more"), r.Account, r.ID
	q, err := f.s.Propose(f.root.Context(), q)
	f.keep(t, q, err)
	d := yes(q, "boss")
	short := f.short(r.Scope(), q.Hold.Micro, f.clock.now())
	q.State = bridge.StateClosed
	asked, longer, err := f.s.ApproveExtension(f.root.Context(), d, q, r, f.budgets)
	f.judged(t, err, !f.hard(short), short)
	if err == nil {
		f.keep(t, asked, nil)
		f.keep(t, longer, nil)
		f.lent[r.ID].hold += q.Hold.Micro
	}
}

// correct lets a bill, a credit or a refund arrive, at times a second time and
// at times with what cannot be.
func (f *firm) correct(t *rapid.T) {
	r, ok := f.pick(t, func(s bridge.State) bool { return s.Held() || s.Ended() })
	if !ok {
		return
	}
	c := bridge.Correction{
		Key: rapid.StringMatching(`[a-f]`).Draw(t, "key"), Rental: r.ID, Who: "root", Amount: usd(0),
		Kind: rapid.SampledFrom([]bridge.CorrectionKind{bridge.ByBill, bridge.ByCredit, bridge.ByRefund}).Draw(t, "kind"),
		Used: noon.Add(time.Duration(rapid.Int64Range(0, int64(f.clock.now().Sub(noon))).Draw(t, "used"))),
	}
	c.Amount.Micro = rapid.Int64Range(-60, 60).Draw(t, "amount")
	known, reused := f.keys[c.Key]
	if reused && rapid.Bool().Draw(t, "again") {
		c = known
	}
	n, err := f.s.Correct(f.root.Context(), []bridge.Correction{c}, bridge.News{Kind: bridge.NewsCorrected, Rental: c.Rental})
	want, fails := f.corrected(&c)
	if n != want || fails != (err != nil) {
		t.Fatalf("%+v: %d new, %v; the model says %d, an error: %t", c, n, err, want, fails)
	}
	if n == 1 {
		fresh, err := f.s.Rental(f.root.Context(), c.Rental)
		f.keep(t, fresh, err)
	}
}

func (f *firm) changeLimit(t *rapid.T) {
	f.budgets[rapid.IntRange(0, len(f.budgets)-1).Draw(t, "budget")].Limit.Micro = rapid.Int64Range(50, 1500).Draw(t, "limit")
}

// crash goes on with the files as a killed process leaves them.
func (f *firm) crash(t *rapid.T) {
	next := memory(f.root)
	for _, name := range []string{"spillway.db", "spillway.db-wal"} {
		copyFile(t, filepath.Join(f.dir, name), filepath.Join(next, name))
	}
	f.close(t)
	f.dir = next
	f.open(t)
}

func (f *firm) close(t *rapid.T) {
	if err := errors.Join(f.s.Close(), os.RemoveAll(f.dir)); err != nil {
		t.Fatal(err)
	}
}

func (f *firm) wait(t *rapid.T) {
	f.clock.add(time.Duration(rapid.Int64Range(1, 20*24*60).Draw(t, "minutes")) * time.Minute)
}

// waitForTheEnd goes to the last instant of a budget's period, or to the first
// of the next one.
func (f *firm) waitForTheEnd(t *rapid.T) {
	b := &f.budgets[rapid.IntRange(0, len(f.budgets)-1).Draw(t, "budget")]
	_, end := span(b, f.clock.now())
	end = end.Add(-time.Duration(rapid.IntRange(0, 1).Draw(t, "before")))
	if end.After(f.clock.now()) {
		f.clock.add(end.Sub(f.clock.now()))
	}
}

// check compares balances after every action, and now and then everything.
func (f *firm) check(t *rapid.T) {
	f.step++
	balances, err := f.s.Balances(f.root.Context(), f.clock.now(), f.budgets)
	if err != nil {
		t.Fatal(err)
	}
	for i, b := range balances {
		posted, held := f.sums(&f.budgets[i], f.clock.now())
		if b.Posted.Micro != posted || b.Held.Micro != held {
			t.Fatalf("%s in %s has posted %d and holds %d, the model has %d and %d", b.Scope(), b.Period, b.Posted.Micro, b.Held.Micro, posted, held)
		}
	}
	if f.step%12 == 0 {
		f.audit(t)
	}
}

// audit proves the whole ledger and reads all that it can say.
func (f *firm) audit(t *rapid.T) {
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
		if l := f.lent[id]; l != nil && (got.Hold.Micro != l.hold || got.Cost.Micro != l.cost) {
			t.Fatalf("%s holds %s and costs %s, the model has %d and %d", id, got.Hold, got.Cost, l.hold, l.cost)
		}
	}
	if report.OpenHolds != held || f.root.Failed() {
		t.Fatalf("%d open holds of %d held rentals; %v", report.OpenHolds, held, report.Faults)
	}
	f.spans(t)
}

// spans asks what was there and what was spent between two random times.
func (f *firm) spans(t *rapid.T) {
	quarters := int64(f.clock.now().Sub(noon)/quarter) + 2
	from := noon.Add(time.Duration(rapid.Int64Range(0, quarters).Draw(t, "from")) * quarter)
	to := from.Add(time.Duration(rapid.Int64Range(0, quarters).Draw(t, "for")) * quarter)
	rentals, err := f.s.RentalsBetween(f.root.Context(), from, to)
	if got, want := ids(rentals), f.between(from, to); err != nil || !slices.Equal(got, want) {
		t.Fatalf("%s to %s: rentals are %v, the model has %v: %v", from, to, got, want, err)
	}
	sums, err := f.s.PostedBetween(f.root.Context(), from, to)
	if want := f.postedBetween(from, to); err != nil || !slices.Equal(sums, want) {
		t.Fatalf("%s to %s: posted %v, the model has %v: %v", from, to, sums, want, err)
	}
}

func TestStoreKeepsTheBooksWhateverHappens(t *testing.T) {
	fresh := template(t)
	rapid.Check(t, func(rt *rapid.T) {
		f := &firm{root: t, clock: newHands(noon), dir: memory(t), rentals: map[bridge.RentalID]bridge.Rental{}, model: newModel(rt)}
		copyFile(rt, fresh, filepath.Join(f.dir, "spillway.db"))
		f.open(rt)
		defer f.close(rt)
		rt.Repeat(map[string]func(*rapid.T){
			"rent": f.rent, "rent again": f.rent, "answer": f.answer, "move": f.move, "move again": f.move,
			"meter": f.meter, "meter again": f.meter, "extend": f.extend, "ask longer": f.askLonger, "correct": f.correct,
			"change limit": f.changeLimit, "crash": f.crash, "wait": f.wait, "wait for the end": f.waitForTheEnd, "": f.check,
		})
		f.audit(rt)
	})
}
