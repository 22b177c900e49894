package engine_test

import (
	"strings"
	"testing"
	"time"

	"spillway.sh/spillway/bridge"
)

// Whatever call of renting and giving back fails once, and wherever the bridge
// is stopped after it, no hold is left open and the books balance.
func TestB_F25_NoHoldLeaksOnAnErrorPath(t *testing.T) {
	for _, call := range []string{"Offers", "Create", "Observe", "List", "Terminate"} {
		for _, fault := range []string{"lost-before", "lost", string(bridge.CloudThrottled), string(bridge.CloudDenied)} {
			t.Run(call+" "+fault, func(t *testing.T) {
				inWorld(t, func(_ *testing.T, w *world) {
					w.a.fault(call, fault)
					w.cluster.submit("1", 1, 8, 3*time.Minute)
					w.start()
					w.until(10*time.Minute, "something is held", func() bool { return len(w.live()) > 0 })
					w.stop() // as after the error
					w.start()
					w.until(40*time.Minute, "job done", w.state("1", "done"))
					w.settled(20 * time.Minute) // no open hold, books equal to the clouds'
				})
			})
		}
	}
}

// A machine that the cloud charges more for than was agreed takes no job: it is
// given back, told of, and paid as billed.
func TestB_F28_ADearerMachineIsGivenBack(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.a.setup(func(c *cloud) { c.dearer = 2 })
		w.cluster.submit("1", 1, 8, 3*time.Minute)
		w.start()
		w.until(10*time.Minute, "it runs at the other cloud", func() bool { return w.job("1").state == "running" && w.b.made() > 0 })
		if w.a.made() == 0 {
			t.Fatal("the dearer machine was never made")
		}
		if n := w.first(bridge.NewsReleasing); n.Why != bridge.ReasonTooDear || !strings.Contains(n.Text, "16.00 USD an hour, at most") {
			t.Errorf("told %+v", n)
		}
		w.until(10*time.Minute, "job done", w.state("1", "done"))
		w.settled(5 * time.Minute)
	})
}

// The end of a machine is with the cloud, not with us: while the bridge is away
// for a day it goes at its time, and no later than what was held for.
func TestB_F29_AMachineEndsAtItsTimeWithoutUs(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.cluster.submit("1", 1, 8, 20*time.Minute)
		w.start()
		w.until(time.Minute, "running", w.state("1", "running"))
		r := w.live()[0]
		if !w.a.first().Expires.Equal(r.Expires) || w.a.first().Tags[bridge.TagExpires] == "" {
			t.Errorf("the create call ends it at %s, the rental at %s; tags %v", w.a.first().Expires, r.Expires, w.a.first().Tags)
		}
		w.stop()
		time.Sleep(24 * time.Hour)
		if alive := w.a.live(); len(alive) > 0 {
			t.Errorf("%v still run %s after their end", alive, time.Since(r.Expires))
		}
		w.start()
		w.settled(20 * time.Minute)
	})
}
