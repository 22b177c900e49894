package desk

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"spillway.sh/spillway/bridge"
)

// agents are what machines said, by rental and instance.
type agents map[string]bridge.Report

func (a agents) Reported(rental bridge.RentalID, instance string) (bridge.Report, time.Time, bool) {
	r, ok := a[string(rental)+"/"+instance]
	return r, noon, ok
}

func TestRentalShowsWhatItsMachinesSay(t *testing.T) {
	said := bridge.Report{Health: bridge.HealthFit, Busy: true, GPUPM: 910}
	d := &Desk{Config: Config{Reporter: agents{"r-0013/i-2": said, "r-0026/i-1": {}}}}
	r := Rental{ID: "r-0013", Machines: []Machine{{ID: "i-1"}, {ID: "i-2"}}}
	d.hear(&r)
	if diff := cmp.Diff([]Machine{{ID: "i-1"}, {ID: "i-2", Report: &said, Heard: noon}}, r.Machines); diff != "" {
		t.Errorf("machines (-want +got):\n%s", diff)
	}
	(&Desk{}).hear(&r) // with the daemon down nobody hears them
}

func TestExplainShowsWhatTheJobsMachinesSay(t *testing.T) {
	d, w := newWorld(t)
	said := bridge.Report{Health: bridge.HealthChecking, Stages: []bridge.Stage{{Name: "10-dataset", OK: true, Took: 12 * time.Second}}}
	d.Reporter = agents{"r-0013/i-1": said}
	w.rentals = []bridge.Rental{{
		ID: "r-0013", State: bridge.StateJoining, Cluster: "main", Requester: "ana", Jobs: []bridge.JobID{"4711"}, Count: 1,
		Machines: []bridge.Machine{{Node: "sw-0013-0", ID: "i-1", State: bridge.MachineCreated}},
	}}
	a, err := d.Explain(t.Context(), d.as("ana"), ExplainRequest{Job: "4711"})
	if err != nil || len(a.Rentals) != 1 {
		t.Fatalf("%d rentals, %v", len(a.Rentals), err)
	}
	if diff := cmp.Diff(&said, a.Rentals[0].Machines[0].Report); diff != "" {
		t.Errorf("its machine says (-want +got):\n%s", diff)
	}
}

func TestUseIsOfTheMachinesThatTell(t *testing.T) {
	at := func(pm int, s bridge.MachineState) Machine {
		return Machine{State: s, Report: &bridge.Report{GPUPM: pm}}
	}
	for name, c := range map[string]struct {
		machines []Machine
		use      int
		known    bool
	}{
		"nobody told":           {machines: []Machine{{}, at(-1, bridge.MachineJoined)}},
		"the mean of those":     {machines: []Machine{at(900, bridge.MachineJoined), at(500, bridge.MachineNoticed), at(-1, bridge.MachineJoined)}, use: 700, known: true},
		"more than all is all":  {machines: []Machine{at(7000, bridge.MachineJoined)}, use: 1000, known: true},
		"what is gone is as no": {machines: []Machine{at(900, bridge.MachineGone)}},
	} {
		r := Rental{Machines: c.machines}
		if use, known := r.Use(); use != c.use || known != c.known {
			t.Errorf("%s: %d, %t", name, use, known)
		}
	}
}
