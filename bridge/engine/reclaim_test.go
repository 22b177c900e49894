package engine_test

import (
	"slices"
	"testing"
	"time"

	"spillway.sh/spillway/bridge"
)

// spot makes the first cloud sell spot machines only, which policy then wants.
func (w *world) spot() {
	w.a.setup(func(c *cloud) { clear(c.pools); c.sell(bridge.Spot, 3, 100) })
	w.b.setup(func(c *cloud) { clear(c.pools); c.sell(bridge.Spot, 4, 100) })
	w.terms.Class, w.terms.Markets = bridge.P2, []bridge.Market{bridge.Spot}
}

// took returns the longest figure of a kind of news.
func (w *world) took(kind bridge.NewsKind) (longest time.Duration, n int) {
	for _, x := range w.news() {
		if x.Kind == kind {
			longest, n = max(longest, x.Took), n+1
		}
	}
	return longest, n
}

// at is when the first news of a kind was told.
func (w *world) at(kind bridge.NewsKind) time.Time {
	for _, n := range w.news() {
		if n.Kind == kind {
			return n.At
		}
	}
	return time.Time{}
}

// toldInOrder reports whether the first news of each kind came one after the other.
func (w *world) toldInOrder(kinds ...bridge.NewsKind) bool {
	at := -1
	for _, k := range kinds {
		i := slices.IndexFunc(w.news(), func(n bridge.News) bool { return n.Kind == k })
		if i <= at {
			return false
		}
		at = i
	}
	return true
}

func TestC_F14_NoticeDrainsRequeuesAndReplacesWithinItsTimes(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.spot()
		w.cluster.kill = 3 * time.Second
		w.terms.Signal, w.terms.SignalTo, w.terms.SignalWindow = "USR1", "batch", 10*time.Second
		w.cluster.submit("1", 1, 8, 10*time.Minute)
		w.start()
		w.until(time.Minute, "running", w.state("1", "running"))
		time.Sleep(time.Minute)
		noticed := time.Now()
		w.a.notice("a-001")
		w.until(5*time.Second, "signalled", func() bool { w.cluster.mu.Lock(); defer w.cluster.mu.Unlock(); return len(w.cluster.signals) == 1 })
		w.until(time.Minute, "a replacement", func() bool { return w.a.made()+w.b.made() == 2 })
		if d := time.Since(noticed); d > 2*time.Second {
			t.Errorf("its replacement was asked for %s after the notice", d)
		}
		w.until(time.Minute, "running again", func() bool { return w.job("1").state == "running" && w.cluster.started("1") == 2 })
		if drained, n := w.took(bridge.NewsDrained); n != 1 || drained > time.Second {
			t.Errorf("notice to drained and signalled: %s, %d times", drained, n)
		}
		if eligible, n := w.took(bridge.NewsEligible); n != 1 || eligible > time.Second {
			t.Errorf("steps dead to eligible: %s, %d times", eligible, n)
		}
		if d := w.at(bridge.NewsRequeued).Sub(w.at(bridge.NewsNotice)); d < 10*time.Second || d > 12*time.Second {
			t.Errorf("requeued %s after the notice; its window is 10 s", d)
		}
		if !w.toldInOrder(bridge.NewsNotice, bridge.NewsDrained, bridge.NewsRequeued, bridge.NewsEligible) {
			t.Errorf("order: %q", w.story())
		}
		w.until(20*time.Minute, "job done", w.state("1", "done"))
		w.settled(5 * time.Minute)
		if got := w.cluster.signals; !slices.Equal(got, []string{"1 USR1 batch"}) {
			t.Errorf("signals: %q", got)
		}
		m, err := w.store.Marks(t.Context())
		if err != nil || m.Reclaims["c1"]["1"] != 1 || len(m.Requeued) != 0 {
			t.Errorf("marks: %+v, %v", m, err)
		}
		if n := w.cluster.called("Requeue"); n != 1 {
			t.Errorf("requeued %d times: its steps take 3 s to die, which is no reason to ask again", n)
		}
	})
}

func TestJobThatDidNotOptInIsRequeuedAtOnceAndNeverSignalled(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.spot()
		w.cluster.submit("1", 1, 8, 10*time.Minute)
		w.start()
		w.until(time.Minute, "running", w.state("1", "running"))
		w.a.notice("a-001")
		w.until(2*time.Second, "requeued", func() bool { return w.told(bridge.NewsRequeued) == 1 })
		w.until(20*time.Minute, "job done", w.state("1", "done"))
		if w.cluster.called("Signal") != 0 {
			t.Error("a job that did not opt in was signalled")
		}
		w.settled(5 * time.Minute)
	})
}

func TestINV_I16_JobThatMayNotBeRequeuedKeepsItsLastSeconds(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.cluster.submit("1", 1, 8, 100*time.Second).restartable = false
		w.start()
		w.until(time.Minute, "running", w.state("1", "running"))
		w.a.notice("a-001")
		w.until(3*time.Minute, "job done in its last seconds", w.state("1", "done"))
		if n := w.warnings("may not be requeued"); w.cluster.called("Requeue") != 0 || n != 1 {
			t.Errorf("%d requeues, %d warnings; want 0, 1", w.cluster.called("Requeue"), n)
		}
		w.settled(5 * time.Minute)
	})
}

