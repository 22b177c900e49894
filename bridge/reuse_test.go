package bridge

import (
	"testing"
	"time"
)

// A caller may fill one Snapshot anew for each look: what was bought in between
// must not look like what was there before.
func TestDeciderBelievesNoSnapshotThatWasFilledAnew(t *testing.T) {
	w := Snapshot{
		Now: noon, MaxQueueAge: time.Minute,
		Queues: []Queue{{Cluster: "c", ObservedAt: noon, Demands: []Demand{{
			Cluster: "c", Job: "1", User: "ana", Nodes: 1, Count: 1, Shape: Shape{CPUs: 1}, Restartable: true,
			Submitted: noon.Add(-time.Hour), Eligible: noon.Add(-time.Hour), Standing: StandingHelps, TimeLimit: time.Hour,
		}}}},
		Offers: []Offer{{
			Pool: Pool{Cloud: "n", Region: "r", Zone: "z", Type: "t", Market: OnDemand}, Shape: Shape{CPUs: 4},
			Rate: Rate{Micro: Micro, Currency: "USD"}, SampledAt: noon, MaxAge: time.Hour, Available: -1,
		}},
		Budgets: []Balance{{Account: "o", Limit: Money{Micro: 1000 * Micro, Currency: "USD"}}},
	}
	terms := Terms{Burst: true, Class: P1, Account: "o/t/p", Markets: []Market{OnDemand}, Most: 9, Least: 1, Life: time.Hour, Idle: time.Minute}
	d := NewDecider(always{&terms})
	first := d.Decide(&w)
	if len(first.Rent) != 1 {
		t.Fatalf("the first look buys %d rentals, want 1: %+v", len(first.Rent), first.Verdicts)
	}
	r := Draw("r-0013", &first.Rent[0], noon)
	w.Rentals = []Rental{r} // as the engine's steps left it
	d2 := w
	d2.Now = noon.Add(time.Second)
	if second := d.Decide(&d2); len(second.Rent) != 0 {
		t.Errorf("the second look buys again: %+v", second.Rent)
	}
}

// always gives everybody the same terms.
type always struct{ terms *Terms }

func (a always) Terms(*Demand, *Facts) *Terms { return a.terms }

func (always) SameTerms(_, _ *Facts) bool { return true }
