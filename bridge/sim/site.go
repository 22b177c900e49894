package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/cloud/local/server"
	"spillway.sh/spillway/bridge/desk"
	"spillway.sh/spillway/bridge/sim/invariant"
	"spillway.sh/spillway/bridge/sim/slurmctl"
	"spillway.sh/spillway/policies"
)

const (
	account  = "site" // of the bridge at every cloud
	mungeKey = "the key of every machine of this cluster"
)

// site is what the seed makes of clouds, cluster and policy.
type site struct {
	clouds server.World
	slurm  slurmctl.Options
	policy []byte
	idle   time.Duration // the longest of policy
	life   time.Duration
}

func (w *World) newSite() site {
	s := site{
		clouds: server.World{Version: 1, Seed: w.setup.Seed},
		idle:   w.setup.span(10 * time.Minute), life: w.setup.span(12 * time.Hour),
		slurm: slurmctl.Options{
			Overlays: 20,
			Nodes: []slurmctl.NodeSpec{
				{Name: "c1", CPUs: 16, MemoryMiB: 128_000},
				{Name: "c2", CPUs: 16, MemoryMiB: 128_000},
				{Name: "g1", CPUs: 16, MemoryMiB: 256_000, GPUs: 8, GPUType: "a100"},
				{Name: "g2", CPUs: 16, MemoryMiB: 256_000, GPUs: 8, GPUType: "a100"},
			},
			KillWait: w.setup.span(30 * time.Second), SlurmdTimeout: w.setup.span(5 * time.Minute), MinJobAge: w.setup.span(5 * time.Minute),
			MessageTimeout: w.setup.span(10 * time.Second), Backfill: w.setup.span(30 * time.Second),
		},
	}
	r := w.draw("site")
	for _, name := range []string{"north", "south", "west"}[:2+r.IntN(2)] {
		s.clouds.Clouds = append(s.clouds.Clouds, w.newCloud(r, name))
	}
	s.policy = []byte(w.newPolicy(r))
	return s
}

func (s *site) cloudNames() []string {
	out := make([]string, 0, len(s.clouds.Clouds))
	for i := range s.clouds.Clouds {
		out = append(out, s.clouds.Clouds[i].Name)
	}
	return out
}

// newCloud is a cloud with the manners that a seed gives it.
func (w *World) newCloud(r *rand.Rand, name string) server.Cloud {
	span := func(least, most time.Duration) server.Span {
		return server.Span(w.setup.span(between(r, least, most)).Truncate(time.Millisecond))
	}
	dear := 90 + r.Int64N(40) // per cent of the list price
	swing := func() int {
		if by := pick(r, 0, 10, 30); w.setup.Mix.Weather {
			return by
		}
		return 0
	}
	c := server.Cloud{
		Name: name, Currency: "USD", Notice: server.Span(w.setup.span(pick(r, 0, 30*time.Second, 2*time.Minute, 5*time.Minute))),
		Boot: span(30*time.Second, 3*time.Minute), Stop: span(5*time.Second, time.Minute),
		Visibility: server.Span(w.setup.span(pick(r, 0, 0, 10*time.Second, 90*time.Second))), Linger: span(2*time.Minute, 10*time.Minute),
		PriceAge: server.Span(w.setup.span(20 * time.Minute)), Page: pick(r, 3, 10, 50), Limits: 100, HideStock: r.IntN(3) == 0,
		Billing:  server.Billing{Step: server.Span(pick(r, time.Second, time.Minute, time.Hour)), Minimum: server.Span(w.setup.span(pick(r, 0, time.Minute)))},
		Accounts: []server.Account{{Name: account}},
		Types: []server.Type{
			{Name: "cpu16", CPUs: 16, MemoryMiB: 64_000},
			{Name: "gpu4", CPUs: 16, MemoryMiB: 128_000, GPUType: "a100", GPUs: 4},
			{Name: "gpu8", CPUs: 32, MemoryMiB: 256_000, GPUType: "a100", GPUs: 8},
		},
	}
	for i := range 1 + r.IntN(2) {
		region := server.Region{Name: fmt.Sprintf("%s-%d", name, i+1)}
		for j := range 1 + r.IntN(2) {
			zone := server.Zone{Name: region.Name + string(rune('a'+j))}
			for _, t := range []struct {
				name  string
				price int64
			}{{"cpu16", 800_000}, {"gpu4", 6_000_000}, {"gpu8", 11_500_000}} {
				price := t.price / 100 * dear
				zone.Pools = append(zone.Pools, server.Supply{
					Type:     t.name,
					OnDemand: &server.MarketSpec{Rate: server.Price(price), Stock: 2 + r.IntN(8)},
					Spot:     &server.MarketSpec{Rate: server.Price(price * 3 / 10), Stock: 1 + r.IntN(8), Swing: swing(), Every: server.Span(w.setup.span(10 * time.Minute))},
					Failure:  pick(r, server.FailError, server.FailList, server.FailOperation, server.FailInstances, server.FailLongRunning),
					Partial:  r.IntN(6) == 0, Delay: server.Span(w.setup.span(20 * time.Second)),
				})
			}
			region.Zones = append(region.Zones, zone)
		}
		c.Regions = append(c.Regions, region)
	}
	return c
}

