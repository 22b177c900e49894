package desk

import (
	"strings"
	"testing"
	"time"

	"spillway.sh/spillway/bridge"
)

func (d *Desk) mustQuote(t *testing.T, who, words string) QuoteAnswer {
	t.Helper()
	q, err := d.Quote(t.Context(), d.as(who), QuoteRequest{Wish: Wish{Words: []string{words}}})
	if err != nil {
		t.Fatalf("quote %q: %v", words, err)
	}
	return q
}

func TestAQuoteIsRentedByItsID(t *testing.T) {
	d, w := newWorld(t)
	q := d.mustQuote(t, "ana", "8xh100 for 2h")
	if !IsQuote(q.ID) || !q.Good.Equal(noon.Add(quoteGood)) {
		t.Fatalf("quote %q is good until %s", q.ID, q.Good)
	}
	second, err := d.Rent(t.Context(), d.as("ana"), RentRequest{Quote: strings.ToUpper(q.ID), Offer: 2})
	if err != nil {
		t.Fatal(err)
	}
	if want := q.Offers[1]; second.Rental.Pool != want.Pool || second.Rental.Hold != want.AtMost {
		t.Errorf("rented %s for %s, quoted %s for %s", second.Rental.Pool, second.Rental.Hold, want.Pool, want.AtMost)
	}
	if w.rentals[0].Requester != "ana" {
		t.Errorf("rented for %s", w.rentals[0].Requester)
	}
}

func TestAQuoteIsGoodForItsOwnerAndForAWhile(t *testing.T) {
	for name, c := range map[string]struct {
		who    string
		change func(*world, *RentRequest)
		kind   ErrorKind
		says   string
	}{
		"at once":                      {who: "ana"},
		"in its last second":           {who: "ana", change: func(w *world, _ *RentRequest) { w.snap.Now = noon.Add(quoteGood - time.Second) }},
		"when its time is over":        {who: "ana", change: func(w *world, _ *RentRequest) { w.snap.Now = noon.Add(quoteGood) }, kind: Conflict, says: "was good until"},
		"by somebody else":             {who: "ben", kind: Forbidden, says: "somebody else"},
		"an offer it does not have":    {who: "ana", change: func(_ *world, q *RentRequest) { q.Offer = 9 }, kind: NotFound, says: "has 3 offers"},
		"one that was never given":     {who: "ana", change: func(_ *world, q *RentRequest) { q.Quote = "q-0013" }, kind: NotFound, says: "no quote q-0013"},
		"no id at all":                 {who: "ana", change: func(_ *world, q *RentRequest) { q.Quote = "q-zzzz" }, kind: BadRequest},
		"when prices have risen":       {who: "ana", change: func(w *world, _ *RentRequest) { w.snap.Offers[0].Rate = rate(28) }, kind: Conflict, says: "prices moved"},
		"when prices have fallen":      {who: "ana", change: func(w *world, _ *RentRequest) { w.snap.Offers[0].Rate = rate(10) }},
		"when its machines are gone":   {who: "ana", change: func(w *world, _ *RentRequest) { w.snap.Offers = w.snap.Offers[1:] }, kind: NotFound, says: "no machine on offer"},
		"while new money is frozen":    {who: "ana", change: func(w *world, _ *RentRequest) { w.marks.Frozen = true }, kind: Conflict, says: "frozen"},
		"with a reason of today's own": {who: "ana", change: func(_ *world, q *RentRequest) { q.Wish.Reason = "paper" }},
	} {
		t.Run(name, func(t *testing.T) {
			d, w := newWorld(t)
			for i := range w.snap.Offers {
				w.snap.Offers[i].MaxAge = 24 * time.Hour
			}
			q := d.mustQuote(t, "ana", "8xh100 for 1h")
			req := RentRequest{Quote: q.ID}
			if c.change != nil {
				c.change(w, &req)
			}
			a, err := d.Rent(t.Context(), d.as(c.who, "nlp"), req)
			if kind(err) != c.kind {
				t.Fatalf("got %v, want kind %q", err, c.kind)
			}
			if err != nil && !strings.Contains(AsError(err).Wrong, c.says) {
				t.Errorf("said %q, want something about %q", AsError(err).Wrong, c.says)
			}
			if err == nil && (a.Rental.Pool != q.Offers[0].Pool || above(a.Rental.Hold, q.Offers[0].AtMost)) {
				t.Errorf("rented %s for %s", a.Rental.Pool, a.Rental.Hold)
			}
			if err != nil && len(w.rentals) != 0 {
				t.Errorf("%d rentals were stored", len(w.rentals))
			}
		})
	}
}

