package bill

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"spillway.sh/spillway/bridge"
)

// Whatever a bill says of rentals it covers: after its corrections the books
// say the same, day by day, a second reading changes nothing, and books never
// go below nothing on the way.
func TestBooksComeToTheBill(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := books()
		b.Tolerance = rapid.Int64Range(0, 20_000).Draw(t, "tolerance")
		var lines []Line
		count := rapid.IntRange(1, 4).Draw(t, "rentals")
		for i := range count {
			from := at(8, 0, 0).Add(time.Duration(rapid.IntRange(0, 60*24*3).Draw(t, "start")) * time.Minute)
			to := from.Add(time.Duration(rapid.IntRange(1, 60*24*4).Draw(t, "minutes")) * time.Minute)
			r := rental(bridge.NewRentalID(int64(i+1)), fmt.Sprintf("i-%d", i), from, to)
			b.Rentals = append(b.Rentals, r)
			cuts := []time.Time{from}
			for h := from.Truncate(time.Hour).Add(time.Hour); h.Before(to); h = h.Add(time.Duration(rapid.IntRange(1, 30).Draw(t, "hours")) * time.Hour) {
				cuts = append(cuts, h)
			}
			cuts = append(cuts, to)
			for k := range len(cuts) - 1 {
				lines = append(lines, line(KindUsage, r.Machines[0].ID, "", rapid.Int64Range(0, 30_000_000).Draw(t, "amount"), cuts[k], cuts[k+1]))
			}
			if rapid.Bool().Draw(t, "credit") {
				lines = append(lines, line(KindCredit, r.Machines[0].ID, "", -rapid.Int64Range(0, 30_000_000).Draw(t, "off"), from, to))
			}
			if rapid.Bool().Draw(t, "tax") {
				lines = append(lines, line(KindTax, r.Machines[0].ID, "", rapid.Int64Range(0, 3_000_000).Draw(t, "tax amount"), from, to))
			}
		}
		s, err := Match(lines, b)
		if err != nil {
			t.Fatal(err)
		}
		cost := map[bridge.RentalID]int64{}
		for _, r := range b.Rentals {
			cost[r.ID] = r.Cost.Micro
		}
		for _, c := range s.Corrections() {
			if cost[c.Rental] += c.Amount.Micro; cost[c.Rental] < 0 {
				t.Fatalf("%s is at %d on the way", c.Rental, cost[c.Rental])
			}
			if c.Amount.Micro == 0 || c.Used.After(now) || c.Kind != bridge.ByBill && c.Amount.Micro > 0 {
				t.Fatalf("a correction that books refuse: %+v", c)
			}
		}
		settle(&b, s.Corrections())
		for _, list := range [][]Case{s.Matched, s.Differing} {
			for _, c := range list {
				if off := abs(cost[c.Rental] - c.Billed.Micro); off > b.Tolerance {
					t.Fatalf("%s: books %d, billed %d", c.Rental, cost[c.Rental], c.Billed.Micro)
				}
			}
		}
		again, err := Match(lines, b)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(again.Corrections()); n != 0 {
			t.Fatalf("%d corrections by the same bill: %+v", n, again.Corrections())
		}
	})
}
