package bridge

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestDeciderRemembersRightly holds that a Decider's plan over a world that
// changes in any way is the plan of Decide, look after look.
func TestDeciderRemembersRightly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, policy := drawWorld(t)
		d := NewDecider(policy)
		for look := range rapid.IntRange(2, 5).Draw(t, "looks") {
			if diff := cmp.Diff(Decide(s, policy), d.Decide(s)); diff != "" {
				t.Fatalf("look %d (-at once +remembering):\n%s", look, diff)
			}
			s = drawChange(t, s)
		}
	})
}

// drawChange is the same world a little later.
func drawChange(t *rapid.T, s *Snapshot) *Snapshot {
	n := copySnapshot(s)
	n.Now = n.Now.Add(time.Duration(rapid.IntRange(0, 40).Draw(t, "seconds")) * time.Second)
	for i := range n.Queues {
		n.Queues[i].ObservedAt = n.Now
	}
	switch rapid.SampledFrom([]string{"nothing", "jobs", "order", "offers", "stock", "rates", "budgets", "rentals", "reclaims", "checkpoints", "hazards", "policy's time", "all"}).Draw(t, "change") {
	case "jobs":
		changeJobs(t, &n.Queues[0])
	case "order":
		n.Queues[0].Demands = rapid.Permutation(n.Queues[0].Demands).Draw(t, "demands")
	case "offers":
		n.Offers = drawOffers(t)
	case "stock":
		for i := range n.Offers {
			n.Offers[i].Available = rapid.IntRange(-1, 4).Draw(t, "stock")
		}
	case "rates":
		for i := range n.Offers {
			n.Offers[i].Rate.Micro = int64(rapid.IntRange(1, 12).Draw(t, "rate")) * Micro
		}
	case "budgets":
		n.Budgets = rapid.SliceOfN(rapid.Custom(drawBudget), 0, 6).Draw(t, "budgets")
	case "rentals":
		n.Rentals = nil
		for i := range rapid.IntRange(0, 3).Draw(t, "rentals") {
			n.Rentals = append(n.Rentals, drawRental(t, NewRentalID(int64(50+i)), n))
		}
	case "reclaims":
		n.Reclaims = map[string]map[JobID]int{"c": {drawJobID(t): rapid.IntRange(0, 3).Draw(t, "reclaims")}}
	case "checkpoints":
		n.Checkpoints, n.Looking = drawCheckpoints(t), map[string]map[JobID]bool{"c": {drawJobID(t): true}}
	case "hazards":
		n.Hazards = drawHazards(t, n.Offers)
	case "policy's time":
		n.Now = n.Now.Add(29 * time.Minute)
		n.Queues[0].ObservedAt = n.Now
	case "all":
		n, _ = drawWorld(t)
	}
	return n
}

func changeJobs(t *rapid.T, q *Queue) {
	for range rapid.IntRange(1, 4).Draw(t, "changes") {
		at := rapid.IntRange(0, len(q.Demands)).Draw(t, "at")
		d := drawDemand(t, q.Cluster, 20+rapid.IntRange(0, 1000).Draw(t, "id"))
		if slices.ContainsFunc(q.Demands, func(o Demand) bool { return o.Job == d.Job }) {
			continue
		}
		switch what := rapid.SampledFrom([]string{"new", "gone", "changed"}).Draw(t, "what"); {
		case what == "new" || at == len(q.Demands):
			q.Demands = slices.Insert(q.Demands, at, d)
		case what == "gone":
			q.Demands = slices.Delete(q.Demands, at, at+1)
		default:
			d.Job = q.Demands[at].Job
			q.Demands[at] = d
		}
	}
}

