package bridge

import (
	"fmt"
	"slices"
	"time"

	"pgregory.net/rapid"
)

// drawWorld makes a random world, small enough that limits meet often: few
// shapes, pools that sell out, budgets on all levels, rentals in every state.
func drawWorld(t *rapid.T) (*Snapshot, spoken) {
	s := &Snapshot{Now: noon, MaxQueueAge: time.Minute}
	s.Offers = drawOffers(t)
	s.Budgets = rapid.SliceOfN(rapid.Custom(drawBudget), 0, 6).Draw(t, "budgets")
	policy := spoken{}
	for _, account := range []string{"a", "b", "c"} {
		if rapid.IntRange(0, 9).Draw(t, "has rule") > 0 {
			policy[account] = rapid.Custom(drawTerms).Draw(t, "terms")
		}
	}
	for _, name := range rapid.SampledFrom([][]string{{"c"}, {"c", "d"}}).Draw(t, "clusters") {
		s.Queues = append(s.Queues, drawQueue(t, name))
	}
	for i := range rapid.IntRange(0, 5).Draw(t, "rentals") {
		s.Rentals = append(s.Rentals, drawRental(t, NewRentalID(int64(i+1)), s))
	}
	for range rapid.IntRange(0, 2).Draw(t, "answers") {
		s.Answers = append(s.Answers, Answer{Jobs: []JobID{drawJobID(t)}, Why: ReasonDenied, Until: at(drawSpan(t))})
	}
	for range rapid.IntRange(0, 2).Draw(t, "down") {
		if len(s.Offers) > 0 {
			s.Pools = append(s.Pools, PoolHealth{Pool: rapid.SampledFrom(s.Offers).Draw(t, "pool").Pool, DownUntil: at(drawSpan(t))})
		}
	}
	s.Reclaims = map[string]map[JobID]int{"c": {drawJobID(t): rapid.IntRange(0, 3).Draw(t, "reclaims")}}
	s.Checkpoints, s.Hazards = drawCheckpoints(t), drawHazards(t, s.Offers)
	return s, policy
}

func drawCheckpoints(t *rapid.T) map[string]map[JobID]Checkpoint {
	marks := map[JobID]Checkpoint{}
	for range rapid.IntRange(0, 6).Draw(t, "checkpoints") {
		minutes := func(label string, most int) time.Duration {
			return time.Duration(rapid.IntRange(0, most).Draw(t, label)) * time.Minute
		}
		marks[drawJobID(t)] = Checkpoint{At: noon.Add(-minutes("age", 120)), Done: minutes("done", 90), Every: minutes("every", 60)}
	}
	return map[string]map[JobID]Checkpoint{"c": marks}
}

func drawHazards(t *rapid.T, offers []Offer) []Hazard {
	var hs []Hazard
	for i := range offers {
		if o := &offers[i]; o.Pool.Market == Spot && rapid.Bool().Draw(t, "hazard") {
			hs = Lived(hs, o.Pool, time.Duration(rapid.IntRange(0, 50).Draw(t, "lived"))*time.Hour, noon)
			for range rapid.IntRange(0, 30).Draw(t, "taken") {
				hs = Reclaimed(hs, o.Pool, noon)
			}
		}
	}
	return hs
}

// drawOffers lists every pool once, as clouds do.
func drawOffers(t *rapid.T) []Offer {
	return rapid.SliceOfNDistinct(rapid.Custom(drawOffer), 0, 12, func(o Offer) Pool { return o.Pool }).Draw(t, "offers")
}

func drawSpan(t *rapid.T) time.Duration {
	return time.Duration(rapid.IntRange(-120, 240).Draw(t, "minutes")) * time.Minute
}

func drawJobID(t *rapid.T) JobID { return JobID(fmt.Sprint(rapid.IntRange(1, 14).Draw(t, "job"))) }

