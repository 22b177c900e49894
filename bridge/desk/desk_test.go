package desk

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"spillway.sh/spillway/bridge"
)

func TestRentWithinBudgetHoldsAtOnce(t *testing.T) {
	d, w := newWorld(t)
	a := d.mustRent(t, "ana", "8xh100 for 2h spot")
	r, err := w.Rental(t.Context(), a.Rental.ID)
	if err != nil {
		t.Fatal(err)
	}
	if a.Waiting || r.State != bridge.StateLaunching || r.Account != "site/ai/nlp/ana" || r.Requester != "ana" {
		t.Errorf("got %s for %s by %s, waiting %t", r.State, r.Account, r.Requester, a.Waiting)
	}
	// Two hours, the boot and the margin, at a quarter above today's 20 USD.
	if want := usd(25 * (120 + 1 + 10) / 60.0); r.Hold.Micro < want.Micro || r.Hold.Micro > want.Micro+1 {
		t.Errorf("held %d, want %d", r.Hold.Micro, want.Micro)
	}
	if w.woke != 1 {
		t.Errorf("the loop was woken %d times", w.woke)
	}
}

func TestRentOverBudget(t *testing.T) {
	for name, c := range map[string]struct {
		words   string
		change  func(*rules, *world)
		kind    ErrorKind
		waiting bool
		says    string
	}{
		"over a soft budget asks":                {words: "8xh100 6h on-demand", waiting: true},
		"over a hard budget never":               {words: "8xh100 24h on-demand", change: func(r *rules, _ *world) { r.terms.Life = 48 * time.Hour; r.budgets[0].Limit = usd(500) }, kind: OverBudget, says: "no approval may exceed"},
		"no asking where policy forbids it":      {words: "8xh100 6h on-demand", change: func(r *rules, _ *world) { r.terms.Ask = false }, kind: OverBudget},
		"without any budget nothing is rented":   {words: "8xh100 1h spot", change: func(r *rules, _ *world) { r.budgets = nil }, kind: OverBudget, says: "No budget covers"},
		"above the ask limit asks within budget": {words: "8xh100 1h spot", change: func(r *rules, _ *world) { r.terms.AskAbove = usd(5) }, waiting: true},
		"above the own maximum is refused":       {words: "8xh100 6h spot max $100", kind: Conflict, says: "more than the 100.00 USD you gave"},
		"above policy's price ceiling":           {words: "8xh100 1h on-demand", change: func(r *rules, _ *world) { r.terms.MaxRate = rate(10) }, kind: Conflict},
		"a budget in another currency":           {words: "8xh100 1h spot", change: func(r *rules, _ *world) { r.budgets[1].Limit.Currency = "CNY" }, kind: OverBudget},
		"longer than policy lets machines live":  {words: "8xh100 48h spot", kind: Conflict, says: "24 h at most"},
		"more machines than policy allows":       {words: "72xh100 1h", kind: Conflict},
		"while frozen":                           {words: "8xh100 1h", change: func(_ *rules, w *world) { w.snap.Frozen = true }, kind: Conflict, says: "frozen"},
		"frozen since the latest look":           {words: "8xh100 1h", change: func(_ *rules, w *world) { w.marks.Frozen = true }, kind: Conflict, says: "frozen"},
		"in protected mode":                      {words: "8xh100 1h", change: func(_ *rules, w *world) { w.snap.Protected = true }, kind: Conflict},
		"on old prices":                          {words: "8xh100 1h", change: func(_ *rules, w *world) { w.snap.Now = noon.Add(2 * time.Hour) }, kind: Conflict, says: "price"},
		"where policy observes only":             {words: "8xh100 1h", change: func(r *rules, _ *world) { r.terms.Burst, r.terms.Why = false, bridge.ReasonObserve }, kind: Conflict, says: "only observes"},
		"what no cloud has":                      {words: "8xh100 64cpu 1024gb 1h", kind: NotFound},
	} {
		t.Run(name, func(t *testing.T) {
			d, w := newWorld(t)
			if c.change != nil {
				c.change(d.Rules.(*rules), w)
			}
			a, err := d.Rent(t.Context(), d.as("ana"), RentRequest{Wish: Wish{Words: []string{c.words}}})
			if kind(err) != c.kind {
				t.Fatalf("got %v, want kind %q", err, c.kind)
			}
			if err != nil {
				if !strings.Contains(AsError(err).Wrong, c.says) {
					t.Errorf("said %q, want something about %q", AsError(err).Wrong, c.says)
				}
				if len(w.rentals) != 0 {
					t.Errorf("%d rentals were stored", len(w.rentals))
				}
				return
			}
			if a.Waiting != c.waiting || (w.rentals[0].State == bridge.StateWaiting) != c.waiting {
				t.Errorf("waiting %t in state %s, want %t", a.Waiting, w.rentals[0].State, c.waiting)
			}
		})
	}
}

