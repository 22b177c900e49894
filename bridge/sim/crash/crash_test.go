package crash_test

import (
	"fmt"
	"hash/fnv"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"spillway.sh/spillway/bridge/sim/crash"
	"spillway.sh/spillway/bridge/sim/soak"
)

// pushSeeds is how many seeds every push plays at each point, soakSeeds how many a
// soak does, as far as it comes within soakTime.
const (
	pushSeeds = 1
	soakSeeds = 200
	soakTime  = 20 * time.Minute
)

// TestMain trades memory for time: worlds are small, and there are many.
func TestMain(m *testing.M) {
	debug.SetGCPercent(800)
	goleak.VerifyTestMain(m)
}

// inTale plays a tale in a bubble of time, with its files in memory where there
// is such a place: fsync is not what is tested.
func inTale(t *testing.T, seed uint64, doom *crash.Doom) (took time.Duration) {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "spillway-crash-") //nolint:usetesting // See above.
	if err != nil {
		dir = t.TempDir()
	}
	defer os.RemoveAll(dir)
	synctest.Test(t, func(t *testing.T) {
		x := tell(t, dir, seed, doom)
		if t.Failed() {
			t.Logf("the story:\n%s", strings.Join(x.Story(), "\n"))
		}
		took = x.took
	})
	return took
}

// inTime holds a world with deaths against the same one without: it is over within
// ten cycles of when that was, a death, and of what one that came at the worst
// moment has to wait for: proof that a create came to nothing.
func inTime(t *testing.T, took, alone time.Duration, deaths int) {
	t.Helper()
	const proof = 7 * time.Minute // older than OrphanAge, and absent for AbsentGap
	if most := alone + time.Duration(deaths)*(10*cycle+proof); took > most {
		t.Errorf("it was over after %s; without a death after %s, at most %s is right", took, alone, most)
	}
}

// elsewhere are the methods that this world never calls, and where they are.
var elsewhere = map[string]string{
	"Finder.Find":       "no policy of this world has a rule for checkpoints; package killed",
	"Usage.AddUsage":    "no calendar in this world; package killed",
	"Calendar":          "no calendar in this world; package killed",
	"Box":               "no Slack in this world; packages bot and killed",
	"Slack":             "no Slack in this world; packages bot and killed",
	"Scheduler.Comment": "of a job that no cloud can serve; package engine",
	"Scheduler.Nudge":   "of a job that slurmctld set aside; package engine",
	"Scheduler.Undrain": "of a notice that is called off; package engine",
	"Scheduler.Ending":  "of a job that ends by itself on a machine that is taken; package engine",
	"Store.Extend":      "of a job that needs longer than was thought; package engine",
	"Store.Adopt":       "of machines that the store does not know; package adopt",
	"Store.Given":       "of machines that the store does not know; package adopt",
}

// reads are the calls that change nothing: they come every cycle, and their first
// is like any other.
var reads = []string{
	"Scheduler.Observe", "Scheduler.UserData", "Scheduler.Enrolment", "Scheduler.Expedite", "Scheduler.Ending",
	"Cloud.Offers", "Cloud.Observe", "Cloud.List", "Cloud.Changed", "Store.Live", "Store.Balances", "Store.Marks",
	"Loop.View", "Loop.Wake", "Rentals.Rental",
}

// worth reports whether a point is worth a run of its own: the first calls of
// everything, the first one of reads.
func worth(point string, most string) bool {
	f := strings.Fields(point)
	if slices.Contains(reads, f[0]) {
		most = "1"
	}
	return len(f[1]) < len(most) || len(f[1]) == len(most) && f[1] <= most
}

// name is a subtest's: the command line finds it again.
func name(points ...string) string {
	return strings.ReplaceAll(strings.Join(points, " then "), " ", "-")
}

// alone plays the tale of a seed without a death and returns the points that are
// worth one.
func alone(t *testing.T, seed uint64) (points []string, took time.Duration) {
	t.Helper()
	doom := crash.New()
	took = inTale(t, seed, doom)
	if t.Failed() {
		t.FailNow()
	}
	most := "1"
	if soak.Long() {
		most = "3"
	}
	return slices.DeleteFunc(doom.Passed(1), func(p string) bool { return !worth(p, most) }), took
}

func TestINV_I25_TheTaleTellsOfEveryMethod(t *testing.T) {
	points, _ := alone(t, 1)
	t.Logf("%d points", len(points))
	if len(points) < 66 {
		t.Errorf("%d points; the plan has 66", len(points))
	}
	for port, d := range decorated {
		for m := range d.typ.Methods() {
			name := d.port + "." + m.Name
			told := slices.Contains(points, name+" 1 before") && slices.Contains(points, name+" 1 after")
			_, known := elsewhere[name]
			_, whole := elsewhere[d.port]
			switch {
			case slices.Contains(plain, port+"."+m.Name):
			case !told && !known && !whole:
				t.Errorf("the tale never comes to %s", name)
			case told && known:
				t.Errorf("the tale comes to %s: say so no more", name)
			}
		}
	}
}

// TestINV_I25_KilledAtEveryPoint kills the bridge at each point, lets the next one
// recover, and expects of the world what it expects of one without a death; then
// does it once more and kills the second bridge while it recovers.
func TestINV_I25_KilledAtEveryPoint(t *testing.T) {
	seeds, end := uint64(pushSeeds), time.Now().Add(time.Hour)
	if soak.Long() {
		seeds, end = soakSeeds, soak.Until(soakTime)
	}
	runs := 0
	for seed := uint64(1); seed == 1 || seed <= seeds && time.Now().Before(end); seed++ {
		t.Logf("seed %d", seed)
		t.Run(fmt.Sprint("seed-", seed), func(t *testing.T) {
			points, took := alone(t, seed)
			for i, first := range points {
				if testing.Short() && i%16 != 0 {
					continue
				}
				runs += 2
				t.Run(name(first), func(t *testing.T) {
					t.Parallel()
					killed(t, seed, took, first)
				})
			}
		})
	}
	t.Logf("%d runs", runs)
}

// killed plays a tale with a death, and with a second one in its recovery.
func killed(t *testing.T, seed uint64, alone time.Duration, first string) {
	doom := crash.New(first)
	inTime(t, inTale(t, seed, doom), alone, 1)
	if !doom.Struck(1) {
		t.Fatalf("the tale does not come to %s", first)
	}
	recovery := doom.Passed(2)
	if len(recovery) == 0 || t.Failed() {
		return
	}
	second := recovery[pick(seed, first, min(len(recovery), recoveryMost))]
	t.Run("then-"+name(second), func(t *testing.T) {
		doom := crash.New(first, second)
		inTime(t, inTale(t, seed, doom), alone, 2)
		if !doom.Struck(2) {
			t.Errorf("the second bridge does not come to %s", second)
		}
	})
}

// recoveryMost is how many points of a life belong to its recovery: those of its
// first few looks at the world.
const recoveryMost = 80

// pick draws a number below n that is the same in each run.
func pick(seed uint64, point string, n int) int {
	h := fnv.New64a()
	_, _ = h.Write([]byte(point)) // A hash never fails to write.
	return int((h.Sum64() ^ seed*0x9e3779b97f4a7c15) % uint64(n))
}
