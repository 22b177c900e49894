package bridge_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sort"
	"strings"
	"syscall"
	"testing"
	"time"

	"cel.dev/cel-go/cel"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/policies"
)

// benchPolicy is a file as a large site might have it: conditions about jobs
// and about the cluster, and budgets on three levels.
const benchPolicy = `
version: 1
organisation: uni
currency: USD
mode: burst
roles: {approvers: [ana]}
accounts:
  - {account: "phys-*", to: "physics/{account}"}
  - {account: "bio-*", to: "biology/{account}"}
  - {account: "*", to: "all/{account}"}
opt_out:
  partitions: [interactive]
  users: [root]
rules:
  - {name: core, when: 'job.qos == "core"', class: P0}
  - {name: wide, when: 'job.nodes > 1 && job.restartable', class: P2, wait: 5m, most: 4000, ask: true, max_rate: 60 USD/h}
  - {name: gpu, when: 'job.gpus > 0 && cluster.oldest_wait > duration("15m")', class: P2, wait: 5m, most: 4000}
  - {name: short, when: 'job.time_limit <= duration("2h")', class: P1, wait: 10m, most: 2000}
  - {name: everyone, class: P1, wait: 30m, most: 2000, ask_above: 2000 USD, ask: true}
budgets:
  - {account: uni, every: month, zone: UTC, limit: 2000000 USD, hard: true}
  - {account: uni/physics, every: month, zone: UTC, limit: 300000 USD}
  - {account: uni/biology, every: month, zone: UTC, limit: 200000 USD}
  - {account: uni/all, every: month, zone: UTC, limit: 100000 USD}
`

const benchJobs, benchShapes, benchOffers = 100_000, 5_000, 500

var benchNow = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// benchWorld makes a queue of distinct jobs: no two share shape, time limit,
// priority, user and time of submission.
func benchWorld(tb testing.TB) *bridge.Snapshot {
	tb.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	s := &bridge.Snapshot{Now: benchNow, MaxQueueAge: time.Minute, Offers: benchMarket(rng)}
	shapes := make([]bridge.Shape, 0, benchShapes)
	for i := range benchShapes {
		g := []int{0, 0, 1, 1, 2, 4, 8}[i%7]
		shape := bridge.Shape{CPUs: 1 + i%64, MemoryMiB: int64(1024 + 37*i), GPUs: g, Exclusive: i%29 == 0}
		if g > 0 {
			shape.GPUType = []string{"", "a100", "h100", "l4"}[i/7%4]
		}
		if i%11 == 0 {
			shape.Features = [][]string{{"avx512", "avx2"}}
		}
		shapes = append(shapes, shape)
	}
	q := bridge.Queue{Cluster: "main", ObservedAt: benchNow}
	for i := range benchJobs {
		q.Demands = append(q.Demands, benchJob(rng, i, shapes[i%benchShapes]))
	}
	rng.Shuffle(len(q.Demands), func(i, k int) { q.Demands[i], q.Demands[k] = q.Demands[k], q.Demands[i] })
	for i := range 2000 {
		q.Nodes = append(q.Nodes, bridge.Node{
			Name: fmt.Sprintf("node%04d", i), Usable: true, Responding: true, Partitions: []string{"gpu", "cpu"},
			Shape: bridge.Shape{CPUs: 64, MemoryMiB: 512 << 10, GPUs: 8, GPUType: "a100"},
		})
	}
	s.Queues = []bridge.Queue{q}
	money := func(usd int64) bridge.Money { return bridge.Money{Micro: usd * bridge.Micro, Currency: "USD"} }
	s.Budgets = []bridge.Balance{
		{Account: "uni", Period: "2026-11", Limit: money(2_000_000), Posted: money(250_000), Hard: true},
		{Account: "uni/physics", Period: "2026-11", Limit: money(300_000), Held: money(1_000)},
		{Account: "uni/biology", Period: "2026-11", Limit: money(200_000)},
		{Account: "uni/all", Period: "2026-11", Limit: money(100_000)},
	}
	return s
}

