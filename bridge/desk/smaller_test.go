package desk

import (
	"testing"

	"spillway.sh/spillway/bridge"
)

// denied is what ana asked for and mei did not allow.
func denied(t *testing.T, d *Desk, words string) bridge.RentalID {
	t.Helper()
	a := d.mustAsk(t, words)
	if !a.Waiting {
		t.Fatalf("%s does not wait", words)
	}
	if _, err := d.Decide(t.Context(), d.as("mei"), DecideRequest{Rental: string(a.Rental.ID), Revision: 1, Text: "use fewer"}); err != nil {
		t.Fatal(err)
	}
	return a.Rental.ID
}

// mustAsk asks without a key, as people do.
func (d *Desk) mustAsk(t *testing.T, words string) RentAnswer {
	t.Helper()
	a, err := d.Rent(t.Context(), d.as("ana"), RentRequest{Wish: Wish{Words: []string{words}}})
	if err != nil {
		t.Fatalf("rent %q: %v", words, err)
	}
	return a
}

func (d *Desk) instead(t *testing.T, id bridge.RentalID) *Smaller {
	t.Helper()
	a, err := d.Rental(t.Context(), d.as("ana"), RentalRequest{Rental: string(id)})
	if err != nil {
		t.Fatal(err)
	}
	return a.Instead
}

func TestAfterANoThereMayBeLessThatFits(t *testing.T) {
	for name, c := range map[string]struct {
		words  string
		change func(w *world, r *rules)
		size   int
		says   string
	}{
		"half of the GPUs":     {words: "8xh100 5h on-demand project nlp", size: 4, says: "4xh100 for 5h on-demand project nlp"},
		"fewer machines":       {words: "4 machines gpu4 2h on-demand project nlp", size: 2, says: "2xgpu4 for 2h on-demand project nlp"},
		"with its end":         {words: "8xh100 until 17:00 on-demand project nlp", size: 4, says: "4xh100 until 2026-11-30t17:00z on-demand project nlp"},
		"no size fits":         {words: "8xh100 5h on-demand project nlp", change: func(w *world, _ *rules) { w.spent["site/ai/nlp"] = usd(99) }},
		"frozen":               {words: "8xh100 5h on-demand project nlp", change: func(w *world, _ *rules) { w.snap.Frozen = true }},
		"a job needs its size": {words: "job 4711", change: func(_ *world, r *rules) { r.terms.AskAbove = usd(1000) }},
		"one of something":     {words: "1 machine gpu8 5h on-demand project nlp"},
	} {
		t.Run(name, func(t *testing.T) {
			d, w := newWorld(t)
			r := d.Rules.(*rules)
			r.terms.AskAbove = usd(95)
			if c.words == "job 4711" {
				r.terms.AskAbove = usd(1)
			}
			id := denied(t, d, c.words)
			if c.change != nil {
				c.change(w, r)
			}
			got := d.instead(t, id)
			if c.size == 0 {
				if got != nil {
					t.Errorf("it offers %+v", got)
				}
				return
			}
			if got == nil || got.Size != c.size || got.Words != c.says || got.Offer.AtMost.Micro > usd(95).Micro {
				t.Fatalf("got %+v, want size %d", got, c.size)
			}
		})
	}
}

func TestLessIsANewRequestOfTheRequesterAlone(t *testing.T) {
	d, w := newWorld(t)
	id := denied(t, d, "8xh100 5h on-demand project nlp")
	s := d.instead(t, id)
	ask := RentRequest{Like: string(id), Size: s.Size, AtMost: s.Offer.AtMost, Delivery: "less of it"}
	for _, who := range []string{"ben", "mei", "root"} {
		if a, err := d.Rent(t.Context(), d.as(who), ask); err == nil {
			t.Errorf("%s got %s", who, a.Rental.ID)
		}
	}
	for _, size := range []int{-1, 8, 9} {
		bad := ask
		bad.Size = size
		if _, err := d.Rent(t.Context(), d.as("ana"), bad); kind(err) != BadRequest {
			t.Errorf("size %d: %v", size, err)
		}
	}
	cheap := ask
	cheap.AtMost.Micro--
	if _, err := d.Rent(t.Context(), d.as("ana"), cheap); kind(err) != Conflict {
		t.Errorf("dearer than was shown: %v", err)
	}
	a, err := d.Rent(t.Context(), d.as("ana"), ask)
	if err != nil || a.Waiting || a.Repeated || a.Rental.Hold != s.Offer.AtMost || a.Rental.ID == id {
		t.Fatalf("got %+v, %v", a.Rental, err)
	}
	w.snap.Now = noon.Add(2 * sameWithin)
	for i := range w.snap.Offers {
		w.snap.Offers[i].SampledAt = w.snap.Now
	}
	again, err := d.Rent(t.Context(), d.as("ana"), ask)
	if err != nil || !again.Repeated || again.Rental.ID != a.Rental.ID {
		t.Errorf("pressed twice: %s, repeated %t, %v", again.Rental.ID, again.Repeated, err)
	}
	if s := d.instead(t, a.Rental.ID); s != nil {
		t.Errorf("of what was not denied: %+v", s)
	}
}
