package bridge

import (
	"testing"
	"time"
)

// A caller may fill one Snapshot anew for each look: what was bought in between
// must not look like what was there before.
func TestDeciderBelievesNoSnapshotThatWasFilledAnew(t *testing.T) {
	w := smallWorld()
	d := NewDecider(always{smallTerms()})
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
