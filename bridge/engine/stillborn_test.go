package engine_test

import (
	"testing"
	"time"

	"spillway.sh/spillway/bridge"
)

// Machines on demand that die before they join are failed launches: their pool
// rests longer each time, and the breaker opens before they have cost much.
func TestMachinesThatDieBeforeTheyJoinOpenTheBreaker(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.b.pools = map[bridge.Pool]*pool{}
		w.a.boot = time.Hour
		w.limits.PoolMost = time.Minute
		w.cluster.submit("1", 1, 8, time.Minute)
		w.start()
		w.until(2*time.Hour, "protected", func() bool {
			w.a.mu.Lock()
			defer w.a.mu.Unlock()
			for _, m := range w.a.machines {
				if m.State == bridge.InstanceRunning {
					w.a.stop(m, time.Now())
				}
			}
			return w.engine.Health().Protected != ""
		})
		if n := w.a.made(); n != 10 {
			t.Errorf("%d machines were made before the breaker opened, want 10", n)
		}
		w.cluster.set(func(c *cluster) { c.jobs["1"].state = "cancelled" })
		w.settled(10 * time.Minute)
	})
}
