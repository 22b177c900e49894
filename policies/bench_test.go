package policies

import (
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"spillway.sh/spillway/bridge"
)

// manyDemands are distinct jobs of 5,000 shapes, 40 accounts and 400 users,
// drawn with a fixed seed; their time limits alone have 48 values, so most of
// them differ in what a policy looks at.
func manyDemands(n int) []bridge.Demand {
	out := make([]bridge.Demand, n)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range out {
		shape := r.IntN(5000)
		out[i] = bridge.Demand{
			Cluster: "main", Job: bridge.JobID(fmt.Sprint(i)), Name: fmt.Sprintf("train-%d", i),
			User: fmt.Sprintf("u%03d", r.IntN(400)), Account: fmt.Sprintf("group-%d", r.IntN(40)), Partition: "gpu", QOS: []string{"normal", "long", "debug", "core"}[r.IntN(4)],
			Shape: bridge.Shape{CPUs: 1 + shape%64, MemoryMiB: int64(1024 * (1 + shape/64)), GPUs: shape % 9},
			Nodes: 1 + r.IntN(4), Count: 1, TimeLimit: time.Duration(1+r.IntN(48)) * time.Hour, Restartable: r.IntN(3) != 0,
		}
	}
	return out
}

// BenchmarkTerms100k judges 100,000 distinct jobs; one operation is all of
// them, as in one decision. "again" is the state of every cycle but the first:
// new figures of the cluster, jobs of kinds that were seen before.
func BenchmarkTerms100k(b *testing.B) {
	data, err := os.ReadFile("examples/university.yaml")
	if err != nil {
		b.Fatal(err)
	}
	file, err := Parse("university.yaml", data)
	if err != nil {
		b.Fatal(err)
	}
	demands := manyDemands(100_000)
	all := func(p bridge.Policy, cycle int) {
		f := &bridge.Facts{Cluster: "main", Pending: len(demands), OldestWait: time.Hour + time.Duration(cycle)*time.Second, UtilisationPM: 950}
		for i := range demands {
			if p.Terms(&demands[i], f) == nil {
				b.Fatal("no terms")
			}
		}
	}
	b.Run("first", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			all(file.Policy(), i)
		}
	})
	b.Run("again", func(b *testing.B) {
		p := file.Policy()
		all(p, 0)
		b.ReportAllocs()
		for i := 1; b.Loop(); i++ {
			all(p, i)
		}
	})
}
