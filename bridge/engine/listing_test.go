package engine

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"spillway.sh/spillway/bridge"
)

// A rental is compared with its own machines, however many are listed: two
// hundred rentals of ten machines each are two thousand comparisons and not four
// hundred thousand.
func TestARentalIsComparedWithItsOwnMachinesOnly(t *testing.T) {
	const rentals, each = 200, 10
	var all bridge.Listing
	var rs []bridge.Rental
	for i := range rentals {
		r := bridge.Rental{ID: bridge.NewRentalID(int64(i + 1)), Attempt: 1, Launch: bridge.Launch{Token: fmt.Sprint("token-", i)}}
		for k := range each {
			id := fmt.Sprintf("i-%d-%d", i, k)
			r.Machines = append(r.Machines, bridge.Machine{Ordinal: k, ID: id})
			all.Instances = append(all.Instances, bridge.Instance{ID: id, Token: r.Launch.Token, Tags: map[string]string{bridge.TagStore: "s", bridge.TagRental: string(r.ID)}})
		}
		rs = append(rs, r)
	}
	l, compared := newListing(all, "s"), 0
	for i := range rs {
		compared += len(l.near(&rs[i]))
	}
	if compared != rentals*each {
		t.Errorf("%d comparisons for %d machines", compared, rentals*each)
	}
}

// What is near a rental holds everything that is its own, in the order of the
// list, once each: by id, by token, or by tags, of this store or not.
func TestNothingOfARentalIsFarFromIt(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		r := bridge.Rental{ID: bridge.NewRentalID(1), Attempt: 1}
		if rng.IntN(2) == 0 {
			r.Launch.Token = "t0"
		}
		for k := range rng.IntN(4) {
			r.Machines = append(r.Machines, bridge.Machine{Ordinal: k, ID: []string{"", "i0", "i1", "i2"}[rng.IntN(4)]})
		}
		var all bridge.Listing
		for i := range rng.IntN(6) {
			all.Instances = append(all.Instances, bridge.Instance{
				ID: []string{"", "i0", "i1", "i2", "i3"}[rng.IntN(5)], Address: fmt.Sprint(i), Token: []string{"", "t0", "t1"}[rng.IntN(3)],
				Tags: map[string]string{bridge.TagStore: []string{"s", "other"}[rng.IntN(2)], bridge.TagRental: string(bridge.NewRentalID(int64(1 + rng.IntN(2)))), bridge.TagAttempt: "1"},
			})
		}
		var near []string
		for _, in := range newListing(all, "s").near(&r) {
			near = append(near, in.Address)
		}
		at := 0
		for i := range all.Instances {
			in := &all.Instances[i]
			tagged := in.Tags[bridge.TagStore] == "s" && in.Tags[bridge.TagRental] == string(r.ID)
			own := machineOf(&r, in.ID) != nil || tagged || r.Launch.Token != "" && in.Token == r.Launch.Token
			for at < len(near) && near[at] < in.Address {
				at++
			}
			if own && (at == len(near) || near[at] != in.Address) {
				t.Fatalf("of %+v, %+v is far: near are %v", r, *in, near)
			}
		}
	}
}
