package engine_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"spillway.sh/spillway/bridge"
)

// onSignal is what a running job does when it is signalled.
func (w *world) onSignal(id bridge.JobID, do func(*cluster, *job)) {
	w.cluster.set(func(c *cluster) { c.jobs[id].handler = do })
}

func TestS_F73_JobThatRequeuesItselfIsRequeuedOnce(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		runningOn(w)
		w.cluster.kill = 2 * time.Second
		w.onSignal("1", func(c *cluster, j *job) { c.requeue(j) })
		begun := time.Now()
		w.a.notice("a-001")
		w.until(30*time.Second, "running again", func() bool { return w.job("1").state == "running" && w.cluster.started("1") == 2 })
		if d := time.Since(begun); d > 20*time.Second {
			t.Errorf("running again after %s: its two minutes were not cut", d)
		}
		time.Sleep(3 * time.Minute) // its window is long over
		if n := w.cluster.called("Requeue"); n != 0 || w.cluster.started("1") != 2 {
			t.Errorf("%d requeues by us, %d starts; want 0, 2", n, w.cluster.started("1"))
		}
		m, err := w.store.Marks(t.Context())
		if err != nil || m.Reclaims["c1"]["1"] != 1 || w.told(bridge.NewsRequeued) != 1 {
			t.Errorf("reclaims %v, told %d times, %v; want 1, 1", m.Reclaims, w.told(bridge.NewsRequeued), err)
		}
		w.until(20*time.Minute, "job done", w.state("1", "done"))
		w.settled(5 * time.Minute)
	})
}

func TestS_F05_JobThatEndsWellWithinItsNoticeIsToldOf(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		runningOn(w)
		w.onSignal("1", func(_ *cluster, j *job) { j.state, j.on = "done", nil })
		w.a.notice("a-001")
		w.until(30*time.Second, "told", func() bool { return w.warnings("it is COMPLETED") == 1 })
		w.settled(5 * time.Minute)
		if w.warnings("it is COMPLETED") != 1 || w.cluster.started("1") != 1 {
			t.Errorf("told %d times, started %d times; want once", w.warnings("it is COMPLETED"), w.cluster.started("1"))
		}
	})
}

func TestJobThatEndsOnAMachineThatStaysIsNoAlert(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.spot()
		w.terms.Signal, w.terms.SignalTo, w.terms.SignalWindow = "USR1", "batch", 40*time.Second
		w.cluster.submit("1", 1, 8, 10*time.Minute)
		w.cluster.submit("2", 1, 8, 90*time.Second)
		w.start()
		w.until(time.Minute, "both running", func() bool { return w.job("1").state == "running" && w.job("2").state == "running" })
		time.Sleep(70 * time.Second)
		w.take(w.job("1").on[0])
		w.until(20*time.Minute, "both done", func() bool { return w.job("1").state == "done" && w.job("2").state == "done" })
		w.settled(5 * time.Minute)
		if n := w.warnings(""); n != 0 {
			t.Errorf("%d warnings:\n%s", n, strings.Join(w.story(), "\n"))
		}
	})
}

func TestS_F75_F77_HandlerHasItsWindowAndNoMore(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		runningOn(w)
		w.cluster.kill = 30 * time.Second // until SIGKILL
		noticed := time.Now()
		w.a.notice("a-001")
		w.until(time.Minute, "requeued", func() bool { return w.told(bridge.NewsRequeued) == 1 })
		if d := time.Since(noticed); d < 40*time.Second || d > 42*time.Second {
			t.Errorf("requeued after %s; its window is 40 s", d)
		}
		w.until(40*time.Second, "running again", func() bool { return w.cluster.started("1") == 2 })
		if d := time.Since(noticed); d < 70*time.Second {
			t.Errorf("it ran twice at once: started %s after the notice, its steps died after 70 s", d)
		}
		w.until(20*time.Minute, "job done", w.state("1", "done"))
		w.settled(5 * time.Minute)
	})
}

func TestS_F01_JobThatWasSetAsideIsNudged(t *testing.T) {
	for name, c := range map[string]struct {
		nudges, want int
	}{
		"it comes back at the third": {nudges: 3, want: 3},
		"it never does":              {nudges: 99, want: 5},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.cluster.register("local1", 8)
				w.cluster.submit("1", 1, 8, time.Minute, func(j *job) { j.restarts, j.aside, j.anywhere = 1, c.nudges, true })
				w.cluster.set(func(c *cluster) { c.overlays["local"] = []string{"local1"} })
				w.start()
				time.Sleep(10 * time.Minute)
				if n := w.cluster.called("Nudge"); n != c.want || w.warnings("set it aside") != c.want {
					t.Errorf("nudged %d times, told %d times; want %d", n, w.warnings("set it aside"), c.want)
				}
				if got, want := w.job("1").state == "done", c.nudges < 5; got != want {
					t.Errorf("done: %t, want %t", got, want)
				}
			})
		})
	}
}

