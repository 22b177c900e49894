package server_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"spillway.sh/spillway/bridge/cloud/local/server"
	"spillway.sh/spillway/bridge/cloud/local/wire"
)

func TestMachineBootsAfterItsTimeAndEndsAtItsEnd(t *testing.T) {
	r := start(t, plain)
	q := order("on-demand", 1)
	q.Expires = r.clock.Now().Add(30 * time.Minute)
	id := r.rent(q)[0]
	r.clock.advance(59 * time.Second)
	if m := r.machine(id); m.State != wire.StatePending {
		t.Errorf("before its boot time it is %s", m.State)
	}
	r.clock.advance(time.Second)
	r.await(id, wire.StateRunning)
	if g, _ := r.host.Guest(id); g.UserData != q.UserData || g.GPUs != 8 {
		t.Errorf("it runs %q with %d GPUs", g.UserData, g.GPUs)
	}
	r.clock.advance(29 * time.Minute)
	r.await(id, wire.StateStopping)
	r.clock.advance(10 * time.Second)
	m := r.await(id, wire.StateTerminated)
	if _, on := r.host.Guest(id); on || m.Ended != "expired" {
		t.Errorf("after its end it is on %t, ended as %s", on, m.Ended)
	}
	_, j := r.ledger()
	// 30 min 10 s are 31 started minutes at 12.00 an hour.
	if got := j.CostMicro["USD"]; got != 6_200_000 {
		t.Errorf("it cost %d", got)
	}
	r.clock.advance(2*time.Minute + time.Second)
	if status, _ := r.as("alpha", http.MethodGet, "/instances/"+id, nil, nil); status != http.StatusNotFound {
		t.Errorf("after its linger time get says %d", status)
	}
}

func TestEndThatIsMovedMoves(t *testing.T) {
	r := start(t, plain)
	q := order("on-demand", 1)
	q.Expires = r.clock.Now().Add(10 * time.Minute)
	id := r.rent(q)[0]
	later := r.clock.Now().Add(20 * time.Minute)
	for range 2 { // Again is no other extension.
		if status, code := r.as("alpha", http.MethodPatch, "/instances/"+id, wire.Update{Expires: later, Tags: map[string]string{"owner": "them"}}, nil); status != http.StatusOK {
			t.Fatalf("update: %d %s", status, code)
		}
	}
	r.clock.advance(19 * time.Minute)
	if m := r.await(id, wire.StateRunning); m.Tags["owner"] != "them" {
		t.Errorf("tags %v", m.Tags)
	}
	if _, text := r.metadata(id, "meta-data/expires"); text != later.Format(time.RFC3339) {
		t.Errorf("the machine is told %s", text)
	}
	r.clock.advance(time.Minute)
	r.await(id, wire.StateStopping)
	r.clock.advance(time.Minute)
	r.await(id, wire.StateTerminated)
	if entries, j := r.ledger(); len(j.Late) > 0 || len(entries) != 3 {
		t.Errorf("%d lines, late: %v", len(entries), j.Late)
	}
}

func TestShortLifeCostsTheMinimum(t *testing.T) {
	r := start(t, plain)
	id := r.rent(order("spot", 1))[0]
	r.as("alpha", http.MethodDelete, "/instances/"+id, nil, nil)
	r.clock.advance(10 * time.Second)
	if m := r.await(id, wire.StateTerminated); m.Ended != "terminated" {
		t.Errorf("it ended as %s", m.Ended)
	}
	if _, j := r.ledger(); j.CostMicro["USD"] != 500_000 {
		t.Errorf("5 minutes at 6.00 an hour cost %d", j.CostMicro["USD"])
	}
}

