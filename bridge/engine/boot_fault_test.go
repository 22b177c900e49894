package engine_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"spillway.sh/spillway/bridge"
)

func TestS_F21_RegisteredAndDeafIsNotAdmitted(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.cluster.onRegister = func(n *node) { n.dead = true } // registered, and does not answer
		w.cluster.submit("1", 1, 8, time.Minute)
		w.start()
		w.registered(1)
		time.Sleep(time.Minute)
		if w.cluster.called("Admit") != 0 {
			t.Fatal("a node that does not answer was admitted")
		}
		w.cluster.set(func(c *cluster) {
			for _, n := range c.nodes {
				n.dead = false
			}
		})
		w.until(3*time.Second, "running", w.state("1", "running"))
		w.until(5*time.Minute, "job done", w.state("1", "done"))
		w.settled(5 * time.Minute)
	})
}

func TestS_F44_F68_NothingStartsBeforeTheWholeGangHasJoined(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.cluster.submit("1", 2, 8, time.Minute)
		w.start()
		w.until(10*time.Second, "two machines", func() bool { return w.told(bridge.NewsCreated) == 2 })
		w.a.setup(func(c *cloud) { c.machines["a-002"].upAt = time.Now().Add(2 * time.Minute) })
		time.Sleep(time.Minute)
		if st := w.job("1").state; st != "pending" || w.cluster.called("Admit") != 0 || w.told(bridge.NewsJoined) != 1 {
			t.Errorf("the job is %s, %d admissions, %d joined; want it pending, 0, 1", st, w.cluster.called("Admit"), w.told(bridge.NewsJoined))
		}
		w.until(2*time.Minute, "running", w.state("1", "running"))
		w.until(5*time.Minute, "job done", w.state("1", "done"))
		w.settled(5 * time.Minute)
	})
}

func TestS_F30_PhasesOfABootAreTold(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.a.boot = 20 * time.Second
		w.cluster.submit("1", 1, 8, time.Minute)
		w.start()
		w.until(time.Minute, "running", w.state("1", "running"))
		w.until(time.Minute, "seen running", func() bool { return w.told(bridge.NewsStarted) == 1 })
		var kinds []bridge.NewsKind
		at := map[bridge.NewsKind]time.Time{}
		for _, n := range w.news() {
			kinds = append(kinds, n.Kind)
			at[n.Kind] = n.At
		}
		want := []bridge.NewsKind{
			bridge.NewsReserved, bridge.NewsCreating, bridge.NewsCreated, bridge.NewsJoined, bridge.NewsAdmitted, bridge.NewsRouted, bridge.NewsStarted,
		}
		if diff := cmp.Diff(want, kinds); diff != "" {
			t.Errorf("phases (-want +got):\n%s", diff)
		}
		if d := at[bridge.NewsJoined].Sub(at[bridge.NewsCreated]); d < 19*time.Second || d > 22*time.Second {
			t.Errorf("its boot took 20 s and is told as %s", d)
		}
		w.until(5*time.Minute, "job done", w.state("1", "done"))
		w.settled(5 * time.Minute)
	})
}

func TestS_F35_LaunchThatDoesNothingIsToldAtOnce(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.a.fault("Create", slices.Repeat([]string{"lost-before"}, 3)...)
		w.cluster.submit("1", 1, 8, time.Minute)
		begun := time.Now()
		w.start()
		w.until(5*time.Second, "told", func() bool { return w.told(bridge.NewsUnknown) == 1 })
		if d := time.Since(begun); d > 2*time.Second {
			t.Errorf("told after %s", d)
		}
		w.until(10*time.Minute, "job done", w.state("1", "done"))
		w.settled(5 * time.Minute)
	})
}

func TestS_F38_MachineThatCannotReachTheSiteSaysSo(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		gated(w, 1)
		w.a.setup(func(c *cloud) { c.machines["a-001"].never = true }) // its key is wrong
		said := time.Now()
		w.hears("a-001", bridge.Report{At: said, Health: bridge.HealthUnfit, Checks: []bridge.Check{{Name: "munge", Got: "credential refused"}}})
		w.until(5*time.Second, "given back", func() bool { return !slices.Contains(w.a.live(), "a-001") })
		n := w.news()[slices.IndexFunc(w.news(), func(n bridge.News) bool { return n.Kind == bridge.NewsReleasing })]
		if n.Text != "munge: credential refused" {
			t.Errorf("told %q", n.Text)
		}
		w.until(time.Minute, "another machine", func() bool { return w.told(bridge.NewsCreated) == 2 })
		w.hears("b-001", fit())
		w.until(5*time.Minute, "job done", w.state("1", "done"))
		w.settled(10 * time.Minute)
	})
}

func TestS_F41_ControllerAwayDuringBootCostsNoMachine(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.limits.Join = 3 * time.Minute
		w.a.boot = 30 * time.Second
		w.cluster.submit("1", 1, 8, time.Minute)
		w.start()
		w.until(10*time.Second, "a machine", func() bool { return w.told(bridge.NewsCreated) == 1 })
		w.cluster.set(func(c *cluster) { c.down = errors.New("connection refused") })
		time.Sleep(2 * w.limits.Join)
		w.a.setup(func(c *cloud) { c.machines["a-001"].upAt = time.Now().Add(30 * time.Second) }) // it tries again now and then
		w.cluster.set(func(c *cluster) { c.down = nil })
		w.until(5*time.Minute, "job done", w.state("1", "done"))
		if w.a.made()+w.b.made() != 1 {
			t.Errorf("%d machines", w.a.made()+w.b.made())
		}
		w.settled(5 * time.Minute)
	})
}

func TestS_F26_StoppedInMidBootAndStartedAgain(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.a.boot = 30 * time.Second
		w.cluster.submit("1", 1, 8, time.Minute)
		w.start()
		w.until(10*time.Second, "a machine", func() bool { return w.told(bridge.NewsCreated) == 1 })
		w.stop()
		time.Sleep(2 * time.Minute)
		w.start()
		w.until(5*time.Minute, "job done", w.state("1", "done"))
		if w.a.made()+w.b.made() != 1 {
			t.Errorf("%d machines", w.a.made()+w.b.made())
		}
		w.settled(5 * time.Minute)
	})
}

func TestS_F52_F60_LessMemoryThanPaidForIsGivenBack(t *testing.T) {
	for name, c := range map[string]struct {
		part    int64 // per cent of what is declared
		refused bool
	}{
		"a fifth less":           {80, true},
		"six per cent less":      {94, true},
		"as declared":            {100, false},
		"more than was promised": {110, false},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.cluster.submit("1", 1, 8, time.Minute)
				w.cluster.onRegister = func(n *node) { n.memory = 64000 * c.part / 100 }
				w.start()
				w.registered(1)
				refused := w.told(bridge.NewsReleasing) > 0
				if refused != c.refused || refused == (w.cluster.called("Admit") > 0) {
					t.Errorf("given back: %t, admitted %d times; want it given back: %t", refused, w.cluster.called("Admit"), c.refused)
				}
				w.cluster.set(func(c *cluster) { c.onRegister = nil })
				w.until(20*time.Minute, "job done", w.state("1", "done"))
				w.settled(10 * time.Minute)
			})
		})
	}
}
