package bridge

import (
	"testing"
	"time"
)

// What a person wants back at a time goes then, gently, and not before.
func TestARentalGoesBackWhenItsOwnerSaid(t *testing.T) {
	busy := func(r *Rental) *occupancy {
		return &occupancy{at: noon, busy: map[string]bool{r.Machines[0].Node: true}}
	}
	for name, c := range map[string]struct {
		state State
		at    time.Time
		busy  bool
		back  bool
		drain bool
	}{
		"before its time":         {StateAdmitted, noon.Add(time.Second), true, false, false},
		"at its time":             {StateAdmitted, noon, true, true, true},
		"without a job on it":     {StateAdmitted, noon, false, true, false},
		"while it joins":          {StateJoining, noon, false, true, false},
		"once it drains, no more": {StateDraining, noon, true, false, false},
		"without such a wish":     {StateAdmitted, time.Time{}, true, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := Rental{ID: NewRentalID(1), State: c.state, ReleaseAt: c.at, Expires: noon.Add(time.Hour), Count: 1, Gang: 1, Machines: []Machine{{Node: "sw-0013-0", State: MachineJoined}}}
			occ := &occupancy{at: noon}
			if c.busy {
				occ = busy(&r)
			}
			got, ok := returnOf(&r, noon, occ, nil, true)
			if ok != c.back || ok && (got.Why != ReasonAskedRelease || got.Drain != c.drain) {
				t.Errorf("given back: %t, %+v", ok, got)
			}
		})
	}
}
