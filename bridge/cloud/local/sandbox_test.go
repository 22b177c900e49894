package local_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/cloud/cloudtest"
	"spillway.sh/spillway/bridge/cloud/local/server"
	"spillway.sh/spillway/bridge/cloud/local/wire"
	"spillway.sh/spillway/bridge/sandbox"
)

// sandboxes returns a host of real machines. The test needs root and, the first
// time, a few minutes for the image.
func sandboxes(t *testing.T) *server.SandboxHost {
	t.Helper()
	if err := sandbox.CheckHost(); err != nil {
		t.Fatal(err)
	}
	spec, err := sandbox.SlurmImage("22.05", false)
	if err != nil {
		t.Fatal(err)
	}
	image, err := sandbox.EnsureImage(t.Context(), spec, t.Output())
	if err != nil {
		t.Fatal(err)
	}
	// A short path, as the kernel remembers it with each network link.
	dir, err := os.MkdirTemp("", "sw") //nolint:usetesting // t.TempDir's paths are long.
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		swept, err := sandbox.Sweep(context.WithoutCancel(t.Context()), dir)
		if err != nil || swept.Machines > 0 || swept.Links > 1 {
			t.Errorf("sweep found %+v left, %v", swept, err)
		}
	})
	network, err := sandbox.CreateNetwork(t.Context(), filepath.Join(dir, "net"))
	if err != nil {
		t.Fatal(err)
	}
	return &server.SandboxHost{Dir: filepath.Join(dir, "machines"), Image: image, Network: network}
}

func TestSandboxConformance(t *testing.T) {
	r := start(t, world, sandboxes(t))
	cloudtest.Run(t, provider(r, bridge.Pool{Cloud: "nimbus", Region: "east", Zone: "east-1", Type: "gpu8", Market: bridge.Spot}))
}

// report is a user-data that leaves what it saw where the test can read it.
const report = `#!/bin/sh
ask() { curl -sS -m 5 "http://169.254.169.254/latest/$1"; }
{
	echo "user=$(id -un)"
	echo "id=$(ask meta-data/instance-id)"
	echo "index=$(ask meta-data/ami-launch-index)"
	echo "zone=$(ask meta-data/placement/availability-zone)"
	echo "gpus=$(ls /dev/nvidia* | wc -l)"
	echo "rental=$(ask meta-data/tags/instance/spillway-rental)"
	echo "notice=$(curl -s -o /dev/null -w '%{http_code}' http://169.254.169.254/latest/meta-data/spot/instance-action)"
	ask user-data | cmp - /var/lib/cloud/user-data && echo same=yes
} >/var/log/report.part 2>&1
mv /var/log/report.part /var/log/report
`

func TestSandboxMachinesRunTheirUserData(t *testing.T) {
	host := sandboxes(t)
	r := start(t, world, host)
	t.Cleanup(func() { r.purge() })
	r.fault(wire.Fault{Kind: wire.FaultWrongGPUs, Machines: 3, Count: 1})
	l := r.launch(2, zone, bridge.Spot)
	l.UserData = report
	for index, m := range r.running(l) {
		inside := r.machine(host, m.ID)
		var text string
		r.await("the report is there", func() bool {
			got, err := os.ReadFile(inside.Path("/var/log/report"))
			text = string(got)
			return err == nil
		})
		for _, want := range []string{
			"user=root\n", "id=" + m.ID + "\n", "index=" + string(rune('0'+index)) + "\n", "zone=east-1\n",
			"gpus=5\n", "rental=r-0011\n", "notice=404\n", "same=yes\n",
		} {
			if !strings.Contains(text, want) {
				t.Errorf("machine %d lacks %q in its report:\n%s", index, want, text)
			}
		}
		if m.Address != inside.Address().String() {
			t.Errorf("address %s, really %s", m.Address, inside.Address())
		}
	}
}

func TestSandboxMachinesOutliveTheServer(t *testing.T) {
	host := sandboxes(t)
	r := start(t, world, host)
	l := r.launch(2, zone, bridge.Spot)
	l.UserData = "while true; do date +%s.%N >/var/log/beat; sleep 0.05; done"
	made := r.running(l)
	kept, quits := made[0], made[1]
	beat := r.machine(host, kept.ID).Path("/var/log/beat")
	r.await("the machine beats", func() bool { text, err := os.ReadFile(beat); return err == nil && len(text) > 0 })
	pid := r.machine(host, kept.ID).PID()

	r.restart(&server.SandboxHost{Dir: host.Dir, Image: host.Image, Network: host.Network})
	t.Cleanup(func() { r.purge() })

	if got := r.machine(host, kept.ID); !got.Alive() || got.PID() != pid {
		t.Fatalf("the machine is another one: process %d, before %d", got.PID(), pid)
	}
	r.fault(wire.Fault{Kind: wire.CommandNotice, Instance: kept.ID, Delay: wire.Duration(time.Second)})
	seen, err := r.machine(host, kept.ID).Output(t.Context(), sandbox.Command{
		Args: []string{"curl", "-sS", "-f", "http://169.254.169.254/latest/meta-data/spot/instance-action"},
	})
	if err != nil || !strings.Contains(seen, `"action":"terminate","time":"2`) {
		t.Errorf("the notice as the machine sees it: %q, %v", seen, err)
	}
	if _, err := r.machine(host, quits.ID).Output(t.Context(), sandbox.Command{Args: []string{"poweroff"}}); err != nil {
		t.Logf("poweroff: %v", err)
	}
	r.await("one is reclaimed, one has switched itself off", func() bool {
		j := r.judge()
		return len(j.Live) == 0 && len(j.Reclaimed) == 1 && j.Reclaimed[0] == kept.ID
	})
	if m, err := host.Machine(kept.ID); m != nil || err != nil {
		t.Errorf("of the reclaimed machine is left: %v, %v", m, err)
	}
}

// machine is a machine from within.
func (r *rig) machine(host *server.SandboxHost, id string) *sandbox.Machine {
	r.Helper()
	m, err := host.Machine(id)
	if err != nil || m == nil {
		r.Fatalf("machine %s: %v, %v", id, m, err)
	}
	return m
}

// purge ends all machines.
func (r *rig) purge() {
	if err := r.server.Purge(context.WithoutCancel(r.Context())); err != nil {
		r.Error(err)
	}
}