func TestOnlySoManyQuotesAreKept(t *testing.T) {
	d, _ := newWorld(t)
	first := d.mustQuote(t, "ana", "8xh100 for 1h")
	others := d.mustQuote(t, "ben", "8xh100 for 1h")
	for range mostQuotes {
		d.mustQuote(t, "ana", "8xh100 for 1h")
	}
	if d.kept.get(first.ID).who != "" || len(d.kept.ids) > mostQuotes+1 {
		t.Errorf("%d quotes are kept", len(d.kept.ids))
	}
	if d.kept.get(others.ID).who != "ben" {
		t.Error("somebody else's quote was forgotten")
	}
}

func TestTheSameDeliveryIsAnsweredAsAtFirst(t *testing.T) {
	d, w := newWorld(t)
	ask := func(delivery string) RentAnswer {
		a, err := d.Rent(t.Context(), d.as("ana"), RentRequest{Wish: Wish{Words: []string{"8xh100 1h spot"}}, Delivery: delivery})
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	first := ask("one")
	w.snap.Now = noon.Add(10 * time.Minute)
	if again := ask("one"); again.Repeated || again.Rental.ID != first.Rental.ID {
		t.Errorf("the same delivery: repeated %t, %s and %s", again.Repeated, first.Rental.ID, again.Rental.ID)
	}
	w.snap.Now = noon.Add(30 * time.Second)
	if other := ask("two"); !other.Repeated || other.Rental.ID != first.Rental.ID {
		t.Errorf("the same words within a minute: repeated %t, %s and %s", other.Repeated, first.Rental.ID, other.Rental.ID)
	}
	w.snap.Now = noon.Add(2 * time.Minute)
	if other := ask("three"); other.Repeated || other.Rental.ID == first.Rental.ID {
		t.Error("the same words later are a request of their own")
	}
}

func TestAskingAgain(t *testing.T) {
	d, w := newWorld(t)
	again := func(who, like string) (RentAnswer, error) {
		return d.Rent(t.Context(), d.as(who), RentRequest{Like: like, Again: true})
	}
	if _, err := again("ana", ""); kind(err) != NotFound {
		t.Errorf("before anything was asked for: %v", err)
	}
	a, err := d.Rent(t.Context(), d.as("ana"), RentRequest{Wish: Wish{Words: []string{`8xh100 1h spot because "the Paper"`}}})
	if err != nil {
		t.Fatal(err)
	}
	b, err := again("ana", string(a.Rental.ID))
	if err != nil || b.Repeated || b.Rental.ID == a.Rental.ID || b.Rental.Hold != a.Rental.Hold || b.Rental.Note != "the Paper" {
		t.Errorf("got %v, %+v", err, b.Rental)
	}
	if c, err := again("ana", ""); err != nil || c.Rental.Hold != a.Rental.Hold {
		t.Errorf("the latest: %v", err)
	}
	if _, err := again("ben", string(a.Rental.ID)); kind(err) != Forbidden {
		t.Errorf("somebody else's: %v", err)
	}
	w.rentals = append(w.rentals, bridge.Rental{ID: bridge.NewRentalID(500), State: bridge.StateAdmitted, Requester: "ana", Account: "site/ai/nlp/ana", Jobs: []bridge.JobID{"4711"}})
	wish, err := d.asBefore(t.Context(), d.as("ana"), string(bridge.NewRentalID(500)))
	if err != nil || wish.Job != "4711" {
		t.Errorf("one made for a job: %v %+v", err, wish)
	}
}