func TestNoticeThenReclaim(t *testing.T) {
	high := int64(7_000_000)
	for name, tc := range map[string]struct {
		command wire.Fault
		lead    time.Duration
	}{
		"the price rises above the ceiling": {wire.Fault{Kind: wire.CommandPrice, Pool: "east/east-1/gpu8/spot", Rate: &high}, 2 * time.Minute},
		"the pool is called back":           {wire.Fault{Kind: wire.CommandNotice, Pool: "east/east-1/gpu8/spot"}, 2 * time.Minute},
		"a notice of its own lead":          {wire.Fault{Kind: wire.CommandNotice, Pool: "east/east-1/gpu8/spot", Delay: wire.Duration(time.Minute)}, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			r := start(t, plain)
			q := order("spot", 1)
			q.MaxRate = wire.Rate{Micro: 6_500_000, Currency: "USD"}
			spot := r.rent(q)[0]
			demand := r.rent(order("on-demand", 1))[0]
			r.clock.advance(time.Minute)
			r.await(spot, wire.StateRunning)
			if status, _ := r.metadata(spot, "meta-data/spot/instance-action"); status != http.StatusNotFound {
				t.Errorf("before a notice the metadata says %d", status)
			}
			r.operator(tc.command)
			m := r.machine(spot)
			if m.State != wire.StateRunning || m.ReclaimAt.Sub(m.NoticeAt) != tc.lead {
				t.Fatalf("after the notice: %s, %s to %s", m.State, m.NoticeAt, m.ReclaimAt)
			}
			want := `{"action":"terminate","time":"` + m.ReclaimAt.Format(time.RFC3339) + `"}`
			if status, text := r.metadata(spot, "meta-data/spot/instance-action"); status != http.StatusOK || text != want {
				t.Errorf("the metadata says %d %s, want %s", status, text, want)
			}
			r.clock.advance(tc.lead)
			if m := r.await(spot, wire.StateTerminated); m.Ended != "reclaimed" {
				t.Errorf("it ended as %s", m.Ended)
			}
			if m := r.await(demand, wire.StateRunning); !m.NoticeAt.IsZero() {
				t.Error("a machine on demand got a notice")
			}
			if _, j := r.ledger(); len(j.Reclaimed) != 1 || len(j.Live) != 1 {
				t.Errorf("the ledger has %v reclaimed, %v live", j.Reclaimed, j.Live)
			}
		})
	}
}

func TestReclaimWithoutNotice(t *testing.T) {
	r := start(t, plain)
	id := r.rent(order("spot", 1))[0]
	r.clock.advance(time.Minute)
	r.await(id, wire.StateRunning)
	r.operator(wire.Fault{Kind: wire.CommandReclaim, Instance: id})
	if m := r.await(id, wire.StateTerminated); !m.NoticeAt.IsZero() {
		t.Errorf("it got a notice at %s", m.NoticeAt)
	}
}

func TestEachMachineSeesOnlyItself(t *testing.T) {
	r := start(t, plain)
	ids := r.rent(order("spot", 2))
	r.clock.advance(time.Minute)
	for i, id := range ids {
		r.await(id, wire.StateRunning)
		for path, want := range map[string]string{
			"meta-data/instance-id": id, "meta-data/ami-launch-index": string(rune('0' + i)), "meta-data/instance-type": "gpu8",
			"meta-data/instance-life-cycle": "spot", "meta-data/placement/region": "east",
			"meta-data/placement/availability-zone": "east-1", "meta-data/tags/instance/owner": "us", "user-data": "#!/bin/sh",
		} {
			if status, text := r.metadata(id, path); status != http.StatusOK || text != want {
				t.Errorf("%s: %d %q, want %q", path, status, text, want)
			}
		}
		if status, _ := r.metadata(id, "meta-data/tags/instance/none"); status != http.StatusNotFound {
			t.Errorf("a tag that is not: %d", status)
		}
	}
}

