package desk

import (
	"slices"
	"testing"

	"spillway.sh/spillway/bridge"
)

func TestRelease(t *testing.T) {
	for name, c := range map[string]struct {
		state bridge.State
		now   bool
		want  bridge.State
	}{
		"a question is withdrawn": {bridge.StateWaiting, false, bridge.StateClosed},
		"a launch is called off":  {bridge.StateLaunching, false, bridge.StateReleasing},
		"machines on their way":   {bridge.StateJoining, false, bridge.StateReleasing},
		"after the jobs":          {bridge.StateAdmitted, false, bridge.StateDraining},
		"now":                     {bridge.StateAdmitted, true, bridge.StateReleasing},
		"now, though draining":    {bridge.StateDraining, true, bridge.StateReleasing},
		"draining already":        {bridge.StateDraining, false, bridge.StateDraining},
		"going back already":      {bridge.StateReleasing, true, bridge.StateReleasing},
		"long gone":               {bridge.StateSettled, true, bridge.StateSettled},
		"never rented":            {bridge.StateClosed, false, bridge.StateClosed},
	} {
		t.Run(name, func(t *testing.T) {
			d, w := newWorld(t)
			r := d.mustRent(t, "ana", "8xh100 1h spot").Rental
			w.rentals[0].State = c.state
			for again := range 2 {
				a, err := d.Release(t.Context(), d.as("ana"), ReleaseRequest{Rental: string(r.ID), Now: c.now})
				if err != nil {
					t.Fatal(err)
				}
				if got := w.rentals[0].State; got != c.want {
					t.Fatalf("it is %s, want %s", got, c.want)
				}
				if changed := a.Released[0].Changed; changed != (again == 0 && c.state != c.want) {
					t.Errorf("time %d: changed %t", again+1, changed)
				}
			}
		})
	}
}

func TestReleaseOfWhatSomebodyElseChanges(t *testing.T) {
	d, w := newWorld(t)
	r := d.mustRent(t, "ana", "8xh100 1h spot").Rental
	w.meddle = func() { // the engine sees the cloud's answer in this very moment
		w.mu.Lock()
		defer w.mu.Unlock()
		w.rentals[0].State = bridge.StateJoining
		w.rentals[0].Version++
	}
	a, err := d.Release(t.Context(), d.as("ana"), ReleaseRequest{Rental: string(r.ID)})
	if err != nil || !a.Released[0].Changed || w.rentals[0].State != bridge.StateReleasing {
		t.Errorf("got %v, it is %s", err, w.rentals[0].State)
	}
}

func TestReleaseMeansNoMoreThanItSays(t *testing.T) {
	for name, c := range map[string]struct {
		who  string
		uid  int
		req  ReleaseRequest
		kind ErrorKind
		want []bridge.RentalID
	}{
		"one's own":                       {who: "ana", uid: 1, req: ReleaseRequest{Rental: "r-0013"}, want: []bridge.RentalID{"r-0013"}},
		"typed in capitals without the r": {who: "ana", uid: 1, req: ReleaseRequest{Rental: "OO13"}, want: []bridge.RentalID{"r-0013"}},
		"a mistyped id":                   {who: "ana", uid: 1, req: ReleaseRequest{Rental: "r-0014"}, kind: BadRequest},
		"an unknown id":                   {who: "ana", uid: 1, req: ReleaseRequest{Rental: string(bridge.NewRentalID(99))}, kind: NotFound},
		"somebody else's":                 {who: "ben", uid: 1, req: ReleaseRequest{Rental: "r-0013"}, kind: Forbidden},
		"somebody else's by an approver":  {who: "mei", uid: 1, req: ReleaseRequest{Rental: "r-0013"}, kind: Forbidden},
		"somebody else's by an admin":     {who: "root", req: ReleaseRequest{Rental: "r-0013"}, want: []bridge.RentalID{"r-0013"}},
		"all means one's own":             {who: "ana", uid: 1, req: ReleaseRequest{All: true}, want: []bridge.RentalID{"r-0013", "r-0026"}},
		"all of root's own is nothing":    {who: "root", req: ReleaseRequest{All: true}},
		"by job":                          {who: "ana", uid: 1, req: ReleaseRequest{Job: "4711"}, want: []bridge.RentalID{"r-0026"}},
		"by a job nothing was rented for": {who: "ana", uid: 1, req: ReleaseRequest{Job: "1"}, kind: NotFound},
		"by its only machine":             {who: "ana", uid: 1, req: ReleaseRequest{Node: "sw-0013-0"}, want: []bridge.RentalID{"r-0013"}},
		"by one of two machines":          {who: "ana", uid: 1, req: ReleaseRequest{Node: "sw-0026-1"}, kind: Conflict},
		"by a node that is not rented":    {who: "ana", uid: 1, req: ReleaseRequest{Node: "local1"}, kind: NotFound},
		"nothing named":                   {who: "ana", uid: 1, req: ReleaseRequest{}, kind: BadRequest},
		"two things named":                {who: "ana", uid: 1, req: ReleaseRequest{All: true, Job: "4711"}, kind: BadRequest},
	} {
		t.Run(name, func(t *testing.T) {
			d, w := newWorld(t)
			d.mustRent(t, "ana", "8xh100 15m spot")
			d.mustRent(t, "ana", "job 4711 30m spot")
			d.mustRent(t, "ben", "8xh100 15m spot")
			a, err := d.Release(t.Context(), d.Roles.Of(c.who, c.uid, nil), c.req)
			if kind(err) != c.kind {
				t.Fatalf("got %v, want kind %q", err, c.kind)
			}
			var got []bridge.RentalID
			for _, r := range w.rentals {
				if r.State == bridge.StateReleasing {
					got = append(got, r.ID)
				}
			}
			if !slices.Equal(got, c.want) || len(a.Released) != len(c.want) {
				t.Errorf("released %v (%d told), want %v", got, len(a.Released), c.want)
			}
		})
	}
}
