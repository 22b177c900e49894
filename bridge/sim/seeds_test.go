package sim_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"spillway.sh/spillway/bridge/sim"
)

// How many seeds are played, for how long each, and the time that all of them may
// take. In soak the time decides, and how many it was is logged.
const (
	pushSeeds, pushLength = 12, 48 * time.Hour
	pushBudget            = 75 * time.Second
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
		playSeed(t, *seed, length, nil)
		return
	}
	begun, done := time.Now(), uint64(0)
	for n := uint64(1); n <= seeds && time.Since(begun) < budget; n++ {
		t.Run(strconv.FormatUint(n, 10), func(t *testing.T) { playSeed(t, n, length, nil) })
		done++
	}
	t.Logf("%d of %d seeds of %s, %s each", done, seeds, length, (time.Since(begun) / time.Duration(done)).Round(time.Millisecond))
}

// playSeed plays one seed with all that can go wrong, and returns all that its
// digest is of.
func playSeed(t *testing.T, n uint64, length time.Duration, trace io.Writer) string {
	digest := ""
	play(t, sim.Setup{Seed: n, Length: length, Mix: sim.All(), Trace: trace}, func(ctx context.Context, w *sim.World) {
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
			var first, second bytes.Buffer
			if a, b := playSeed(t, n, 12*time.Hour, &first), playSeed(t, n, 12*time.Hour, &second); a != b {
				t.Errorf("the digest is %s, and then %s: %s", a, b, firstDifference(first.String(), second.String()))
			}
		})
	}
}

// firstDifference shows where two stories part.
func firstDifference(a, b string) string {
	one, two := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(one), len(two)) {
		if one[i] != two[i] {
			return "after\n" + strings.Join(one[max(i-5, 0):i], "\n") + "\nit is\n" + one[i] + "\nand then\n" + two[i]
		}
	}
	return "one is longer"
}