func TestRentWantsItsOwnMaximumKept(t *testing.T) {
	d, _ := newWorld(t)
	_, err := d.Rent(t.Context(), d.as("ana"), RentRequest{Wish: Wish{Words: []string{"8xh100 6h spot max $60"}}})
	e := AsError(err)
	words, ok := strings.CutPrefix(e.Try, "spillway rent ")
	if !ok {
		t.Fatalf("no shorter wish was suggested: %v", err)
	}
	if _, err := d.Rent(t.Context(), d.as("ana"), RentRequest{Wish: Wish{Words: []string{words}}}); err != nil {
		t.Errorf("the suggested %q does not work: %v", words, err)
	}
}

func TestRentDearerThanShownIsAConflict(t *testing.T) {
	d, w := newWorld(t)
	wish := Wish{Words: []string{"8xh100 2h spot"}}
	q, err := d.Quote(t.Context(), d.as("ana"), QuoteRequest{Wish: wish})
	if err != nil {
		t.Fatal(err)
	}
	w.snap.Offers[0].Rate = rate(24)
	_, err = d.Rent(t.Context(), d.as("ana"), RentRequest{Wish: wish, AtMost: q.Offers[0].AtMost})
	if kind(err) != Conflict || len(w.rentals) != 0 {
		t.Errorf("got %v and %d rentals, want a conflict and none", err, len(w.rentals))
	}
}

func TestTheSameRequestRentsOnce(t *testing.T) {
	d, w := newWorld(t)
	ask := func(words, key string, again bool) (RentAnswer, error) {
		return d.Rent(t.Context(), d.as("ana"), RentRequest{Wish: Wish{Words: []string{words}}, Key: key, Again: again})
	}
	first, err := ask("8xh100 1h spot", "", false)
	if err != nil {
		t.Fatal(err)
	}
	second, err := ask("spot for 60m 8xh100", "", false)
	if err != nil || !second.Repeated || second.Rental.ID != first.Rental.ID {
		t.Errorf("the same wish at once: %v, repeated %t, %s and %s", err, second.Repeated, first.Rental.ID, second.Rental.ID)
	}
	if other, err := d.Rent(t.Context(), d.as("ben"), RentRequest{Wish: Wish{Words: []string{"8xh100 1h spot"}}}); err != nil || other.Repeated {
		t.Errorf("somebody else's same wish: %v, repeated %t", err, other.Repeated)
	}
	if third, err := ask("8xh100 1h spot", "", true); err != nil || third.Repeated {
		t.Errorf("really again: %v, repeated %t", err, third.Repeated)
	}
	w.snap.Now = noon.Add(2 * time.Minute)
	if later, err := ask("8xh100 1h spot", "", false); err != nil || later.Repeated {
		t.Errorf("the same wish later: %v, repeated %t", err, later.Repeated)
	}
	keyed, err := ask("8xh100 15m spot", "nightly", false)
	if err != nil {
		t.Fatal(err)
	}
	w.snap.Now = noon.Add(40 * time.Minute)
	if again, err := ask("8xh100 15m spot", "nightly", false); err != nil || !again.Repeated || again.Rental.ID != keyed.Rental.ID {
		t.Errorf("the same key much later: %v, repeated %t", err, again.Repeated)
	}
	if _, err := ask("8xh100 30m spot", "nightly", false); kind(err) != Conflict {
		t.Errorf("the same key for another wish: %v, want a conflict", err)
	}
}

