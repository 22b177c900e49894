package engine_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"spillway.sh/spillway/bridge"
)

// unfit is the report of a machine that failed a check of its own.
func unfit() bridge.Report {
	return bridge.Report{At: time.Now(), Health: bridge.HealthUnfit, Checks: []bridge.Check{
		{Name: "gpus", Got: "7", Want: "8"}, {Name: "disk", OK: true, Got: "900 GiB"},
	}}
}

// gated is a world whose machines are asked before they are let in, all of
// them up and named.
func gated(w *world, nodes int) {
	w.t.Helper()
	w.gate = true
	w.cluster.submit("1", nodes, 8, time.Minute)
	w.start()
	w.until(time.Minute, "machines named", func() bool { return w.told(bridge.NewsCreated) == nodes })
}

// registered waits until the machines' nodes are in the scheduler and were looked at.
func (w *world) registered(nodes int) {
	w.t.Helper()
	w.until(time.Minute, "registered", func() bool { w.cluster.mu.Lock(); defer w.cluster.mu.Unlock(); return len(w.cluster.nodes) == nodes })
	time.Sleep(3 * time.Second)
}

func TestS_F47_RegisteredIsNotReady(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		gated(w, 1)
		w.registered(1)
		w.hears("a-001", bridge.Report{At: time.Now(), Health: bridge.HealthChecking})
		time.Sleep(time.Minute)
		if w.told(bridge.NewsJoined) != 0 || w.cluster.called("Admit") != 0 {
			t.Fatal("a machine was admitted while it still checked itself")
		}
		ready := fit()
		ready.Stages = []bridge.Stage{{Name: "prepare", OK: true, Took: 300 * time.Millisecond}, {Name: "10-dataset", OK: true, Took: 12400 * time.Millisecond}}
		w.hears("a-001", ready)
		w.until(2*time.Second, "running", w.state("1", "running"))
		i := slices.IndexFunc(w.news(), func(n bridge.News) bool { return n.Kind == bridge.NewsJoined })
		if got := w.news()[i].Text; got != "prepare 0.3 s, 10-dataset 12.4 s" {
			t.Errorf("it joined after %q; want each stage with its time", got)
		}
		w.until(5*time.Minute, "job done", w.state("1", "done"))
		w.settled(5 * time.Minute)
	})
}

func TestS_F83_MachineThatFailsItsChecksIsGivenBackAtOnce(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		gated(w, 1)
		w.registered(1)
		said := time.Now()
		w.hears("a-001", unfit())
		w.until(5*time.Second, "given back", func() bool { return !slices.Contains(w.a.live(), "a-001") })
		if d := time.Since(said); d > 3*time.Second {
			t.Errorf("given back after %s", d)
		}
		n := w.news()[slices.IndexFunc(w.news(), func(n bridge.News) bool { return n.Kind == bridge.NewsReleasing })]
		if n.Why != bridge.ReasonUnfit || n.Text != "gpus: 7, not 8" || w.cluster.called("Admit") != 0 {
			t.Errorf("told %s %q, admitted %d times", n.Why, n.Text, w.cluster.called("Admit"))
		}
		m, err := w.store.Marks(t.Context())
		if err != nil || len(m.Pools) != 1 || m.Pools[0].Code != string(bridge.ReasonUnfit) || m.Pools[0].Pool.Cloud != "a" {
			t.Errorf("pools %+v, %v; want that of cloud a at rest", m.Pools, err)
		}
		w.until(time.Minute, "the next machine is rented elsewhere", func() bool { return slices.Contains(w.b.live(), "b-001") })
		w.registered(1)
		w.hears("b-001", fit())
		w.until(5*time.Minute, "job done", w.state("1", "done"))
		w.settled(10 * time.Minute)
	})
}

func TestMachineThatFallsIllTakesNoMoreJobs(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		gated(w, 1)
		w.registered(1)
		w.hears("a-001", fit())
		w.until(5*time.Second, "running", w.state("1", "running"))
		for range 3 { // agents repeat themselves
			w.hears("a-001", unfit())
			time.Sleep(2 * time.Second)
		}
		if n := w.warnings("gpus: 7, not 8"); n != 1 || w.cluster.called("Drain") != 1 || w.cluster.called("Requeue") != 0 {
			t.Errorf("told %d times, %d drains, %d requeues; want 1, 1, 0", n, w.cluster.called("Drain"), w.cluster.called("Requeue"))
		}
		w.until(5*time.Minute, "job done where it was", w.state("1", "done"))
		w.settled(10 * time.Minute)
	})
}

func TestGangWithAnUnfitMachineGoesBackWhole(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		gated(w, 2)
		w.hears("a-001", fit())
		w.hears("a-002", unfit()) // before it has registered
		w.until(5*time.Second, "both given back", func() bool { return len(w.a.live()) == 0 })
		if w.cluster.called("Admit") != 0 {
			t.Error("a gang with an unfit machine was admitted")
		}
		w.until(time.Minute, "rented elsewhere", func() bool { return len(w.b.live()) == 2 })
		w.until(time.Minute, "named", func() bool { return w.told(bridge.NewsCreated) == 4 })
		w.hears("b-001", fit())
		w.hears("b-002", fit())
		w.until(5*time.Minute, "job done", w.state("1", "done"))
		w.settled(10 * time.Minute)
	})
}

func TestS_F19_MachineWhoseAgentNeverSpeaksIsReplaced(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.limits.Join = 3 * time.Minute
		w.a.boot = time.Second
		gated(w, 1)
		begun := time.Now()
		w.until(5*time.Minute, "given back", func() bool { return len(w.a.live()) == 0 })
		if d := time.Since(begun); d < 2*time.Minute || d > 4*time.Minute {
			t.Errorf("given back after %s; the limit is 3 min", d)
		}
		w.until(time.Minute, "another machine", func() bool { return w.told(bridge.NewsCreated) == 2 })
		w.hears("b-001", fit())
		w.until(5*time.Minute, "job done", w.state("1", "done"))
		if !strings.Contains(strings.Join(w.story(), "\n"), string(bridge.ReasonJoinLate)) {
			t.Error("nobody was told why")
		}
		w.settled(10 * time.Minute)
	})
}