func TestC_F11_OneMachineLostIsTheGangLost(t *testing.T) {
	for name, lose := range map[string]func(*world){
		"by a notice":          func(w *world) { w.a.notice("a-002") },
		"without a word":       func(w *world) { w.a.vanish("a-002", false) },
		"and never seen again": func(w *world) { w.a.vanish("a-002", true) },
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.spot()
				w.cluster.submit("1", 2, 8, 10*time.Minute)
				w.start()
				w.until(time.Minute, "running", w.state("1", "running"))
				lose(w)
				w.until(5*time.Minute, "the survivor went back", func() bool {
					return !slices.Contains(w.a.live(), "a-001") && !slices.Contains(w.a.live(), "a-002")
				})
				w.until(20*time.Minute, "job done on a new gang", w.state("1", "done"))
				if n := w.cluster.started("1"); n != 2 {
					t.Errorf("started %d times", n)
				}
				w.settled(5 * time.Minute)
			})
		})
	}
}

func TestC_F10_VanishedMachineIsFoundWithoutTheJobChannel(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.cluster.submit("1", 1, 8, 10*time.Minute)
		w.start()
		w.until(time.Minute, "running", w.state("1", "running"))
		begun := time.Now()
		w.a.vanish("a-001", false)
		w.until(10*time.Second, "requeued", func() bool { return w.told(bridge.NewsRequeued) == 1 })
		if d := time.Since(begun); d > 5*time.Second {
			t.Errorf("found after %s", d)
		}
		w.until(20*time.Minute, "job done", w.state("1", "done"))
		w.settled(5 * time.Minute)
	})
}

func TestC_F26_MachineMissingFromListsForAWhileIsNotLost(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.cluster.submit("1", 1, 8, 10*time.Minute)
		w.start()
		w.until(time.Minute, "running", w.state("1", "running"))
		w.a.setup(func(c *cloud) { c.hide["a-001"] = true })
		time.Sleep(4 * time.Minute) // the list forgets it; a direct look shows it
		w.a.setup(func(c *cloud) { c.hide["a-001"] = false })
		time.Sleep(10 * time.Second)
		w.a.setup(func(c *cloud) { c.hide["a-001"], c.lost["a-001"] = true, true })
		time.Sleep(100 * time.Second) // a direct look does not show it either, but not for long
		w.a.setup(func(c *cloud) { c.hide["a-001"], c.lost["a-001"] = false, false })
		w.until(10*time.Minute, "job done", w.state("1", "done"))
		if w.cluster.started("1") != 1 || w.a.made() != 1 {
			t.Errorf("%d starts on %d machines", w.cluster.started("1"), w.a.made())
		}
		w.settled(10 * time.Minute)
	})
}

func TestINV_I8_PartialListsJudgeNothingAbsent(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.cluster.submit("1", 1, 8, 10*time.Minute)
		w.start()
		w.until(time.Minute, "running", w.state("1", "running"))
		w.a.fault("List", slices.Repeat([]string{"partial"}, 200)...)
		w.a.setup(func(c *cloud) { c.lost["a-001"] = true })
		w.until(15*time.Minute, "job done", w.state("1", "done"))
		if w.cluster.started("1") != 1 {
			t.Errorf("started %d times", w.cluster.started("1"))
		}
		w.settled(20 * time.Minute)
	})
}

func TestSchedulerRestartGetsItsMembersBack(t *testing.T) {
	inWorld(t, func(_ *testing.T, w *world) {
		w.cluster.submit("1", 1, 8, time.Minute)
		w.start()
		w.until(time.Minute, "running", w.state("1", "running"))
		w.cluster.restart()
		w.until(5*time.Second, "membership put back", func() bool {
			w.cluster.mu.Lock()
			defer w.cluster.mu.Unlock()
			for _, nodes := range w.cluster.overlays {
				return len(nodes) == 1
			}
			return false
		})
		w.until(5*time.Minute, "job done", w.state("1", "done"))
		w.settled(5 * time.Minute)
	})
}

func TestJobOfOtherMoneyIsTakenOff(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.terms.Idle = time.Minute
		w.cluster.submit("1", 1, 8, 20*time.Second)
		w.start()
		w.until(time.Minute, "running", w.state("1", "running"))
		w.cluster.submit("9", 1, 8, time.Hour, func(j *job) { j.user, j.account, j.anywhere = "eve", "other", true })
		w.until(time.Minute, "told", func() bool { return w.told(bridge.NewsForeign) == 1 })
		if st, n := w.job("9").state, w.cluster.started("9"); st == "running" || n != 1 {
			t.Errorf("the foreign job is %s after %d starts", st, n)
		}
		w.cluster.set(func(c *cluster) { c.jobs["9"].state = "cancelled" })
		w.settled(10 * time.Minute)
	})
}

func TestIdleMachineServesTheNextJobOfItsProject(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.terms.Idle = time.Minute
		w.cluster.submit("1", 1, 8, 20*time.Second)
		w.start()
		w.until(time.Minute, "done", w.state("1", "done"))
		w.cluster.submit("2", 1, 8, 20*time.Second, func(j *job) { j.limit = 10 * time.Minute })
		w.until(time.Minute, "second done", w.state("2", "done"))
		w.settled(10 * time.Minute)
		if w.a.made() != 1 {
			t.Errorf("%d machines for two jobs in turn", w.a.made())
		}
	})
}
