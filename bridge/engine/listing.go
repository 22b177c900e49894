package engine

import (
	"slices"

	"spillway.sh/spillway/bridge"
)

// listing is a cloud's list, with what the steps look up in it: each rental is
// compared with the few machines that may be its own, not with all of them.
type listing struct {
	bridge.Listing
	byID     map[string][]int // indexes into Instances
	byToken  map[string][]int
	byRental map[string][]int // of this store, as their tags say
}

func newListing(l bridge.Listing, storeID string) *listing {
	n := len(l.Instances)
	out := &listing{Listing: l, byID: make(map[string][]int, n), byToken: map[string][]int{}, byRental: map[string][]int{}}
	for i := range l.Instances {
		in := &l.Instances[i]
		out.byID[in.ID] = append(out.byID[in.ID], i)
		if in.Token != "" {
			out.byToken[in.Token] = append(out.byToken[in.Token], i)
		}
		if in.Tags[bridge.TagStore] == storeID {
			id := in.Tags[bridge.TagRental]
			out.byRental[id] = append(out.byRental[id], i)
		}
	}
	return out
}

// near returns the instances that may be a rental's, in the order of the list.
func (l *listing) near(r *bridge.Rental) []bridge.Instance {
	found := slices.Concat(l.byRental[string(r.ID)], l.byToken[r.Launch.Token])
	for i := range r.Machines {
		found = append(found, l.byID[r.Machines[i].ID]...)
	}
	slices.Sort(found)
	found = slices.Compact(found)
	out := make([]bridge.Instance, len(found))
	for i, k := range found {
		out[i] = l.Instances[k]
	}
	return out
}

// has reports whether an instance is listed, in whatever state.
func (l *listing) has(id string) bool { return len(l.byID[id]) > 0 }
