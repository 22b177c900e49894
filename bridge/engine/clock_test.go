package engine_test

import (
	"testing"
	"time"

	"spillway.sh/spillway/bridge"
)

// What happens after the clock of the host stepped back is not told, nor paid
// for, as of before what happened already. While the bridge is away its clock
// is compared with the time that the store has seen.
func TestClockThatStepsBackIsNotBelieved(t *testing.T) {
	for name, restart := range map[string]bool{"while the bridge runs": false, "while it is away": true} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.cluster.submit("1", 1, 8, 5*time.Hour)
				w.start()
				w.until(time.Minute, "running", w.state("1", "running"))
				time.Sleep(time.Hour) // in which nothing happens
				seen := w.now()
				if restart {
					w.kill()
				}
				w.jump(-time.Hour)
				if restart {
					w.start()
				}
				w.a.vanish("a-001", false)
				w.until(10*time.Minute, "found", func() bool { return w.told(bridge.NewsGone)+w.told(bridge.NewsReclaimed) > 0 })
				for _, n := range w.news() {
					if back := seen.Sub(n.At); (n.Kind == bridge.NewsGone || n.Kind == bridge.NewsReclaimed) && back > seenWithin {
						t.Errorf("%s at %s, %s before what the bridge had seen", n.Kind, n.At, back)
					}
				}
			})
		})
	}
}

// seenWithin is how much of the time that it has seen a bridge may forget
// with its life.
const seenWithin = 11 * time.Minute
