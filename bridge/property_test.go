package bridge

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestNeverOverBudget holds that what a plan holds fits every budget on the
// path of who pays; only questions may exceed, and never a hard one.
func TestNeverOverBudget(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, policy := drawWorld(t)
		p := Decide(s, policy)
		for i := range s.Budgets {
			b := &s.Budgets[i]
			left, err := b.Left()
			if err != nil {
				t.Fatal(err)
			}
			held, asked := heldIn(&p, b.Scope())
			if held > 0 && held > left.Micro {
				t.Fatalf("%s has %s, the plan holds %d", b.Scope(), left, held)
			}
			if b.Hard && asked > 0 && asked > left.Micro {
				t.Fatalf("hard %s has %s, one question asks for %d", b.Scope(), left, asked)
			}
		}
	})
}

// TestHoldIsTheWorstCase holds that every order's hold covers its machines at
// the ceiling for their whole life in billing steps, and no question is a hold.
func TestHoldIsTheWorstCase(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, policy := drawWorld(t)
		p := Decide(s, policy)
		for i := range p.Rent {
			o := &p.Rent[i]
			life := max(o.Life, o.Offer.Minimum)
			if o.Offer.Step > 0 && life%o.Offer.Step != 0 {
				life += o.Offer.Step - life%o.Offer.Step
			}
			life += max(o.Offer.Term-life, 0) * time.Duration(o.Offer.EarlyPM) / 1000
			want, err := o.MaxRate.Cost(life, 1, RoundUp)
			want.Micro *= int64(o.Count)
			if err != nil || o.Hold != want {
				t.Fatalf("order %+v holds %s, want %s: %v", o, o.Hold, want, err)
			}
			if o.MaxRate.Micro < o.Offer.Rate.Micro || o.Count < 1 || len(o.Jobs) == 0 || o.Life <= 0 {
				t.Fatalf("order %+v", o)
			}
		}
	})
}

// TestInputOrderDoesNotMatter holds that a plan depends on the lists' contents
// and not on their order.
func TestInputOrderDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, policy := drawWorld(t)
		n := copySnapshot(s)
		n.Offers = rapid.Permutation(n.Offers).Draw(t, "offers")
		n.Budgets = rapid.Permutation(n.Budgets).Draw(t, "budgets")
		n.Rentals = rapid.Permutation(n.Rentals).Draw(t, "rentals")
		n.Pools = rapid.Permutation(n.Pools).Draw(t, "pools")
		n.Answers = rapid.Permutation(n.Answers).Draw(t, "answers")
		n.Queues = rapid.Permutation(n.Queues).Draw(t, "queues")
		for i := range n.Queues {
			n.Queues[i].Demands = rapid.Permutation(n.Queues[i].Demands).Draw(t, "demands")
			n.Queues[i].Nodes = rapid.Permutation(n.Queues[i].Nodes).Draw(t, "nodes")
			n.Queues[i].Runs = rapid.Permutation(n.Queues[i].Runs).Draw(t, "runs")
		}
		if diff := cmp.Diff(Decide(s, policy), Decide(n, policy)); diff != "" {
			t.Fatalf("the order of the input matters (-as given +shuffled):\n%s", diff)
		}
	})
}

// TestSameInputSamePlan holds that nothing but the snapshot decides, and that
// deciding changes nothing in it.
func TestSameInputSamePlan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, policy := drawWorld(t)
		before := copySnapshot(s)
		first, second := Decide(s, policy), Decide(s, policy)
		if diff := cmp.Diff(first, second); diff != "" {
			t.Fatalf("the second plan differs:\n%s", diff)
		}
		if diff := cmp.Diff(before, s); diff != "" {
			t.Fatalf("deciding changed the snapshot:\n%s", diff)
		}
	})
}

// TestMoreBudgetNeverBuysLess holds for one budget that pays for everything:
// the more is in it, the more is held.
func TestMoreBudgetNeverBuysLess(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, policy := drawWorld(t)
		limit := int64(rapid.IntRange(0, 200).Draw(t, "limit")) * Micro
		more := int64(rapid.IntRange(1, 100).Draw(t, "more")) * Micro
		hard := rapid.Bool().Draw(t, "hard")
		spend := func(limit int64) int64 {
			n := copySnapshot(s)
			n.Budgets = []Balance{{Account: "uni", Limit: Money{limit, "USD"}, Hard: hard}}
			p, sum := Decide(n, policy), int64(0)
			for i := range p.Rent {
				if p.Rent[i].Ask == "" {
					sum += p.Rent[i].Hold.Micro
				}
			}
			return sum
		}
		for _, x := range policy {
			x.Share = false // a take-over spends too, and is not an order
		}
		if less, most := spend(limit), spend(limit+more); most < less {
			t.Fatalf("a budget of %d holds %d, one of %d holds %d", limit, less, limit+more, most)
		}
	})
}

// TestNoDemandIsGoneInALookOfBefore holds that what was rented at or after a look at
// the queue is not given up for what that look does not show: the job that a
// person rents for may be younger.
func TestNoDemandIsGoneInALookOfBefore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, policy := drawWorld(t)
		for i := range s.Rentals {
			s.Rentals[i].Created = noon.Add(rapid.SampledFrom([]time.Duration{-time.Hour, 0, 1, time.Minute}).Draw(t, "created"))
		}
		for i := range s.Queues {
			s.Queues[i].Demands = nil // none of the jobs is seen
			s.Queues[i].ObservedAt = noon
		}
		young := func(id RentalID) bool {
			return slices.ContainsFunc(s.Rentals, func(r Rental) bool { return r.ID == id && !r.Created.Before(noon) })
		}
		p := Decide(s, policy)
		for _, id := range p.Withdraw {
			if young(id) {
				t.Fatalf("%s is withdrawn", id)
			}
		}
		for _, r := range p.Return {
			if r.Why == ReasonDemandGone && young(r.Rental) {
				t.Fatalf("%s is given back", r.Rental)
			}
		}
	})
}

