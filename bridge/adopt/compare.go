package adopt

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	"spillway.sh/spillway/bridge"
)

// compare sets a rebuilt rental beside its row in the books. A row that is held
// is believed in all that the clouds do not know better.
func (f *Found) compare(r *bridge.Rebuilt, b *books) {
	was, known := b.all[r.Rental.ID]
	switch {
	case f.Damage != nil || !known:
		f.Rentals = append(f.Rentals, Rental{Rebuilt: *r, New: true})
	case was.State.Ended():
		for i := range r.Rental.Machines {
			if m := &r.Rental.Machines[i]; m.ID != "" && m.State != bridge.MachineGone {
				why := fmt.Sprintf("%s is %s in the books; the daemon ends it, unless a job runs on it", was.ID, was.State)
				f.Left = append(f.Left, bridge.Unread{Instance: bridge.Instance{ID: m.ID, Pool: r.Rental.Pool}, Why: why})
			}
		}
	case was.State == bridge.StateWaiting:
		r.Rental.Version = was.Version
		r.Rental.Jobs, r.Rental.Requester, r.Rental.Key = was.Jobs, was.Requester, was.Key
		f.Rentals = append(f.Rentals, Rental{Rebuilt: *r, Was: was.State, New: true})
	default:
		next, changed := catchUp(was, &r.Rental)
		f.Rentals = append(f.Rentals, Rental{Rebuilt: bridge.Rebuilt{Rental: next}, Was: was.State, New: changed})
	}
}

// How far along rentals and machines are.
var (
	far = map[bridge.State]int{
		bridge.StateLaunching: 1, bridge.StateJoining: 2, bridge.StateAdmitted: 3, bridge.StateDraining: 4, bridge.StateReleasing: 5,
	}
	farMachine = map[bridge.MachineState]int{
		bridge.MachineIntended: 1, bridge.MachineCreated: 2, bridge.MachineJoined: 3, bridge.MachineNoticed: 4, bridge.MachineReleasing: 5, bridge.MachineGone: 6,
	}
)

// catchUp brings a held row to where its machines are found: further on, never
// back; with the machines and jobs that it lacks, and as long a life as the
// clouds were told.
func catchUp(was bridge.Rental, found *bridge.Rental) (next bridge.Rental, changed bool) {
	next = was
	next.Machines, next.Jobs = slices.Clone(was.Machines), slices.Clone(was.Jobs)
	if found.Expires.After(was.Expires) {
		next.Expires = found.Expires
		if more, err := found.Hold.Cmp(was.Hold); err == nil && more > 0 {
			next.Hold = found.Hold
		}
	}
	for i := range next.Machines {
		if i < len(found.Machines) {
			meet(&next.Machines[i], &found.Machines[i])
		}
	}
	for _, j := range found.Jobs {
		if !slices.Contains(next.Jobs, j) {
			next.Jobs = append(next.Jobs, j)
		}
	}
	if far[found.State] > far[was.State] {
		next.State, next.Since, next.Why, next.IdleSince = found.State, found.Since, found.Why, found.IdleSince
	}
	if len(found.Running) > 0 {
		next.Running, next.IdleSince = found.Running, time.Time{}
	}
	return next, !reflect.DeepEqual(was, next)
}

// meet brings a machine's row up to what is found in its place.
func meet(m, found *bridge.Machine) {
	switch {
	case found.ID == "" || m.ID != "" && m.ID != found.ID:
	case m.ID == "":
		*m = *found
	case farMachine[found.State] > farMachine[m.State]:
		m.State, m.Stopped, m.NoticeAt, m.ReclaimAt = found.State, found.Stopped, found.NoticeAt, found.ReclaimAt
		if m.Joined.IsZero() {
			m.Joined = found.Joined
		}
	}
}
