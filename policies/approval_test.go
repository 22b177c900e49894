package policies

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"spillway.sh/spillway/bridge"
)

func TestApprovalRules(t *testing.T) {
	f, err := Load("examples/company-gpu.yaml")
	if err != nil {
		t.Fatal(err)
	}
	usd := func(units int64) bridge.Money { return bridge.Money{Micro: units * bridge.Micro, Currency: "USD"} }
	want := bridge.Approval{TwoAbove: usd(2000), Authority: map[string]bridge.Money{"@leads": usd(1500)}, Escalation: []string{"head"}}
	if diff := cmp.Diff(want, f.Approval()); diff != "" {
		t.Errorf("approval differs (-want +got):\n%s", diff)
	}
	got := f.Approval()
	got.Authority["mallory"], got.Escalation[0] = usd(1), "mallory"
	if diff := cmp.Diff(want, f.Approval()); diff != "" {
		t.Errorf("a caller changed the file's own (-want +got):\n%s", diff)
	}
}
