package bridge

import (
	"testing"
	"time"
)

var gpuPool = Pool{Cloud: "aws", Region: "r1", Zone: "r1a", Type: "g8", Market: Spot}

func TestRefusalReachesWhatItIsAbout(t *testing.T) {
	for name, c := range map[string]struct {
		reach Reach
		other Pool
		want  bool
	}{
		"the pool itself":                      {ReachPool, gpuPool, true},
		"a pool says nothing of its neighbour": {ReachPool, Pool{"aws", "r1", "r1b", "g8", Spot}, false},
		"a quota counts in every zone":         {ReachZones, Pool{"aws", "r1", "r1b", "g8", Spot}, true},
		"a spot quota leaves on demand alone":  {ReachZones, Pool{"aws", "r1", "r1a", "g8", OnDemand}, false},
		"a quota of one type leaves others":    {ReachZones, Pool{"aws", "r1", "r1a", "c4", Spot}, false},
		"a region has all of its pools":        {ReachRegion, Pool{"aws", "r1", "r1b", "c4", OnDemand}, true},
		"a region leaves the next one":         {ReachRegion, Pool{"aws", "r2", "r2a", "g8", Spot}, false},
		"a cloud has all of its regions":       {ReachCloud, Pool{"aws", "r2", "r2a", "c4", OnDemand}, true},
		"a cloud leaves the others":            {ReachCloud, Pool{"b", "r1", "r1a", "g8", Spot}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := Snapshot{Now: noon, Pools: []PoolHealth{{Pool: c.reach.Of(gpuPool), DownUntil: noon.Add(time.Minute)}}}
			downs := newDowns(&s)
			if until := downs.until(c.other); until.IsZero() == c.want {
				t.Errorf("down until %s, want down: %t", until, c.want)
			}
			s.Now = noon.Add(time.Minute)
			downs = newDowns(&s)
			if until := downs.until(c.other); !until.IsZero() {
				t.Errorf("still down after its rest, until %s", until)
			}
		})
	}
}

// Of two offers alike, the next choice after a zone was sold out is another
// region, even where that is a little dearer on spot; a much dearer one is not
// worth it.
func TestAnotherRegionIsAskedBeforeAnotherZone(t *testing.T) {
	for name, c := range map[string]struct {
		market Market
		dearer int64 // per mille, of the other region
		want   string
	}{
		"spot, as dear":         {Spot, 0, "r2"},
		"spot, 3 % dearer":      {Spot, 30, "r2"},
		"spot, 20 % dearer":     {Spot, 200, "r1"},
		"on demand, as dear":    {OnDemand, 0, "r2"},
		"on demand, 3 % dearer": {OnDemand, 30, "r1"},
	} {
		t.Run(name, func(t *testing.T) {
			offer := func(region, zone string, micro int64) Offer {
				return Offer{
					Pool: Pool{"aws", region, zone, "g8", c.market}, Shape: Shape{CPUs: 8, MemoryMiB: 1000, GPUs: 8, GPUType: "a100"},
					Rate: Rate{micro, "USD"}, SampledAt: noon, MaxAge: time.Hour, Available: -1, Step: time.Second,
				}
			}
			s := Snapshot{
				Now: noon, MaxQueueAge: time.Minute,
				Offers:  []Offer{offer("r1", "r1a", 8e6), offer("r1", "r1b", 8e6), offer("r2", "r2a", 8e6+8e3*c.dearer)},
				Pools:   []PoolHealth{{Pool: Pool{"aws", "r1", "r1a", "g8", c.market}, DownUntil: noon.Add(time.Minute), Failures: 1}},
				Budgets: []Balance{{Account: "uni", Period: "2026-11", Limit: Money{1e12, "USD"}}},
				Queues: []Queue{{Cluster: "c", ObservedAt: noon, Demands: []Demand{{
					Cluster: "c", Job: "1", Count: 1, Nodes: 1, User: "ann", Account: "x", Standing: StandingHelps, Restartable: true,
					Shape: Shape{CPUs: 1, GPUs: 8}, TimeLimit: time.Hour, Submitted: noon.Add(-time.Hour), Eligible: noon.Add(-time.Hour),
				}}}},
			}
			terms := &Terms{Burst: true, Rule: "all", Class: P1, Account: "uni/ai/llm", Markets: []Market{c.market}, Most: 9, Life: 4 * time.Hour}
			p := Decide(&s, spoken{"x": terms})
			if len(p.Rent) != 1 || p.Rent[0].Offer.Pool.Region != c.want {
				t.Fatalf("orders %+v, verdicts %+v; want one in %s", p.Rent, p.Verdicts, c.want)
			}
		})
	}
}
