package policies

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"spillway.sh/spillway/bridge"
)

func TestCapacityOfAFile(t *testing.T) {
	f, err := Parse("policy.yaml", []byte(someRules+`capacity:
  - {name: own, kind: owned, gpu: a100, gpus: 64, cost: 1.10 USD/h}
  - {name: north-2027, kind: reserved, gpu: h100, gpus: 64, cost: 1.95 USD/h, cloud: north, type: g8, machines: 8, from: 2027-01-01, until: 2028-01-01}
  - {name: sprint, kind: block, gpu: h100, gpus: 16, cost: 2.40 USD/h, cloud: north, region: eu, zone: eu-1, type: g8, machines: 2, from: "2026-12-01T09:30:00+01:00", until: 2026-12-15}
  - {name: plan, kind: savings-plan, gpu: l4, gpus: 10, cost: 0.31 USD/h, cloud: east, type: g1, machines: 10}
`))
	if err != nil {
		t.Fatal(err)
	}
	usd := func(micro int64) bridge.Rate { return bridge.Rate{Micro: micro, Currency: "USD"} }
	berlin := func(y int, m time.Month, d int) time.Time { return time.Date(y, m, d, -1, 0, 0, 0, time.UTC) }
	want := []bridge.Capacity{
		{Name: "own", Kind: bridge.Owned, GPU: "a100", GPUs: 64, Rate: usd(1_100_000)},
		{Name: "north-2027", Kind: bridge.Contract, GPU: "h100", GPUs: 64, Rate: usd(1_950_000), Cloud: "north", Type: "g8", Machines: 8, From: berlin(2027, 1, 1), Until: berlin(2028, 1, 1)},
		{Name: "sprint", Kind: bridge.Block, GPU: "h100", GPUs: 16, Rate: usd(2_400_000), Cloud: "north", Region: "eu", Zone: "eu-1", Type: "g8", Machines: 2, From: time.Date(2026, 12, 1, 8, 30, 0, 0, time.UTC), Until: berlin(2026, 12, 15)},
		{Name: "plan", Kind: bridge.SavingsPlan, GPU: "l4", GPUs: 10, Rate: usd(310_000), Cloud: "east", Type: "g1", Machines: 10},
	}
	if diff := cmp.Diff(want, f.Capacity()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"east", "north"}, f.Clouds()); diff != "" {
		t.Errorf("clouds (-want +got):\n%s", diff)
	}
}

// TestP0LeavesOnlyForContracts holds that class P0 may go out where the file has a
// contract with a cloud, at once and nowhere else, and never where it has none.
func TestP0LeavesOnlyForContracts(t *testing.T) {
	const file = `version: 1
organisation: lab
currency: USD
mode: %
zone: UTC
accounts: [{account: "*", to: physics/hep}]
defaults: {wait: 2h, ask_above: 5 USD}
roles: {approvers: [ana]}
rules: [{name: core, class: P0}]
budgets: [{account: lab, every: month, limit: 500 USD}]
`
	const own, contract = "capacity: [{name: own, kind: owned, gpu: a100, gpus: 64, cost: 1.10 USD/h}]\n",
		"capacity: [{name: plan, kind: savings-plan, gpu: l4, gpus: 10, cost: 0.31 USD/h, cloud: east, type: g1, machines: 10}]\n"
	for name, c := range map[string]struct {
		mode, capacity string
		why            bridge.Reason
	}{
		"without capacity":             {"burst", "", bridge.ReasonReserved},
		"with machines of its own":     {"burst", own, bridge.ReasonReserved},
		"with a contract":              {"burst", contract, ""},
		"with a contract, and watched": {"observe", contract, bridge.ReasonObserve},
	} {
		t.Run(name, func(t *testing.T) {
			f, err := Parse("policy.yaml", []byte(strings.Replace(file, "%", c.mode, 1)+c.capacity))
			if err != nil {
				t.Fatal(err)
			}
			got := f.Policy().Terms(&bridge.Demand{User: "ana", Account: "hep"}, &bridge.Facts{})
			if got.Burst != (c.why == "") || got.Why != c.why || got.Class != bridge.P0 {
				t.Fatalf("terms %+v", got)
			}
			if got.Burst && (!slices.Equal(got.Markets, []bridge.Market{bridge.Reserved}) || got.Wait != 0 || !got.AskAbove.IsZero()) {
				t.Errorf("it may go out by %+v", got)
			}
		})
	}
}
