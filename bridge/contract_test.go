package bridge

import (
	"testing"

	"pgregory.net/rapid"
)

// TestContractsAreKept holds that no plan takes more machines of a contract than
// it has, on however many offers, that none outlives it, that class P0 goes
// nowhere else, and that nothing but a contract's machines costs nothing.
func TestContractsAreKept(t *testing.T) {
	seen := map[Class]int{}
	for range 200 { // few draws reach all classes when tests are short
		if rapid.Check(t, contractsAreKept(seen)); seen[P0] > 0 && seen[P1] > 0 && seen[P2] > 0 {
			return
		}
	}
	t.Errorf("reserved machines went to %v", seen)
}

// contractsAreKept counts the rentals that a plan makes under contracts.
func contractsAreKept(seen map[Class]int) func(*rapid.T) {
	return func(t *rapid.T) {
		s, policy := drawWorld(t)
		has := map[string]int{}
		for i := range s.Offers {
			if o := &s.Offers[i]; o.Contract != "" {
				o.Available = 3 // whichever zone they come from
				has[o.Pool.Cloud+" "+o.Contract] = 3
			}
		}
		p := Decide(s, policy)
		for i := range p.Rent {
			o := &p.Rent[i]
			reserved := o.Offer.Pool.Market == Reserved
			if reserved != (o.Hold.Micro == 0) || reserved && o.Ask != "" {
				t.Fatalf("%s holds %d, asks %q", o.Offer.Pool, o.Hold.Micro, o.Ask)
			}
			if o.Class == P0 && !reserved {
				t.Fatalf("P0 on %s", o.Offer.Pool)
			}
			if !o.Offer.Until.IsZero() && s.Now.Add(o.Life).After(o.Offer.Until) {
				t.Fatalf("%s lives %s and ends at %s", o.Offer.Pool, o.Life, o.Offer.Until)
			}
			if reserved {
				seen[o.Class]++
				has[o.Offer.Pool.Cloud+" "+o.Offer.Contract] -= o.Count
			}
		}
		for contract, left := range has {
			if left < 0 {
				t.Fatalf("%d machines too many of %s", -left, contract)
			}
		}
	}
}
