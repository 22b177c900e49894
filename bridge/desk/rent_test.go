package desk

import (
	"context"
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

func TestNoSecondRentalForOneJob(t *testing.T) {
	d, w := newWorld(t)
	first := d.mustRent(t, "ana", "job 4711 30m spot")
	_, err := d.Rent(t.Context(), d.as("ana"), RentRequest{Wish: Wish{Words: []string{"job 4711 2h spot"}}})
	if kind(err) != Conflict || !strings.Contains(AsError(err).Wrong, string(first.Rental.ID)) {
		t.Errorf("got %v", err)
	}
	w.rentals[0].State = bridge.StateReleasing
	if _, err := d.Rent(t.Context(), d.as("ana"), RentRequest{Wish: Wish{Words: []string{"job 4711 2h spot"}}}); err != nil {
		t.Errorf("after it was given back: %v", err)
	}
}