func TestS_F01_ReplacementIsBoughtForAJobThatWasSetAside(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.cluster.register("local1", 4) // fits nothing
		w.cluster.submit("1", 1, 8, time.Minute, func(j *job) { j.restarts, j.aside = 1, 1 })
		w.start()
		w.until(time.Minute, "nudged", func() bool { return w.cluster.called("Nudge") == 1 })
		// The same look at the queue shows the node to both steps, in either order.
		w.until(time.Second, "joined", func() bool { return w.told(bridge.NewsJoined) == 1 })
		if joined := w.at(bridge.NewsJoined); w.at(bridge.NewsWarning).Before(joined) {
			t.Errorf("nudged at %s, a node that fits joined at %s", w.at(bridge.NewsWarning), joined)
		}
		w.until(5*time.Minute, "job done", w.state("1", "done"))
	})
}

func TestSignalIsSentOnceOverARestart(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		runningOn(w)
		w.hears("a-001", warned(2*time.Minute))
		w.until(2*time.Second, "signalled", func() bool { return w.told(bridge.NewsDrained) == 1 })
		w.stop()
		w.start() // the agent says no more: what was heard is in the store
		w.until(time.Minute, "requeued", func() bool { return w.told(bridge.NewsRequeued) == 1 })
		if got := w.cluster.signals; !slices.Equal(got, []string{"1 USR1 batch"}) || w.told(bridge.NewsDrained) != 1 {
			t.Errorf("signals %q, drained told %d times; want one of each", got, w.told(bridge.NewsDrained))
		}
		w.until(20*time.Minute, "job done", w.state("1", "done"))
		w.settled(5 * time.Minute)
	})
}

func TestNoticeCalledOffWhileTheBridgeWasAway(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.terms.SignalWindow = 90 * time.Second
		runningOn(w)
		w.terms.SignalWindow = 90 * time.Second
		w.hears("a-001", warned(4*time.Minute))
		w.until(2*time.Second, "signalled", func() bool { return w.told(bridge.NewsDrained) == 1 })
		w.stop()
		w.start()
		time.Sleep(2 * time.Second)
		for range 3 {
			w.hears("a-001", fit())
			time.Sleep(4 * time.Second)
		}
		w.until(2*time.Second, "undrained", func() bool { return w.cluster.called("Undrain") == 1 })
		w.until(20*time.Minute, "job done where it was", w.state("1", "done"))
		if n := w.cluster.started("1"); n != 1 {
			t.Errorf("started %d times", n)
		}
		w.settled(10 * time.Minute)
	})
}

func TestReclaimsMoveAJobOnDemand(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.spot()
		w.a.setup(func(c *cloud) { c.sell(bridge.OnDemand, 20, 100) })
		w.terms.Markets, w.terms.Reclaims = []bridge.Market{bridge.Spot, bridge.OnDemand}, 2
		w.cluster.submit("1", 1, 8, 10*time.Minute)
		w.start()
		for k := range 2 {
			w.until(5*time.Minute, "running on spot", func() bool { return w.told(bridge.NewsStarted) == k+1 })
			w.take(w.job("1").on[0])
			w.until(time.Minute, "off it", func() bool { return w.told(bridge.NewsRequeued) == k+1 })
		}
		w.until(5*time.Minute, "running again", func() bool { return w.told(bridge.NewsStarted) == 3 })
		markets := []bridge.Market{}
		for _, n := range w.news() {
			if n.Kind == bridge.NewsStarted {
				markets = append(markets, n.Pool.Market)
			}
		}
		if !slices.Equal(markets, []bridge.Market{bridge.Spot, bridge.Spot, bridge.OnDemand}) {
			t.Errorf("it ran on %v; want spot twice, then on demand", markets)
		}
		w.until(time.Hour, "done", w.state("1", "done"))
		w.settled(10 * time.Minute)
	})
}

// take gives notice of the machine a node is.
func (w *world) take(node string) {
	for _, c := range []*cloud{w.a, w.b} {
		for _, id := range c.live() {
			if c.nodeOf(id) == node {
				c.notice(id)
			}
		}
	}
}

func (c *cloud) nodeOf(id string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return bridge.NodeName(c.machines[id].launch.Rental, c.machines[id].ordinal)
}

// The machine goes before its notice is over, and for one look its job is seen on
// it still: what boots for the job by then is not given back as not needed.
func TestC_F14_MachineThatGoesBeforeItsTimeLeavesItsReplacementAlone(t *testing.T) {
	for name, forgotten := range map[string]bool{"its cloud says so": false, "no list has it": true} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.spot()
				w.terms.Signal, w.terms.SignalTo, w.terms.SignalWindow = "USR1", "batch", 90*time.Second
				w.limits.AbsentGap = 10 * time.Second
				w.cluster.submit("1", 1, 8, 10*time.Minute)
				w.start()
				w.until(time.Minute, "running", w.state("1", "running"))
				w.a.setup(func(c *cloud) { c.boot = time.Minute })
				w.b.setup(func(c *cloud) { c.boot = time.Minute })
				w.a.notice("a-001")
				w.until(time.Minute, "a replacement", func() bool { return w.a.made()+w.b.made() == 2 })
				time.Sleep(5 * time.Second)
				w.a.vanish("a-001", forgotten)
				w.until(20*time.Minute, "job done", w.state("1", "done"))
				w.settled(5 * time.Minute)
				if n := w.a.made() + w.b.made(); n != 2 {
					t.Errorf("%d machines for a job that lost one:\n%s", n, strings.Join(w.story(), "\n"))
				}
			})
		})
	}
}
