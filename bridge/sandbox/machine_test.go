package sandbox_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"spillway.sh/spillway/bridge/sandbox"
)

func TestAMachineHasItsOwnNameAddressProcessesAndDevices(t *testing.T) {
	r := newRig(t)
	m := r.start(t, sandbox.Spec{Name: "node1", GPUs: 3, Hosts: map[string]netip.Addr{"head": r.network.Gateway}})
	got := shell(t, m, `hostname
cat /etc/hostname
ip -o -4 address show dev eth0 | awk '{print $4}'
getent hosts head | awk '{print $1}'
ls /dev | grep nvidia | tr '\n' ' '
cat /proc/1/comm
echo x > /dev/null && head -c 4 /dev/urandom | wc -c
ls /mnt`)
	want := fmt.Sprintf("node1\nnode1\n%s/22\n%s\nnvidia0 nvidia1 nvidia2 sh\n4\n", m.Address(), r.network.Gateway)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what the machine sees (-want +got):\n%s", diff)
	}
}

func TestInitRunsAndItsOutputIsOnTheConsole(t *testing.T) {
	r := newRig(t)
	m := r.start(t, sandbox.Spec{Name: "node1", Init: []byte("#!/bin/bash\necho booted by ${BASH_VERSION:0:1} as $(id -u), own variables: ${SPILLWAY_MACHINE:-none}\n")})
	eventually(t, "init has written", func() bool {
		text, err := os.ReadFile(m.Console())
		return err == nil && string(text) == "booted by 5 as 0, own variables: none\n"
	})
	if !m.Alive() {
		t.Error("the machine went off when its init script ended")
	}
}

func TestOrphansAreReaped(t *testing.T) {
	r := newRig(t)
	m := r.start(t, sandbox.Spec{Name: "node1"})
	// Three children whose parent ends at once fall to process 1.
	shell(t, m, "for i in 1 2 3; do (sleep 0.1 &) ; done")
	eventually(t, "no sleeper and no zombie is left", func() bool {
		return shell(t, m, "ps -eo stat=,args= | grep -E '^Z|sleep 0' | grep -v grep | wc -l") == "0\n"
	})
}

func TestMachinesReachEachOtherUntilOneIsCut(t *testing.T) {
	r := newRig(t)
	a, b := r.start(t, sandbox.Spec{Name: "a"}), r.start(t, sandbox.Spec{Name: "b"})
	ping := func() bool {
		return a.Run(t.Context(), sandbox.Command{Args: []string{"ping", "-q", "-c1", "-W1", b.Address().String()}}) == nil
	}
	if !ping() {
		t.Fatal("a does not reach b")
	}
	if err := b.Cut(t.Context()); err != nil {
		t.Fatal(err)
	}
	if ping() {
		t.Error("a reaches b although its cable is pulled")
	}
	if err := b.Mend(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a reaches b again", ping)
}

func TestBindsAreSharedAndReadOnlyOnesStaySo(t *testing.T) {
	r := newRig(t)
	shared, locked := t.TempDir(), t.TempDir()
	m := r.start(t, sandbox.Spec{Name: "node1", Binds: []sandbox.Bind{
		{From: shared, To: "/shared"}, {From: locked, To: locked, ReadOnly: true},
	}})
	shell(t, m, "echo step 7 > /shared/checkpoint")
	if err := m.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(shared, "checkpoint")); err != nil || string(got) != "step 7\n" {
		t.Errorf("checkpoint after the machine is gone = %q, %v", got, err)
	}
	again := r.start(t, sandbox.Spec{Name: "node1", Binds: []sandbox.Bind{{From: locked, To: locked, ReadOnly: true}}})
	if err := again.Run(t.Context(), sandbox.Command{Args: []string{"touch", locked + "/x"}}); err == nil {
		t.Error("a read-only bind was written to")
	}
}

func TestFilesKeepTheFoldersOfTheImage(t *testing.T) {
	r := newRig(t)
	m := r.start(t, sandbox.Spec{Name: "node1", Files: []sandbox.File{
		{Path: "/etc/munge/munge.key", Data: []byte("key"), Mode: 0o400},
	}})
	got := shell(t, m, "stat -c '%a %U' /etc/munge /etc/munge/munge.key")
	if diff := cmp.Diff("700 munge\n400 root\n", got); diff != "" {
		t.Errorf("folder and file (-want +got):\n%s", diff)
	}
}

func TestRunReportsExitUserAndFolder(t *testing.T) {
	r := newRig(t)
	m := r.start(t, sandbox.Spec{Name: "node1"})
	out, err := m.Output(t.Context(), sandbox.Command{Args: []string{"sh", "-c", "id -un; id -G; pwd; echo $HOME"}, As: sandbox.Alice})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("alice\n5001\n/home/alice\n/home/alice\n", out); diff != "" {
		t.Errorf("alice's shell (-want +got):\n%s", diff)
	}
	_, err = m.Output(t.Context(), sandbox.Command{Args: []string{"sh", "-c", "echo no such thing >&2; exit 3"}})
	var exit *sandbox.ExitError
	if !errors.As(err, &exit) {
		t.Fatalf("error is %v, want an ExitError", err)
	}
	want := sandbox.ExitError{Machine: "node1", Program: "sh", Code: 3, Message: "no such thing"}
	if diff := cmp.Diff(want, *exit); diff != "" {
		t.Errorf("exit (-want +got):\n%s", diff)
	}
}

