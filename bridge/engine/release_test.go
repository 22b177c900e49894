package engine_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"spillway.sh/spillway/bridge"
)

var errDown = errors.New("the scheduler does not answer")

func TestReleaseNeedsNoSchedulerPastTheEnd(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.terms.Life = 30 * time.Minute
		w.cluster.submit("1", 1, 8, 10*time.Hour).limit = 0
		w.start()
		w.until(time.Minute, "running", w.state("1", "running"))
		end := w.live()[0].Expires
		w.a.setup(func(c *cloud) { // the machine's own switch fails
			for _, m := range c.machines {
				m.launch.Expires = end.Add(24 * time.Hour)
			}
		})
		w.cluster.set(func(c *cluster) { c.down = errDown })
		w.until(40*time.Minute, "all gone", func() bool { return len(w.a.live()) == 0 })
		if late := time.Since(end); late > 10*time.Minute {
			t.Errorf("INV-I5: gone %s after its end", late)
		}
		w.until(10*time.Minute, "settled without the scheduler", func() bool { return len(w.live()) == 0 })
		w.cluster.mu.Lock()
		w.cluster.down = nil
		w.cluster.jobs["1"].state = "cancelled"
		w.cluster.mu.Unlock()
		w.settled(10 * time.Minute) // its node, too, goes when the scheduler is back
	})
}

func TestJobWithoutALimitIsWarnedBeforeItsMachinesEnd(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.terms.Life = time.Hour
		w.cluster.submit("1", 1, 8, 10*time.Hour).limit = 0
		w.start()
		w.until(70*time.Minute, "requeued at the end", func() bool { return w.told(bridge.NewsRequeued) == 1 })
		if n := w.told(bridge.NewsWarning); n != 3 {
			t.Errorf("%d warnings; want 3\n%q", n, w.story())
		}
	})
}

func TestC_F01_TerminateIsRepeatedUntilTheCloudSaysGone(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.cluster.submit("1", 1, 8, time.Minute)
		w.start()
		w.until(time.Minute, "running", w.state("1", "running"))
		w.a.fault("Terminate", slices.Repeat([]string{"lost-before"}, 5)...)
		w.until(5*time.Minute, "releasing", w.inState(bridge.StateReleasing))
		time.Sleep(10 * time.Second)
		if rs := w.live(); len(rs) != 1 || rs[0].Machines[0].State == bridge.MachineGone {
			t.Error("called gone before the cloud said so")
		}
		w.settled(10 * time.Minute)
	})
}

func TestINV_I6_StaleListSettlesNothing(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.cluster.submit("1", 1, 8, time.Minute)
		w.start()
		w.until(time.Minute, "running", w.state("1", "running"))
		old, err := w.a.List(t.Context(), w.store.StoreID(), "c1")
		if err != nil {
			t.Fatal(err)
		}
		w.a.setup(func(c *cloud) { c.stale = &old })
		w.until(10*time.Minute, "machine ended", func() bool { return len(w.a.live()) == 0 })
		time.Sleep(10 * time.Minute)
		if len(w.live()) != 1 {
			t.Error("settled while the list still showed the machine")
		}
		w.a.setup(func(c *cloud) { c.stale = nil })
		w.settled(10 * time.Minute)
	})
}

// A list that was asked for before the last machine was judged gone is no second
// witness: a cloud may leave out for a moment what it still has.
func TestINV_I6_ListThatWasAskedBeforeTheEndSettlesNothing(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.a.forgets = true
		w.cluster.submit("1", 1, 8, time.Minute)
		w.start()
		w.until(10*time.Minute, "judged gone", func() bool {
			if w.told(bridge.NewsGone) == 0 {
				return false
			}
			w.a.fault("List", slices.Repeat([]string{"unknown"}, 10_000)...)
			return true
		})
		time.Sleep(time.Minute)
		if len(w.live()) != 1 {
			t.Error("settled though no list came after the machine was judged gone")
		}
		w.a.setup(func(c *cloud) { clear(c.faults) })
		w.settled(10 * time.Minute)
	})
}

