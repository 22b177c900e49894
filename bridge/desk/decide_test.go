package desk

import (
	"strings"
	"testing"
	"time"

	"spillway.sh/spillway/bridge"
)

// question makes a rental of ana's that waits for an approver.
func question(t *testing.T, d *Desk) Rental {
	t.Helper()
	a := d.mustRent(t, "ana", "8xh100 6h on-demand")
	if !a.Waiting {
		t.Fatal("it does not wait")
	}
	return a.Rental
}

func TestWhoMayDecide(t *testing.T) {
	for name, c := range map[string]struct {
		who    string
		uid    int
		groups []string
		no     bool
		kind   ErrorKind
	}{
		"an approver of the budget":               {who: "mei"},
		"one of the group of approvers":           {who: "leo", groups: []string{"leads"}},
		"an approver of everything":               {who: "tom"},
		"the requester":                           {who: "ana", kind: Forbidden},
		"the requester in the group of approvers": {who: "ana", groups: []string{"leads"}, kind: Forbidden},
		"a member":                          {who: "ben", kind: Forbidden},
		"an admin is no approver":           {who: "root", uid: 0, kind: Forbidden},
		"but an admin may say no":           {who: "root", uid: 0, no: true},
		"the requester may not even say no": {who: "ana", no: true, kind: Forbidden},
	} {
		t.Run(name, func(t *testing.T) {
			d, w := newWorld(t)
			r := question(t, d)
			uid := 1000
			if c.who == "root" {
				uid = c.uid
			}
			_, err := d.Decide(t.Context(), d.Roles.Of(c.who, uid, c.groups), DecideRequest{Rental: string(r.ID), Version: r.Version, Yes: !c.no})
			if kind(err) != c.kind {
				t.Fatalf("got %v, want kind %q", err, c.kind)
			}
			want := bridge.StateLaunching
			if c.no {
				want = bridge.StateClosed
			}
			if c.kind != "" {
				want = bridge.StateWaiting
			}
			if got := w.rentals[0].State; got != want {
				t.Errorf("it is %s, want %s", got, want)
			}
		})
	}
}

func TestAnApproverOfOneBudgetIsNotOneOfTheNextAbove(t *testing.T) {
	d, _ := newWorld(t)
	x := d.Rules.(*rules)
	x.budgets[0] = bridge.Budget{Account: "site", Every: bridge.Month, Zone: time.UTC, Limit: usd(50), Approvers: []string{"boss"}}
	r := question(t, d)
	ask := func(who string) error {
		_, err := d.Decide(t.Context(), d.as(who), DecideRequest{Rental: string(r.ID), Version: r.Version, Yes: true})
		return err
	}
	for _, who := range []string{"mei", "boss"} { // each lacks the other's budget
		if kind(ask(who)) != Forbidden {
			t.Errorf("%s may approve what exceeds both budgets", who)
		}
	}
	if err := ask("tom"); err != nil {
		t.Errorf("the approver of everything: %v", err)
	}
}

func TestWhoRentsForAnothersJobDoesNotDecide(t *testing.T) {
	d, w := newWorld(t)
	root := d.Roles.Of("root", 0, nil)
	d.Roles.Approvers = append(d.Roles.Approvers, "root")
	a, err := d.Rent(t.Context(), root, RentRequest{Wish: Wish{Words: []string{"job 4711 for 6h on-demand"}}})
	if err != nil || !a.Waiting {
		t.Fatalf("%v, waiting %t", err, a.Waiting)
	}
	for _, who := range []string{"root", "ana"} {
		_, err := d.Decide(t.Context(), d.Roles.Of(who, 0, nil), DecideRequest{Rental: string(a.Rental.ID), Version: a.Rental.Version, Yes: true})
		if kind(err) != Forbidden {
			t.Errorf("%s decided: %v", who, err)
		}
	}
	if w.rentals[0].State != bridge.StateWaiting {
		t.Errorf("it is %s", w.rentals[0].State)
	}
}

func TestLateAndRepeatedAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		before func(*testing.T, *Desk, *world, Rental)
		who    string
		no     bool
		bump   int64
		kind   ErrorKind
		says   string
		again  bool
	}{
		"of an older question":           {who: "mei", bump: -1, kind: Conflict, says: "has changed since"},
		"without a version":              {who: "mei", bump: -99, kind: BadRequest},
		"twice by the same person":       {who: "mei", before: answerAs("mei", true), again: true},
		"after somebody else's yes":      {who: "tom", before: answerAs("mei", true), kind: Conflict, says: "already approved by mei at 2026-11-30 12:00 UTC"},
		"a no after a yes":               {who: "mei", no: true, before: answerAs("mei", true), kind: Conflict, says: "already approved"},
		"a yes after a no":               {who: "tom", before: answerAs("mei", false), kind: Conflict, says: "already denied by mei"},
		"after its time, not yet lapsed": {who: "mei", before: func(_ *testing.T, _ *Desk, w *world, _ Rental) { w.snap.Now = noon.Add(2 * time.Hour) }, kind: Conflict, says: "too late"},
		"after it lapsed":                {who: "mei", before: lapse, kind: Conflict, says: "too late: the question r-0013 lapsed at 2026-11-30 13:00 UTC"},
		"when the price rose":            {who: "mei", before: func(_ *testing.T, _ *Desk, w *world, _ Rental) { w.snap.Offers[1].Rate = rate(33) }, kind: Conflict, says: "has changed since you saw it: it was at most 197.87 USD, now it is 204.05 USD"},
		"while frozen":                   {who: "mei", before: func(_ *testing.T, _ *Desk, w *world, _ Rental) { w.marks.Frozen = true }, kind: Conflict, says: "frozen"},
		"when a hard budget ran out":     {who: "mei", before: func(_ *testing.T, _ *Desk, w *world, _ Rental) { w.spent["site"] = usd(990) }, kind: OverBudget, says: "hard"},
		"when somebody was faster": {who: "mei", before: func(t *testing.T, d *Desk, w *world, r Rental) {
			w.meddle = func() { answerAs("tom", true)(t, d, w, r) }
		}, kind: Conflict, says: "already approved by tom"},
		"on a rental that never asked": {who: "mei", before: func(_ *testing.T, _ *Desk, w *world, _ Rental) { w.rentals[0].State = bridge.StateAdmitted }, kind: Conflict, says: "asks nothing"},
	} {
		t.Run(name, func(t *testing.T) {
			d, w := newWorld(t)
			r := question(t, d)
			if c.before != nil {
				c.before(t, d, w, r)
			}
			held := heldOf(w)
			a, err := d.Decide(t.Context(), d.as(c.who), DecideRequest{Rental: string(r.ID), Version: max(r.Version+c.bump, 0) + boolTo(c.bump == -1, 9), Yes: !c.no})
			if kind(err) != c.kind || err != nil && !strings.Contains(AsError(err).Wrong, c.says) {
				t.Errorf("got %v, want kind %q about %q", err, c.kind, c.says)
			}
			if a.Repeated != c.again {
				t.Errorf("repeated %t", a.Repeated)
			}
			if name != "when somebody was faster" && heldOf(w) != held {
				t.Errorf("held %d before and %d after", held, heldOf(w))
			}
		})
	}
}

func boolTo(b bool, n int64) int64 {
	if b {
		return n
	}
	return 0
}

func heldOf(w *world) (sum int64) {
	for i := range w.rentals {
		if w.rentals[i].State.Held() {
			sum += w.rentals[i].Hold.Micro
		}
	}
	return sum
}

func answerAs(who string, yes bool) func(*testing.T, *Desk, *world, Rental) {
	return func(t *testing.T, d *Desk, _ *world, r Rental) {
		t.Helper()
		if _, err := d.Decide(t.Context(), d.as(who), DecideRequest{Rental: string(r.ID), Version: r.Version, Yes: yes}); err != nil {
			t.Fatal(err)
		}
	}
}

func lapse(t *testing.T, _ *Desk, w *world, r Rental) {
	t.Helper()
	w.snap.Now = noon.Add(time.Hour)
	x, err := w.Rental(t.Context(), r.ID)
	if err != nil {
		t.Fatal(err)
	}
	x.State = bridge.StateClosed
	if _, err := w.Save(t.Context(), x, bridge.News{At: w.snap.Now, Kind: bridge.NewsLapsed, Rental: r.ID}); err != nil {
		t.Fatal(err)
	}
}

func TestADeniedJobIsNotAskedAboutAtOnce(t *testing.T) {
	d, w := newWorld(t)
	a := d.mustRent(t, "ana", "job 4711 for 6h on-demand")
	if _, err := d.Decide(t.Context(), d.as("mei"), DecideRequest{Rental: string(a.Rental.ID), Version: a.Rental.Version, Text: "use the queue"}); err != nil {
		t.Fatal(err)
	}
	if len(w.marks.Answers) != 1 || w.marks.Answers[0].Why != bridge.ReasonDenied || !w.marks.Answers[0].Until.Equal(noon.Add(time.Hour)) {
		t.Errorf("remembered %+v", w.marks.Answers)
	}
	if r := w.rentals[0]; r.State != bridge.StateClosed || r.Note != "use the queue" {
		t.Errorf("it is %s with note %q", r.State, r.Note)
	}
}
