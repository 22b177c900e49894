package config

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/node"
)

const gated = "version: 1\nstate_dir: state\nclusters:\n  - name: main\n    slurm: {}\n    gate: "

func TestTheGateIsRead(t *testing.T) {
	c, err := Parse("gate.yaml", []byte(gated+`{mounts: [/home, /data/sets], storage: [/scratch], min_disk: 20GiB, min_rate: 100MB, max_wait: 500ms, max_skew: 30s, driver: "550.54", patience: 5m, off: [xid, clock]}`))
	if err != nil {
		t.Fatal(err)
	}
	want := bridge.Wants{
		Mounts: []string{"/home", "/data/sets"}, Storage: []string{"/scratch"}, DiskMiB: 20 << 10, MinRate: 100e6,
		MaxWait: 500 * time.Millisecond, MaxSkew: 30 * time.Second, Driver: "550.54", Patience: 5 * time.Minute, Off: []string{"xid", "clock"},
	}
	if diff := cmp.Diff(want, c.Clusters[0].Gate); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if !slices.Equal(gateChecks, node.Checks()) {
		t.Errorf("checks that may be turned off: %v, and the agent has %v", gateChecks, node.Checks())
	}
}

func TestMistakesInTheGate(t *testing.T) {
	for text, wrong := range map[string]string{
		"{mounts: [home]}":         "want an absolute path",
		"{mounts: [/]}":            "not the root",
		"{storage: [/a/../b]}":     "want an absolute path",
		"{min_disk: 20}":           "want a number and a unit",
		"{min_disk: 20 GiB}":       "want a number and a unit",
		"{min_rate: 999999999TiB}": "more than there can be",
		"{driver: newest}":         "want a version",
		"{off: [everything]}":      "everything",
		"{patience: 5}":            "patience",
		"{mount: [/home]}":         "mounts",
	} {
		if _, err := Parse("gate.yaml", []byte(gated+text)); err == nil || !strings.Contains(err.Error(), wrong) {
			t.Errorf("%s: %v; want %q in it", text, err, wrong)
		}
	}
}
