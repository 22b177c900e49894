package replay

import (
	"math"
	"math/rand/v2"
	"strings"
	"time"
)

// Step is the time between two probes of a trace.
const Step = 195 * time.Second

// Zone is what was measured of one zone.
type Zone struct {
	Name string
	Up   float64 // share of time with spot, 0 to 1
}

// Region is the zone's name without its letter.
func (z Zone) Region() string { return strings.TrimRight(z.Name, "abcdefghijklmnopqrstuvwxyz") }

// Trace is whether a zone had spot, one value for each Step.
type Trace struct {
	Zone
	Has []bool
}

// A zone has spot while a Gaussian process is above the level that gives it its
// share of time. The process is a sum of slow and fast parts, for runs that are
// mostly short and sometimes days long, and a part of it is common to the
// region and to all: a little more than the correlation that is wanted of the
// outcome, since cutting at a level loses some.
const (
	commonToAll    = 0.22
	commonToRegion = 0.64 // what all have in common included
)

// parts are the memory of a process and their shares of its variance.
var parts = []struct {
	memory time.Duration
	share  float64
}{{9 * time.Minute, 0.01}, {2 * time.Hour, 0.04}, {16 * time.Hour, 0.40}, {96 * time.Hour, 0.55}}

// perDoubling is how much higher the level is at which twice as many machines
// are all up, in standard deviations: the mean of the three zones in which one
// node and sixteen were probed.
const perDoubling = 0.286

// Traces makes n steps for each zone. The same seed makes the same traces.
func Traces(zones []Zone, n int, seed uint64) []Trace { return GangTraces(zones, n, seed, 1) }

// GangTraces is the same weather for gangs: a zone has spot while all of so many
// machines are up there at once.
func GangTraces(zones []Zone, n int, seed uint64, nodes int) []Trace {
	random := rand.New(rand.NewPCG(seed, 0x5311)) //nolint:gosec // Weather, not secrets.
	all := process(random, n)
	regions := map[string][]float64{}
	out := make([]Trace, 0, len(zones))
	for _, z := range zones {
		if regions[z.Region()] == nil {
			regions[z.Region()] = process(random, n)
		}
		own, shared := process(random, n), regions[z.Region()]
		level := quantile(1-z.Up) + perDoubling*math.Log2(float64(max(nodes, 1)))
		t := Trace{Zone: z, Has: make([]bool, n)}
		for i := range n {
			v := math.Sqrt(commonToAll)*all[i] + math.Sqrt(commonToRegion-commonToAll)*shared[i] + math.Sqrt(1-commonToRegion)*own[i]
			t.Has[i] = v > level
		}
		out = append(out, t)
	}
	return out
}

// process is a stationary Gaussian process of variance one.
func process(random *rand.Rand, n int) []float64 {
	out := make([]float64, n)
	for _, p := range parts {
		keep := math.Exp(-float64(Step) / float64(p.memory))
		fresh := math.Sqrt(1 - keep*keep)
		v, weight := random.NormFloat64(), math.Sqrt(p.share)
		for i := range out {
			out[i] += weight * v
			v = keep*v + fresh*random.NormFloat64()
		}
	}
	return out
}

// quantile is the standard normal distribution's.
func quantile(p float64) float64 { return math.Sqrt2 * math.Erfinv(2*p-1) }