// newPolicy is a policy file: budgets that are used up at times, questions, and
// jobs on both markets.
func (w *World) newPolicy(r *rand.Rand) string {
	d := func(t time.Duration) time.Duration {
		return max(w.setup.span(t), time.Millisecond).Round(time.Millisecond)
	}
	wait := d(pick(r, time.Minute, 5*time.Minute, 15*time.Minute))
	return fmt.Sprintf(`version: 1
organisation: org
currency: USD
mode: burst
zone: Europe/Berlin
roles:
  admins: [root]
  approvers: [cfo, boss]
approval:
  two_above: %d USD
accounts:
  - {account: "*", to: "team/{account}"}
defaults:
  most: %d
  idle: %s
  life: %s
  ask: true
  ask_for: %s
  wait: %s
  comment: true
rules:
  - name: resumable
    when: job.restartable
    class: P2
    reclaims: 2
    signal: {name: USR1, to: batch, window: %s}
  - name: large
    when: job.nodes > 2
    class: P1
    ask_above: %d USD
  - name: rest
    class: P1
budgets:
  - {account: org, every: month, limit: %d USD, hard: %t}
  - {account: org/team, every: day, limit: %d USD}
  - {account: org/team/p1, every: day, limit: %d USD, hard: true}
  - {account: org/team/p2, every: week, limit: %d USD, approvers: [lead]}
`, 400+r.IntN(400), 4+r.IntN(12), d(10*time.Minute), max(d(12*time.Hour), time.Minute),
		d(pick(r, time.Hour, 4*time.Hour)), wait, d(time.Minute), 20+r.IntN(80),
		4000+r.IntN(8000), r.IntN(2) == 0, 150+r.IntN(600), 30+r.IntN(200), 60+r.IntN(800))
}

// rules are what the bridge judges demands, and the desk its people, by.
type rules struct {
	bridge.Policy
	*policies.File
	budgets []bridge.Budget
}

// Budgets are those of the setup, or of policy.
func (r rules) Budgets() []bridge.Budget { return r.budgets }

func (w *World) terms() rules { return rules{w.policy.Policy(), w.policy, w.budgets()} }

func (w *World) budgets() []bridge.Budget {
	if w.setup.Budgets != nil {
		return w.setup.Budgets
	}
	return w.policy.Budgets()
}

func (w *World) roles() desk.Roles {
	r := w.policy.Roles()
	return desk.Roles{Admins: r.Admins, Approvers: r.Approvers, Escalation: w.policy.Approval().Escalation}
}

// Person is one of the world's people, with the roles that policy gives them:
// root, cfo, boss, lead, ana, ben, cem or dee.
func (w *World) Person(name string) desk.Person {
	return w.roles().Of(name, 1000, []string{"p1", "p2", "p3"})
}

// rules are what the checker knows of the bridge.
func (w *World) rules() invariant.Rules {
	l := w.setup.limits()
	return invariant.Rules{
		StoreID: w.storeID(), Clusters: []string{Cluster}, OrphanAge: l.OrphanAge, AbsentGap: l.AbsentGap, QueueAge: l.QueueAge,
		Slack: w.setup.span(10 * time.Minute), Budgets: w.budgets(), MayDecide: w.mayDecide, Secrets: []string{mungeKey},
	}
}

// mayDecide reports whether policy lets somebody answer for a rental at all.
func (w *World) mayDecide(who string, r *bridge.Rental, yes bool) bool {
	if who == r.Requester {
		return false
	}
	p := w.Person(who)
	if !yes && p.Is(desk.Admin) {
		return true
	}
	return p.Is(desk.Approver) || slices.ContainsFunc(w.budgets(), func(b bridge.Budget) bool {
		return slices.Contains(b.Approvers, who) && strings.HasPrefix(string(r.Account)+"/", string(b.Account)+"/")
	})
}
