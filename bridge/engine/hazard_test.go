package engine_test

import (
	"testing"
	"time"
)

// TestPoolThatTakesBackRestsAsAWhole holds that after one reclaim the
// replacement comes from the next pool, though the first has stock and costs
// less; that what was seen is remembered with how long the machine lived; and
// that the pool is used again when its rest is over.
func TestPoolThatTakesBackRestsAsAWhole(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.spot()
		w.limits.PoolDown = 2 * time.Minute
		w.cluster.submit("1", 1, 8, 10*time.Minute)
		w.start()
		w.until(time.Minute, "running", w.state("1", "running"))
		w.a.notice("a-001")
		w.until(time.Minute, "a replacement", func() bool { return w.a.made()+w.b.made() == 2 })
		if w.b.made() != 1 {
			t.Fatalf("the replacement comes from the pool that takes back: %q", w.story())
		}
		w.until(20*time.Minute, "job done", w.state("1", "done"))
		w.settled(5 * time.Minute)
		m, err := w.store.Marks(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(m.Hazards) != 2 || m.Hazards[0].Taken < 900 || m.Hazards[0].Lived <= 0 || m.Hazards[1].Taken != 0 || m.Hazards[1].Lived < 9*time.Minute {
			t.Errorf("what is remembered of the pools: %+v", m.Hazards)
		}
		w.cluster.submit("2", 1, 8, time.Minute)
		w.until(10*time.Minute, "second job done", w.state("2", "done"))
		if w.a.made() != 2 {
			t.Errorf("the cheaper pool is not used again after its rest: %q", w.story())
		}
		w.settled(5 * time.Minute)
	})
}

// TestMachineUnderWayDoesNotWakeItsPool holds that a pool that takes machines
// back still rests when one that was booting joins.
func TestMachineUnderWayDoesNotWakeItsPool(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.spot()
		w.limits.PoolDown = 10 * time.Minute
		w.cluster.submit("1", 1, 8, 20*time.Minute)
		w.start()
		w.until(time.Minute, "running", w.state("1", "running"))
		w.cluster.submit("2", 1, 8, 20*time.Minute)
		w.until(time.Minute, "a second machine", func() bool { return w.a.made() == 2 })
		w.a.notice("a-001")
		w.until(2*time.Minute, "second job runs", w.state("2", "running"))
		w.cluster.submit("3", 1, 8, time.Minute)
		w.until(3*time.Minute, "third job runs", w.state("3", "running"))
		if w.a.made() != 2 || w.b.made() < 1 {
			t.Errorf("the pool was asked again while it rests: a made %d, b made %d", w.a.made(), w.b.made())
		}
		w.until(30*time.Minute, "jobs done", func() bool { return w.state("1", "done")() && w.state("2", "done")() && w.state("3", "done")() })
		w.settled(5 * time.Minute)
	})
}
