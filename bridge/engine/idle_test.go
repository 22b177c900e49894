package engine_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/engine"
)

// idles are the news of machines without a job.
func (w *world) idles() []bridge.News {
	var out []bridge.News
	for _, n := range w.news() {
		if n.Kind == bridge.NewsIdle {
			out = append(out, n)
		}
	}
	return out
}

// knows has the host say whom it knows.
func (w *world) knows(account func(string) (bool, error)) {
	w.options = func(o *engine.Options) {
		o.Known = func(_ context.Context, name string) (bool, error) { return account(name) }
	}
}

// forgotten runs one job of five minutes and leaves its machine idle.
func (w *world) forgotten() {
	w.t.Helper()
	w.cluster.submit("1", 1, 8, 5*time.Minute, func(j *job) { j.limit = 5 * time.Hour }) // as long is held for
	w.start()
	w.until(15*time.Minute, "job done", w.state("1", "done"))
	w.until(time.Minute, "seen idle", func() bool { rs := w.live(); return len(rs) == 1 && !rs[0].IdleSince.IsZero() })
}

func TestS_F29_AForgottenMachineIsNamedOnceThenReleased(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.terms.Idle = 45 * time.Minute
		w.forgotten()
		since := w.live()[0].IdleSince
		w.until(25*time.Minute, "named", func() bool { return len(w.idles()) == 1 })
		if n := w.idles()[0]; n.Who != "ann" || n.Cost.Micro <= 0 || n.Took != 20*time.Minute || n.Node == "" || n.Machine == "" ||
			!strings.Contains(n.Text, since.Add(45*time.Minute).Format(time.RFC3339)) {
			t.Errorf("told %+v", n)
		}
		w.kill()
		w.start() // the one who comes after knows that it was told
		w.settled(30 * time.Minute)
		if n := len(w.idles()); n != 1 {
			t.Errorf("named %d times", n)
		}
		if took := time.Since(since); took < 45*time.Minute || took > 50*time.Minute {
			t.Errorf("back %s after its last job, want 45 min", took)
		}
	})
}

func TestS_F29_AMachineNobodyOwnsGoesAfterTheBudgetsOwnerWasTold(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.terms.Idle = 5 * time.Hour
		w.budgets[0].Approvers = []string{"mei"}
		w.knows(func(account string) (bool, error) { return account != "ann", nil })
		w.forgotten()
		since := w.live()[0].IdleSince
		w.settled(45 * time.Minute)
		ns := w.idles()
		if len(ns) != 1 || ns[0].Who != "" || !strings.Contains(ns[0].Text, "answered for by mei;") {
			t.Errorf("told %+v", ns)
		}
		if took := time.Since(since); took < 35*time.Minute || took > 40*time.Minute {
			t.Errorf("back after %s, want 20 and 15 min", took)
		}
	})
}

func TestAHostThatDoesNotAnswerMakesNobodyAStranger(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.terms.Idle = 50 * time.Minute
		w.knows(func(string) (bool, error) { return false, errors.New("the directory does not answer") })
		w.forgotten()
		time.Sleep(45 * time.Minute)
		if ns := w.idles(); len(ns) != 1 || ns[0].Who != "ann" || len(w.live()) != 1 {
			t.Errorf("told %+v", ns)
		}
		w.settled(10 * time.Minute)
	})
}

func TestAMachineThatItsOwnerKeepsStays(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.terms.Idle = 30 * time.Minute
		w.forgotten()
		w.until(10*time.Minute, "kept", func() bool {
			r := w.live()[0]
			r.KeepUntil = r.IdleSince.Add(90 * time.Minute)
			_, err := w.store.Save(t.Context(), r)
			return err == nil
		})
		since := w.live()[0].IdleSince
		time.Sleep(80 * time.Minute)
		if len(w.a.live()) != 1 || len(w.idles()) != 0 {
			t.Errorf("%d machines, told %+v", len(w.a.live()), w.idles())
		}
		w.settled(20 * time.Minute)
		if took := time.Since(since); took < 90*time.Minute {
			t.Errorf("back after %s, it was to be kept for 90 min", took)
		}
	})
}

// While the queue cannot be seen a job may run, and nothing is idle.
func TestS_F24_NothingIsIdleWhileTheQueueCannotBeSeen(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.terms.Idle = 30 * time.Minute
		w.forgotten()
		w.cluster.set(func(c *cluster) { c.down = errDown })
		time.Sleep(time.Hour)
		if len(w.a.live()) != 1 || len(w.idles()) != 0 {
			t.Errorf("%d machines, told %+v", len(w.a.live()), w.idles())
		}
		w.cluster.mu.Lock()
		w.cluster.down = nil
		w.cluster.mu.Unlock()
		w.settled(10 * time.Minute)
	})
}
