package engine

import (
	"context"
	"time"

	"spillway.sh/spillway/bridge"
)

// weigh learns from what has just become of a rental's spot machines: how long
// they lived, and which were taken. A pool that takes one back rests as a
// whole, longer each time until that fades: the next is asked at once.
func (e *Engine) weigh(ctx context.Context, c *cycle, before, r *bridge.Rental) error {
	if r.Pool.Market != bridge.Spot {
		return nil
	}
	taken, lived := fate(before, r)
	if taken == 0 && lived <= 0 {
		return nil
	}
	return e.remember(ctx, c, func(m *bridge.Marks) {
		m.Hazards = bridge.Lived(m.Hazards, r.Pool, lived, c.now)
		for range taken {
			m.Hazards = bridge.Reclaimed(m.Hazards, r.Pool, c.now)
		}
		if taken > 0 {
			rest := bridge.HazardOf(m.Hazards, r.Pool).Rest(c.now, e.limits.PoolDown, e.limits.PoolMost)
			m.Pools = bridge.Rested(m.Pools, r.Pool, bridge.CodeReclaimed, c.now, rest)
		}
	})
}

// fate is how many of a rental's machines were taken since it was as before,
// and how long those lived that have gone since then.
func fate(before, r *bridge.Rental) (taken int, lived time.Duration) {
	for i := range r.Machines {
		was, is := bridge.Machine{}, &r.Machines[i]
		if i < len(before.Machines) {
			was = before.Machines[i]
		}
		gone := is.State == bridge.MachineGone && was.State != bridge.MachineGone
		if gone && !is.Started.IsZero() {
			lived += is.Stopped.Sub(is.Started)
		}
		ours := was.State == bridge.MachineReleasing || was.State == bridge.MachineIntended || r.State == bridge.StateReleasing
		if was.NoticeAt.IsZero() && (!is.NoticeAt.IsZero() || gone && !ours) {
			taken++
		}
	}
	return taken, lived
}
