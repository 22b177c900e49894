package local_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/cloud/local/server"
	"spillway.sh/spillway/bridge/cloud/local/wire"
)

func TestListingsGoWrong(t *testing.T) {
	for name, tc := range map[string]struct {
		fault        wire.Fault
		wantComplete bool
		wantMachines int
	}{
		"nothing is wrong":                    {wire.Fault{Kind: wire.FaultSlow, Delay: wire.Duration(time.Millisecond)}, true, 6},
		"the first page is lost":              {wire.Fault{Kind: wire.FaultLostPage, Count: 1}, false, 2},
		"the second page is lost":             {wire.Fault{Kind: wire.FaultLostPage, Skip: 1, Count: 1}, false, 6},
		"a machine is there twice":            {wire.Fault{Kind: wire.FaultDuplicate}, true, 6},
		"the list is from before the machine": {wire.Fault{Kind: wire.FaultStaleList}, true, 0},
		"a machine is missing":                {wire.Fault{Kind: wire.FaultAbsent}, true, 5},
		"addresses are missing":               {wire.Fault{Kind: wire.FaultNoAddress}, true, 6},
	} {
		t.Run(name, func(t *testing.T) {
			r := start(t, world, server.NewNullHost())
			if tc.fault.Kind == wire.FaultStaleList {
				r.fault(tc.fault)
			}
			l := r.launch(6, zone, bridge.OnDemand)
			h := r.handle(l)
			if tc.fault.Kind != wire.FaultStaleList {
				r.await("all are listed", func() bool { return len(r.list().Instances) == 6 })
				r.fault(tc.fault)
			}
			// The same list is asked for by store and by cluster; a fault of one
			// page leaves the other whole.
			got := r.list()
			if got.Complete != tc.wantComplete {
				t.Errorf("complete %t, want %t", got.Complete, tc.wantComplete)
			}
			if tc.fault.Count == 0 && len(got.Instances) != tc.wantMachines {
				t.Errorf("%d machines, want %d", len(got.Instances), tc.wantMachines)
			}
			if tc.fault.Kind == wire.FaultStaleList {
				if seen, err := r.cloud.Observe(t.Context(), l, h); err != nil || len(seen) != 6 {
					t.Errorf("observe by handle: %d machines, %v", len(seen), err)
				}
			}
		})
	}
}

func TestWrongTagsReachTheEngineAsTheyAre(t *testing.T) {
	r := start(t, world, server.NewNullHost())
	r.running(r.launch(1, zone, bridge.OnDemand))
	r.fault(wire.Fault{Kind: wire.FaultWrongTags, Tags: map[string]string{bridge.TagRental: "r-other", bridge.TagAttempt: ""}})
	want := map[string]string{bridge.TagStore: "st", bridge.TagCluster: "cl", bridge.TagRental: "r-other"}
	r.await("the tags are wrong", func() bool {
		l := r.list()
		return len(l.Instances) == 1 && cmp.Equal(want, l.Instances[0].Tags)
	})
}

func TestMachinesThatFail(t *testing.T) {
	for name, tc := range map[string]struct {
		fault     wire.Fault
		wantState bridge.InstanceState
		wantFault bool
		wantGPUs  int
		wantData  string
	}{
		"healthy":            {wire.Fault{Kind: wire.FaultSlowBoot, Delay: 1}, bridge.InstanceRunning, false, 8, "#!/bin/sh\n"},
		"dies at boot":       {wire.Fault{Kind: wire.FaultDiesAtBoot}, bridge.InstanceGone, true, 0, ""},
		"never joins":        {wire.Fault{Kind: wire.FaultNeverJoins}, bridge.InstanceRunning, false, 8, ""},
		"one GPU is missing": {wire.Fault{Kind: wire.FaultWrongGPUs}, bridge.InstanceRunning, false, 7, "#!/bin/sh\n"},
		"five are missing":   {wire.Fault{Kind: wire.FaultWrongGPUs, Machines: 5}, bridge.InstanceRunning, false, 3, "#!/bin/sh\n"},
	} {
		t.Run(name, func(t *testing.T) {
			host := server.NewNullHost()
			r := start(t, world, host)
			r.fault(tc.fault)
			l := r.launch(1, zone, bridge.OnDemand)
			h := r.handle(l)
			var m bridge.Instance
			r.await("the machine has settled", func() bool {
				got, err := r.cloud.Observe(t.Context(), l, h)
				if err != nil {
					t.Fatal(err)
				}
				m = got[0]
				return m.State == tc.wantState
			})
			g, _ := host.Guest(m.ID)
			if (m.Fault != "") != tc.wantFault || g.GPUs != tc.wantGPUs || g.UserData != tc.wantData {
				t.Errorf("fault %q, %d GPUs, user-data %q", m.Fault, g.GPUs, g.UserData)
			}
		})
	}
}
