package engine_test

import (
	"strings"
	"testing"
	"time"

	"spillway.sh/spillway/bridge"
)

// A host whose clock alone is thirty days ahead for an hour takes no machine from
// its job, and rents for the next one, then and afterwards.
func TestClockThatLeapsAgainstTheCloudsIsNotBelieved(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.limits.OffersEvery = 30 * time.Second
		w.cluster.submit("1", 1, 8, 65*time.Minute)
		w.start()
		w.until(time.Minute, "running", w.state("1", "running"))
		w.jump(30 * 24 * time.Hour)
		w.cluster.submit("2", 1, 8, time.Minute)
		w.until(10*time.Minute, "the next one is done while the clock is wrong", w.state("2", "done"))
		time.Sleep(50 * time.Minute)
		w.jump(0)
		w.cluster.submit("3", 1, 8, time.Minute)
		w.until(10*time.Minute, "one more is done when it is right again", w.state("3", "done"))
		w.until(time.Hour, "the long one is done", w.state("1", "done"))
		if n := w.cluster.started("1"); n != 1 {
			t.Errorf("the long job started %d times\n%s", n, strings.Join(w.story(), "\n"))
		}
		w.settled(20 * time.Minute)
		if n := w.told(bridge.NewsLapsed); n != 0 {
			t.Errorf("%d questions lapsed by the wrong clock", n)
		}
	})
}