func benchJob(rng *rand.Rand, i int, shape bridge.Shape) bridge.Demand {
	at := benchNow.Add(-time.Duration(rng.IntN(7*24*3600)) * time.Second)
	d := bridge.Demand{
		Cluster: "main", Job: bridge.JobID(fmt.Sprint(1_000_000 + i)), Name: fmt.Sprintf("train-%d", i),
		User:    fmt.Sprintf("user%03d", rng.IntN(300)),
		Account: []string{"phys-hep", "phys-astro", "bio-seq", "bio-fold", "chem", "math", "cs", "geo"}[rng.IntN(8)],
		QOS:     "normal", Partition: "gpu", Shape: shape, Nodes: 1, Count: 1,
		Priority: int64(rng.IntN(1 << 30)), Submitted: at, Eligible: at,
		TimeLimit: time.Duration(5+rng.IntN(48*60)) * time.Minute, Restartable: rng.IntN(10) > 0,
		Standing: bridge.StandingBehind, Word: "Priority",
	}
	switch {
	case rng.IntN(50) == 0:
		d.Nodes = 2 + rng.IntN(15)
	case rng.IntN(50) == 0:
		d.Count = 1 + rng.IntN(100)
	case rng.IntN(20) == 0:
		d.Standing, d.Word = bridge.StandingUser, "Dependency"
	case rng.IntN(200) == 0:
		d.QOS = "core"
	}
	if shape.GPUs == 0 {
		d.Partition = "cpu"
	}
	return d
}

// benchMarket is 5 clouds with 25 types each, in 2 zones, on demand and spot.
func benchMarket(rng *rand.Rand) []bridge.Offer {
	var out []bridge.Offer
	for c := range 5 {
		for k := range 25 {
			g := []int{0, 0, 1, 4, 8}[k%5]
			shape := bridge.Shape{CPUs: 8 << (k / 5), MemoryMiB: int64(32<<10) << (k / 5), DiskMiB: 500 << 10, GPUs: g}
			shape.CPUs += c // no two clouds have quite the same machine
			rate := int64(shape.CPUs) * 45_000
			if g > 0 {
				shape.GPUType = []string{"l4", "a100", "h100"}[(c+k/5)%3]
				rate += int64(g) * 1_900_000
			}
			for z := range 2 {
				for _, m := range []bridge.Market{bridge.OnDemand, bridge.Spot} {
					o := bridge.Offer{
						Pool:  bridge.Pool{Cloud: fmt.Sprintf("cloud%d", c), Region: "r1", Zone: fmt.Sprintf("z%d", z), Type: fmt.Sprintf("t%d", k), Market: m},
						Shape: shape, Features: []string{"avx2"}, Rate: bridge.Rate{Micro: rate + int64(rng.IntN(100_000)), Currency: "USD"},
						SampledAt: benchNow, MaxAge: time.Hour, Boot: time.Duration(40+10*c) * time.Second, Available: -1, Step: time.Second, Minimum: time.Minute,
					}
					if m == bridge.Spot {
						o.Rate.Micro, o.Available = o.Rate.Micro/3, 20+rng.IntN(100)
					}
					out = append(out, o)
				}
			}
		}
	}
	return out[:benchOffers]
}

// later is the same world as read again: nothing shares memory with s, and one
// in a hundred jobs is gone, new or changed.
func later(s *bridge.Snapshot, changes bool) *bridge.Snapshot {
	n := *s
	n.Now = s.Now.Add(time.Second)
	q := s.Queues[0]
	q.ObservedAt = n.Now
	q.Demands = slices.Clone(q.Demands)
	for i := range q.Demands {
		d := &q.Demands[i]
		for _, f := range []*string{(*string)(&d.Job), &d.Cluster, &d.Name, &d.User, &d.Account, &d.Partition, &d.QOS, &d.Word, (*string)(&d.Standing), &d.Shape.GPUType} {
			*f = strings.Clone(*f)
		}
		if !changes || i%100 != 0 {
			continue
		}
		switch i / 100 % 3 {
		case 0:
			d.Priority += 1000
		case 1:
			d.Job = bridge.JobID(fmt.Sprint(2_000_000 + i))
		case 2:
			d.Standing = bridge.StandingHelps
		}
	}
	n.Queues = []bridge.Queue{q}
	return &n
}