func TestAnEndedContextKillsWhatRuns(t *testing.T) {
	r := newRig(t)
	m := r.start(t, sandbox.Spec{Name: "node1"})
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if err := m.Run(ctx, sandbox.Command{Args: []string{"sh", "-c", "sleep 600 & sleep 600"}}); err == nil {
		t.Error("Run came back without an error")
	}
	eventually(t, "both sleepers are dead", func() bool {
		return shell(t, m, "pgrep -fc '^sleep 600' || true") == "0\n"
	})
}

func TestPoweroffInsideSwitchesTheMachineOff(t *testing.T) {
	r := newRig(t)
	m := r.start(t, sandbox.Spec{Name: "node1", Init: []byte("sleep 600 & poweroff\n")})
	eventually(t, "the machine is off", func() bool { return !m.Alive() })
	if _, err := m.Output(t.Context(), sandbox.Command{Args: []string{"true"}}); err == nil {
		t.Error("a program ran on a machine that is off")
	}
}

func TestStopFreesNameAddressAndFolder(t *testing.T) {
	r := newRig(t)
	first := r.start(t, sandbox.Spec{Name: "node1", Init: []byte("sleep 600\n")})
	for range 2 { // The second time finds nothing to do.
		if err := first.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(first.Dir()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("folder after Stop: %v, want none", err)
	}
	second := r.start(t, sandbox.Spec{Name: "node1"})
	if first.Address() != second.Address() {
		t.Errorf("address %s was not given back: the next machine got %s", first.Address(), second.Address())
	}
}

// The cable of a machine that is gone is taken down by the kernel in its own
// time; the next machine of its address waits for that.
func TestACableStillInUseIsWaitedFor(t *testing.T) {
	r := newRig(t)
	first := r.start(t, sandbox.Spec{Name: "node1"})
	address := first.Address()
	if err := first.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	b := address.As4()
	cable := fmt.Sprintf("%sv%d", r.network.Bridge, (int(b[2])<<8|int(b[3]))&1023)
	ip := func(args ...string) {
		if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
			t.Errorf("ip %s: %v: %s", strings.Join(args, " "), err, out)
		}
	}
	ip("link", "add", cable, "type", "veth", "peer", "name", cable+"p")
	var pulled sync.WaitGroup
	defer pulled.Wait()
	pulled.Go(func() {
		time.Sleep(300 * time.Millisecond) // As the kernel would.
		ip("link", "delete", cable)
	})
	if second := r.start(t, sandbox.Spec{Name: "node2", Address: address}); !second.Alive() {
		t.Error("the second machine is off")
	}
}

func TestABadSpecIsRefusedAndLeavesNothing(t *testing.T) {
	r := newRig(t)
	taken := r.start(t, sandbox.Spec{Name: "taken"})
	for name, test := range map[string]struct {
		spec sandbox.Spec
		want string
	}{
		"a name that is no host name": {sandbox.Spec{Name: "No_1"}, `name "No_1" is no DNS label`},
		"a name twice":                {sandbox.Spec{Name: "taken"}, "file exists"},
		"an address twice":            {sandbox.Spec{Name: "x", Address: taken.Address()}, "reserve address " + taken.Address().String()},
		"an address of elsewhere":     {sandbox.Spec{Name: "x", Address: netip.MustParseAddr("192.0.2.1")}, "not in " + r.network.Prefix.String()},
		"a file where nothing can lie": {
			sandbox.Spec{Name: "x", Files: []sandbox.File{{Path: "/run/x"}}}, "/run/ starts empty on every machine",
		},
		"a file below a link": {
			sandbox.Spec{Name: "x", Files: []sandbox.File{{Path: "/bin/x"}}}, "/bin is not a folder in the image",
		},
		"a bind of nothing": {
			sandbox.Spec{Name: "x", Binds: []sandbox.Bind{{From: "/no/such", To: "/x"}}}, `bind "/no/such": stat /no/such: no such file or directory`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			test.spec.Dir, test.spec.Image, test.spec.Network = filepath.Join(r.dir, "machines"), r.image, r.network
			_, err := sandbox.Start(t.Context(), test.spec)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("Start = %v, want %s", err, test.want)
			}
		})
	}
	left, err := os.ReadDir(filepath.Join(r.dir, "machines"))
	if err != nil || len(left) != 1 {
		t.Errorf("folders after all refusals: %v, %v, want the one machine's", left, err)
	}
}

func TestAMachineThatCannotComeUpSaysWhyAndLeavesNothing(t *testing.T) {
	r := newRig(t)
	_, err := sandbox.Start(t.Context(), sandbox.Spec{
		Dir: filepath.Join(r.dir, "machines"), Name: "broken", Image: r.image, Network: r.network, Detached: true,
		Files: []sandbox.File{{Path: "/usr/bin/mount", Data: []byte("#!/bin/sh\necho no mount today >&2\nexit 1\n"), Mode: 0o755}},
	})
	if err == nil || !strings.HasSuffix(err.Error(), ": no mount today") {
		t.Errorf("Start = %v, want what process 1 said last", err)
	}
	empty := t.TempDir()
	if err := os.Mkdir(filepath.Join(empty, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	_, err = sandbox.Start(t.Context(), sandbox.Spec{
		Dir: filepath.Join(r.dir, "machines"), Name: "empty", Image: sandbox.Image{Dir: empty}, Network: r.network,
	})
	if err == nil || !strings.Contains(err.Error(), "start process 1: ") {
		t.Errorf("Start on an empty image = %v, want that process 1 cannot be started", err)
	}
	for _, dir := range []string{"machines", "net/addresses"} {
		if left, err := os.ReadDir(filepath.Join(r.dir, dir)); err != nil || len(left) != 0 {
			t.Errorf("left in %s: %v, %v", dir, left, err)
		}
	}
}
