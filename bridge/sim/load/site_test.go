package load

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/desk"
	"spillway.sh/spillway/bridge/engine"
	"spillway.sh/spillway/bridge/store"
	"spillway.sh/spillway/policies"
	"spillway.sh/spillway/slurm"
)

// policy is one as a large site might have it. Its money is spent: the queue
// is as long as it is because of that, and each look asks anew.
const policy = `
version: 1
organisation: uni
currency: USD
mode: burst
roles: {approvers: [ana]}
accounts:
  - {account: "phys-*", to: "physics/{account}"}
  - {account: "bio-*", to: "biology/{account}"}
  - {account: "*", to: "all/{account}"}
rules:
  - {name: gpu, when: 'job.gpus > 4 && cluster.oldest_wait > duration("15m")', class: P2, wait: 5m, most: 4000}
  - {name: short, when: 'job.time_limit <= duration("2h")', class: P1, wait: 10m, most: 4000}
  - {name: everyone, class: P1, wait: 30m, most: 4000, idle: 1h}
budgets:
  - {account: uni, every: month, zone: UTC, limit: 2000000 USD, hard: true}
  - {account: uni/physics, every: month, zone: UTC, limit: 2000000 USD}
  - {account: uni/biology, every: month, zone: UTC, limit: 1000000 USD}
  - {account: uni/all, every: month, zone: UTC, limit: 1000000 USD}
  - {account: uni/physics/phys-hep, every: day, zone: UTC, limit: 1000000 USD}
  - {account: uni/all/chem, every: week, zone: UTC, limit: 700000 USD}
`

// site is all of it: an engine over a real store, and what it looks at.
type site struct {
	tb       testing.TB
	commands *commands
	format   []string
	machines []string
	cloud    *cloud
	engine   *engine.Engine
	now      time.Time
	epoch    int
}

// newSite has rentals that have been there for an hour. The store lies where
// a real one would, so that each commit waits for a disk.
func newSite(tb testing.TB) *site {
	tb.Helper()
	s := &site{tb: tb, format: format(tb), now: stamp.Add(-time.Hour), cloud: &cloud{}}
	st, err := store.Open(tb.Context(), tb.TempDir(), store.Options{Now: func() time.Time { return s.now }})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := st.Close(); err != nil {
			tb.Error(err)
		}
	})
	f, err := policies.Parse("load.yaml", []byte(policy))
	if err != nil {
		tb.Fatal(err)
	}
	for i := range rentals {
		s.rent(st, i, f.Budgets())
	}
	s.now = stamp
	s.cloud.store = st.StoreID()
	s.commands = &commands{jobs: queue(s.format, s.machines, 0, 0), nodes: nodes(s.machines), partitions: partitions()}
	s.engine, err = engine.New(engine.Options{
		Clusters: map[string]engine.Scheduler{"main": slurm.New(slurm.Options{Name: "main", Exec: s.commands.run, Now: func() time.Time { return s.now }})},
		Clouds:   []engine.Cloud{s.cloud}, Store: st, Policy: f.Policy(), Budgets: f.Budgets(), Currency: f.Currency(),
		Boot:    func(r *bridge.Rental, _ time.Time) (bridge.Boot, error) { return bridge.Boot{Expires: r.Expires}, nil },
		Explain: desk.English.Why, Clock: func() time.Time { return s.now }, Watch: f.Watch(),
		// Every look reads everything, and waits for it: the worst case, not the rule.
		Limits: engine.Limits{Longest: time.Second, Patience: time.Minute, ListEvery: time.Second, OffersEvery: time.Second},
	})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(s.engine.Close)
	return s
}

// rent puts one rental with all its machines and jobs into the books.
func (s *site) rent(st *store.Store, i int, budgets []bridge.Budget) {
	s.tb.Helper()
	ctx := s.tb.Context()
	id, err := st.NextID(ctx)
	if err != nil {
		s.tb.Fatal(err)
	}
	account := bridge.Account([]string{"uni/physics/phys-hep/", "uni/biology/bio-seq/", "uni/all/chem/"}[i%3] + fmt.Sprintf("user%03d", i))
	pool := market(i % offers).Pool
	rate := bridge.Rate{Micro: 20 * bridge.Micro, Currency: "USD"}
	hold := bridge.Money{Micro: 10_000 * bridge.Micro, Currency: "USD"}
	r := bridge.Rental{
		ID: id, State: bridge.StateLaunching, Since: s.now, Cluster: "main", Account: account, Requester: fmt.Sprintf("user%03d", i), Class: bridge.P1, Gang: 1, Origin: "gpu",
		Pool: pool, Shape: bridge.Shape{CPUs: 64, MemoryMiB: 512_000, GPUs: 8, GPUType: "a100"}, Rate: rate, MaxRate: rate, Step: time.Second, Count: perRental, Attempt: 1,
		Life: 24 * time.Hour, Idle: time.Hour, Hold: hold, Created: s.now, Expires: s.now.Add(24 * time.Hour), Why: bridge.ReasonAdmitted,
	}
	r.Launch = bridge.Launch{Rental: id, Attempt: 1, Pool: pool, Count: perRental, MaxRate: rate, Expires: r.Expires, UserData: strings.Repeat("a line of a boot script\n", 250), Tags: map[string]string{
		bridge.TagStore: st.StoreID(), bridge.TagCluster: "main", bridge.TagRental: string(id), bridge.TagAttempt: "1", bridge.TagAccount: string(account), bridge.TagExpires: r.Expires.Format(time.RFC3339),
	}}
	r.Launch.Token = bridge.Token(st.StoreID(), r.Launch)
	if r, err = st.Reserve(ctx, r, budgets); err != nil {
		s.tb.Fatal(err)
	}
	for k := range perRental {
		m := bridge.Machine{
			Ordinal: k, State: bridge.MachineJoined, ID: fmt.Sprintf("i-%s-%d", id, k), Node: bridge.NodeName(id, k), Address: "10.0.0.1", Rate: rate, Started: s.now, Joined: s.now,
		}
		r.Machines, r.Jobs = append(r.Machines, m), append(r.Jobs, bridge.JobID(strconv.Itoa(len(s.machines))))
		s.machines = append(s.machines, m.Node)
		s.cloud.instances = append(s.cloud.instances, bridge.Instance{
			ID: m.ID, Pool: pool, State: bridge.InstanceRunning, Address: m.Address, Tags: r.Launch.Tags, Token: r.Launch.Token, Rate: rate, Launched: s.now,
		})
	}
	r.Running = r.Jobs
	for _, next := range []bridge.State{bridge.StateJoining, bridge.StateAdmitted} {
		r.State = next
		if r, err = st.Save(ctx, r); err != nil {
			s.tb.Fatal(err)
		}
	}
}

