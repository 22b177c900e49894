package bridge

import (
	"testing"
	"time"
)

type fixed struct{ t Terms }

func (f fixed) Terms(*Demand, *Facts) *Terms { return &f.t }

func TestSmoke(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	offer := func(cloud string, g int, rate int64, m Market, stock int) Offer {
		return Offer{Pool: Pool{cloud, "r", "z", "g8", m}, Shape: Shape{CPUs: 64, MemoryMiB: 256000, GPUs: g, GPUType: "a100"}, Rate: Rate{rate * Micro, "USD"}, SampledAt: now, MaxAge: time.Hour, Boot: time.Minute, Available: stock}
	}
	s := &Snapshot{Now: now, MaxQueueAge: time.Minute, Offers: []Offer{offer("a", 8, 10, OnDemand, -1), offer("b", 8, 3, Spot, 3)},
		Budgets: []Balance{{Account: "o/t/p", Limit: Money{100 * Micro, "USD"}}}}
	q := Queue{Cluster: "c", ObservedAt: now}
	for i := range 8 {
		q.Demands = append(q.Demands, Demand{Cluster: "c", Job: JobID(rune('1' + i)), User: "alice", Shape: Shape{CPUs: 8, GPUs: 8}, Nodes: 1 + i/7, Count: 1, Eligible: now.Add(-time.Hour), Submitted: now.Add(-time.Hour), TimeLimit: time.Hour, Standing: StandingHelps, Restartable: true})
	}
	s.Queues = []Queue{q}
	p := Decide(s, fixed{Terms{Burst: true, Class: P2, Account: "o/t/p", Markets: []Market{Spot, OnDemand}, Most: 20, Ask: true, AskFor: time.Hour, Life: 4 * time.Hour}})
	for _, v := range p.Verdicts {
		t.Logf("%+v", v)
	}
	for _, o := range p.Rent {
		t.Logf("%+v", o)
	}
}
