package desk

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"spillway.sh/spillway/bridge"
)

// gate lets several people take turns at one store: each call of theirs waits
// until it is let through, so that every order of their reads and writes can be
// drawn.
type gate struct {
	*books
	turn chan chan struct{} // what this person waits with
}

func (g gate) wait() {
	goOn := make(chan struct{})
	g.turn <- goOn
	<-goOn
}

func (g gate) Rental(ctx context.Context, id bridge.RentalID) (bridge.Rental, error) {
	g.wait()
	return g.books.Rental(ctx, id)
}

func (g gate) Save(ctx context.Context, r bridge.Rental, news ...bridge.News) (bridge.Rental, error) {
	g.wait()
	return g.books.Save(ctx, r, news...)
}

func (g gate) Approve(ctx context.Context, d bridge.Decision, r bridge.Rental, budgets []bridge.Budget, news ...bridge.News) (bridge.Rental, error) {
	g.wait()
	return g.books.Approve(ctx, d, r, budgets, news...)
}

// actor is somebody who does one thing to a question.
type actor struct {
	name string
	do   func(d *Desk, r *Rental) string
	turn chan chan struct{}
	done chan string
}

func clicker(who string, yes bool) func(*Desk, *Rental) string {
	return func(d *Desk, r *Rental) string {
		return string(resultOf(d.Decide(context.Background(), d.as(who), DecideRequest{Rental: string(r.ID), Revision: r.Revision, Yes: yes, Text: "no"})))
	}
}

func cancelled(d *Desk, r *Rental) string {
	a, err := d.Cancel(context.Background(), d.as("ana"), CancelRequest{Rental: string(r.ID)})
	switch {
	case err != nil:
		return "cancel refused"
	case a.Changed:
		return "cancelled"
	}
	return "cancelled before"
}

// expired does what the loop does to a question whose time is over.
func expired(d *Desk, r *Rental) string {
	x, err := d.Reader.Rental(context.Background(), r.ID)
	if err != nil || x.State != bridge.StateWaiting {
		return "expired before"
	}
	x.State, x.Why = bridge.StateClosed, bridge.ReasonLapsed
	if _, err := d.Writer.Save(context.Background(), x, bridge.News{At: d.Now(), Kind: bridge.NewsLapsed, Rental: r.ID}); err != nil {
		return "expired before"
	}
	return "expired"
}

// All orders of two approvers, a no, a cancelling requester and the end of the
// time give one outcome that everybody is told the same of.
func TestEveryOrderOfAnswersGivesOneOutcome(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d, w := newWorld(t)
		two := rapid.Bool().Draw(rt, "two persons")
		if two {
			d.Rules.(*rules).approval.TwoAbove = usd(150)
		}
		r := question(t, d)
		actors := []*actor{
			{name: "mei says yes", do: clicker("mei", true)},
			{name: "tom says yes", do: clicker("tom", true)},
			{name: "mei clicks again", do: clicker("mei", true)},
			{name: "tom says no", do: clicker("tom", false)},
			{name: "ana cancels", do: cancelled},
			{name: "the time is over", do: expired},
			{name: "ana says yes", do: clicker("ana", true)},
		}
		actors = slices.DeleteFunc(actors, func(a *actor) bool { return rapid.IntRange(0, 3).Draw(rt, a.name+" takes part") == 0 })
		outcomes := interleave(rt, d, w, &r, actors)
		checkOutcome(rt, w, &r, two, outcomes)
	})
}

// interleave runs the actors in an order that is drawn, a call at a time.
func interleave(rt *rapid.T, d *Desk, w *world, r *Rental, actors []*actor) map[string]string {
	out := map[string]string{}
	for _, a := range actors {
		a.turn, a.done = make(chan chan struct{}), make(chan string, 1)
		own := New(d.Config)
		own.Reader, own.Writer = gate{w.books, a.turn}, gate{w.books, a.turn}
		go func() {
			a.done <- a.do(own, r)
			close(a.turn)
		}()
	}
	for len(actors) > 0 {
		i := rapid.IntRange(0, len(actors)-1).Draw(rt, "next")
		a := actors[i]
		if goOn, waits := <-a.turn; waits {
			close(goOn)
			continue
		}
		out[a.name] = <-a.done
		actors = slices.Delete(actors, i, i+1)
	}
	return out
}

func checkOutcome(rt *rapid.T, w *world, r *Rental, two bool, outcomes map[string]string) {
	now := w.rentals[0]
	ends := 0
	for who, what := range outcomes {
		switch what {
		case string(ResultApproved), string(ResultDenied), "cancelled", "expired":
			ends++
		}
		if who == "ana says yes" && what != string(ResultOwn) {
			rt.Fatalf("the requester got %s", what)
		}
	}
	told := 0
	for _, n := range w.news {
		switch n.Kind {
		case bridge.NewsApproved:
			told++
			if n.Who == r.Requester || n.Digest != r.Digest || two && len(now.Yeses) != 2 {
				rt.Fatalf("approved by %s on %.8s with %v", n.Who, n.Digest, now.Yeses)
			}
		case bridge.NewsDenied, bridge.NewsWithdrawn, bridge.NewsLapsed:
			told++
		}
	}
	// A launch that was approved first may be called off after, by who asked.
	calledOff := now.State == bridge.StateReleasing
	if ends != told && !calledOff || told > 1 {
		rt.Fatalf("%d ended it, told %d times: %v", ends, told, outcomes)
	}
	if held := heldOf(w); held > 0 != now.State.Held() || held > r.Hold.Micro {
		rt.Fatalf("%s with %d held", now.State, held)
	}
	if now.State == bridge.StateWaiting && (told > 0 || len(now.Yeses) > 1) {
		rt.Fatalf("it still waits after %v", outcomes)
	}
	if len(now.Yeses) == 2 && now.Yeses[0].Who == now.Yeses[1].Who {
		rt.Fatalf("one person said yes twice")
	}
}

// A yes that is on its way while the time ends is refused or counts, whole.
func TestAYesAtTheVeryEnd(t *testing.T) {
	d, w := newWorld(t)
	r := question(t, d)
	w.meddle = func() {
		x, err := w.Rental(t.Context(), r.ID)
		if err != nil {
			t.Error(err)
		}
		x.State = bridge.StateClosed
		if _, err := w.Save(t.Context(), x, bridge.News{At: noon.Add(time.Hour), Kind: bridge.NewsLapsed, Rental: r.ID}); err != nil && !errors.Is(err, bridge.ErrVersion) {
			t.Error(err)
		}
	}
	if got := resultOf(d.click(t, d.as("mei"), &r, true)); got != ResultLapsed {
		t.Errorf("got %s", got)
	}
	if heldOf(w) != 0 {
		t.Error("money is held")
	}
}
