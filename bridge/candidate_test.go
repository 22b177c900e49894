package bridge

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// drawMarket is offers that differ in all that the choice weighs.
func drawMarket(t *rapid.T) []Offer {
	offers := drawOffers(t)
	for i := range offers {
		o := &offers[i]
		o.Pool.Region = rapid.SampledFrom([]string{"r1", "r2"}).Draw(t, "region")
		o.Network = rapid.SampledFrom(networks).Draw(t, "network")
		o.Minimum = rapid.SampledFrom([]time.Duration{0, time.Hour}).Draw(t, "minimum")
		o.Egress = Money{int64(rapid.IntRange(0, 20).Draw(t, "egress")) * Micro / 100, "USD"}
		for _, name := range []string{"iso27001", "idc-licence"} {
			if rapid.Bool().Draw(t, name) {
				o.Attributes = append(o.Attributes, Attribute{Name: name, Until: rapid.SampledFrom([]time.Time{{}, noon.Add(-time.Hour), noon.Add(90 * time.Minute), noon.Add(8 * time.Hour), noon.Add(9*time.Hour + time.Second)}).Draw(t, "until")})
			}
		}
	}
	return offers
}

// drawAsk is terms that ask for some of it.
func drawAsk(t *rapid.T) *Terms {
	x := smallTerms()
	x.Class, x.Markets = P2, rapid.SampledFrom([][]Market{{OnDemand}, {Spot, OnDemand}}).Draw(t, "markets")
	x.Attributes = rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"iso27001", "idc-licence"}), 0, 2, rapid.ID[string]).Draw(t, "attributes")
	x.Network = rapid.SampledFrom(networks).Draw(t, "least network")
	x.DataGiB = int64(rapid.IntRange(0, 500).Draw(t, "data"))
	x.CheckpointGiB = int64(rapid.IntRange(0, 500).Draw(t, "checkpoint"))
	return x
}

// drawChoice is a world with one job, whose choice is looked at.
func drawChoice(t *rapid.T) (Snapshot, *Terms) {
	s := smallWorld()
	s.Offers, s.Budgets[0].Limit.Micro = drawMarket(t), 1_000_000*Micro
	s.Hazards = drawHazards(t, s.Offers)
	d := &s.Queues[0].Demands[0]
	d.Shape, d.Nodes = drawShape(t, []int{1, 16}), rapid.SampledFrom([]int{1, 1, 2}).Draw(t, "nodes")
	d.TimeLimit = time.Duration(rapid.IntRange(1, 40).Draw(t, "limit")) * 10 * time.Minute
	if rapid.Bool().Draw(t, "has a deadline") {
		d.Deadline = noon.Add(d.TimeLimit + time.Duration(rapid.IntRange(0, 6).Draw(t, "slack"))*time.Minute)
	}
	for range rapid.IntRange(0, 3).Draw(t, "down") {
		if len(s.Offers) > 0 {
			s.Pools = append(s.Pools, PoolHealth{Pool: rapid.SampledFrom(s.Offers).Draw(t, "pool").Pool, DownUntil: noon.Add(time.Minute)})
		}
	}
	return s, drawAsk(t)
}

// TestCompareIsTheChoice holds that what is explained line by line is what is
// decided: the same offer, its total the sum of its lines, and nothing that may
// be bought is cheaper in its market.
func TestCompareIsTheChoice(t *testing.T) {
	bought := 0
	rapid.Check(t, func(t *rapid.T) {
		s, terms := drawChoice(t)
		lines := Compare(&s, &s.Queues[0].Demands[0], terms)
		plan := Decide(&s, always{terms})
		chosen := slices.IndexFunc(lines, func(c Candidate) bool { return c.Chosen })
		if (chosen == 0) != (len(plan.Rent) == 1) || chosen > 0 {
			t.Fatalf("chosen is line %d of %+v; the plan buys %+v: %+v", chosen, lines, plan.Rent, plan.Verdicts)
		}
		for i := range lines {
			c := &lines[i]
			if sum := c.Machine.Micro + c.Loss.Micro + c.Egress.Micro; sum != c.Total.Micro {
				t.Fatalf("the lines of %s come to %d, its total is %d", c.Offer.Pool, sum, c.Total.Micro)
			}
			if life := c.Run + c.Boot + c.Spare; c.Paid != life+c.Minimum+c.Step+c.Early {
				t.Fatalf("%s is paid for %s, its parts are %+v", c.Offer.Pool, c.Paid, *c)
			}
			if c.Chosen && c.Why != "" {
				t.Fatalf("%s is chosen and barred: %s", c.Offer.Pool, c.Why)
			}
		}
		if chosen < 0 {
			return
		}
		bought++
		best, o := &lines[0], &plan.Rent[0]
		if diff := cmp.Diff(best.Offer, o.Offer); diff != "" {
			t.Fatalf("explained (-) is not what is bought (+):\n%s", diff)
		}
		if best.Hold != o.Hold || best.Machines != o.Count {
			t.Fatalf("explained %d machines held at %s, bought %d at %s", best.Machines, best.Hold, o.Count, o.Hold)
		}
		for i := range lines[1:] {
			if c := &lines[1+i]; c.Why == "" && c.Offer.Pool.Market == best.Offer.Pool.Market && compareShares(c, best) < 0 && best.Offer.Pool.Market != Reserved {
				t.Fatalf("%s for %s is cheaper than what is bought, %s for %s", c.Offer.Pool, c.Total, best.Offer.Pool, best.Total)
			}
		}
	})
	if bought == 0 {
		t.Error("nothing was ever bought")
	}
}