func TestCloudThatForgetsItsDeadIsBelievedTheSecondTime(t *testing.T) {
	inWorld(t, func(_ *testing.T, w *world) {
		w.a.forgets = true
		w.a.fault("Observe", slices.Repeat([]string{"not-found"}, 500)...)
		w.cluster.submit("1", 1, 8, time.Minute)
		w.start()
		w.until(10*time.Minute, "job done", w.state("1", "done"))
		w.settled(10 * time.Minute)
	})
}

func TestClockLeapEndsNothingAtAGlance(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.cluster.submit("1", 1, 8, time.Hour)
		w.start()
		w.until(time.Minute, "running", w.state("1", "running"))
		w.kill()
		w.open()
		for _, ahead := range []time.Duration{0, 0, 20 * time.Hour, 20 * time.Hour} {
			w.jump(ahead)
			w.a.setup(func(c *cloud) { c.skew = ahead }) // it was the host that slept
			if err := w.engine.Cycle(t.Context(), w.now()); err != nil {
				t.Log(err)
			}
			time.Sleep(time.Second)
		}
		if rs := w.live(); rs[0].State != bridge.StateAdmitted {
			t.Errorf("after one look past the leap the rental is %s", rs[0].State)
		}
		w.jump(-time.Hour) // and back: time stands still instead
		if err := w.engine.Cycle(t.Context(), w.now()); err != nil {
			t.Log(err)
		}
		w.close()
	})
}

func TestAskedReleaseWaitsForTheJobUnlessItIsToBeNow(t *testing.T) {
	for name, tt := range map[string]struct {
		state  bridge.State
		starts int
	}{
		"when the job has ended": {bridge.StateDraining, 1},
		"now":                    {bridge.StateReleasing, 2},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.cluster.submit("1", 1, 8, 10*time.Minute)
				w.start()
				w.until(time.Minute, "running", w.state("1", "running"))
				w.ask(tt.state)
				w.until(20*time.Minute, "job done", w.state("1", "done"))
				if n := w.cluster.started("1"); n != tt.starts {
					t.Errorf("started %d times, want %d", n, tt.starts)
				}
				w.settled(5 * time.Minute)
			})
		})
	}
}

// ask is the desk's release of the first rental, which the engine may just be
// changing too.
func (w *world) ask(st bridge.State) {
	w.t.Helper()
	w.until(10*time.Second, "asked", func() bool {
		r := w.live()[0]
		r.State, r.Since, r.Why = st, w.now(), bridge.ReasonAskedRelease
		_, err := w.store.Save(w.t.Context(), r)
		if err != nil && !errors.Is(err, bridge.ErrVersion) {
			w.t.Fatal(err)
		}
		return err == nil
	})
	w.engine.Wake()
}

func TestLongerJobExtendsItsRentalByANewHold(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.terms.Idle = 20 * time.Minute
		w.cluster.submit("1", 1, 8, 5*time.Minute).limit = 10 * time.Minute
		w.a.fault("Extend", "unknown")
		w.start()
		w.until(10*time.Minute, "done", w.state("1", "done"))
		before := w.live()[0]
		// A job of the same project gets onto it by itself, and needs longer.
		w.cluster.mu.Lock()
		w.cluster.jobs["2"] = &job{
			id: "2", user: "ann", account: "proj", nodes: 1, gpus: 8, work: 25 * time.Minute, limit: 30 * time.Minute,
			restartable: true, state: "pending", routed: map[string]bool{bridge.PartitionName(before.ID): true}, submitted: time.Now(),
		}
		w.cluster.mu.Unlock()
		w.until(time.Minute, "extended", func() bool { return w.told(bridge.NewsExtended) == 1 })
		after := w.live()
		i := slices.IndexFunc(after, func(r bridge.Rental) bool { return r.ID == before.ID })
		if i < 0 || !after[i].Expires.After(before.Expires) || after[i].Hold.Micro <= before.Hold.Micro {
			t.Errorf("before: until %s, held %s; after: %+v", before.Expires, before.Hold, after)
		}
		w.until(10*time.Second, "its cloud was told, at the second try", func() bool { return w.a.called("Extend") == 2 })
		w.until(40*time.Minute, "second done", w.state("2", "done"))
		w.settled(time.Hour)
	})
}
