package bridge

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// zones is one machine type in two zones of each of two regions, at one price.
func zones(market Market, rate int64) []Offer {
	var out []Offer
	for _, z := range []Pool{{Region: "r1", Zone: "r1a"}, {Region: "r1", Zone: "r1b"}, {Region: "r2", Zone: "r2a"}, {Region: "r2", Zone: "r2b"}} {
		o := gpuOffer("h20", 8, rate, "USD")
		o.Pool.Region, o.Pool.Zone, o.Pool.Type, o.Pool.Market = z.Region, z.Zone, "g8", market
		out = append(out, o)
	}
	return out
}

// TestC_17_RegionBeforeZone holds over all sets of pools that rest that the next
// choice among offers alike is one in a region without a shortage, if there is
// one that is not down itself, and else one in the others; with all down, none.
func TestC_17_RegionBeforeZone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := smallWorld()
		market := rapid.SampledFrom([]Market{Spot, OnDemand}).Draw(t, "market")
		s.Offers = zones(market, 8000)
		short, down := map[string]bool{}, map[string]bool{}
		for i := range s.Offers {
			if p := s.Offers[i].Pool; rapid.Bool().Draw(t, p.Zone) {
				s.Pools = append(s.Pools, PoolHealth{Pool: p, DownUntil: noon.Add(time.Minute), Failures: 1})
				short[p.Region], down[p.Zone] = true, true
			}
		}
		terms := smallTerms()
		terms.Class, terms.Markets = P2, []Market{market}
		p := Decide(&s, always{terms})
		if len(p.Rent) == 0 {
			if len(down) < 4 || p.Verdicts[0].Why != ReasonPoolsDown {
				t.Fatalf("%d of 4 pools are down, and nothing is bought: %+v", len(down), p.Verdicts)
			}
			return
		}
		got := p.Rent[0].Offer.Pool
		if down[got.Zone] || short[got.Region] && (!short["r1"] || !short["r2"]) {
			t.Fatalf("%s is asked while %v are down", got, down)
		}
	})
}

// TestC_19_QuotaOfSpotLeavesOnDemand is field fault C-19: a spot quota that is
// used up, known before anything is asked, sends the whole gang to on demand, and
// where that has too little as well the verdict names the quota.
func TestC_19_QuotaOfSpotLeavesOnDemand(t *testing.T) {
	s := smallWorld()
	s.Offers = append(zones(Spot, 2000), zones(OnDemand, 8000)...)
	for i := range s.Offers {
		if o := &s.Offers[i]; o.Pool.Market == Spot {
			o.Available, o.Limited = 3, "L-3819A6DF"
		}
	}
	d := &s.Queues[0].Demands[0]
	d.Nodes, d.Shape = 4, Shape{GPUs: 8}
	terms := smallTerms()
	terms.Class, terms.Markets = P2, []Market{Spot, OnDemand}
	p := Decide(&s, always{terms})
	if len(p.Rent) != 1 || p.Rent[0].Offer.Pool.Market != OnDemand || p.Rent[0].Count != 4 {
		t.Fatalf("a gang of 4 beyond the spot quota of 3 is bought as %+v: %+v", p.Rent, p.Verdicts)
	}
	for i := range s.Offers {
		s.Offers[i].Available, s.Offers[i].Limited = 3, "L-1216C47A"
	}
	if p = Decide(&s, always{terms}); len(p.Rent) != 0 || p.Verdicts[0].Why != ReasonPoolsDown {
		t.Fatalf("a gang of 4 is bought within quotas of 3: %+v", p.Rent)
	}
	for _, c := range Compare(&s, d, terms) {
		if c.Why != ReasonPoolsDown || c.Detail != "L-1216C47A" {
			t.Errorf("%s is out for %s: %q", c.Offer.Pool, c.Why, c.Detail)
		}
	}
}

// TestSpotShortageLeavesOnDemand holds that a spot pool that rests says nothing of
// the same machines on demand.
func TestSpotShortageLeavesOnDemand(t *testing.T) {
	s := smallWorld()
	s.Offers = append(zones(Spot, 2000)[:1], zones(OnDemand, 8000)[:1]...)
	s.Pools = []PoolHealth{{Pool: s.Offers[0].Pool, DownUntil: noon.Add(time.Hour)}}
	terms := smallTerms()
	terms.Class, terms.Markets = P2, []Market{Spot, OnDemand}
	if p := Decide(&s, always{terms}); len(p.Rent) != 1 || p.Rent[0].Offer.Pool.Market != OnDemand {
		t.Errorf("bought %+v: %+v", p.Rent, p.Verdicts)
	}
}

// TestC_25_NoFlappingOfTheChoice is field fault C-25 as far as a choice can flap:
// while another pool goes up and down every five minutes for three hours, and a
// little more becomes known of each pool with every minute, the choice among pools
// alike stays the same.
func TestC_25_NoFlappingOfTheChoice(t *testing.T) {
	s := smallWorld()
	s.Offers = zones(Spot, 2000)
	terms := smallTerms()
	terms.Class, terms.Markets = P2, []Market{Spot}
	changes, last := 0, Pool{}
	d := NewDecider(always{terms})
	for minute := range 180 {
		look := *copySnapshot(&s)
		look.Now = noon.Add(time.Duration(minute) * time.Minute)
		look.Queues[0].ObservedAt = look.Now
		for i := range look.Offers {
			look.Offers[i].SampledAt = look.Now
			look.Hazards = Lived(look.Hazards, look.Offers[i].Pool, time.Duration(i*minute)*time.Minute, look.Now)
		}
		if minute/5%2 == 1 {
			look.Pools = []PoolHealth{{Pool: s.Offers[2].Pool, DownUntil: look.Now.Add(time.Minute)}} // not the one that was chosen
		}
		p := d.Decide(&look)
		if len(p.Rent) != 1 {
			t.Fatalf("minute %d: %+v", minute, p.Verdicts)
		}
		if got := p.Rent[0].Offer.Pool; got != last {
			changes, last = changes+1, got
		}
	}
	if changes != 1 {
		t.Errorf("the choice changed %d times while another pool flapped", changes-1)
	}
}
