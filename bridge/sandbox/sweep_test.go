package sandbox_test

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"spillway.sh/spillway/bridge/sandbox"
)

func TestADetachedMachineOutlivesItsStarterAndIsFoundAgain(t *testing.T) {
	rig := t.TempDir()
	t.Cleanup(func() { sweep(t, rig) })
	killedStarter(t, rig)
	machines, err := sandbox.Find(filepath.Join(rig, "machines"))
	if err != nil || len(machines) != 2 || machines[0].Name() != "bound" || machines[1].Name() != "detached" {
		t.Fatalf("Find = %v, %v, want bound and detached", machines, err)
	}
	bound, detached := machines[0], machines[1]
	eventually(t, "the bound machine is dead", func() bool { return !bound.Alive() })
	if !detached.Alive() {
		t.Fatal("the detached machine died with its starter")
	}
	if got := shell(t, detached, "hostname"); got != "detached\n" {
		t.Errorf("host name = %q", got)
	}
	if err := detached.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if detached.Alive() {
		t.Error("the machine is alive after Stop")
	}
}

func TestSweepFindsWhatNobodyWroteDown(t *testing.T) {
	rig := t.TempDir()
	killedStarter(t, rig)
	network, err := sandbox.OpenNetwork(filepath.Join(rig, "net"))
	if err != nil {
		t.Fatal(err)
	}
	machines, err := sandbox.Find(filepath.Join(rig, "machines"))
	if err != nil {
		t.Fatal(err)
	}
	// As if the starter had died before it wrote anything.
	for _, name := range []string{"net/network.json", "machines/bound/machine.json", "machines/detached/machine.json"} {
		if err := os.Remove(filepath.Join(rig, name)); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "the bound machine is dead", func() bool { return !machines[0].Alive() })
	swept := sweep(t, rig)
	if swept.Machines != 1 || swept.Links == 0 {
		t.Errorf("swept %+v, want the one machine that was alive, and its links", swept)
	}
	if machines[1].Alive() {
		t.Error("the detached machine is alive")
	}
	if _, err := net.InterfaceByName(network.Bridge); err == nil {
		t.Errorf("bridge %s is still there", network.Bridge)
	}
	if _, err := os.Stat(rig); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the rig's folder is still there: %v", err)
	}
	if diff := cmp.Diff(sandbox.Swept{}, sweep(t, rig)); diff != "" {
		t.Errorf("second sweep (-want +got):\n%s", diff)
	}
}

func TestARigWhoseOwnerWasKilledIsSweptByTheNext(t *testing.T) {
	abandoned := t.TempDir()
	killedStarter(t, abandoned)
	mine := newRig(t)
	if err := sandbox.Claim(mine.dir); err != nil {
		t.Fatal(err)
	}
	alive := mine.start(t, sandbox.Spec{Name: "mine"})
	rigs, err := sandbox.SweepAbandoned(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if slices.Contains(rigs, mine.dir) || !alive.Alive() {
		t.Errorf("swept %v: a rig whose owner lives was among them", rigs)
	}
	if _, err := os.Stat(abandoned); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the abandoned rig is still there after %v: %v", rigs, err)
	}
}

func TestRigsMadeAtTheSameTimeGetDifferentNetworks(t *testing.T) {
	const count = 6
	var group sync.WaitGroup
	prefixes := make([]string, count)
	for i := range count {
		dir := t.TempDir()
		t.Cleanup(func() { sweep(t, dir) })
		group.Go(func() {
			network, err := sandbox.CreateNetwork(t.Context(), filepath.Join(dir, "net"))
			if err != nil {
				t.Error(err)
				return
			}
			prefixes[i] = network.Prefix.String()
		})
	}
	group.Wait()
	slices.Sort(prefixes)
	if distinct := slices.Compact(slices.Clone(prefixes)); len(distinct) != count {
		t.Errorf("networks %v: want %d different ones", prefixes, count)
	}
}

func TestWithoutRootOneLineSaysSo(t *testing.T) {
	test := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run=^TestAsNobody$", "-test.v")
	test.Env = append(os.Environ(), "SANDBOX_TEST_NOBODY=1")
	test.Dir = "/"
	test.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	if out, err := test.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func sweep(t *testing.T, rig string) sandbox.Swept {
	t.Helper()
	swept, err := sandbox.Sweep(context.Background(), rig)
	if err != nil {
		t.Error(err)
	}
	return swept
}
