package bridge_test

import (
	"fmt"
	"testing"

	"spillway.sh/spillway/bridge"
)

// BenchmarkDecideScopes100kJobs decides with budgets of single clouds and classes
// beside the usual ones, some or all of them all but used up: from nothing, and
// again while one in a hundred jobs changes.
func BenchmarkDecideScopes100kJobs(b *testing.B) {
	for _, used := range []int{1, 5} {
		s, f := benchWorld(b), benchFile(b)
		usd := func(n int64) bridge.Money { return bridge.Money{Micro: n * bridge.Micro, Currency: "USD"} }
		for c := range 5 {
			bal := bridge.Balance{Account: "uni", Cloud: fmt.Sprintf("cloud%d", c), Period: "2026-W49", Limit: usd(1_000_000)}
			if c < used {
				bal.Posted = usd(999_995)
			}
			s.Budgets = append(s.Budgets, bal)
		}
		s.Budgets = append(s.Budgets, bridge.Balance{Account: "uni", GPU: "h100", Period: "2026-11", Limit: usd(100), Hard: true})
		b.Run(fmt.Sprintf("clouds-used-up=%d/first", used), func(b *testing.B) {
			b.ReportAllocs()
			cpu := cpuTime()
			var p bridge.Plan
			for b.Loop() {
				p = bridge.NewDecider(f.Policy()).Decide(s)
			}
			reportPlan(b, &p, cpu)
		})
		b.Run(fmt.Sprintf("clouds-used-up=%d/again", used), func(b *testing.B) {
			worlds := []*bridge.Snapshot{s, later(s, true)}
			d := bridge.NewDecider(f.Policy())
			p := d.Decide(worlds[0])
			b.ReportAllocs()
			cpu := cpuTime()
			for i := 1; b.Loop(); i++ {
				p = d.Decide(worlds[i%2])
			}
			reportPlan(b, &p, cpu)
		})
	}
}
