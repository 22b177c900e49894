package sim_test

import (
	"context"
	"os"
	"strconv"
	"testing"
	"time"

	"spillway.sh/spillway/bridge/sim"
)

// How many seeds are played, for how long each, and the time that all of them may
// take. In soak the time decides, and how many it was is logged.
const (
	pushSeeds, pushLength = 12, 48 * time.Hour
	pushBudget            = 150 * time.Second
	soakSeeds, soakLength = 10_000, 7 * 24 * time.Hour
	soakBudget            = 40 * time.Minute
)

func soak() bool { return os.Getenv("SPILLWAY_SOAK") == "1" }

// TestSim plays worlds in which everything goes wrong that can.
func TestSim(t *testing.T) {
	seeds, length, budget := uint64(pushSeeds), pushLength, pushBudget
	if soak() {
		seeds, length, budget = soakSeeds, soakLength, soakBudget
	}
	if *seed != 0 {
		playSeed(t, *seed, length)
		return
	}
	begun, done := time.Now(), uint64(0)
	for n := uint64(1); n <= seeds && time.Since(begun) < budget; n++ {
		t.Run(strconv.FormatUint(n, 10), func(t *testing.T) { playSeed(t, n, length) })
		done++
	}
	t.Logf("%d of %d seeds of %s, %s each", done, seeds, length, (time.Since(begun) / time.Duration(done)).Round(time.Millisecond))
}

func playSeed(t *testing.T, n uint64, length time.Duration) string {
	digest := ""
	play(t, sim.Setup{Seed: n, Length: length, Mix: sim.All()}, func(ctx context.Context, w *sim.World) {
		if err := w.Play(ctx); err != nil {
			t.Error(err)
		}
		digest = w.Digest()
	})
	return digest
}

// TestSameSeedSameStory: a seed is all that is needed to see a failure again.
func TestSameSeedSameStory(t *testing.T) {
	for _, n := range []uint64{3, 4} {
		t.Run(strconv.FormatUint(n, 10), func(t *testing.T) {
			if a, b := playSeed(t, n, 12*time.Hour), playSeed(t, n, 12*time.Hour); a != b {
				t.Errorf("the digest is %s, and then %s", a, b)
			}
		})
	}
}
