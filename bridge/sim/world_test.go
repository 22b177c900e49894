package sim_test

import (
	"context"
	"flag"
	"os"
	"runtime/debug"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"spillway.sh/spillway/bridge/sim"
)

var seed = flag.Uint64("seed", 0, "the one seed that is played")

func TestMain(m *testing.M) {
	debug.SetGCPercent(400) // Worlds are small and make much that lives for a moment.
	goleak.VerifyTestMain(m)
}

// memory is a directory in memory, where there is such a place: fsync is not
// what is tested.
func memory(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "spillway-sim-") //nolint:usetesting // In memory.
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// play makes a world in a bubble of time and hands it over.
func play(t *testing.T, s sim.Setup, f func(context.Context, *sim.World)) {
	t.Helper()
	s.Dir = memory(t)
	synctest.Test(t, func(t *testing.T) {
		w, err := sim.New(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := w.Close(); err != nil {
				t.Error(err)
			}
			judge(t, &s, w)
		}()
		f(t.Context(), w)
	})
}

// judge reports what went wrong, with the story and how to see it again.
func judge(t *testing.T, s *sim.Setup, w *sim.World) {
	t.Helper()
	for _, v := range w.Violations() {
		t.Errorf("%s", v)
	}
	if !t.Failed() && *seed == 0 {
		return
	}
	story := w.Story()
	for _, line := range story[max(len(story)-tail(), 0):] {
		t.Log(line)
	}
	t.Logf("seed %d; again: go test ./bridge/sim -run '%s' -seed %d", s.Seed, t.Name(), s.Seed)
}

func tail() int {
	if *seed != 0 {
		return 1 << 20
	}
	return 60
}

// TestQuietWorld: where nothing goes wrong, jobs run over, and all is given back.
func TestQuietWorld(t *testing.T) {
	play(t, sim.Setup{Seed: max(*seed, 1), Length: 24 * time.Hour}, func(ctx context.Context, w *sim.World) {
		if err := w.Play(ctx); err != nil {
			t.Error(err)
		}
	})
}
