package bridge

import (
	"math/rand/v2"
	"testing"
)

// A roof never says that nothing fits where something does.
func TestWhatFitsIsUnderTheRoof(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	draw := func() Shape {
		return Shape{CPUs: rng.IntN(4) - 1, MemoryMiB: rng.Int64N(3), GPUs: rng.IntN(3), DiskMiB: rng.Int64N(3), GPUType: []string{"", "a100"}[rng.IntN(2)]}
	}
	for range 20_000 {
		var places []*place
		for range rng.IntN(4) {
			s := draw()
			places = append(places, &place{has: &s, free: s})
		}
		r, want := roofOf(places), draw()
		if findGang(places, &want, 1) != nil && !r.under(&want) {
			t.Fatalf("%s fits and is over %+v", want, r)
		}
	}
}

// A full cluster with a long queue is not gone through once for each job: of
// rooms whose roof a demand goes over, no machine is looked at.
func TestNoMachineIsLookedAtOverTheRoof(t *testing.T) {
	look := &look{Decider: NewDecider(nil), s: &Snapshot{}}
	full := &room{rental: &Rental{State: StateAdmitted}, places: []*place{nil}} // looking at it would panic
	full.roof.cover(&Shape{CPUs: 4})
	for name, c := range map[string]*cluster{
		"all":      {rooms: []*room{full}, upper: full.roof},
		"each one": {rooms: []*room{full}, upper: roof{cpus: 64, gpus: 8, some: true}},
	} {
		o := &opening{entry: &entry{demand: &Demand{Shape: Shape{CPUs: 4, GPUs: 1}}}, left: 1}
		if look.route(c, o, &Verdict{}) {
			t.Errorf("%s: a route was found", name)
		}
	}
}
