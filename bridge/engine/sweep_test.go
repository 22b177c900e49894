package engine_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"spillway.sh/spillway/bridge"
)

// stray puts a machine with tags of ours into a cloud, that no store knows.
func (w *world) stray(store string, change func(*machine)) string {
	w.a.mu.Lock()
	defer w.a.mu.Unlock()
	id := bridge.NewRentalID(999)
	l := bridge.Launch{
		Rental: id, Attempt: 1, Token: "stray", Count: 1, Expires: time.Now().Add(3 * time.Hour),
		Tags: map[string]string{
			bridge.TagStore: store, bridge.TagCluster: "c1", bridge.TagRental: string(id), bridge.TagAttempt: "1",
			bridge.TagAccount: "org/team/proj/ann", bridge.TagRate: "8000000 USD", bridge.TagClass: "P1",
			bridge.TagExpires: time.Now().Add(3 * time.Hour).UTC().Format(time.RFC3339),
		},
	}
	m := w.a.add(l, 0, bridge.Rate{Micro: 8_000_000, Currency: "USD"})
	if change != nil {
		change(m)
	}
	return m.ID
}

func TestC_F02_OrphanIsEndedWhenOldAndSeenTwice(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.start()
		id := w.stray(w.store.StoreID(), func(m *machine) { m.never = true })
		time.Sleep(290 * time.Second)
		if !slices.Contains(w.a.live(), id) {
			t.Error("ended before it was old enough")
		}
		w.until(30*time.Second, "ended", func() bool { return len(w.a.live()) == 0 })
		if w.told(bridge.NewsOrphan) != 1 {
			t.Errorf("told %d times", w.told(bridge.NewsOrphan))
		}
	})
}

func TestC_F27_OldStrangerIsEndedAtTheSecondListOnly(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.limits.ListEvery = time.Minute
		w.start()
		time.Sleep(time.Second)
		id := w.stray(w.store.StoreID(), func(m *machine) { m.never = true; m.Launched = time.Now().Add(-time.Hour) })
		w.until(3*time.Minute, "seen once", func() bool {
			m, err := w.store.Marks(t.Context())
			return err == nil && m.Suspects["a/"+id].Lists == 1
		})
		time.Sleep(30 * time.Second)
		if len(w.a.live()) != 1 {
			t.Error("ended after one list")
		}
		w.until(time.Minute, "ended", func() bool { return len(w.a.live()) == 0 })
	})
}

// A list of which pages are missing says of no machine that it was seen twice.
func TestINV_I8_PartialListsMakeNoOrphan(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.start()
		w.a.fault("List", slices.Repeat([]string{"cut"}, 10_000)...)
		w.stray(w.store.StoreID(), func(m *machine) { m.never = true; m.Launched = time.Now().Add(-time.Hour) })
		time.Sleep(10 * time.Minute)
		if n := w.a.called("Terminate"); n != 0 {
			t.Errorf("%d machines were ended by lists that were not whole", n)
		}
		w.a.setup(func(c *cloud) { clear(c.faults) })
		w.until(time.Minute, "ended", func() bool { return len(w.a.live()) == 0 })
	})
}

func TestINV_I7_MachinesWithoutOurTagAreNotOurs(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.start()
		w.stray("", func(m *machine) { m.never = true; delete(m.Tags, bridge.TagStore) })
		time.Sleep(20 * time.Minute)
		if len(w.a.live()) != 1 || w.a.called("Terminate") != 0 {
			t.Errorf("%d live, %d terminate calls", len(w.a.live()), w.a.called("Terminate"))
		}
	})
}

func TestC_F27_OrphanWithAJobIsAdoptedNotEnded(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.start()
		w.stray(w.store.StoreID(), nil)
		node := bridge.NodeName(bridge.NewRentalID(999), 0)
		w.until(10*time.Second, "registered", func() bool { w.cluster.mu.Lock(); defer w.cluster.mu.Unlock(); return w.cluster.nodes[node] != nil })
		j := w.cluster.submit("1", 1, 8, 20*time.Minute)
		w.cluster.mu.Lock()
		j.state, j.on, j.began = "running", []string{node}, time.Now()
		w.cluster.mu.Unlock()
		w.until(10*time.Minute, "adopted", func() bool { return len(w.live()) == 1 })
		w.until(20*time.Minute, "job done", w.state("1", "done"))
		if w.a.called("Terminate") != 0 {
			t.Error("it was ended under its job")
		}
		w.settled(45 * time.Minute) // the owner of its budget is told first
		if ns := w.idles(); len(ns) != 1 || ns[0].Who != "" {
			t.Errorf("told %+v", ns)
		}
	})
}

