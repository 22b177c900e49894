package node_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/enrol"
	"spillway.sh/spillway/bridge/node"
)

// door is a real enrolment service with one rental behind it.
type door struct {
	mu     sync.Mutex
	rental bridge.Rental
	said   []bridge.Report
	boot   bridge.Boot
	url    string
}

func openDoor(t *testing.T) *door {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d := &door{url: "https://" + l.Addr().String()}
	id := bridge.NewRentalID(3)
	d.rental = bridge.Rental{
		ID: id, State: bridge.StateJoining, Cluster: "c", Attempt: 1, Expires: time.Now().Add(time.Hour).UTC().Truncate(time.Second),
		Shape:    bridge.Shape{GPUs: 2},
		Machines: []bridge.Machine{{State: bridge.MachineCreated, ID: "i-1", Node: "sw-3-0", Address: "127.0.0.1"}},
	}
	s, err := enrol.New(enrol.Options{
		Dir: t.TempDir(), URL: d.url, Rentals: d, Clusters: map[string]enrol.Cluster{"c": d}, Hear: d.hear,
		Version: "v9", Clock: func() time.Time { return time.Now().UTC() },
	})
	if err != nil {
		t.Fatal(err)
	}
	if d.boot, err = s.Boot(&d.rental, time.Now()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return d
}

func (d *door) Rental(context.Context, bridge.RentalID) (bridge.Rental, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.rental, nil
}

func (d *door) ClaimEnrolment(context.Context, bridge.RentalID, string, string) error { return nil }

func (d *door) Enrolment(context.Context, *bridge.Rental, *bridge.Machine) (map[string]string, error) {
	return map[string]string{"munge_key": "a2V5", "owner": "alice:5001:5002"}, nil
}

func (d *door) hear(_ context.Context, _ bridge.RentalID, _ string, r bridge.Report) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.said = append(d.said, r)
	return nil
}

func linkTo(t *testing.T, url, ca string) *node.Link {
	t.Helper()
	l, err := node.NewLink(url, ca, "v8")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	return l
}

func TestTheLinkAndTheDoorUnderstandEachOther(t *testing.T) {
	d := openDoor(t)
	l := linkTo(t, d.url, d.boot.CA)
	g, err := l.Enrol(t.Context(), d.boot.Ticket, "i-1")
	if err != nil {
		t.Fatal(err)
	}
	want := bridge.Wants{GPUs: 2, Owner: &bridge.Owner{Name: "alice", UID: 5001, GID: 5002}}
	if diff := cmp.Diff(want, g.Wants); diff != "" || g.Node != "sw-3-0" || g.Fields["munge_key"] != "a2V5" || !g.Expires.Equal(d.rental.Expires) || time.Since(g.Now).Abs() > time.Minute {
		t.Errorf("%+v, wants -want +got:\n%s", g, diff)
	}
	if _, ok := g.Fields["lease"]; ok {
		t.Error("the lease is among the scheduler's fields")
	}
	said := bridge.Report{At: time.Now().UTC(), Health: bridge.HealthFit, GPUPM: 10, Notice: &bridge.Warning{Source: "x", At: moment}}
	term, err := l.Report(t.Context(), g.Lease, &said)
	if err != nil || !term.Expires.Equal(d.rental.Expires) || term.Every != 5*time.Second || term.Version != "v9" || time.Since(term.Now).Abs() > time.Minute {
		t.Errorf("%+v, %v", term, err)
	}
	if diff := cmp.Diff([]bridge.Report{said}, d.said); diff != "" {
		t.Errorf("heard, -want +got:\n%s", diff)
	}
	d.mu.Lock()
	d.rental.Machines[0].State = bridge.MachineGone
	d.mu.Unlock()
	time.Sleep(1100 * time.Millisecond) // An answer may be a second old.
	if _, err := l.Report(t.Context(), g.Lease, &said); !errors.Is(err, node.ErrEnded) {
		t.Errorf("of a machine that is gone: %v", err)
	}
}

func TestFinalAnswersAreToldFromThoseThatPass(t *testing.T) {
	d := openDoor(t)
	l := linkTo(t, d.url, d.boot.CA)
	for name, tc := range map[string]struct {
		ticket, instance string
		final            bool
	}{
		"a forged ticket":       {"x" + d.boot.Ticket[1:], "i-1", true},
		"a machine of another":  {d.boot.Ticket, "i-9", true},
		"no machine whatsoever": {d.boot.Ticket, "", false},
	} {
		if _, err := l.Enrol(t.Context(), tc.ticket, tc.instance); err == nil || errors.Is(err, node.ErrRefused) != tc.final {
			t.Errorf("%s: %v, want final %t", name, err, tc.final)
		}
	}
	if _, err := l.Report(t.Context(), "no lease", &bridge.Report{Health: bridge.HealthFit}); err == nil || errors.Is(err, node.ErrEnded) {
		t.Errorf("a bridge that lost its keys ends no machine: %v", err)
	}
}

func TestOnlyThePinnedBridgeIsSpokenTo(t *testing.T) {
	d, other := openDoor(t), openDoor(t)
	_, err := linkTo(t, d.url, other.boot.CA).Enrol(t.Context(), d.boot.Ticket, "i-1")
	if err == nil || errors.Is(err, node.ErrRefused) || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("a stranger in the bridge's place: %v", err)
	}
	if _, err := node.NewLink(d.url, "no certificate", "v8"); err == nil {
		t.Error("an authority that is none is accepted")
	}
}