func drawShape(t *rapid.T, sizes []int) Shape {
	s := Shape{CPUs: rapid.SampledFrom(sizes).Draw(t, "cpus"), GPUs: rapid.SampledFrom([]int{0, 0, 1, 2, 4, 8}).Draw(t, "gpus")}
	s.MemoryMiB = int64(s.CPUs) * 1024
	if s.GPUs > 0 {
		s.GPUType = rapid.SampledFrom([]string{"", "a100", "h100"}).Draw(t, "type")
	}
	return s
}

func drawOffer(t *rapid.T) Offer {
	o := Offer{
		Pool: Pool{
			Cloud: rapid.SampledFrom([]string{"north", "south"}).Draw(t, "cloud"), Region: "r", Zone: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "zone"),
			Type: fmt.Sprint("t", rapid.IntRange(1, 4).Draw(t, "type")), Market: rapid.SampledFrom([]Market{OnDemand, Spot}).Draw(t, "market"),
		},
		Shape: drawShape(t, []int{16, 64}), Features: []string{"avx2"}, Rate: Rate{int64(rapid.IntRange(1, 12).Draw(t, "rate")) * Micro, "USD"},
		SampledAt: noon, MaxAge: time.Hour, Boot: time.Duration(rapid.IntRange(1, 5).Draw(t, "boot")) * time.Minute,
		Available: rapid.IntRange(-1, 4).Draw(t, "stock"), Step: rapid.SampledFrom([]time.Duration{0, time.Second, time.Hour}).Draw(t, "step"),
	}
	if o.Shape.GPUs > 0 && o.Shape.GPUType == "" {
		o.Shape.GPUType = "a100"
	}
	if rapid.IntRange(0, 3).Draw(t, "has a term") == 0 {
		o.Term, o.EarlyPM = 6*time.Hour, rapid.SampledFrom([]int{0, 500, 1000}).Draw(t, "early")
	}
	if rapid.IntRange(0, 5).Draw(t, "is of a contract") == 0 {
		o.Pool.Market, o.Rate.Micro, o.Contract = Reserved, 0, "c-"+o.Pool.Type
		o.Until = at(time.Duration(rapid.IntRange(0, 9).Draw(t, "ends")) * time.Hour)
	}
	if rapid.IntRange(0, 3).Draw(t, "is said more of") == 0 {
		o.Attributes = []Attribute{{Name: "iso27001", Until: noon.Add(time.Duration(rapid.IntRange(-30, 600).Draw(t, "until")) * time.Minute)}}
		o.Network = rapid.SampledFrom(networks).Draw(t, "network")
		o.Egress = Money{int64(rapid.IntRange(0, 9).Draw(t, "egress")) * Micro / 100, "USD"}
	}
	if rapid.IntRange(0, 9).Draw(t, "old price") == 0 {
		o.SampledAt = noon.Add(-2 * time.Hour)
	}
	if rapid.IntRange(0, 9).Draw(t, "elsewhere") == 0 {
		o.Rate.Currency = "CNY"
	}
	return o
}

func drawBudget(t *rapid.T) Balance {
	return Balance{
		Account: rapid.SampledFrom([]Account{"uni", "uni/ai", "uni/ai/x", "uni/ai/y", "uni/ai/x/ana"}).Draw(t, "account"), Period: "2026-11",
		Cloud: rapid.SampledFrom([]string{"", "", "north", "south"}).Draw(t, "of cloud"), GPU: rapid.SampledFrom([]string{"", "", "", "a100", "h100"}).Draw(t, "of class"),
		Limit: Money{int64(rapid.IntRange(0, 120).Draw(t, "limit")) * Micro, "USD"}, Posted: Money{int64(rapid.IntRange(0, 20).Draw(t, "posted")) * Micro, "USD"},
		Hard: rapid.Bool().Draw(t, "hard"),
	}
}

