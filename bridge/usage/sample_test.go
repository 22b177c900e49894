package usage

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"spillway.sh/spillway/bridge"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func node(name string, gpus, free int, gpu string) bridge.Node {
	return bridge.Node{
		Name: name, Shape: bridge.Shape{CPUs: 64, MemoryMiB: 1000, GPUs: gpus, GPUType: gpu}, Free: bridge.Shape{CPUs: 1, MemoryMiB: 1, GPUs: free, GPUType: gpu},
		Usable: true, Responding: true,
	}
}

func demand(gpus int, gpu string, nodes, count int, standing bridge.Standing) bridge.Demand {
	return bridge.Demand{Shape: bridge.Shape{GPUs: gpus, GPUType: gpu}, Nodes: nodes, Count: count, Standing: standing}
}

// world has two own nodes of h100, one of which is half used, two admitted
// machines, one of which is used, and one that has not joined.
func world() *bridge.Snapshot {
	s := &bridge.Snapshot{
		Now: noon, MaxQueueAge: time.Minute,
		Queues: []bridge.Queue{{
			Cluster: "main", ObservedAt: noon,
			Nodes: []bridge.Node{
				node("own1", 8, 4, "h100"), node("own2", 8, 8, "h100"), node("cpu1", 0, 0, ""),
				node("r1", 8, 0, "h100"), node("r2", 8, 8, "h100"), node("r3", 8, 8, "h100"), node("left", 8, 0, "h100"),
			},
			Runs: []bridge.Run{{Job: "1", Nodes: []string{"own1"}}, {Job: "2", Nodes: []string{"r1"}}},
			Demands: []bridge.Demand{
				demand(8, "h100", 2, 3, bridge.StandingHelps), demand(2, "", 1, 1, bridge.StandingBehind), demand(4, "a100", 1, 1, bridge.StandingHelps),
				demand(8, "h100", 1, 1, bridge.StandingUser), demand(0, "", 9, 9, bridge.StandingHelps),
			},
		}},
		Rentals: []bridge.Rental{
			{ID: "r-0011", Cluster: "main", State: bridge.StateAdmitted, Shape: bridge.Shape{GPUs: 8, GPUType: "h100"}, Machines: []bridge.Machine{{Node: "r1", State: bridge.MachineNoticed}, {Node: "r2", State: bridge.MachineJoined}}},
			{ID: "r-0022", Cluster: "main", State: bridge.StateJoining, Shape: bridge.Shape{GPUs: 8, GPUType: "h100"}, Machines: []bridge.Machine{{Node: "r3", State: bridge.MachineJoined}}},
		},
	}
	left := &s.Queues[0].Nodes[6]
	left.Dynamic, left.Usable = true, false
	return s
}

func TestGPUsAreCountedByWhatTheyDo(t *testing.T) {
	got := Sample(noon.Add(-time.Minute), noon, world(), map[string]int{"r1": 725, "r2": 10, "own1": 999})
	want := []bridge.Usage{
		{Hour: noon.Add(-time.Hour), Cluster: "main", GPU: "a100", Seconds: 60, Waiting: 4 * 60},
		{
			Hour: noon.Add(-time.Hour), Cluster: "main", GPU: "h100", Seconds: 60, Owned: 16 * 60, OwnedBusy: 4 * 60, Rented: 16 * 60, RentedBusy: 8 * 60,
			Waiting: (48 + 2) * 60, Measured: 8 * 60, Useful: 8 * 60 * 725 / 1000,
		},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestATimeIsSplitAtTheHour(t *testing.T) {
	s := world()
	s.Queues[0].ObservedAt = noon.Add(20 * time.Second)
	got := map[time.Time]int64{}
	for _, u := range Sample(noon.Add(-40*time.Second), noon.Add(20*time.Second), s, nil) {
		if u.GPU == "h100" {
			got[u.Hour] = u.Seconds
			if u.Owned != 16*u.Seconds || u.Measured != 0 {
				t.Errorf("%+v", u)
			}
		}
	}
	if d := cmp.Diff(map[time.Time]int64{noon.Add(-time.Hour): 40, noon: 20}, got); d != "" {
		t.Error(d)
	}
}

func TestWhatNobodyLookedAtIsNotCounted(t *testing.T) {
	for name, c := range map[string]struct {
		prev, now time.Time
		observed  time.Time
	}{
		"the first look":   {time.Time{}, noon, noon},
		"a long gap":       {noon.Add(-Gap - time.Second), noon, noon},
		"a stale queue":    {noon.Add(-time.Minute), noon, noon.Add(-61 * time.Second)},
		"never observed":   {noon.Add(-time.Minute), noon, time.Time{}},
		"no time at all":   {noon, noon, noon},
		"a clock put back": {noon.Add(time.Minute), noon, noon},
	} {
		s := world()
		s.Queues[0].ObservedAt = c.observed
		if got := Sample(c.prev, c.now, s, nil); len(got) != 0 {
			t.Errorf("%s: %+v", name, got)
		}
	}
	// One cluster's silence does not silence another.
	s := world()
	quiet := s.Queues[0]
	quiet.Cluster, quiet.ObservedAt = "other", noon.Add(-time.Hour)
	s.Queues = append(s.Queues, quiet)
	for _, u := range Sample(noon.Add(-time.Minute), noon, s, nil) {
		if u.Cluster != "main" {
			t.Errorf("%+v", u)
		}
	}
}

func TestANodeThatTakesNoMoreJobsIsItsJobs(t *testing.T) {
	s := world()
	own := &s.Queues[0].Nodes[0]
	own.Usable, own.Free = false, bridge.Shape{}
	for _, u := range Sample(noon.Add(-time.Minute), noon, s, nil) {
		if u.GPU == "h100" && u.OwnedBusy != 8*60 {
			t.Errorf("%+v", u)
		}
	}
}

// However a time is cut into samples, every GPU-second is counted once, and
// nothing is busier than it exists.
func TestSamplesAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := world()
		s.MaxQueueAge = 24 * time.Hour
		at := noon.Add(-time.Duration(rapid.IntRange(0, 7200).Draw(t, "before")) * time.Second)
		start := at.Truncate(time.Second)
		var sum, seconds int64
		for range rapid.IntRange(1, 60).Draw(t, "samples") {
			next := at.Add(time.Duration(rapid.Int64Range(1, int64(Gap)-int64(time.Second)).Draw(t, "step")))
			s.Queues[0].ObservedAt = next
			for _, u := range Sample(at, next, s, map[string]int{"r1": rapid.IntRange(0, 1000).Draw(t, "pm")}) {
				if u.GPU == "h100" {
					sum, seconds = sum+u.Owned, seconds+u.Seconds
				}
				if u.OwnedBusy > u.Owned || u.RentedBusy > u.Rented || u.Measured > u.RentedBusy || u.Useful > u.Measured || u.Seconds > 3600 {
					t.Fatalf("%+v", u)
				}
			}
			at = next
		}
		if want := int64(at.Truncate(time.Second).Sub(start) / time.Second); seconds != want || sum != 16*want {
			t.Fatalf("%d seconds, %d GPU-seconds of %d", seconds, sum, want)
		}
	})
}

func TestOnlyAdmittedMachinesAreMeasured(t *testing.T) {
	if d := cmp.Diff([]string{"r1", "r2"}, Rented(world())); d != "" {
		t.Error(d)
	}
}
