package slurm

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"spillway.sh/spillway/bridge"
)

// The record of a node that does not answer stays until slurmctld has given up
// on what it may have sent it; one that answers may go at once.
func TestRecordOfASilentNodeIsKeptForAWhile(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	c := New(Options{Now: func() time.Time { return now }})
	nodes := map[string]node{}
	for name, states := range map[string][]string{
		"sw-0013-0": {"DOWN", "DRAIN", "DYNAMIC_NORM"}, "sw-0013-1": {"IDLE", "DRAIN", "DYNAMIC_NORM"}, "sw-0013-2": {"IDLE", "NOT_RESPONDING", "DYNAMIC_NORM"},
	} {
		nodes[name] = node{Node: bridge.Node{Name: name, States: states, Dynamic: true}}
	}
	all := []string{"sw-0013-0", "sw-0013-1", "sw-0013-2"}
	silentOnes := []string{"sw-0013-0", "sw-0013-2"}
	if c.allSilent(silentOnes) {
		t.Error("nodes that were never dismissed are waited for")
	}
	if diff := cmp.Diff([]string{"sw-0013-1"}, c.deletable(all, nodes)); diff != "" {
		t.Errorf("at once (-want +got):\n%s", diff)
	}
	if !c.allSilent(silentOnes) || c.allSilent(all) {
		t.Error("not just the silent ones are waited for")
	}
	now = now.Add(59 * time.Second)
	if got := c.deletable(silentOnes, nodes); len(got) > 0 {
		t.Errorf("after 59 s: %v", got)
	}
	now = now.Add(time.Second)
	if diff := cmp.Diff(silentOnes, c.deletable(silentOnes, nodes)); diff != "" || c.allSilent(silentOnes) {
		t.Errorf("after a minute (-want +got):\n%s", diff)
	}
	c.spoke(silentOnes)
	if got := c.deletable(silentOnes, nodes); len(got) > 0 {
		t.Errorf("new nodes of the same names: %v", got)
	}
}
