package bridge

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

var southern = Pool{"south", "r", "a", "t1", Spot}

// TestHazardLearnsAndForgets holds that a pool is believed to take back more
// with each reclaim, less with each quiet hour, and what all are believed to in
// the end.
func TestHazardLearnsAndForgets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var hs []Hazard
		now := noon
		for range rapid.IntRange(0, 20).Draw(t, "events") {
			now = now.Add(time.Duration(rapid.IntRange(0, 600).Draw(t, "minutes")) * time.Minute)
			before := HazardOf(hs, southern).PerHour(now)
			if rapid.Bool().Draw(t, "taken") {
				hs = Reclaimed(hs, southern, now)
				if after := HazardOf(hs, southern).PerHour(now); after <= before {
					t.Fatalf("after a reclaim %d in 1000 hours are expected, %d before", after, before)
				}
				continue
			}
			hs = Lived(hs, southern, time.Duration(rapid.IntRange(0, 600).Draw(t, "lived"))*time.Minute, now)
			if after := HazardOf(hs, southern).PerHour(now); after > before {
				t.Fatalf("after quiet hours %d in 1000 hours are expected, %d before", after, before)
			}
		}
		never := Hazard{}
		if got, want := HazardOf(hs, southern).PerHour(now.Add(2*decayNothing)), never.PerHour(now); got != want {
			t.Fatalf("after months %d reclaims in 1000 hours are expected, %d of a pool nothing is known of", got, want)
		}
	})
}

// TestPoolRestsLongerWithEachReclaim holds that a pool that takes back again
// and again is left alone for longer each time, and for as short as at first
// once that has faded.
func TestPoolRestsLongerWithEachReclaim(t *testing.T) {
	const first, most = 30 * time.Second, 10 * time.Minute
	var hs []Hazard
	var got []time.Duration
	for i := range 7 {
		now := noon.Add(time.Duration(i) * time.Minute)
		hs = Reclaimed(hs, southern, now)
		got = append(got, HazardOf(hs, southern).Rest(now, first, most))
	}
	want := []time.Duration{30 * time.Second, time.Minute, 2 * time.Minute, 4 * time.Minute, 8 * time.Minute, most, most}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("rest after %d reclaims is %s, want %s", i+1, got[i], want[i])
		}
	}
	later := noon.Add(14 * hazardHalf)
	if rest := HazardOf(Reclaimed(hs, southern, later), southern).Rest(later, first, most); rest != first {
		t.Errorf("two weeks later a pool rests for %s, want %s", rest, first)
	}
}

// TestLiveMachinesCountForTheirPool holds that a spot machine speaks for its
// pool while it runs, and one on demand for none.
func TestLiveMachinesCountForTheirPool(t *testing.T) {
	rental := func(m Market) Rental {
		p := southern
		p.Market = m
		return Rental{Pool: p, Machines: []Machine{{State: MachineJoined, Started: noon.Add(-100 * time.Hour)}, {State: MachineGone, Started: noon.Add(-100 * time.Hour)}}}
	}
	known := Reclaimed(nil, southern, noon)
	before := HazardOf(known, southern).PerHour(noon)
	hs := Hazards(known, []Rental{rental(Spot), rental(OnDemand)}, noon)
	if len(hs) != 1 {
		t.Fatalf("hazards of %d pools, want of one: %+v", len(hs), hs)
	}
	if after := hs[0].PerHour(noon); after >= before || hs[0].Lived != 100*time.Hour {
		t.Errorf("100 quiet hours: %d in 1000 hours are expected, %d before; lived %s", after, before, hs[0].Lived)
	}
	if len(known) != 1 || known[0].Lived != 0 {
		t.Errorf("what is known was changed: %+v", known)
	}
}
