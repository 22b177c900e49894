package sim_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"spillway.sh/spillway/bridge/sim"
)

// TestClocks (T15): the bridge's clock is wrong for a while, and then right
// again. No machine is taken from its job for it, none outlives its end, and all
// is over in time.
func TestClocks(t *testing.T) {
	berlin := func(month time.Month, day, hour int) time.Time {
		return time.Date(2000, month, day, hour, 0, 0, 0, time.UTC)
	}
	for name, tc := range map[string]struct {
		begin time.Time
		wrong func(*sim.World)
		right bool // it is set right an hour later
	}{
		"an hour back":                  {wrong: func(w *sim.World) { w.Jump(-time.Hour) }, right: true},
		"an hour ahead":                 {wrong: func(w *sim.World) { w.Jump(time.Hour) }, right: true},
		"thirty days ahead":             {wrong: func(w *sim.World) { w.Jump(30 * 24 * time.Hour) }, right: true},
		"1970":                          {wrong: func(w *sim.World) { w.Jump(time.Unix(0, 0).Sub(w.Now())) }, right: true},
		"the day that has no 2 o'clock": {begin: berlin(time.March, 25, 18)},
		"the day that has two of them":  {begin: berlin(time.October, 28, 18)},
		"a twentieth too fast":          {wrong: func(w *sim.World) { w.Drift(50) }},
		"a twentieth too slow":          {wrong: func(w *sim.World) { w.Drift(-50) }},
	} {
		t.Run(name, func(t *testing.T) {
			s := sim.Setup{Seed: max(*seed, 15), Length: 6 * time.Hour, Jobs: 250, Begin: tc.begin}
			play(t, s, func(ctx context.Context, w *sim.World) {
				rented := 0
				w.At(3*time.Hour, func(context.Context) {
					if rented = w.Rented(); tc.wrong != nil {
						tc.wrong(w)
					}
				})
				if tc.right {
					w.At(4*time.Hour, func(context.Context) { w.Right() })
				}
				if err := w.Play(ctx); err != nil {
					t.Error(err)
				}
				jobs, nodes := w.Slurm.Truth()
				if rented == 0 || len(nodes) > 0 {
					t.Errorf("%d machines were rented when the clock went wrong, %d are left", rented, len(nodes))
				}
				for i := range jobs {
					for _, start := range jobs[i].Starts {
						if slices.Contains([]string{"requeued", "node-fail"}, start.Why) {
							t.Errorf("job %s was broken off at %s: %s", jobs[i].ID, start.End, start.Why)
						}
					}
				}
			})
		})
	}
}
