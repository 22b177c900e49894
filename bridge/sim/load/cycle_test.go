package load

import (
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	debug.SetGCPercent(50) // as the daemon does
	debug.SetMemoryLimit(420 << 20)
	goleak.VerifyTestMain(m)
}

// BenchmarkCycle is one look of which the reading of the queue is a part: when
// nothing changed, when one job in a hundred did, when all did, and when a
// minute has passed, so that what every rental has cost is posted.
func BenchmarkCycle(b *testing.B) {
	for _, c := range []struct {
		name    string
		changes int
		after   time.Duration
	}{
		{"quiet", 0, time.Second},
		{"changed=1%", waiting / 100, time.Second},
		{"all-new", waiting, time.Second},
		{"posting", 0, time.Minute},
	} {
		b.Run(c.name, func(b *testing.B) {
			s := newSite(b)
			s.look(0)
			s.look(2 * time.Minute) // what is only done once is done
			s.look(time.Second)
			s.seen()
			b.ReportAllocs()
			slowest, cpu := time.Duration(0), cpuTime()
			forgetPeak(b)
			for b.Loop() {
				if c.changes > 0 {
					b.StopTimer()
					s.change(c.changes)
					b.StartTimer()
				}
				began := time.Now()
				s.look(c.after)
				slowest = max(slowest, time.Since(began))
			}
			s.seen()
			b.ReportMetric(float64((cpuTime()-cpu).Milliseconds())/float64(b.N), "cpu-ms/op")
			b.ReportMetric(float64(slowest.Milliseconds()), "slowest-ms")
			b.ReportMetric(peak(b), "peak-MB")
		})
	}
}

// BenchmarkFirstCycle is the look after a start, which has everything to learn.
func BenchmarkFirstCycle(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		s := newSite(b)
		forgetPeak(b)
		b.StartTimer()
		s.look(0)
		b.StopTimer()
		s.seen()
		b.StartTimer()
	}
	b.ReportMetric(peak(b), "peak-MB")
}

// cpuTime is what this process has used of all cores.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// forgetPeak makes peak begin anew, with what making the site has left behind
// given back.
func forgetPeak(b *testing.B) {
	b.Helper()
	debug.FreeOSMemory()
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
		b.Fatal(err)
	}
}

// peak is the most memory that this process held since then, in MB: with the
// texts that stand for Slurm's, and everything else that the benchmark is made of.
func peak(b *testing.B) float64 {
	b.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		b.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	kB, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
	if err != nil {
		b.Fatal(err)
	}
	return kB / 1000
}