func benchFile(tb testing.TB) *policies.File {
	tb.Helper()
	f, err := policies.Parse("bench.yaml", []byte(benchPolicy))
	if err != nil {
		tb.Fatal(err)
	}
	return f
}

// BenchmarkDecide100kJobs decides from nothing: a new Decider and a new policy
// each time, so that CEL and budgets are inside. Beside it stand what cannot be
// saved, to be compared in one run: putting the same jobs in order, and a plain
// loop that evaluates one CEL condition for each.
func BenchmarkDecide100kJobs(b *testing.B) {
	s, f := benchWorld(b), benchFile(b)
	b.Run("decide", func(b *testing.B) {
		b.ReportAllocs()
		cpu := cpuTime()
		var p bridge.Plan
		for b.Loop() {
			p = bridge.NewDecider(f.Policy()).Decide(s)
		}
		reportPlan(b, &p, cpu)
	})
	b.Run("floor-sort", func(b *testing.B) {
		order := make([]*bridge.Demand, benchJobs)
		cpu := cpuTime()
		for b.Loop() {
			for i := range order {
				order[i] = &s.Queues[0].Demands[i]
			}
			sort.Slice(order, func(i, k int) bool {
				x, y := order[i], order[k]
				return x.Priority > y.Priority || x.Priority == y.Priority && x.Job < y.Job
			})
		}
		reportCPU(b, cpu)
	})
	b.Run("one-CEL-per-job", func(b *testing.B) {
		program := benchCondition(b)
		cpu := cpuTime()
		for b.Loop() {
			for i := range s.Queues[0].Demands {
				d := &s.Queues[0].Demands[i]
				facts := map[string]any{"gpus": d.Shape.GPUs, "nodes": d.Nodes, "limit": d.TimeLimit}
				if _, _, err := program.Eval(facts); err != nil {
					b.Fatal(err)
				}
			}
		}
		reportCPU(b, cpu)
	})
}

func benchCondition(tb testing.TB) cel.Program {
	tb.Helper()
	env, err := cel.NewEnv(cel.Variable("gpus", cel.IntType), cel.Variable("nodes", cel.IntType), cel.Variable("limit", cel.DurationType))
	if err != nil {
		tb.Fatal(err)
	}
	ast, issues := env.Compile(`gpus > 0 && nodes == 1 || limit <= duration("2h")`)
	if issues.Err() != nil {
		tb.Fatal(issues.Err())
	}
	program, err := env.Program(ast)
	if err != nil {
		tb.Fatal(err)
	}
	return program
}

// BenchmarkDecideIncremental100kJobs decides again a second later.
func BenchmarkDecideIncremental100kJobs(b *testing.B) {
	for name, changes := range map[string]bool{"unchanged": false, "changed=1%": true} {
		b.Run(name, func(b *testing.B) {
			s, f := benchWorld(b), benchFile(b)
			worlds := []*bridge.Snapshot{s, later(s, changes)}
			d := bridge.NewDecider(f.Policy())
			p := d.Decide(worlds[0])
			b.ReportAllocs()
			cpu := cpuTime()
			for i := 1; b.Loop(); i++ {
				p = d.Decide(worlds[i%2])
			}
			reportPlan(b, &p, cpu)
		})
	}
}

// cpuTime is what this process has used of all processors: on a machine that is
// shared it says more than the clock.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func reportCPU(b *testing.B, since time.Duration) {
	b.ReportMetric(float64((cpuTime()-since).Microseconds())/1000/float64(b.N), "cpu-ms/op")
}

func reportPlan(b *testing.B, p *bridge.Plan, cpu time.Duration) {
	reportCPU(b, cpu)
	machines, jobs := 0, 0
	for i := range p.Rent {
		machines += p.Rent[i].Count
		jobs += len(p.Rent[i].Jobs)
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	b.ReportMetric(float64(len(p.Verdicts)), "jobs/op")
	b.ReportMetric(float64(len(p.Rent)), "orders/op")
	b.ReportMetric(float64(machines), "machines/op")
	b.ReportMetric(float64(jobs), "bought/op")
	b.ReportMetric(float64(m.Sys)/(1<<20), "sys-MiB")
}
