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
	switch rapid.SampledFrom([]string{"nothing", "jobs", "order", "offers", "stock", "rates", "budgets", "rentals", "reclaims", "policy's time", "all"}).Draw(t, "change") {
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

// TestEqualDemand holds that a demand that changed in any single field is seen
// to have changed.
func TestEqualDemand(t *testing.T) {
	var base Demand
	fields := reflect.ValueOf(&base).Elem()
	for i := range fields.NumField() {
		name := fields.Type().Field(i).Name
		if name == "Shape" {
			continue // see TestShapeTable
		}
		changed := base
		switch f := reflect.ValueOf(&changed).Elem().Field(i); f.Kind() {
		case reflect.String:
			f.SetString("x")
		case reflect.Int, reflect.Int64:
			f.SetInt(7)
		case reflect.Bool:
			f.SetBool(true)
		case reflect.Slice:
			f.Set(reflect.ValueOf([]string{"x"}))
		case reflect.Struct:
			f.Set(reflect.ValueOf(noon))
		default:
			t.Fatalf("a field %s of kind %s: say how it changes", name, f.Kind())
		}
		if equalDemand(&base, &changed) {
			t.Errorf("a demand that changed in %s counts as the same", name)
		}
	}
}
