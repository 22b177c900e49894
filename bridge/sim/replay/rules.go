package replay

import (
	"fmt"
	"slices"
	"time"

	"spillway.sh/spillway/bridge"
)

// Rules is what the daemon does: bridge.Decide over a snapshot with a demand,
// what is on offer, pools that rest and hazards. It does not know where spot
// machines are to be had: it asks, and a pool that has none rests. What runs on
// demand stays there, as the engine never takes a running job off.
type Rules struct {
	Zones []Zone
	Nodes int // of the job's gang
	// CheckpointGiB moves with the job to another region, for Egress a GiB.
	CheckpointGiB int64
	Egress        bridge.Money
	// Asked counts the creates, Refused those that found a pool without machines.
	Asked, Refused int

	decider *bridge.Decider
	hazards []bridge.Hazard
	pools   []bridge.PoolHealth
}

// The engine's own, as they are unless a site sets others.
const (
	poolDown = 30 * time.Second
	poolMost = 30 * time.Minute
)

const (
	cluster  = "main"
	theJob   = bridge.JobID("1")
	currency = bridge.Currency("USD")
	// onDemand is what a p3.2xlarge costs an hour in us-east-1, in millionths.
	onDemand = 3_060_000
)

// Terms makes the strategy its own policy: spot before on demand, by pace.
func (s *Rules) Terms(d *bridge.Demand, _ *bridge.Facts) *bridge.Terms {
	return &bridge.Terms{
		Burst: true, Rule: "paced", Class: bridge.P2, Account: "uni/ai/llm", Markets: []bridge.Market{bridge.Spot, bridge.OnDemand},
		Most: 2 * d.Nodes, Life: 2 * d.TimeLimit, Progress: true, Work: d.TimeLimit, CheckpointGiB: s.CheckpointGiB,
	}
}

func (s *Rules) pool(zone int) bridge.Pool {
	z := s.Zones[zone]
	return bridge.Pool{Cloud: "aws", Region: z.Region(), Zone: z.Name, Type: "p3.2xlarge", Market: bridge.Spot}
}

// Taken is a reclaim: the pool rests, longer with each that is not forgotten.
func (s *Rules) Taken(zone int, at time.Duration) {
	now, p := start.Add(at), s.pool(zone)
	s.hazards = bridge.Reclaimed(s.hazards, p, now)
	rest := bridge.HazardOf(s.hazards, p).Rest(now, poolDown, poolMost)
	s.pools = bridge.Rested(s.pools, p, "reclaimed", now, rest)
}

// Choose asks for machines until some are had, or nothing more is to be asked.
func (s *Rules) Choose(v *View) Place {
	now := v.now()
	switch v.At.Market {
	case bridge.Spot:
		s.hazards = bridge.Lived(s.hazards, s.pool(v.At.Zone), time.Duration(max(s.Nodes, 1))*Step, now)
		return v.At
	case bridge.OnDemand:
		return v.At
	case bridge.Reserved:
	}
	if s.decider == nil {
		s.decider = bridge.NewDecider(s)
	}
	for {
		plan := s.decider.Decide(s.snapshot(v))
		if len(plan.Rent) == 0 {
			return Place{}
		}
		o := &plan.Rent[0]
		if o.Count != max(s.Nodes, 1) || len(plan.Rent) > 1 || o.Ask != "" {
			panic(fmt.Sprintf("one gang of %d was wanted, ordered were %+v", s.Nodes, plan.Rent))
		}
		s.Asked++
		if o.Offer.Pool.Market == bridge.OnDemand {
			return Place{Market: bridge.OnDemand}
		}
		zone := slices.IndexFunc(s.Zones, func(z Zone) bool { return z.Name == o.Offer.Pool.Zone })
		if v.Has[zone] {
			s.pools = bridge.Delivered(s.pools, o.Offer.Pool, now)
			return Place{bridge.Spot, zone}
		}
		s.Refused++
		s.pools = bridge.Refused(s.pools, o.Offer.Pool, bridge.CloudNoCapacity, "InsufficientInstanceCapacity", now, poolDown, poolMost)
	}
}

// snapshot is what the daemon sees while the job waits.
func (s *Rules) snapshot(v *View) *bridge.Snapshot {
	now := v.now()
	d := bridge.Demand{
		Cluster: cluster, Job: theJob, Name: "train", User: "ann", Account: "llm", Partition: "gpu", Nodes: max(s.Nodes, 1), Count: 1,
		Shape: bridge.Shape{CPUs: 8, MemoryMiB: 60_000, GPUs: 1, GPUType: "v100"}, TimeLimit: v.Job.Work,
		Submitted: start, Eligible: start, Deadline: start.Add(v.Job.Deadline), Restartable: true, Standing: bridge.StandingHelps,
	}
	snap := &bridge.Snapshot{
		Now: now, MaxQueueAge: time.Minute, Pools: s.pools, Hazards: s.hazards,
		Queues:  []bridge.Queue{{Cluster: cluster, ObservedAt: now, Demands: []bridge.Demand{d}}},
		Budgets: []bridge.Balance{{Account: "uni", Period: "2026", Limit: bridge.Money{Micro: 1e15, Currency: currency}}},
		Checkpoints: map[string]map[bridge.JobID]bridge.Checkpoint{cluster: {theJob: {
			Job: theJob, At: now, Done: v.Safe, Every: v.Job.Every,
		}}},
	}
	for i := range s.Zones {
		spot := s.offer(s.pool(i), int64(spotPrice*onDemand), v, now)
		dear := spot
		dear.Pool.Market, dear.Rate.Micro, dear.Notice = bridge.OnDemand, onDemand, 0
		snap.Offers = append(snap.Offers, spot, dear)
	}
	return snap
}

func (s *Rules) offer(p bridge.Pool, micro int64, v *View, now time.Time) bridge.Offer {
	return bridge.Offer{
		Pool: p, Shape: bridge.Shape{CPUs: 8, MemoryMiB: 61_000, GPUs: 1, GPUType: "v100"}, Rate: bridge.Rate{Micro: micro, Currency: currency},
		SampledAt: now, MaxAge: time.Hour, Boot: v.Job.Restart + Step, Available: -1, Step: time.Second, Minimum: time.Minute,
		Notice: 2 * time.Minute, Egress: s.Egress,
	}
}