// TestNoPlanOnAStaleView holds that a cluster seen badly gets no order, route
// or withdrawal, and no return but of what expired.
func TestNoPlanOnAStaleView(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, policy := drawWorld(t)
		age := rapid.SampledFrom([]time.Duration{-2 * time.Minute, 61 * time.Second, 24 * time.Hour}).Draw(t, "age")
		for i := range s.Queues {
			s.Queues[i].ObservedAt = noon.Add(-age)
		}
		p := Decide(s, policy)
		if len(p.Rent) > 0 || len(p.Route) > 0 || len(p.Withdraw) > 0 {
			t.Fatalf("a stale view led to %+v", p)
		}
		for _, r := range p.Return {
			if r.Why != ReasonExpired {
				t.Fatalf("a stale view returned %+v", r)
			}
		}
		for i := range p.Verdicts {
			if v := &p.Verdicts[i]; v.Kind != Wait || v.Why != ReasonStale {
				t.Fatalf("a stale view led to %+v", v)
			}
		}
	})
}

// TestGangsAreWhole holds that a gang has all its machines in one pool and one
// rental, and that machines of an order hold what they were ordered for.
func TestGangsAreWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, policy := drawWorld(t)
		p := Decide(s, policy)
		demands := map[string]map[JobID]*Demand{}
		for i := range s.Queues {
			q := &s.Queues[i]
			demands[q.Cluster] = map[JobID]*Demand{}
			for k := range q.Demands {
				demands[q.Cluster][q.Demands[k].Job] = &q.Demands[k]
			}
		}
		stock := map[Pool]int{}
		for i := range p.Rent {
			o := &p.Rent[i]
			if o.Ask == "" {
				stock[o.Offer.Pool] += o.Count
			}
			for _, j := range o.Jobs {
				d := demands[o.Cluster][j]
				if o.Gang != d.Nodes || o.Count < d.Nodes || !o.Offer.Holds(&d.Shape) {
					t.Fatalf("order %+v for %+v", o, d)
				}
				if !d.Restartable && o.Offer.Pool.Market == Spot {
					t.Fatalf("%s may not be requeued and is put on spot", d.Job)
				}
			}
			if o.Gang > 1 && len(o.Jobs) != 1 {
				t.Fatalf("one rental for two gangs: %+v", o)
			}
		}
	})
}

// TestInFlightCountedOnce holds that a plan that was carried out is not made
// again: its orders as rentals, the next look buys nothing.
func TestInFlightCountedOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, policy := drawWorld(t)
		p := Decide(s, policy)
		n := copySnapshot(s)
		for i := range p.Rent {
			n.Rentals = append(n.Rentals, rented(NewRentalID(int64(100+i)), &p.Rent[i]))
			if p.Rent[i].Ask != "" {
				continue
			}
			hold(n.Budgets, &p.Rent[i])
			for k := range n.Offers {
				if o := &n.Offers[k]; o.Pool == p.Rent[i].Offer.Pool && o.Available > 0 {
					o.Available -= p.Rent[i].Count
				}
			}
		}
		// What one pool or contract left over may be bought elsewhere, one look later.
		again := Decide(n, policy)
		for i := range again.Rent {
			for _, job := range again.Rent[i].Jobs {
				if got, want := boughtFor(p.Rent, again.Rent[i].Cluster, job), nodesOf(s, again.Rent[i].Cluster, job); got >= want {
					t.Fatalf("%d machines for the %d nodes of job %s, and bought again: %+v\nfirst: %+v", got, want, job, again.Rent, p.Rent)
				}
			}
		}
	})
}

// boughtFor is how many machines of orders are for a job at least: all of those
// that are for it alone, one of those that have one for each of several.
func boughtFor(orders []Order, cluster string, job JobID) int {
	n := 0
	for i := range orders {
		switch o := &orders[i]; {
		case o.Cluster != cluster || !slices.Contains(o.Jobs, job):
		case len(o.Jobs) == 1:
			n += o.Count
		case o.Count >= len(o.Jobs):
			n++
		}
	}
	return n
}

// nodesOf is how many nodes the tasks of a job need together.
func nodesOf(s *Snapshot, cluster string, job JobID) int {
	n := 0
	for i := range s.Queues {
		for k := range s.Queues[i].Demands {
			if d := &s.Queues[i].Demands[k]; s.Queues[i].Cluster == cluster && d.Job.Base() == job.Base() {
				n += max(d.Nodes, 1) * max(d.Count, 1)
			}
		}
	}
	return n
}

// rented is an order that was reserved, or asked about, and nothing more.
func rented(id RentalID, o *Order) Rental {
	r := Rental{
		ID: id, State: StateLaunching, Since: noon, Cluster: o.Cluster, Account: o.Account, Requester: o.Requester, Class: o.Class,
		Jobs: o.Jobs, Gang: o.Gang, Count: o.Count, Pool: o.Offer.Pool, Shape: o.Offer.Shape, Features: o.Offer.Features,
		MaxRate: o.MaxRate, Life: o.Life, Idle: o.Idle, Hold: o.Hold, Expires: noon.Add(o.Life),
	}
	if o.Ask != "" {
		r.State = StateWaiting
	}
	return r
}

func hold(budgets []Balance, o *Order) {
	for i := range budgets {
		if b := &budgets[i]; b.Scope().Covers(scopeOf(o)) {
			b.Held.Micro += o.Hold.Micro
			b.Held.Currency = o.Hold.Currency
		}
	}
}
