package sim_test

import (
	"bytes"
	"context"
	"io"
	"iter"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"spillway.sh/spillway/bridge/sim"
	"spillway.sh/spillway/bridge/sim/soak"
)

// How many seeds are played, for how long each, and the time that all of them may
// take. In soak the time decides, and how many it was is logged.
const (
	seedLength = 48 * time.Hour
	pushSeeds  = 12
	pushBudget = 75 * time.Second
	soakSeeds  = 10_000
	soakBudget = 40 * time.Minute
)

// rounds counts seeds: to push on a push, or as far as a long run comes; with
// -seed only that one.
func rounds(push, long uint64, most time.Duration) iter.Seq[uint64] {
	if *seed != 0 {
		return func(yield func(uint64) bool) { yield(*seed) }
	}
	return soak.Rounds(push, long, most)
}

// TestSim plays worlds in which everything goes wrong that can.
func TestSim(t *testing.T) {
	seeds, end := uint64(pushSeeds), time.Now().Add(pushBudget)
	if soak.Long() {
		seeds, end = soakSeeds, soak.Until(soakBudget)
	}
	if *seed != 0 {
		playSeed(t, *seed, seedLength, nil)
		return
	}
	begun, done, days, busy := time.Now(), uint64(0), 0.0, cpu()
	for n := uint64(1); n == 1 || n <= seeds && time.Now().Before(end); n++ {
		t.Run(strconv.FormatUint(n, 10), func(t *testing.T) { days += playSeed(t, n, seedLength, nil).span.Hours() / 24 })
		done++
	}
	t.Logf("%d of %d seeds of %s, %s each; %.2f s of one core for each simulated day", done, seeds, seedLength,
		(time.Since(begun) / time.Duration(done)).Round(time.Millisecond), (cpu()-busy).Seconds()/days)
}

// cpu is the time that this process has computed.
func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // Of a process that runs.
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// played is what came of a seed.
type played struct {
	digest string
	span   time.Duration // of the world's time, its drain included
}

// playSeed plays one seed with all that can go wrong; trace gets all that its
// digest is of.
func playSeed(t *testing.T, n uint64, length time.Duration, trace io.Writer) (out played) {
	t.Helper()
	play(t, sim.Setup{Seed: n, Length: length, Mix: sim.All(), Trace: trace}, func(ctx context.Context, w *sim.World) {
		born := time.Now()
		if err := w.Play(ctx); err != nil {
			t.Error(err)
		}
		out = played{w.Digest(), time.Since(born)}
	})
	return out
}

// TestSameSeedSameStory: a seed is all that is needed to see a failure again.
func TestSameSeedSameStory(t *testing.T) {
	for _, n := range []uint64{3, 4} {
		t.Run(strconv.FormatUint(n, 10), func(t *testing.T) {
			var first, second bytes.Buffer
			if a, b := playSeed(t, n, 12*time.Hour, &first).digest, playSeed(t, n, 12*time.Hour, &second).digest; a != b {
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
