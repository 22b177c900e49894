package pool_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/cloud/cloudtest"
	"spillway.sh/spillway/bridge/cloud/plugin/host/hosttest"
)

var thePool = bridge.Pool{Cloud: "mine", Region: "site", Zone: "hall-1", Type: kind, Market: bridge.OnDemand}

// TestConformance runs the suite of every cloud over machines with a real sshd.
func TestConformance(t *testing.T) {
	rig := hosttest.Start(t, 6)
	file, s := siteOf(t, rig)
	cloudtest.Run(t, cloudtest.Provider{
		Open:        func(cloudtest.T) cloudtest.Cloud { return cloudOf(t, file) },
		Idempotency: cloudtest.ByToken, UserData: "#!/bin/sh\nsleep 3600\n", Stock: 6, Exact: true, Pool: thePool,
		Patience: 2 * time.Minute, Expiry: time.Second,
		LoseAnswer: func(cloudtest.T) { armed(t, &s, "after") },
	})
	for i := range rig.Machines {
		if left := rig.In(t, i, "ls -A /var/lib/spillway; pgrep -a sleep || true"); left != "init" {
			t.Errorf("left on n%d: %s", i+1, left)
		}
	}
}

// armed has the plugin die at the next thing it changes on a machine.
func armed(t *testing.T, s *site, when string) {
	t.Helper()
	if err := os.WriteFile(s.Fail+"-"+when, nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

func launch(count int) bridge.Launch {
	expires := time.Now().UTC().Add(time.Hour).Truncate(time.Second)
	l := bridge.Launch{
		Rental: "R1", Attempt: 1, Pool: thePool, Count: count, MaxRate: bridge.Rate{Micro: 50_000_000, Currency: "CNY"},
		Tags:     map[string]string{bridge.TagStore: "store-1", bridge.TagCluster: "c", bridge.TagRental: "R1", bridge.TagExpires: expires.Format(time.RFC3339)},
		UserData: "#!/bin/sh\necho once >>/root/boots\nsleep 3600\n", Expires: expires,
	}
	l.Token = bridge.Token("store-1", l)
	return l
}

func await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for !ok() {
		select {
		case <-ctx.Done():
			t.Fatalf("not in time: %s", what)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// states are the machines of a cloud's list: how many are in each state.
func states(t *testing.T, c cloudtest.Cloud) string {
	t.Helper()
	l, err := c.List(t.Context(), "store-1", "c")
	if err != nil || !l.Complete {
		t.Fatalf("list: %v, complete %t", err, l.Complete)
	}
	n := map[string]int{}
	for _, m := range l.Instances {
		n[string(m.State)]++
	}
	var out []string
	for _, s := range slices.Sorted(maps.Keys(n)) {
		out = append(out, fmt.Sprintf("%d %s", n[s], s))
	}
	return strings.Join(out, ", ")
}

// TestKilledBetweenClaimAndReply kills the plugin before and after each thing that
// it does on machines. What was claimed is booted once and is found again, and
// the same machines are the answer to the same create.
func TestKilledBetweenClaimAndReply(t *testing.T) {
	rig := hosttest.Start(t, 2)
	for name, again := range map[string]bool{"asked again": true, "only listed": false} {
		for _, when := range []string{"before", "after"} {
			t.Run(name+", killed "+when, func(t *testing.T) {
				file, s := siteOf(t, rig)
				c := cloudOf(t, file)
				l := launch(2)
				armed(t, &s, when)
				if _, err := c.Create(t.Context(), l); bridge.KindOf(err) != bridge.CloudUnknown || err == nil {
					t.Fatalf("a create whose plugin was killed: %v", err)
				}
				if again {
					if _, err := c.Create(t.Context(), l); err != nil {
						t.Fatal(err)
					}
				}
				await(t, "both machines run", func() bool { return states(t, c) == "2 running" })
				for i := range rig.Machines {
					await(t, "the boot script to run", func() bool { return rig.In(t, i, "cat /root/boots 2>/dev/null || true") != "" })
					if n := rig.In(t, i, "wc -l </root/boots"); n != "1" {
						t.Errorf("n%d was booted %s times", i+1, n)
					}
				}
				m, err := c.Observe(t.Context(), l, "")
				if err != nil || len(m) != 2 {
					t.Fatalf("observe: %d machines, %v", len(m), err)
				}
				armed(t, &s, when)
				_ = c.Terminate(t.Context(), []string{m[0].ID, m[1].ID}) // it is killed; the next look goes on
				await(t, "both machines are given back", func() bool { return states(t, c) == "2 gone" })
				for i := range rig.Machines {
					rig.In(t, i, "rm /root/boots; ! pgrep sleep")
				}
			})
		}
	}
}

// TestAMachineThatDoesNotAnswerStaysClaimed cuts a machine's cable.
func TestAMachineThatDoesNotAnswerStaysClaimed(t *testing.T) {
	rig := hosttest.Start(t, 2)
	file, _ := siteOf(t, rig)
	c := cloudOf(t, file)
	l := launch(2)
	if _, err := c.Create(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	m, err := c.Observe(t.Context(), l, "")
	if err != nil || len(m) != 2 {
		t.Fatalf("observe: %d machines, %v", len(m), err)
	}
	cut := 0
	if err := rig.Machines[cut].Cut(t.Context()); err != nil {
		t.Fatal(err)
	}
	err = c.Terminate(t.Context(), []string{m[0].ID, m[1].ID})
	if err == nil || bridge.KindOf(err).Refused() || !strings.Contains(err.Error(), "n1.") || strings.Contains(err.Error(), "n2.") {
		t.Errorf("terminate: %v; want n1 named, and nothing said to be refused", err)
	}
	if got := states(t, c); got != "1 gone, 1 stopping" {
		t.Errorf("%s; want the one that does not answer to be still ours", got)
	}
	// It is not lent to the next, and neither is it silently left out.
	next := launch(2)
	next.Rental, next.Tags[bridge.TagRental] = "R2", "R2"
	next.Token = bridge.Token("store-1", next)
	if _, err := c.Create(t.Context(), next); bridge.KindOf(err) != bridge.CloudNoCapacity {
		t.Errorf("a create beyond what is free: %v", err)
	}
	if err := rig.Machines[cut].Mend(t.Context()); err != nil {
		t.Fatal(err)
	}
	await(t, "it is given back once it answers", func() bool { return states(t, c) == "2 gone" })
}

// TestAMachineThatCannotBeReachedIsNotChosen has a free machine that does not
// answer, and one whose key is not the pinned one.
func TestAMachineThatCannotBeReachedIsNotChosen(t *testing.T) {
	rig := hosttest.Start(t, 3)
	file, s := siteOf(t, rig)
	s.Machines[0].Host.Port = 9
	s.Machines[1].Host.HostKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
	s.save(t, file)
	c := cloudOf(t, file)
	two := launch(2)
	_, err := c.Create(t.Context(), two)
	if bridge.KindOf(err) != bridge.CloudNoCapacity || !strings.Contains(err.Error(), "n1") || !strings.Contains(err.Error(), "n2") {
		t.Fatalf("%v; want no capacity, and why of n1 and n2", err)
	}
	if got := states(t, c); got != "" {
		t.Errorf("something is claimed: %s", got)
	}
	offers, err := c.Offers(t.Context())
	if err != nil || len(offers) != 1 || offers[0].Available != 1 || offers[0].Network != bridge.NetworkVast {
		t.Errorf("offers %+v, %v; want one free machine at 100g", offers, err)
	}
	if _, err := c.Create(t.Context(), launch(1)); err != nil {
		t.Errorf("the machine that answers was not lent: %v", err)
	}
	if got := states(t, c); got != "1 running" {
		t.Error(got)
	}
}
