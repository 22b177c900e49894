package bridge_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"spillway.sh/spillway/bridge"
)

// choiceWorld is 500 offers that differ in all that the choice weighs, and demands
// of which no two share anything, so that nothing is remembered from one to the
// next.
func choiceWorld() (bridge.Snapshot, []bridge.Demand, []*bridge.Terms) {
	rng := rand.New(rand.NewPCG(3, 4))
	s := bridge.Snapshot{Now: benchNow, MaxQueueAge: time.Minute, Offers: benchMarket(rng)}
	for i := range s.Offers {
		o := &s.Offers[i]
		o.Pool.Region = fmt.Sprintf("r%d", rng.IntN(6))
		o.Network = []bridge.Network{bridge.NetworkPlain, bridge.NetworkFast, bridge.NetworkRDMA}[rng.IntN(3)]
		o.Egress = bridge.Money{Micro: int64(rng.IntN(120_000)), Currency: "USD"}
		o.Attributes = []bridge.Attribute{{Name: "iso27001", Until: benchNow.Add(time.Duration(rng.IntN(400*24)) * time.Hour)}, {Name: "data-cn"}}
		if o.Pool.Market == bridge.Spot {
			s.Hazards = bridge.Reclaimed(bridge.Lived(s.Hazards, o.Pool, time.Duration(rng.IntN(100))*time.Hour, benchNow), o.Pool, benchNow)
		}
		if i%20 == 0 {
			s.Pools = append(s.Pools, bridge.PoolHealth{Pool: o.Pool, DownUntil: benchNow.Add(time.Minute)})
		}
	}
	s.Budgets = []bridge.Balance{{Account: "uni", Period: "2026-12", Limit: bridge.Money{Micro: 1 << 50, Currency: "USD"}}}
	var demands []bridge.Demand
	var terms []*bridge.Terms
	for i := range 64 {
		g := []int{0, 1, 2, 4, 8}[i%5]
		d := benchJob(rng, i, bridge.Shape{CPUs: 1 + i%8, MemoryMiB: int64(1024 + i), GPUs: g, GPUType: []string{"", "a100", "h100", "l4"}[i/5%4]})
		d.Standing, d.Nodes, d.Restartable = bridge.StandingHelps, 1+i%2*3, true
		d.Deadline = benchNow.Add(d.TimeLimit + time.Duration(2+i%8)*time.Minute)
		demands = append(demands, d)
		terms = append(terms, &bridge.Terms{
			Burst: true, Class: bridge.P2, Account: "uni/a/b", Markets: []bridge.Market{bridge.Spot, bridge.OnDemand}, Most: 1000, Least: 1, Life: 60 * time.Hour, Idle: time.Minute,
			Attributes: []string{"iso27001"}, Network: bridge.NetworkFast, DataGiB: int64(10 + i), CheckpointGiB: int64(20 + i),
		})
	}
	return s, demands, terms
}

// same gives everybody the same terms.
type same struct{ terms *bridge.Terms }

func (p same) Terms(*bridge.Demand, *bridge.Facts) *bridge.Terms { return p.terms }

// BenchmarkChoice500 is one decision for one demand over 500 offers, from nothing:
// the catalog is made, and nothing is known of before. Beside it the same with a
// Decider that knows the offers, and the explanation line by line.
func BenchmarkChoice500(b *testing.B) {
	s, demands, terms := choiceWorld()
	worlds := make([]bridge.Snapshot, len(demands))
	bought := 0
	for i := range demands {
		worlds[i] = s
		worlds[i].Queues = []bridge.Queue{{Cluster: "main", ObservedAt: benchNow, Demands: demands[i : i+1]}}
		bought += len(bridge.Decide(&worlds[i], same{terms[i]}).Rent)
	}
	if bought < len(demands)/4 {
		b.Fatalf("only %d of %d demands are bought for", bought, len(demands))
	}
	b.Run("first", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			k := i % len(worlds)
			bridge.Decide(&worlds[k], same{terms[k]})
		}
	})
	b.Run("among-known-offers", func(b *testing.B) {
		b.ReportAllocs()
		all := s
		all.Queues = []bridge.Queue{{Cluster: "main", ObservedAt: benchNow, Demands: demands}}
		for b.Loop() {
			bridge.Decide(&all, each(terms))
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(demands)), "ns/demand")
	})
	b.Run("explained", func(b *testing.B) {
		b.ReportAllocs()
		lines := 0
		for i := 0; b.Loop(); i++ {
			k := i % len(worlds)
			lines += len(bridge.Compare(&worlds[k], &demands[k], terms[k]))
		}
		b.ReportMetric(float64(lines)/float64(b.N), "lines/op")
	})
	b.Run("prices", func(b *testing.B) {
		for b.Loop() {
			bridge.CheckPrices(s.Offers, nil)
		}
	})
}

// each gives each job terms of its own.
type each []*bridge.Terms

func (p each) Terms(d *bridge.Demand, _ *bridge.Facts) *bridge.Terms {
	var n int
	if _, err := fmt.Sscan(string(d.Job), &n); err != nil {
		return nil
	}
	return p[n-1_000_000]
}