func TestRestartGoesOnWhereItWas(t *testing.T) {
	r := start(t, plain)
	rate := int64(5_000_000)
	r.operator(
		wire.Fault{Kind: wire.CommandPrice, Pool: "east/east-1/gpu8/spot", Rate: &rate},
		wire.Fault{Kind: wire.CommandStock, Pool: "east/east-1/gpu8/spot", Machines: 3},
	)
	running := r.rent(order("spot", 1))[0]
	r.clock.advance(time.Minute)
	r.await(running, wire.StateRunning)
	short := order("on-demand", 1)
	short.Expires = r.clock.Now().Add(2 * time.Minute)
	pending := r.rent(short)[0]
	long := short
	long.Token, long.Expires = "long", time.Time{}
	booting := r.rent(long)[0]

	r.close()
	r.clock.advance(3 * time.Minute)
	r.open()

	r.await(running, wire.StateRunning)
	r.await(booting, wire.StateRunning)
	r.await(pending, wire.StateStopping)
	if again := r.rent(long)[0]; again != booting {
		t.Errorf("the token from before gives %s, gave %s", again, booting)
	}
	var got wire.Offers
	r.as("alpha", http.MethodGet, "/offers", nil, &got)
	for _, o := range got.Offers {
		if o.Pool.Market == "spot" && (o.Rate.Micro != rate || *o.Available != 2) {
			t.Errorf("spot costs %d and has %d left", o.Rate.Micro, *o.Available)
		}
	}
}

func TestMachineThatEndedWhileNobodyWatched(t *testing.T) {
	r := start(t, plain)
	id := r.rent(order("spot", 1))[0]
	r.clock.advance(time.Minute)
	r.await(id, wire.StateRunning)
	r.close()
	r.host.PowerOff(id)
	r.clock.advance(time.Minute)
	r.open()
	if m := r.await(id, wire.StateTerminated); m.Ended != "shutdown" {
		t.Errorf("it ended as %s", m.Ended)
	}
}

func TestLedgerIsMadeWholeAfterACrash(t *testing.T) {
	for name, keep := range map[string]func(text string) string{
		"the last line was cut short": func(text string) string { return text[:len(text)-20] },
		"a line was never written":    func(text string) string { return strings.SplitAfterN(text, "\n", 2)[0] },
		"no line was ever written":    func(string) string { return "" },
	} {
		t.Run(name, func(t *testing.T) {
			r := start(t, plain)
			ids := r.rent(order("spot", 2))
			before, _ := r.ledger()
			r.close()
			text, err := os.ReadFile(r.server.LedgerFile())
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(r.server.LedgerFile(), []byte(keep(string(text))), 0o644); err != nil {
				t.Fatal(err)
			}
			r.open()
			after, j := r.ledger()
			if len(after) != len(before) || len(j.Live) != len(ids) {
				t.Errorf("%d lines of %d, %v live", len(after), len(before), j.Live)
			}
			for i, e := range after {
				if e.Seq != int64(i+1) || !e.At.Equal(before[i].At) {
					t.Errorf("line %d has number %d and time %s, before %s", i+1, e.Seq, e.At, before[i].At)
				}
			}
		})
	}
}

func TestSecondServerIsRefused(t *testing.T) {
	r := start(t, plain)
	_, err := server.Open(t.Context(), server.Options{Dir: r.dir, World: r.world, Host: r.host})
	if err == nil || !strings.Contains(err.Error(), "another server") {
		t.Errorf("the second server: %v", err)
	}
}

func TestNothingIsPromisedThatCannotBeRemembered(t *testing.T) {
	r := start(t, plain)
	// A folder in the way of the state's new version stands for a full disk.
	if err := os.Mkdir(filepath.Join(r.dir, "state.json.part"), 0o755); err != nil {
		t.Fatal(err)
	}
	status, code := r.as("alpha", http.MethodPost, "/instances", order("spot", 1), nil)
	if status != http.StatusInternalServerError || code != wire.CodeInternal {
		t.Errorf("create: %d %s", status, code)
	}
	if err := os.Remove(filepath.Join(r.dir, "state.json.part")); err != nil {
		t.Fatal(err)
	}
	if status, _ := r.as("alpha", http.MethodPost, "/instances", order("on-demand", 1), nil); status != http.StatusInternalServerError {
		t.Errorf("the next create: %d, though the first may or may not be remembered", status)
	}
	r.restart()
	var page wire.Page
	r.as("alpha", http.MethodGet, "/instances", nil, &page)
	if entries, _ := r.ledger(); len(entries) != 0 || page.Total != 0 {
		t.Errorf("after a restart: %d machines, %d lines", page.Total, len(entries))
	}
	r.rent(order("spot", 1))
}