// TestNothingIsBoughtPastItsAttributes holds that a rental never outlives what
// policy asks of its provider, that the network is as good as asked for, and
// that a deadline is not missed for a slow delivery.
func TestNothingIsBoughtPastItsAttributes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, terms := drawChoice(t)
		for i := range Decide(&s, always{terms}).Rent {
			r := &Decide(&s, always{terms}).Rent[i]
			if w, lacks := r.Offer.Lacks(terms.Attributes, noon.Add(r.Life)); lacks {
				t.Errorf("%s is rented until %s without %s: %+v", r.Offer.Pool, noon.Add(r.Life), w, r.Offer.Attributes)
			}
			if !r.Offer.Network.Holds(terms.Network) {
				t.Errorf("%s has network %q, wanted %q", r.Offer.Pool, r.Offer.Network, terms.Network)
			}
			d := &s.Queues[0].Demands[0]
			if !d.Deadline.IsZero() && noon.Add(r.Offer.Boot+d.TimeLimit).After(d.Deadline) {
				t.Errorf("%s comes %s from now: the job of %s misses %s", r.Offer.Pool, r.Offer.Boot, d.TimeLimit, d.Deadline)
			}
		}
	})
}

// TestEgressIsMonotonic holds that an offer never gets better by asking more for
// what leaves it, and that a choice among others stays the same.
func TestEgressIsMonotonic(t *testing.T) {
	moved := 0
	rapid.Check(t, func(t *rapid.T) {
		s, terms := drawChoice(t)
		s.Queues[0].Demands[0].Shape, s.Queues[0].Demands[0].Deadline = Shape{CPUs: 1}, time.Time{} // what many offers hold
		terms.Attributes, terms.Network = nil, NetworkPlain
		before := Decide(&s, always{terms})
		if len(s.Offers) == 0 || len(before.Rent) == 0 {
			return
		}
		n := copySnapshot(&s)
		i := rapid.IntRange(0, len(s.Offers)-1).Draw(t, "dearer")
		if rapid.Bool().Draw(t, "the one that is bought") {
			i = slices.IndexFunc(s.Offers, func(o Offer) bool { return o.Pool == before.Rent[0].Offer.Pool })
		}
		n.Offers[i].Egress.Micro += int64(rapid.IntRange(1, 1000).Draw(t, "by")) * Micro / 10
		after := Decide(n, always{terms})
		if len(after.Rent) == 0 {
			t.Fatalf("nothing is bought any more: %+v", after.Verdicts)
		}
		was, is := before.Rent[0].Offer.Pool, after.Rent[0].Offer.Pool
		switch {
		case is == n.Offers[i].Pool && was != is:
			t.Fatalf("%s asks more for egress, and is bought now instead of %s", is, was)
		case was != n.Offers[i].Pool && was != is:
			t.Fatalf("%s asks more for egress, and %s is bought instead of %s", n.Offers[i].Pool, is, was)
		case was != is:
			moved++
		}
	})
	if moved == 0 {
		t.Error("egress never moved a choice")
	}
}

// TestScaled holds that what does not fit in 64 bits is the most there is.
func TestScaled(t *testing.T) {
	for _, c := range []struct{ a, by, whole, want int64 }{
		{7, 3, 2, 11}, {0, math.MaxInt64, 1, 0}, {math.MaxInt64, 2, 1, math.MaxInt64}, {math.MaxInt64, 1000, 1000, math.MaxInt64}, {math.MaxInt64, math.MaxInt64, 1, math.MaxInt64},
	} {
		if got := scaled(c.a, c.by, c.whole); got != c.want {
			t.Errorf("%d * %d / %d is %d, want %d", c.a, c.by, c.whole, got, c.want)
		}
	}
}