// change makes so many of the waiting jobs others than before.
func (s *site) change(jobs int) {
	s.epoch++
	s.commands.jobs = queue(s.format, s.machines, s.epoch, jobs)
}

// look is one cycle, so long after the one before.
func (s *site) look(after time.Duration) {
	s.tb.Helper()
	s.now = s.now.Add(after)
	if err := s.engine.Cycle(s.tb.Context(), s.now); err != nil {
		first, _, _ := strings.Cut(err.Error(), "\n")
		s.tb.Fatal(first)
	}
}

// seen fails unless the last cycle saw all of the site.
func (s *site) seen() {
	s.tb.Helper()
	snap, plan, ok := s.engine.View()
	switch {
	case !ok || len(snap.Queues) != 1:
		s.tb.Fatal("no queue was seen")
	case len(snap.Queues[0].Demands) != waiting || len(snap.Queues[0].Runs) != rentals*perRental || len(snap.Queues[0].Nodes) != local+rentals*perRental:
		s.tb.Fatalf("%d jobs, %d runs, %d nodes were seen", len(snap.Queues[0].Demands), len(snap.Queues[0].Runs), len(snap.Queues[0].Nodes))
	case len(snap.Rentals) != rentals || len(snap.Offers) != offers || len(plan.Verdicts) != waiting || len(plan.Rent) != 0:
		s.tb.Fatalf("%d rentals, %d offers, %d verdicts, %d orders", len(snap.Rentals), len(snap.Offers), len(plan.Verdicts), len(plan.Rent))
	case !snap.Queues[0].ObservedAt.Equal(s.now):
		s.tb.Fatalf("the queue is of %s, now is %s", snap.Queues[0].ObservedAt, s.now)
	}
}

// cloud lists the machines.
type cloud struct {
	store     string
	instances []bridge.Instance
	at        time.Time
}

func (*cloud) Name() string { return "big" }

func (*cloud) Offers(context.Context) ([]bridge.Offer, error) {
	out := make([]bridge.Offer, 0, offers)
	for i := range offers {
		out = append(out, market(i))
	}
	return out, nil
}

// market is one of the offers.
func market(i int) bridge.Offer {
	gpus := []int{1, 1, 4, 8, 8}[i%5]
	o := bridge.Offer{
		Pool:  bridge.Pool{Cloud: "big", Region: "r1", Zone: fmt.Sprintf("z%d", i%4), Type: fmt.Sprintf("t%d", i/8), Market: []bridge.Market{bridge.OnDemand, bridge.Spot}[i/4%2]},
		Shape: bridge.Shape{CPUs: 8 << (i % 5), MemoryMiB: int64(64<<10) << (i % 5), DiskMiB: 500 << 10, GPUs: gpus, GPUType: []string{"l4", "a100", "h100"}[i%3]},
		Rate:  bridge.Rate{Micro: int64(2+i%37) * bridge.Micro, Currency: "USD"}, SampledAt: stamp, MaxAge: 24 * time.Hour, Boot: time.Minute, Available: -1, Step: time.Second, Minimum: time.Minute,
	}
	return o
}

func (*cloud) Create(context.Context, bridge.Launch) (bridge.Handle, error) {
	return "", &bridge.CloudError{Kind: bridge.CloudNoCapacity, Op: "create", Cloud: "big"}
}

func (*cloud) Observe(context.Context, bridge.Launch, bridge.Handle) ([]bridge.Instance, error) {
	return nil, &bridge.CloudError{Kind: bridge.CloudNotFound, Op: "observe", Cloud: "big"}
}

// List gives the answer memory of its own, as decoding one does.
func (c *cloud) List(context.Context, string, string) (bridge.Listing, error) {
	l := bridge.Listing{Cloud: "big", At: c.at, Complete: true, Instances: make([]bridge.Instance, len(c.instances))}
	copy(l.Instances, c.instances)
	return l, nil
}

func (*cloud) Terminate(context.Context, []string) error { return nil }