func TestWorldMayNotLoseACloudWithLiveMachines(t *testing.T) {
	r := start(t, plain)
	id := r.rent(order("on-demand", 1))[0]
	renamed, err := server.ParseWorld([]byte(strings.Replace(plain, "name: nimbus", "name: cirrus", 1)))
	if err != nil {
		t.Fatal(err)
	}
	r.close()
	old := r.world
	if s, err := server.Open(t.Context(), server.Options{Dir: r.dir, World: renamed, Host: r.host}); err == nil {
		t.Error("opened without the cloud of a live machine")
		s.Close()
	} else if !strings.Contains(err.Error(), id) {
		t.Errorf("%v, want it to name %s", err, id)
	}
	r.world = old
	r.open()
	if err := r.server.Purge(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.world = renamed
	r.restart()
}

func TestPurgeEndsAll(t *testing.T) {
	r := start(t, plain)
	ids := append(r.rent(order("spot", 2)), r.rent(order("on-demand", 2))...)
	r.clock.advance(time.Minute)
	r.await(ids[0], wire.StateRunning)
	if err := r.server.Purge(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, j := r.ledger()
	if len(j.Live) != 0 || j.Machines != 4 {
		t.Errorf("of %d machines are left: %v", j.Machines, j.Live)
	}
	for _, id := range ids {
		if _, on := r.host.Guest(id); on {
			t.Errorf("machine %s is still on", id)
		}
	}
}

func TestFaultsFollowTheirScript(t *testing.T) {
	r := start(t, plain)
	admin := token(t, r.server.AdminTokenFile())
	r.operator(
		wire.Fault{Kind: wire.FaultThrottle, Op: "offers", Skip: 1, Count: 2},
		wire.Fault{Kind: wire.FaultErrorBefore, Cloud: "nimbus", Op: "offers", Count: 1},
	)
	var got []int
	for range 5 {
		status, _ := r.as("alpha", http.MethodGet, "/offers", nil, nil)
		got = append(got, status)
	}
	// The first call skips the first fault and meets the second.
	want := []int{500, 429, 429, 200, 200}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("%v, want %v", got, want)
		}
	}
	r.operator(wire.Fault{Kind: wire.FaultSlow, Op: "list"})
	if w := r.raw(admin, http.MethodDelete, "/v1/faults", ""); w.Code != http.StatusOK {
		t.Errorf("take all away: %d", w.Code)
	}
	if w := r.raw(admin, http.MethodGet, "/v1/faults", ""); strings.Contains(w.Body.String(), "slow") {
		t.Errorf("still there: %s", w.Body)
	}
	for name, body := range map[string]string{
		"an unknown kind":        `{"kind": "meteor"}`,
		"an unknown member":      `{"kind": "slow", "when": "now"}`,
		"a cloud that is not":    `{"kind": "slow", "cloud": "cirrus"}`,
		"a kind of another call": `{"kind": "lost-page", "op": "create"}`,
		"a command for nothing":  `{"kind": "reclaim", "instance": "i-none"}`,
		"a code without one":     `{"kind": "code"}`,
		"no JSON":                `slow`,
	} {
		if w := r.raw(admin, http.MethodPost, "/v1/faults", body); w.Code != http.StatusBadRequest {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
}

func TestProbabilityIsSeeded(t *testing.T) {
	run := func() (hits int) {
		r := start(t, plain)
		r.operator(wire.Fault{Kind: wire.FaultErrorBefore, Op: "offers", Probability: 0.3})
		for range 200 {
			if status, _ := r.as("alpha", http.MethodGet, "/offers", nil, nil); status == 500 {
				hits++
			}
		}
		return hits
	}
	first, second := run(), run()
	if first != second || first < 30 || first > 90 {
		t.Errorf("%d and %d hits of 200, want the same, about 60", first, second)
	}
}
