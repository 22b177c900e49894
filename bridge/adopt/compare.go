package adopt

import (
	"fmt"

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

// order is how far along a rental is.
var order = map[bridge.State]int{
	bridge.StateLaunching: 1, bridge.StateJoining: 2, bridge.StateAdmitted: 3, bridge.StateDraining: 4, bridge.StateReleasing: 5,
}

// catchUp brings a held row to where its machines are found: further on, never
// back; with the machines that it lacks, and as long a life as the clouds were
// told.
func catchUp(was bridge.Rental, found *bridge.Rental) (next bridge.Rental, changed bool) {
	next = was
	next.Machines = append([]bridge.Machine{}, was.Machines...)
	if found.Expires.After(was.Expires) {
		next.Expires, changed = found.Expires, true
		if more, err := found.Hold.Cmp(was.Hold); err == nil && more > 0 {
			next.Hold = found.Hold
		}
	}
	known := map[string]bool{}
	for i := range was.Machines {
		known[was.Machines[i].ID] = true
	}
	for i := range found.Machines {
		m := &found.Machines[i]
		if m.ID == "" || known[m.ID] || i >= len(next.Machines) || next.Machines[i].ID != "" {
			continue
		}
		next.Machines[i], changed = *m, true
	}
	if order[found.State] > order[was.State] && was.State != bridge.StateReleasing {
		next.State, next.Since, next.Why = found.State, found.Since, found.Why
		next.Jobs, next.Running, next.IdleSince = found.Jobs, found.Running, found.IdleSince
		for i := range next.Machines {
			if i < len(found.Machines) && next.Machines[i].ID == found.Machines[i].ID {
				next.Machines[i].State, next.Machines[i].Joined = found.Machines[i].State, found.Machines[i].Joined
			}
		}
		changed = true
	}
	return next, changed
}