func drawTerms(t *rapid.T) *Terms {
	x := &Terms{
		Burst: true, Rule: "rule", Class: rapid.SampledFrom([]Class{P1, P2, P2}).Draw(t, "class"),
		Account: rapid.SampledFrom([]Account{"uni/ai/x", "uni/ai/y"}).Draw(t, "account"),
		Markets: rapid.SampledFrom([][]Market{{OnDemand}, {Spot}, {Spot, OnDemand}, {OnDemand, Spot}}).Draw(t, "markets"),
		Most:    rapid.SampledFrom([]int{0, 3, 8, 50}).Draw(t, "most"), Least: rapid.IntRange(0, 2).Draw(t, "least"),
		Life: rapid.SampledFrom([]time.Duration{time.Hour, 8 * time.Hour}).Draw(t, "life"), Wait: rapid.SampledFrom([]time.Duration{0, 30 * time.Minute}).Draw(t, "wait"),
		Reclaims: rapid.IntRange(0, 2).Draw(t, "reclaims"), Ask: rapid.Bool().Draw(t, "ask"), Share: rapid.Bool().Draw(t, "share"),
	}
	if rapid.IntRange(0, 4).Draw(t, "reserved only") == 0 {
		x.Class, x.Markets = P0, rapid.SampledFrom([][]Market{{Reserved}, {Reserved, OnDemand}, {Spot, Reserved}}).Draw(t, "markets of P0")
	}
	if rapid.IntRange(0, 3).Draw(t, "ceilings") == 0 {
		x.MaxRate = Rate{8 * Micro, "USD"}
		x.MaxCost = Money{40 * Micro, "USD"}
	}
	if rapid.IntRange(0, 2).Draw(t, "has a checkpoint rule") == 0 {
		x.Checkpoint = &CheckpointRule{Name: "rule", MaxAge: time.Duration(rapid.IntRange(0, 60).Draw(t, "max age")) * time.Minute, Required: rapid.Bool().Draw(t, "required")}
	}
	if rapid.IntRange(0, 3).Draw(t, "asks of providers") == 0 {
		x.Attributes, x.Network = []string{"iso27001"}, rapid.SampledFrom(networks[:2]).Draw(t, "network")
	}
	if rapid.IntRange(0, 2).Draw(t, "moves data") == 0 {
		x.DataGiB, x.CheckpointGiB = int64(rapid.IntRange(0, 200).Draw(t, "data")), int64(rapid.IntRange(0, 200).Draw(t, "checkpoint"))
	}
	x.Progress = rapid.Bool().Draw(t, "progress")
	if rapid.IntRange(0, 3).Draw(t, "asks above") == 0 {
		x.AskAbove = Money{20 * Micro, "USD"}
	}
	return x
}

func drawQueue(t *rapid.T, name string) Queue {
	q := Queue{Cluster: name, ObservedAt: noon.Add(-time.Second)}
	for i := range rapid.IntRange(0, 14).Draw(t, "jobs") {
		q.Demands = append(q.Demands, drawDemand(t, name, i+1))
	}
	for i := range rapid.IntRange(0, 2).Draw(t, "nodes") {
		n := Node{Name: fmt.Sprint("n", i), Usable: true, Partitions: []string{"p"}, Shape: Shape{CPUs: 64, MemoryMiB: 1 << 20, GPUs: 8, GPUType: "a100"}}
		n.Free = n.Shape
		n.Free.GPUs = rapid.SampledFrom([]int{0, 2, 8}).Draw(t, "free")
		q.Nodes = append(q.Nodes, n)
	}
	return q
}

