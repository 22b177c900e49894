package bridge

import (
	"slices"
	"testing"
	"time"
)

// watched goes through hours minute by minute, as the engine does: machines are
// named when they are due, and given back when they are.
type watched struct {
	named []int // minutes since noon; a machine each
	gone  int   // minute of the return; -1: none
	went  []int // ordinals, empty: all
	said  time.Time
}

func watchFor(r *Rental, w Watch, minutes int, busy func(minute int, node string) bool) watched {
	out := watched{gone: -1}
	for minute := range minutes {
		now := noon.Add(time.Duration(minute) * time.Minute)
		occ := &occupancy{at: now, busy: map[string]bool{}}
		for i := range r.Machines {
			occ.busy[r.Machines[i].Node] = busy != nil && busy(minute, r.Machines[i].Node)
		}
		if ret, ok := returnOf(r, now, occ, nil, false); ok {
			out.gone, out.went = minute, ret.Machines
			return out
		}
		all := true
		for i := range r.Machines {
			m := &r.Machines[i]
			switch {
			case occ.busy[m.Node]:
				m.IdleSince, all = time.Time{}, false
			case m.IdleSince.IsZero():
				m.IdleSince = now
			}
		}
		switch {
		case !all:
			r.IdleSince = time.Time{}
		case r.IdleSince.IsZero():
			r.IdleSince = now
		}
		for _, i := range Untold(r, w, now) {
			out.named = append(out.named, minute)
			r.Machines[i].IdleTold = now
			out.said = r.Goes(&r.Machines[i])
		}
	}
	return out
}

func TestS_F29_AForgottenMachineIsNamedAndGoesBack(t *testing.T) {
	const m = time.Minute
	until := func(end int) func(int, string) bool { return func(minute int, _ string) bool { return minute < end } }
	for name, c := range map[string]struct {
		idle, step, unowned time.Duration
		keep, release       int // minutes
		gang, machines      int
		busy                func(int, string) bool
		named               []int
		gone                int
		went                []int
	}{
		"inside its paid hour it is named, and goes at its end": {idle: 10 * m, step: time.Hour, named: []int{10}, gone: 58},
		"after policy's patience where time is by the second":   {idle: 30 * m, step: time.Second, named: []int{20}, gone: 30},
		"what goes at once is not named":                        {idle: 10 * m, step: time.Second, gone: 10},
		"not between one job and the next":                      {idle: 0, step: time.Hour, busy: until(5), named: []int{6}, gone: 58},
		"never while a job runs":                                {idle: 10 * m, step: time.Hour, busy: until(999), gone: -1},
		"once for each spell": {
			idle: 60 * m, step: time.Second, busy: func(minute int, _ string) bool { return minute >= 30 && minute < 35 }, named: []int{20, 55}, gone: 95,
		},
		"kept by its owner, and not named meanwhile":          {idle: 10 * m, step: time.Second, keep: 45, gone: 45},
		"kept into the next paid hour":                        {idle: 10 * m, step: time.Hour, keep: 70, named: []int{70}, gone: 118},
		"nobody owns it: told, then gone":                     {idle: 10 * time.Hour, step: time.Second, unowned: 15 * m, named: []int{20}, gone: 35},
		"nobody owns it: at the end of its paid hour":         {idle: 10 * time.Hour, step: time.Hour, unowned: 15 * m, named: []int{20}, gone: 58},
		"nobody owns it: never before somebody was told":      {idle: 10 * m, step: time.Second, unowned: 15 * m, named: []int{10}, gone: 11},
		"nobody owns it: told as soon as policy would end it": {idle: 0, step: time.Second, unowned: 15 * m, named: []int{0}, gone: 1},
		"nobody owns it, and a job runs":                      {idle: 10 * m, step: time.Second, unowned: 15 * m, busy: until(999), gone: -1},
		"a person's own time comes first":                     {idle: 60 * m, step: time.Second, release: 25, named: []int{20}, gone: 25},
		"machines of a gang are idle together":                {idle: 60 * m, step: time.Second, gang: 2, machines: 2, busy: func(at int, n string) bool { return n == "b" && at < 10 }, named: []int{30, 30}, gone: 70},
		"one machine of several, while the other works":       {idle: 30 * m, step: time.Second, machines: 2, busy: func(_ int, n string) bool { return n == "b" }, named: []int{20}, gone: 30, went: []int{0}},
		"one machine that nobody owns, while another works":   {idle: time.Hour, step: time.Second, unowned: 5 * m, machines: 2, busy: func(_ int, n string) bool { return n == "b" }, named: []int{20}, gone: 25, went: []int{0}},
		"one machine kept together with the one that works":   {idle: 30 * m, step: time.Second, keep: 80, machines: 2, busy: func(_ int, n string) bool { return n == "b" }, named: nil, gone: 80, went: []int{0}},
	} {
		t.Run(name, func(t *testing.T) {
			r := Rental{
				ID: NewRentalID(1), State: StateAdmitted, Gang: max(c.gang, 1), Count: max(c.machines, 1), Idle: c.idle, Step: c.step,
				Unowned: c.unowned, Expires: noon.Add(20 * time.Hour), Rate: Rate{Micro, "USD"},
			}
			for i, node := range []string{"a", "b"}[:max(c.machines, 1)] {
				r.Machines = append(r.Machines, Machine{Ordinal: i, Node: node, State: MachineJoined, Started: noon})
			}
			if c.keep > 0 {
				r.KeepUntil = noon.Add(time.Duration(c.keep) * m)
			}
			if c.release > 0 {
				r.ReleaseAt = noon.Add(time.Duration(c.release) * m)
			}
			got := watchFor(&r, Watch{}, 5*60, c.busy)
			if !slices.Equal(got.named, c.named) || got.gone != c.gone || !slices.Equal(got.went, c.went) {
				t.Errorf("named at %v, gone at %d (%v); want %v, %d (%v)", got.named, got.gone, got.went, c.named, c.gone, c.went)
			}
			if !got.said.IsZero() && got.gone-int(got.said.Sub(noon)/m) > 1 {
				t.Errorf("said to go at %s, went at minute %d", got.said.Format(time.TimeOnly), got.gone)
			}
		})
	}
}

// What its owner asks for ends with what is held.
func TestKeepingEndsWithTheRental(t *testing.T) {
	r := Rental{ID: NewRentalID(1), State: StateAdmitted, Gang: 1, Idle: time.Minute, KeepUntil: noon.Add(10 * time.Hour), Expires: noon.Add(30 * time.Minute), Machines: []Machine{{Node: "a", State: MachineJoined, Started: noon}}}
	if got := watchFor(&r, Watch{}, 60, nil); got.gone != 30 {
		t.Errorf("gone at minute %d, want 30", got.gone)
	}
}

func TestWhatIdlingCosts(t *testing.T) {
	r := Rental{Rate: Rate{6 * Micro, "USD"}, Machines: []Machine{
		{State: MachineJoined, IdleSince: noon.Add(-30 * time.Minute)},
		{State: MachineJoined, IdleSince: noon.Add(-10 * time.Minute), Rate: Rate{12 * Micro, "USD"}},
		{State: MachineJoined},
		{State: MachineReleasing, IdleSince: noon.Add(-time.Hour)},
	}}
	if got := r.IdleCost(noon); got != (Money{5 * Micro, "USD"}) {
		t.Errorf("idling has cost %s, want 5.00 USD", got)
	}
}