func TestTheSameKeySentAtOnceRentsOnce(t *testing.T) {
	d, w := newWorld(t)
	var wg sync.WaitGroup
	for range 32 {
		wg.Go(func() {
			if _, err := d.Rent(context.Background(), d.as("ana"), RentRequest{Wish: Wish{Words: []string{"8xh100 15m spot"}}, Key: "k"}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if len(w.rentals) != 1 {
		t.Errorf("%d rentals were made", len(w.rentals))
	}
}

func TestWhoMayRentForAProject(t *testing.T) {
	for name, c := range map[string]struct {
		who    string
		groups []string
		words  string
		kind   ErrorKind
	}{
		"a job in the queue shows it":          {who: "ana", words: "8xh100 1h"},
		"the group of that name":               {who: "eve", groups: []string{"nlp"}, words: "8xh100 1h project nlp"},
		"an approver of its budget":            {who: "mei", words: "8xh100 1h project nlp"},
		"a stranger":                           {who: "eve", words: "8xh100 1h project nlp", kind: Forbidden},
		"a stranger who names none":            {who: "eve", words: "8xh100 1h", kind: BadRequest},
		"a member of another project":          {who: "ana", words: "8xh100 1h project vision", kind: Forbidden},
		"a project that is not there":          {who: "ana", words: "8xh100 1h project secret", kind: NotFound},
		"a path that policy does not map":      {who: "ana", words: "8xh100 1h project site/other/nlp", kind: NotFound},
		"the job of somebody else":             {who: "eve", words: "job 4711", kind: Forbidden},
		"a job that is not there":              {who: "ana", words: "job 1", kind: NotFound},
		"a job without a limit needs a length": {who: "ben", words: "job 4712", kind: BadRequest},
	} {
		t.Run(name, func(t *testing.T) {
			d, _ := newWorld(t)
			_, err := d.Rent(t.Context(), d.as(c.who, c.groups...), RentRequest{Wish: Wish{Words: []string{c.words}}})
			if kind(err) != c.kind {
				t.Errorf("got %v, want kind %q", err, c.kind)
			}
		})
	}
}

func TestRentForAJobTakesItsSizeAndTime(t *testing.T) {
	d, w := newWorld(t)
	a := d.mustRent(t, "ana", "job 4711 spot")
	r := w.rentals[0]
	if r.Count != 2 || r.Gang != 2 || !slices.Equal(r.Jobs, []bridge.JobID{"4711"}) || r.Life < 2*time.Hour {
		t.Errorf("got %d machines in gangs of %d for %v over %s (%s)", r.Count, r.Gang, r.Jobs, r.Life, a.Understood)
	}
}

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
		"when the price rose":            {who: "mei", before: func(_ *testing.T, _ *Desk, w *world, _ Rental) { w.snap.Offers[1].Rate = rate(33) }, kind: Conflict, says: "dearer"},
		"while frozen":                   {who: "mei", before: func(_ *testing.T, _ *Desk, w *world, _ Rental) { w.marks.Frozen = true }, kind: Conflict, says: "frozen"},
		"when a hard budget ran out":     {who: "mei", before: func(_ *testing.T, _ *Desk, w *world, _ Rental) { w.spent["site"] = usd(990) }, kind: OverBudget, says: "hard"},
		"when somebody was faster": {who: "mei", before: func(t *testing.T, d *Desk, w *world, r Rental) {
			w.meddle = func() { answerAs("tom", true)(t, d, w, r) }
		}, kind: Conflict, says: "already approved by tom"},
		"on a rental that never asked": {who: "mei", before: func(t *testing.T, d *Desk, w *world, _ Rental) { w.rentals[0].State = bridge.StateAdmitted }, kind: Conflict, says: "asks nothing"},
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

func TestRelease(t *testing.T) {
	for name, c := range map[string]struct {
		state bridge.State
		now   bool
		want  bridge.State
	}{
		"a question is withdrawn": {bridge.StateWaiting, false, bridge.StateClosed},
		"a launch is called off":  {bridge.StateLaunching, false, bridge.StateReleasing},
		"machines on their way":   {bridge.StateJoining, false, bridge.StateReleasing},
		"after the jobs":          {bridge.StateAdmitted, false, bridge.StateDraining},
		"now":                     {bridge.StateAdmitted, true, bridge.StateReleasing},
		"now, though draining":    {bridge.StateDraining, true, bridge.StateReleasing},
		"draining already":        {bridge.StateDraining, false, bridge.StateDraining},
		"going back already":      {bridge.StateReleasing, true, bridge.StateReleasing},
		"long gone":               {bridge.StateSettled, true, bridge.StateSettled},
		"never rented":            {bridge.StateClosed, false, bridge.StateClosed},
	} {
		t.Run(name, func(t *testing.T) {
			d, w := newWorld(t)
			r := d.mustRent(t, "ana", "8xh100 1h spot").Rental
			w.rentals[0].State = c.state
			for again := range 2 {
				a, err := d.Release(t.Context(), d.as("ana"), ReleaseRequest{Rental: string(r.ID), Now: c.now})
				if err != nil {
					t.Fatal(err)
				}
				if got := w.rentals[0].State; got != c.want {
					t.Fatalf("it is %s, want %s", got, c.want)
				}
				if changed := a.Released[0].Changed; changed != (again == 0 && c.state != c.want) {
					t.Errorf("time %d: changed %t", again+1, changed)
				}
			}
		})
	}
}

func TestReleaseOfWhatSomebodyElseChanges(t *testing.T) {
	d, w := newWorld(t)
	r := d.mustRent(t, "ana", "8xh100 1h spot").Rental
	w.meddle = func() { // the engine sees the cloud's answer in this very moment
		w.mu.Lock()
		defer w.mu.Unlock()
		w.rentals[0].State = bridge.StateJoining
		w.rentals[0].Version++
	}
	a, err := d.Release(t.Context(), d.as("ana"), ReleaseRequest{Rental: string(r.ID)})
	if err != nil || !a.Released[0].Changed || w.rentals[0].State != bridge.StateReleasing {
		t.Errorf("got %v, it is %s", err, w.rentals[0].State)
	}
}

func TestReleaseMeansNoMoreThanItSays(t *testing.T) {
	for name, c := range map[string]struct {
		who  string
		uid  int
		req  ReleaseRequest
		kind ErrorKind
		want []bridge.RentalID
	}{
		"one's own":                       {who: "ana", uid: 1, req: ReleaseRequest{Rental: "r-0013"}, want: []bridge.RentalID{"r-0013"}},
		"typed in capitals without the r": {who: "ana", uid: 1, req: ReleaseRequest{Rental: "OO13"}, want: []bridge.RentalID{"r-0013"}},
		"a mistyped id":                   {who: "ana", uid: 1, req: ReleaseRequest{Rental: "r-0014"}, kind: BadRequest},
		"an unknown id":                   {who: "ana", uid: 1, req: ReleaseRequest{Rental: string(bridge.NewRentalID(99))}, kind: NotFound},
		"somebody else's":                 {who: "ben", uid: 1, req: ReleaseRequest{Rental: "r-0013"}, kind: Forbidden},
		"somebody else's by an approver":  {who: "mei", uid: 1, req: ReleaseRequest{Rental: "r-0013"}, kind: Forbidden},
		"somebody else's by an admin":     {who: "root", req: ReleaseRequest{Rental: "r-0013"}, want: []bridge.RentalID{"r-0013"}},
		"all means one's own":             {who: "ana", uid: 1, req: ReleaseRequest{All: true}, want: []bridge.RentalID{"r-0013", "r-0026"}},
		"all of root's own is nothing":    {who: "root", req: ReleaseRequest{All: true}},
		"by job":                          {who: "ana", uid: 1, req: ReleaseRequest{Job: "4711"}, want: []bridge.RentalID{"r-0026"}},
		"by a job nothing was rented for": {who: "ana", uid: 1, req: ReleaseRequest{Job: "1"}, kind: NotFound},
		"by its only machine":             {who: "ana", uid: 1, req: ReleaseRequest{Node: "sw-0013-0"}, want: []bridge.RentalID{"r-0013"}},
		"by one of two machines":          {who: "ana", uid: 1, req: ReleaseRequest{Node: "sw-0026-1"}, kind: Conflict},
		"by a node that is not rented":    {who: "ana", uid: 1, req: ReleaseRequest{Node: "local1"}, kind: NotFound},
		"nothing named":                   {who: "ana", uid: 1, req: ReleaseRequest{}, kind: BadRequest},
		"two things named":                {who: "ana", uid: 1, req: ReleaseRequest{All: true, Job: "4711"}, kind: BadRequest},
	} {
		t.Run(name, func(t *testing.T) {
			d, w := newWorld(t)
			d.mustRent(t, "ana", "8xh100 15m spot")
			d.mustRent(t, "ana", "job 4711 30m spot")
			d.mustRent(t, "ben", "8xh100 15m spot")
			a, err := d.Release(t.Context(), d.Roles.Of(c.who, c.uid, nil), c.req)
			if kind(err) != c.kind {
				t.Fatalf("got %v, want kind %q", err, c.kind)
			}
			var got []bridge.RentalID
			for _, r := range w.rentals {
				if r.State == bridge.StateReleasing {
					got = append(got, r.ID)
				}
			}
			if !slices.Equal(got, c.want) || len(a.Released) != len(c.want) {
				t.Errorf("released %v (%d told), want %v", got, len(a.Released), c.want)
			}
		})
	}
}

func TestReleaseAndFreezeWithoutADaemon(t *testing.T) {
	d, _ := newWorld(t)
	d.Writer, d.Loop, d.Viewer = nil, nil, nil
	_, err := d.Release(t.Context(), d.as("ana"), ReleaseRequest{All: true})
	if kind(err) != Unavailable || AsError(err).Try != "spillway release --by-tag" {
		t.Errorf("got %v", err)
	}
	for name, err := range map[string]error{
		"rent":   second(d.Rent(t.Context(), d.as("ana"), RentRequest{})),
		"decide": second(d.Decide(t.Context(), d.as("mei"), DecideRequest{})),
		"freeze": second(d.Freeze(t.Context(), d.Roles.Of("root", 0, nil), FreezeRequest{Frozen: true})),
		"queue":  second(d.Queue(t.Context(), d.as("ana"), QueueRequest{})),
	} {
		if kind(err) != Unavailable {
			t.Errorf("%s: %v, want unavailable", name, err)
		}
	}
	for name, err := range map[string]error{
		"rentals": second(d.Rentals(t.Context(), d.as("ana"), RentalsRequest{})),
		"spend":   second(d.Spend(t.Context(), d.as("ana"), SpendRequest{})),
		"status":  second(d.Status(t.Context(), d.as("ana"), StatusRequest{})),
		"news":    second(d.News(t.Context(), d.as("ana"), NewsRequest{})),
		"whoami":  second(d.WhoAmI(t.Context(), d.as("ana"), WhoAmIRequest{})),
	} {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func second[A any](_ A, err error) error { return err }

// The role table, row by row: who may ask for what of whom.
func TestRoleTable(t *testing.T) {
	people := map[string]func(*Desk) Person{
		"owner":    func(d *Desk) Person { return d.as("ana") },
		"stranger": func(d *Desk) Person { return d.as("eve") },
		"budget":   func(d *Desk) Person { return d.as("mei") }, // approver of the project's budget
		"approver": func(d *Desk) Person { return d.as("tom") },
		"admin":    func(d *Desk) Person { return d.Roles.Of("root", 0, nil) },
	}
	for name, c := range map[string]struct {
		do  func(context.Context, *Desk, Person) error
		may string
	}{
		"look at a rental": {func(ctx context.Context, d *Desk, p Person) error {
			return second(d.Rental(ctx, p, RentalRequest{Rental: "r-0013"}))
		}, "owner budget approver admin"},
		"explain a job": {func(ctx context.Context, d *Desk, p Person) error {
			return second(d.Explain(ctx, p, ExplainRequest{Job: "4711"}))
		}, "owner approver admin"},
		"list somebody's queue": {func(ctx context.Context, d *Desk, p Person) error {
			return second(d.Queue(ctx, p, QueueRequest{User: "ben"}))
		}, "approver admin"},
		"list somebody's rentals": {func(ctx context.Context, d *Desk, p Person) error {
			return second(d.Rentals(ctx, p, RentalsRequest{User: "ben"}))
		}, "approver admin"},
		"give it back": {func(ctx context.Context, d *Desk, p Person) error {
			return second(d.Release(ctx, p, ReleaseRequest{Rental: "r-0013"}))
		}, "owner admin"},
		"freeze": {func(ctx context.Context, d *Desk, p Person) error {
			return second(d.Freeze(ctx, p, FreezeRequest{Frozen: true}))
		}, "admin"},
		"check the books": {func(ctx context.Context, d *Desk, p Person) error {
			return second(d.CheckBooks(ctx, p, LedgerRequest{}))
		}, "approver admin"},
		"ask how it is": {func(ctx context.Context, d *Desk, p Person) error {
			return second(d.Status(ctx, p, StatusRequest{}))
		}, "owner stranger budget approver admin"},
	} {
		for who, person := range people {
			t.Run(name+" as "+who, func(t *testing.T) {
				d, _ := newWorld(t)
				d.mustRent(t, "ana", "8xh100 15m spot")
				err := c.do(t.Context(), d, person(d))
				may := slices.Contains(strings.Fields(c.may), who)
				if may && err != nil || !may && kind(err) != Forbidden {
					t.Errorf("may %t, got %v", may, err)
				}
			})
		}
	}
}

func TestMembersSeeTheirOwnOnly(t *testing.T) {
	d, w := newWorld(t)
	d.mustRent(t, "ana", "8xh100 15m spot")
	d.mustRent(t, "ben", "8xh100 15m spot")
	w.tell([]bridge.News{{Kind: bridge.NewsWarning, Text: "nobody's"}})
	ana, tom := d.as("ana"), d.as("tom")
	q, err := d.Queue(t.Context(), ana, QueueRequest{})
	if err != nil || len(q.Jobs) != 1 || q.Jobs[0].Job != "4711" {
		t.Errorf("queue: %v, %d rows", err, len(q.Jobs))
	}
	if q, err := d.Queue(t.Context(), tom, QueueRequest{}); err != nil || len(q.Jobs) != 2 {
		t.Errorf("queue of an approver: %v, %d rows", err, len(q.Jobs))
	}
	r, err := d.Rentals(t.Context(), ana, RentalsRequest{})
	if err != nil || len(r.Rentals) != 1 {
		t.Errorf("rentals: %v, %d", err, len(r.Rentals))
	}
	n, err := d.News(t.Context(), ana, NewsRequest{})
	if err != nil || len(n.News) != 1 || n.Next != 3 {
		t.Errorf("news: %v, %d, go on after %d", err, len(n.News), n.Next)
	}
	s, err := d.Spend(t.Context(), ana, SpendRequest{})
	if err != nil || len(s.Accounts) != 2 {
		t.Errorf("spend: %v, %d accounts", err, len(s.Accounts))
	}
	if s, err := d.Spend(t.Context(), d.as("eve"), SpendRequest{}); err != nil || len(s.Accounts) != 0 {
		t.Errorf("spend of a stranger: %v, %d accounts", err, len(s.Accounts))
	}
}

func TestFollowingNewsWaitsForThem(t *testing.T) {
	d, w := newWorld(t)
	w.tell([]bridge.News{{Kind: bridge.NewsWarning, Text: "old"}})
	done := make(chan NewsAnswer, 1)
	go func() {
		a, err := d.News(context.Background(), d.as("tom"), NewsRequest{After: 1, Wait: 30})
		if err != nil {
			t.Error(err)
		}
		done <- a
	}()
	w.mu.Lock()
	w.tell([]bridge.News{{Kind: bridge.NewsWarning, Text: "new"}})
	w.mu.Unlock()
	a := <-done
	if len(a.News) != 1 || a.News[0].Text != "new" || a.Next != 2 {
		t.Errorf("got %+v", a)
	}
}

func TestExplainSaysWhyAndWhatChangesIt(t *testing.T) {
	d, _ := newWorld(t)
	a, err := d.Explain(t.Context(), d.as("ana"), ExplainRequest{Job: "4711"})
	if err != nil {
		t.Fatal(err)
	}
	if a.Why != "Policy (rule everyone) lets it wait for local nodes first, until 2026-11-30 12:03 UTC." {
		t.Errorf("said %q", a.Why)
	}
	if len(a.Budgets) != 2 || a.Waits != 720 || a.State != "pending" {
		t.Errorf("%d budgets, waited %d s, %s", len(a.Budgets), a.Waits, a.State)
	}
	zh, err := d.Explain(t.Context(), d.as("ana"), ExplainRequest{Job: "4711", Lang: Chinese})
	if err != nil || !strings.HasPrefix(zh.Why, "策略（规则 everyone）") {
		t.Errorf("in Chinese: %v, %q", err, zh.Why)
	}
	if _, err := d.Explain(t.Context(), d.as("ana"), ExplainRequest{Job: "1"}); kind(err) != NotFound {
		t.Errorf("an unknown job: %v", err)
	}
}

func TestFreezeAndThaw(t *testing.T) {
	d, w := newWorld(t)
	root := d.Roles.Of("root", 0, nil)
	for i, c := range []struct{ frozen, changed bool }{{true, true}, {true, false}, {false, true}, {false, false}} {
		a, err := d.Freeze(t.Context(), root, FreezeRequest{Frozen: c.frozen, Text: "prices"})
		if err != nil || a.Changed != c.changed || w.marks.Frozen != c.frozen {
			t.Errorf("step %d: %v, changed %t, frozen %t", i, err, a.Changed, w.marks.Frozen)
		}
	}
	if got := fmt.Sprint(w.news[0].Kind, w.news[0].Who, w.news[1].Kind); len(w.news) != 2 || got != "frozenrootthawed" {
		t.Errorf("told %s in %d lines", got, len(w.news))
	}
}