func TestC_F27_UnreadableSchedulerEndsNoOrphan(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.cluster.down = errDown
		w.start()
		w.stray(w.store.StoreID(), nil)
		time.Sleep(10 * time.Minute)
		if len(w.a.live()) != 1 {
			t.Error("a machine that may be working was ended")
		}
	})
}

func TestINV_I1_ForeignStoreOpensTheBreakerAndTouchesNothing(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.start()
		w.stray("another-store", func(m *machine) { m.never = true })
		w.until(10*time.Second, "protected", func() bool { return w.engine.Health().Protected != "" })
		w.cluster.submit("1", 1, 8, time.Minute)
		time.Sleep(35 * time.Minute)
		if w.a.called("Terminate") != 0 || w.a.called("Create") != 0 || w.told(bridge.NewsProtected) != 1 {
			t.Errorf("%d terminated, %d created, told %d times", w.a.called("Terminate"), w.a.called("Create"), w.told(bridge.NewsProtected))
		}
		if err := w.engine.Remember(t.Context(), func(m *bridge.Marks) { m.Protected = "" }); err != nil {
			t.Fatal(err)
		}
		w.until(10*time.Minute, "after the thaw the job is served", w.state("1", "done"))
		w.until(10*time.Minute, "settled", func() bool { return len(w.live()) == 0 })
		if len(w.a.live()) != 1 {
			t.Error("the foreign machine was touched")
		}
	})
}

func TestGhostNodeIsTakenOutOfTheScheduler(t *testing.T) {
	inWorld(t, func(_ *testing.T, w *world) {
		w.start()
		node := bridge.NodeName(bridge.NewRentalID(998), 0)
		w.cluster.register(node, 8)
		w.cluster.lose(node)
		w.cluster.register("sw-mine", 8) // not a name of ours
		w.until(time.Minute, "dismissed", func() bool {
			w.cluster.mu.Lock()
			defer w.cluster.mu.Unlock()
			return slices.Equal(slices.Collect(maps.Keys(w.cluster.nodes)), []string{"sw-mine"})
		})
	})
}

func TestBreakerOpensOnLaunchesThatNeverJoinAndCoolsDown(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.limits.Join, w.limits.Fails, w.limits.PoolDown, w.limits.PoolMost, w.limits.CoolDown = 10*time.Second, 3, time.Second, time.Second, 10*time.Minute
		w.a.boot, w.b.boot = time.Hour, time.Hour
		w.cluster.submit("1", 1, 8, time.Minute)
		w.start()
		w.until(10*time.Minute, "protected", func() bool { return w.engine.Health().Protected != "" })
		made := w.a.made() + w.b.made()
		time.Sleep(9 * time.Minute)
		if n := w.a.made() + w.b.made(); made != 3 || n != made {
			t.Errorf("%d machines before the breaker opened, %d more after", made, n-made)
		}
		w.a.setup(func(c *cloud) { c.boot = time.Second })
		w.b.setup(func(c *cloud) { c.boot = time.Second })
		w.until(10*time.Minute, "job done after the cool-down", w.state("1", "done"))
		w.settled(10 * time.Minute)
	})
}

func TestBreakerOpensWhenManyMachinesVanishAtOnce(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.limits.CoolDown = 10 * time.Minute
		for i := range 5 {
			w.cluster.submit(bridge.JobID(rune('1'+i)), 1, 8, 10*time.Minute)
		}
		w.start()
		w.until(time.Minute, "all running", func() bool {
			n := 0
			for i := range 5 {
				if w.job(bridge.JobID(rune('1'+i))).state == "running" {
					n++
				}
			}
			return n == 5
		})
		for _, id := range w.a.live()[:4] {
			w.a.vanish(id, false)
		}
		w.until(10*time.Second, "protected", func() bool { return w.engine.Health().Protected != "" })
		made := w.a.made()
		time.Sleep(8 * time.Minute)
		if w.a.made()+w.b.made() != made {
			t.Errorf("%d machines rented meanwhile", w.a.made()+w.b.made()-made)
		}
		w.settled(2 * time.Hour) // the fifth machine serves them all, or new ones after the cool-down
	})
}
