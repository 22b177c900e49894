package sim_test

import (
	"testing"
	"time"

	"spillway.sh/spillway/bridge/sim"
)

// TestWorldInRealTime: the same world runs where time is real, an hour in a
// minute, and a bridge that is killed in it comes back.
func TestWorldInRealTime(t *testing.T) {
	w, err := sim.New(t.Context(), sim.Setup{Seed: 1, Length: time.Minute, Dir: memory(t), Brisk: 60})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}()
	for range 2 {
		if err := w.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		for end := time.Now().Add(30 * time.Second); w.Engine.Health().Cycles == 0; time.Sleep(10 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatal("the bridge has not looked at the world once")
			}
		}
		w.Check(t.Context())
		if w.Kill(); w.Alive() || w.Over() {
			t.Error("a killed bridge lives")
		}
	}
	for _, v := range w.Violations() {
		t.Error(v)
	}
}
