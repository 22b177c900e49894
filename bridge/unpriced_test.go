package bridge

import (
	"testing"

	"pgregory.net/rapid"
)

// A price that is not known, or not known any more, is never one of nothing: what
// costs money is not bought, and not asked about, at such a price. Only capacity
// that is paid for anyway holds nothing.
func TestI12APriceThatIsNotKnownIsNeverZero(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, policy := drawWorld(t)
		unknown := map[Pool]bool{}
		what := rapid.IntRange(0, 3).Draw(t, "what is not known")
		for i := range s.Offers {
			o := &s.Offers[i]
			if rapid.IntRange(0, 5).Draw(t, "known") == 0 {
				continue
			}
			switch what {
			case 0:
				o.Rate.Micro = 0
			case 1:
				o.Rate = Rate{}
			case 2:
				o.SampledAt = o.SampledAt.Add(-o.MaxAge - 1)
			default:
				o.Rate.Currency = "CNY"
			}
			unknown[o.Pool] = o.Pool.Market != Reserved || o.SampledAt.Before(s.Now.Add(-o.MaxAge))
		}
		p := Decide(s, policy)
		for i := range p.Rent {
			o := &p.Rent[i]
			if unknown[o.Offer.Pool] {
				t.Fatalf("an order at no known price: %+v", o)
			}
			if (o.Hold.Micro <= 0) != (o.Offer.Pool.Market == Reserved) || o.Hold.Currency == "" {
				t.Fatalf("an order on %s holds %s", o.Offer.Pool, o.Hold)
			}
		}
	})
}
