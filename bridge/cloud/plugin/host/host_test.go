package host_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"spillway.sh/spillway/bridge/cloud/plugin/host"
	"spillway.sh/spillway/bridge/cloud/plugin/host/hosttest"
)

// messy is a boot script that leaves on a machine all that one leaves: processes
// of users, some of which hide, mounts, keys, a name, files.
const messy = `#!/bin/sh
mkdir -p /etc/munge /etc/slurm /var/spool/slurmd /var/log/slurm /run/slurm
echo secret >/etc/munge/munge.key
echo PartitionName=x >>/etc/slurm/slurm.conf
echo 10.0.0.1 head >>/etc/hosts
echo other >/proc/sys/kernel/hostname
echo key >/var/spool/slurmd/cred_state
echo said >/var/log/slurm/new.log
mkdir -p /mnt/data && mount -t tmpfs none /mnt/data && mkdir /mnt/data/in && mount -t tmpfs none /mnt/data/in
su alice -c 'echo mine >/tmp/of-alice; echo mine >/dev/shm/of-alice; setsid env -i sleep 987 >/dev/null 2>&1 &'
env -i SLURM_JOB_ID=7 setsid sleep 986 &
sleep 985 &
touch /run/booted
while :; do sleep 984; done
`

func await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for !ok() {
		select {
		case <-ctx.Done():
			t.Fatalf("not in time: %s", what)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// picture is what a machine looks like to its owner.
const picture = `cat /etc/hosts; uname -n; ls -laR --time-style=+ /etc/munge /etc/slurm /var/lib/spillway /var/spool/slurmd /var/log/slurm /tmp /dev/shm /var/tmp 2>&1 | sed 's/^\(total\|d\).*//';
cat /etc/slurm/* /etc/munge/* 2>/dev/null; cut -d' ' -f5 /proc/self/mountinfo | sort; ps -e -o uid=,args= | grep -v 'ps -e\|sh -c\|sort\|sed \|grep' | sort`

func lease(id string) *host.Lease {
	return &host.Lease{ID: id, Expires: time.Now().Add(time.Hour), UserData: messy}
}

// TestAMachineIsGivenBackAsItWas compares a machine before and after.
func TestAMachineIsGivenBackAsItWas(t *testing.T) {
	rig := hosttest.Start(t, 1)
	shell, h := &host.Shell{Dir: rig.Dir}, &rig.Hosts[0]
	// What the owner has on it is not ours to touch.
	rig.In(t, 0, `mkdir -p /etc/slurm /var/log/slurm; echo ClusterName=owner >/etc/slurm/slurm.conf; echo old >/var/log/slurm/old.log
		su bob -c 'echo older >/tmp/of-bob; setsid sleep 983 >/dev/null 2>&1 &'; touch -d '1 hour ago' /tmp/of-bob; sleep 1.1`)
	before := rig.In(t, 0, picture)

	if err := host.Look(t.Context(), shell, h, "n1.1"); err != nil {
		t.Fatal(err)
	}
	for range 2 { // once, however often it is asked
		if err := host.Start(t.Context(), shell, h, lease("n1.1")); err != nil {
			t.Fatal(err)
		}
	}
	await(t, "the boot script to be through", func() bool { return rig.In(t, 0, "ls /run/booted 2>/dev/null || true") != "" })
	if n := rig.In(t, 0, "pgrep -c -f /var/lib/spillway/owned/boot.sh"); n != "1" && n != "2" { // its shell, and pgrep's own
		t.Errorf("%s boot scripts run", n)
	}
	if got := rig.In(t, 0, "cat /var/lib/spillway/enrol/instance"); got != "n1.1" {
		t.Errorf("the agent would take itself for %q", got)
	}
	var refused *host.Refused
	if err := host.Look(t.Context(), shell, h, "n1.2"); !errors.As(err, &refused) || refused.Code != "InUse" {
		t.Errorf("a machine that is lent can be lent again: %v", err)
	}
	if err := host.Release(t.Context(), shell, h, "n1.2"); err != nil {
		t.Errorf("another's release: %v", err)
	}
	if got := rig.In(t, 0, "pgrep -c sleep"); got < "4" {
		t.Fatalf("%s sleepers, want those of the boot script and the owner's", got)
	}
	if err := host.Extend(t.Context(), shell, h, "n1.1", time.Unix(2e9, 0)); err != nil {
		t.Fatal(err)
	}
	if got := rig.In(t, 0, "cat /var/lib/spillway/enrol/expires"); got != "2033-05-18T03:33:20Z" {
		t.Errorf("the end is %q", got)
	}
	rig.In(t, 0, "rm -f /run/booted")
	for range 2 {
		if err := host.Release(t.Context(), shell, h, "n1.1"); err != nil {
			t.Fatal(err)
		}
	}
	rig.In(t, 0, "rmdir /mnt/data")
	if diff := cmp.Diff(strings.Split(before, "\n"), strings.Split(rig.In(t, 0, picture), "\n")); diff != "" {
		t.Errorf("the machine is not as it was (-before +after):\n%s", diff)
	}
}

// TestAMachineEndsAloneAndStaysOn is the end without us: the program that lies on
// the machine gives it back, and does not switch it off.
func TestAMachineEndsAloneAndStaysOn(t *testing.T) {
	rig := hosttest.Start(t, 1)
	shell, h := &host.Shell{Dir: rig.Dir}, &rig.Hosts[0]
	if err := host.Start(t.Context(), shell, h, lease("n1.1")); err != nil {
		t.Fatal(err)
	}
	await(t, "the boot script to be through", func() bool { return rig.In(t, 0, "ls /run/booted 2>/dev/null || true") != "" })
	// As the boot script and the agent do: a child of what is to be ended.
	rig.In(t, 0, "SPILLWAY_OWNED=n1.1 /var/lib/spillway/enrol/release")
	await(t, "the machine to be given back", func() bool {
		return rig.In(t, 0, "ls /var/lib/spillway/owned /etc/munge/munge.key 2>/dev/null; pgrep -a sleep || true") == ""
	})
	if !rig.Machines[0].Alive() {
		t.Error("an owned machine was switched off")
	}
	if err := host.Release(t.Context(), shell, h, "n1.1"); err != nil {
		t.Errorf("what is given back already: %v", err)
	}
}

// TestAHostKeyThatIsNotThePinnedOne lets nobody in, and nothing is said to it.
func TestAHostKeyThatIsNotThePinnedOne(t *testing.T) {
	rig := hosttest.Start(t, 1)
	shell, h := &host.Shell{Dir: rig.Dir}, rig.Hosts[0]
	h.HostKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
	err := host.Start(t.Context(), shell, &h, lease("n1.1"))
	if err == nil || !strings.Contains(err.Error(), "verification failed") {
		t.Errorf("%v, want a refusal of the host key", err)
	}
	if got := rig.In(t, 0, "ls -d /var/lib/spillway/owned 2>/dev/null || true"); got != "" {
		t.Errorf("something was done on it: %s", got)
	}
	h = rig.Hosts[0]
	h.User = "alice"
	if err := host.Look(t.Context(), shell, &h, "n1.1"); err == nil {
		t.Error("a user who is not root can lend a machine")
	}
}
