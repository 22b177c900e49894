package report_test

import (
	"math/rand/v2"
	"testing"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/report"
	"spillway.sh/spillway/bridge/report/reporttest"
)

// Whatever the amounts, shown costs are whole cents and not below the true
// ones, and the parts of a table add up to the total beside them.
func TestPartsAddUp(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	for n := range 200 {
		in := reporttest.Week()
		if n > 3 { // the mix is of use alone
			in.Usage = nil
		}
		exact := int64(0)
		for d := range in.Days {
			for i := range in.Days[d].Sums {
				in.Days[d].Sums[i].Amount.Micro = r.Int64N(900_000_000) - 2_000_000
				exact += in.Days[d].Sums[i].Amount.Micro
			}
		}
		for i := range in.Rentals {
			in.Rentals[i].Cost.Micro = r.Int64N(900_000_000)
		}
		for i := range in.Capacity {
			in.Capacity[i].Rate.Micro = r.Int64N(5_000_000)
		}
		x := report.Make(&in)
		checkSums(t, &x)
		if x.Spend.Elastic.Micro < exact || x.Spend.Elastic.Micro >= exact+10_000 {
			t.Fatalf("%d is shown of %d", x.Spend.Elastic.Micro, exact)
		}
	}
}

func checkSums(t *testing.T, x *report.Report) {
	t.Helper()
	equal := func(what string, total bridge.Money, parts ...bridge.Money) {
		t.Helper()
		sum := int64(0)
		for _, p := range parts {
			sum += p.Micro
			if p.Micro%10_000 != 0 {
				t.Fatalf("%s: %d is no whole cents", what, p.Micro)
			}
		}
		if sum != total.Micro {
			t.Fatalf("%s: parts come to %d, the total is %d", what, sum, total.Micro)
		}
	}
	s := &x.Spend
	equal("markets", s.Elastic, s.OnDemand, s.Spot)
	equal("total", s.Total, s.Elastic, s.Kept)
	var demand, spot, kept, classes, unused, pieces, waste []bridge.Money
	for _, d := range s.Days {
		demand, spot, kept = append(demand, d.OnDemand), append(spot, d.Spot), append(kept, d.Kept)
	}
	equal("days on demand", s.OnDemand, demand...)
	equal("days of spot", s.Spot, spot...)
	equal("days of capacity", s.Kept, kept...)
	for _, c := range s.Capacity {
		pieces = append(pieces, c.Cost)
	}
	equal("capacity", s.Kept, pieces...)
	for i := range x.Use.Classes {
		classes = append(classes, x.Use.Classes[i].Cost)
	}
	equal("classes", s.Elastic, classes...)
	for _, u := range x.Use.Unused {
		unused = append(unused, u.Cost)
	}
	equal("unused", x.Use.UnusedCost, unused...)
	for what, list := range map[string][]report.TopLine{"projects": x.Top.Projects, "users": x.Top.Users, "jobs": x.Top.Jobs} {
		var of []bridge.Money
		pm := 0
		for i := range list {
			of, pm = append(of, list[i].Cost), pm+list[i].PM
		}
		equal(what, s.Elastic, of...)
		if pm != 1000 {
			t.Fatalf("%s: shares come to %d", what, pm)
		}
	}
	for i := range x.Waste.Lines {
		waste = append(waste, x.Waste.Lines[i].Cost)
	}
	equal("waste", x.Waste.Cost, append(waste, x.Waste.More)...)
	for _, c := range x.Mix.Classes {
		for _, p := range c.Plans {
			if p.Regret.Micro < 0 {
				t.Fatalf("a regret of %d", p.Regret.Micro)
			}
		}
		if o := c.Online; o != nil && (o.RatioPM > o.BoundPM || o.Cost.Micro < o.Optimum.Micro) {
			t.Fatalf("the rule paid %d, the optimum is %d", o.Cost.Micro, o.Optimum.Micro)
		}
	}
}
