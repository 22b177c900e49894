package engine_test

import (
	"context"
	"testing"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/engine"
)

// tight leaves a budget in which no machine fits, so that a person is asked.
func (w *world) tight() {
	w.budgets[0].Limit = usd(1)
}

// question waits for the rental that waits for an answer.
func (w *world) question() bridge.Rental {
	w.t.Helper()
	w.until(10*time.Second, "a question", w.inState(bridge.StateWaiting))
	return w.live()[0]
}

// yes is the desk's approval.
func (w *world) yes(r bridge.Rental) error {
	next := r
	next.State, next.Since, next.ApprovedBy = bridge.StateLaunching, w.now(), "bob"
	d := bridge.Decision{Rental: r.ID, Version: r.Version, Yes: true, Who: "bob", At: w.now()}
	_, err := w.store.Approve(w.t.Context(), d, next, w.budgets)
	w.engine.Wake()
	return err
}

// slow is a store whose saves take so long that a call which does not wait for
// them is always there first.
type slow struct{ engine.Store }

func (s slow) Save(ctx context.Context, r bridge.Rental, news ...bridge.News) (bridge.Rental, error) {
	time.Sleep(20 * time.Millisecond)
	return s.Store.Save(ctx, r, news...)
}

func TestQuestionHoldsNothingAndAYesBuys(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.ports = func(_ *world, s engine.Scheduler, c engine.Cloud, st engine.Store) (engine.Scheduler, engine.Cloud, engine.Store) {
			return s, c, slow{st} // and every create is looked up in the books as it comes (I4)
		}
		w.tight()
		w.cluster.submit("1", 1, 8, time.Minute)
		w.start()
		r := w.question()
		time.Sleep(10 * time.Minute)
		b, err := w.store.Balances(t.Context(), w.now(), w.budgets)
		if err != nil || b[0].Held.Micro != 0 || w.a.sent() != 0 || w.told(bridge.NewsAsked) != 1 {
			t.Fatalf("while a question is open: held %v, %d calls, asked %d times (%v)", b[0].Held, w.a.sent(), w.told(bridge.NewsAsked), err)
		}
		if err := w.yes(r); err != nil {
			t.Fatal(err)
		}
		asked := time.Now()
		w.until(time.Minute, "create sent", func() bool { return w.a.sent() == 1 })
		if d := time.Since(asked); d > 2*time.Second {
			t.Errorf("from the yes to the create call: %s", d)
		}
		if l := w.a.first(); !l.Expires.Equal(w.live()[0].Expires) || l.Expires.Before(asked.Add(time.Hour)) {
			t.Errorf("its life is from the question, not from the yes: %s", l.Expires)
		}
		w.until(10*time.Minute, "job done", w.state("1", "done"))
		w.settled(5 * time.Minute)
	})
}

func TestINV_I21_UnansweredQuestionLapsesAndIsNotAskedAgainAtOnce(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.tight()
		w.terms.AskFor, w.limits.AskAgain = 5*time.Minute, 10*time.Minute
		w.cluster.submit("1", 1, 8, time.Minute)
		w.start()
		r := w.question()
		w.until(6*time.Minute, "lapsed", func() bool { return w.told(bridge.NewsLapsed) == 1 })
		if err := w.yes(r); err == nil {
			t.Error("a lapsed question was approved")
		}
		time.Sleep(8 * time.Minute)
		if n := w.told(bridge.NewsAsked); n != 1 {
			t.Errorf("asked %d times within the pause", n)
		}
		time.Sleep(3 * time.Minute)
		if n := w.told(bridge.NewsAsked); n != 2 {
			t.Errorf("asked %d times after it", n)
		}
	})
}

func TestQuestionIsWithdrawnWithItsDemand(t *testing.T) {
	inWorld(t, func(_ *testing.T, w *world) {
		w.tight()
		w.cluster.submit("1", 1, 8, time.Minute)
		w.start()
		w.question()
		w.cluster.set(func(c *cluster) { c.jobs["1"].state = "cancelled" })
		w.until(10*time.Second, "withdrawn", func() bool { return w.told(bridge.NewsWithdrawn) == 1 && len(w.live()) == 0 })
	})
}

func TestC_F06_LateYesToAVanishedDemandBuysNothing(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.tight()
		w.cluster.submit("1", 1, 8, time.Minute)
		w.start()
		r := w.question()
		w.kill() // so that the question is not withdrawn first
		w.open()
		time.Sleep(time.Millisecond) // a look at the very instant of the rental proves nothing
		w.cluster.set(func(c *cluster) { c.jobs["1"].state = "cancelled" })
		if err := w.yes(r); err != nil {
			t.Fatal(err)
		}
		w.close()
		w.start()
		w.settled(time.Minute)
		if n := w.a.sent() + w.b.sent(); n != 0 {
			t.Errorf("%d create calls", n)
		}
	})
}

// An end that a person named holds for what is launched late, and nothing is
// launched after it.
func TestANamedEndIsTheEndHoweverLateItIsLaunched(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.start()
		rent := func(until time.Duration) bridge.Rental {
			id, err := w.store.NextID(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			o := w.order("")
			o.Jobs, o.Idle = nil, 3*time.Hour
			r := bridge.Draw(id, &o, w.now())
			r.Until = w.now().Add(until).Truncate(time.Second)
			r, err = w.store.Reserve(t.Context(), r, w.budgets)
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		r := rent(time.Hour)
		w.engine.Wake()
		w.until(time.Minute, "create sent", func() bool { return w.a.sent() == 1 })
		if l := w.a.first(); !l.Expires.Equal(r.Until) {
			t.Errorf("its machines are told to end at %s, want %s", l.Expires, r.Until)
		}
		w.settled(2 * time.Hour)
		rent(-time.Minute)
		w.engine.Wake()
		w.settled(10 * time.Minute)
		if w.a.sent() != 1 {
			t.Errorf("%d calls: machines were made after their end", w.a.sent())
		}
	})
}
