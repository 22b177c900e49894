package engine_test

import (
	"testing"
	"time"

	"spillway.sh/spillway/bridge"
)

// What a start on rented machines is measured by is the cluster's own estimate
// of before the job was let in, not the one about our machines.
func TestAStartSaysHowLongItsOwnClusterWouldHaveTaken(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		home := time.Now().Add(5 * time.Hour).Truncate(time.Second)
		submitted := time.Now()
		w.cluster.submit("1", 1, 8, time.Minute, func(j *job) { j.home = home })
		w.cluster.submit("2", 1, 8, 2*time.Minute) // no estimate is made for it
		w.start()
		w.until(5*time.Minute, "both running", func() bool { return w.told(bridge.NewsStarted) == 2 })
		for _, n := range w.news() {
			if n.Kind != bridge.NewsStarted {
				continue
			}
			want := time.Time{}
			if n.Job == "1" {
				want = home
			}
			if !n.Submitted.Equal(submitted) || !n.Estimate.Equal(want) || n.GPUs != 8 {
				t.Errorf("job %s: submitted %s, at home from %s, %d GPUs; want %s, %s, 8", n.Job, n.Submitted, n.Estimate, n.GPUs, submitted, want)
			}
		}
		w.until(10*time.Minute, "both done", func() bool { return w.state("1", "done")() && w.state("2", "done")() })
		w.settled(5 * time.Minute)
	})
}