// TestPlanHoldsWhileTimePasses holds that a plan that is given again, because
// nothing but time went by, is what deciding anew would give.
func TestPlanHoldsWhileTimePasses(t *testing.T) {
	again := 0
	rapid.Check(t, func(t *rapid.T) {
		s, policy := drawWorld(t)
		for i := range s.Queues {
			for k := range s.Queues[i].Demands {
				d := &s.Queues[i].Demands[k]
				d.Eligible = at(drawSpan(t))
				d.StartEstimate, d.Deadline = at(drawSpan(t)), at(drawSpan(t))
			}
			for k := range s.Queues[i].Nodes {
				s.Queues[i].Nodes[k].IdleSince = noon.Add(-time.Duration(rapid.IntRange(0, 200).Draw(t, "idle")) * time.Second)
			}
		}
		d := NewDecider(policy)
		for look := range 8 {
			if diff := cmp.Diff(Decide(s, policy), d.Decide(s)); diff != "" {
				t.Fatalf("look %d (-at once +remembering):\n%s", look, diff)
			}
			if d.past != nil && !d.past.s.Now.Equal(s.Now) {
				again++
			}
			s = copySnapshot(s)
			s.Now = s.Now.Add(rapid.SampledFrom([]time.Duration{-20 * time.Second, 0, 1, time.Second, 10 * time.Second, time.Minute, 30 * time.Minute}).Draw(t, "later"))
			for i := range s.Queues {
				s.Queues[i].ObservedAt = s.Now
			}
		}
	})
	if again == 0 {
		t.Error("no plan was ever given again")
	}
}

// TestEqual holds that a demand, an offer or a node that changed in any single
// field a decision looks at is seen to have changed.
func TestEqual(t *testing.T) {
	testEqual(t, equalDemand)
	testEqual(t, equalOffer)
	testEqual(t, equalNode, "States", "Reason", "Responding", "Address")
}

func testEqual[V any](t *testing.T, equal func(a, b *V) bool, unread ...string) {
	t.Helper()
	var base V
	fields := reflect.TypeFor[V]()
	for i := range fields.NumField() {
		name := fields.Field(i).Name
		if slices.Contains(unread, name) {
			continue
		}
		changed := base
		change(t, reflect.ValueOf(&changed).Elem().Field(i))
		if equal(&base, &changed) {
			t.Errorf("a %s that changed in %s counts as the same", fields.Name(), name)
		}
	}
}

func change(t *testing.T, f reflect.Value) {
	t.Helper()
	switch f.Kind() {
	case reflect.String:
		f.SetString("x")
	case reflect.Int, reflect.Int64:
		f.SetInt(7)
	case reflect.Bool:
		f.SetBool(true)
	case reflect.Slice:
		f.Set(reflect.MakeSlice(f.Type(), 1, 1))
		change(t, f.Index(0))
	case reflect.Struct:
		if f.Type() == reflect.TypeFor[time.Time]() {
			f.Set(reflect.ValueOf(noon))
			return
		}
		change(t, f.Field(0)) // the others are compared in tests of their own, or with ==
	default:
		t.Fatalf("a %s of kind %s: say how it changes", f.Type(), f.Kind())
	}
}

// TestPlanIsNotKeptOverBooksWrittenInPlace holds that a caller may go on
// writing in its own lists and maps, and in the snapshot itself.
func TestPlanIsNotKeptOverBooksWrittenInPlace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, policy := drawWorld(t)
		d := NewDecider(policy)
		d.Decide(s)
		for i := range s.Budgets {
			s.Budgets[i].Held.Micro += int64(rapid.IntRange(0, 50).Draw(t, "held")) * Micro
			s.Budgets[i].Held.Currency = s.Budgets[i].Limit.Currency
		}
		for i := range s.Offers {
			s.Offers[i].Available = rapid.IntRange(-1, 4).Draw(t, "stock")
		}
		for _, counts := range s.Reclaims {
			counts[drawJobID(t)]++
		}
		s.Frozen = rapid.Bool().Draw(t, "frozen")
		s.Rentals = append(s.Rentals, drawRental(t, NewRentalID(90), s))
		if diff := cmp.Diff(Decide(s, policy), d.Decide(s)); diff != "" {
			t.Fatalf("(-at once +remembering):\n%s", diff)
		}
	})
}