func drawDemand(t *rapid.T, cluster string, i int) Demand {
	d := Demand{
		Cluster: cluster, Job: JobID(fmt.Sprint(i)), User: rapid.SampledFrom([]string{"ana", "bo"}).Draw(t, "user"),
		Account: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "account"), Partition: rapid.SampledFrom([]string{"p", "q"}).Draw(t, "partition"),
		Shape: drawShape(t, []int{1, 4, 16}), Nodes: rapid.SampledFrom([]int{1, 1, 1, 2, 3}).Draw(t, "nodes"), Count: rapid.SampledFrom([]int{1, 1, 1, 5}).Draw(t, "count"),
		Priority: int64(rapid.IntRange(0, 3).Draw(t, "priority")), Submitted: noon.Add(-time.Hour), TimeLimit: time.Duration(rapid.IntRange(0, 20).Draw(t, "limit")) * 10 * time.Minute,
		Restartable: rapid.Bool().Draw(t, "restartable"), Standing: rapid.SampledFrom([]Standing{StandingHelps, StandingBehind, StandingBehind, StandingSoon, StandingUser}).Draw(t, "standing"),
	}
	d.Shape.Exclusive = rapid.IntRange(0, 5).Draw(t, "exclusive") == 0
	if rapid.IntRange(0, 5).Draw(t, "constraint") == 0 {
		d.Shape.Features = [][]string{{"avx2", "avx512"}}
	}
	d.Eligible = d.Submitted.Add(time.Duration(rapid.IntRange(0, 60).Draw(t, "eligible")) * time.Minute)
	d.Restarts = rapid.IntRange(0, 2).Draw(t, "restarts")
	if rapid.IntRange(0, 9).Draw(t, "late") == 0 {
		d.Deadline = noon.Add(time.Hour)
	}
	return d
}

// drawRental makes a rental as it would stand in the store, and its nodes in
// the queue if it is admitted.
func drawRental(t *rapid.T, id RentalID, s *Snapshot) Rental {
	r := Rental{
		ID: id, State: rapid.SampledFrom([]State{StateWaiting, StateLaunching, StateJoining, StateAdmitted, StateDraining, StateReleasing}).Draw(t, "state"),
		Since: noon.Add(-time.Hour), Cluster: "c", Account: rapid.SampledFrom([]Account{"uni/ai/x/ana", "uni/ai/y/bo"}).Draw(t, "account"), Requester: "ana",
		Jobs: []JobID{drawJobID(t)}, Gang: 1, Count: rapid.IntRange(1, 3).Draw(t, "count"),
		Pool:  Pool{"north", "r", "a", "t1", rapid.SampledFrom([]Market{OnDemand, Spot}).Draw(t, "market")},
		Shape: Shape{CPUs: 64, MemoryMiB: 1 << 18, GPUs: 8, GPUType: "a100"}, MaxRate: Rate{2 * Micro, "USD"},
		Idle: 10 * time.Minute, Expires: at(drawSpan(t)),
	}
	if r.State != StateAdmitted {
		return r
	}
	for i := range r.Count {
		m := Machine{Ordinal: i, Node: NodeName(id, i), State: rapid.SampledFrom([]MachineState{MachineJoined, MachineJoined, MachineNoticed, MachineGone}).Draw(t, "machine"), Started: noon.Add(-time.Hour)}
		r.Machines = append(r.Machines, m)
		n := Node{Name: m.Node, Usable: m.State == MachineJoined, Dynamic: true, Shape: r.Shape, Free: r.Shape}
		if rapid.Bool().Draw(t, "busy") {
			n.Free = Shape{}
			s.Queues[0].Runs = append(s.Queues[0].Runs, Run{Job: "99", Nodes: []string{m.Node}})
		} else {
			r.IdleSince = noon.Add(-20 * time.Minute)
		}
		s.Queues[0].Nodes = append(s.Queues[0].Nodes, n)
	}
	return r
}

// copySnapshot shares no list with s, so that it can be shuffled or changed.
func copySnapshot(s *Snapshot) *Snapshot {
	n := *s
	n.Offers, n.Rentals, n.Budgets = slices.Clone(s.Offers), slices.Clone(s.Rentals), slices.Clone(s.Budgets)
	n.Pools, n.Answers, n.Queues = slices.Clone(s.Pools), slices.Clone(s.Answers), slices.Clone(s.Queues)
	for i := range n.Queues {
		q := &n.Queues[i]
		q.Demands, q.Nodes, q.Runs = slices.Clone(q.Demands), slices.Clone(q.Nodes), slices.Clone(q.Runs)
	}
	return &n
}
