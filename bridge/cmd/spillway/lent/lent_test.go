package lent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"spillway.sh/spillway/bridge/cloud/plugin/host/hosttest"
	"spillway.sh/spillway/bridge/sandbox"
	"spillway.sh/spillway/slurm/slurmtest"
)

// exe is the binary under test, built once.
var exe string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "spillway-exe-")
	if err == nil {
		exe = filepath.Join(dir, "spillway")
		var out []byte
		if out, err = exec.Command("go", "build", "-o", exe, "spillway.sh/spillway/bridge/cmd/spillway").CombinedOutput(); err != nil {
			err = fmt.Errorf("%w: %s", err, out)
		}
	}
	code := 1
	if err == nil {
		if code = m.Run(); code == 0 {
			err = goleak.Find()
		}
	}
	if err = errors.Join(err, os.RemoveAll(dir)); err != nil {
		fmt.Fprintln(os.Stderr, "before or after the tests:", err)
		code = 1
	}
	os.Exit(code)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// folder is one that users enter, and whose machines end with the test.
func folder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "spillway-lent-") //nolint:usetesting // Users of the cluster enter it; none but its owner enters t.TempDir.
	must(t, err)
	must(t, os.Chmod(dir, 0o755))
	t.Cleanup(func() {
		_, err := sandbox.Sweep(context.Background(), dir)
		must(t, errors.Join(err, os.RemoveAll(dir)))
	})
	return dir
}

// inventory writes the pool's file.
func inventory(t *testing.T, dir string, rig *hosttest.Rig) string {
	t.Helper()
	text := "version: 1\nssh: {port: 2222, key_file: " + rig.KeyFile + "}\n" +
		"types: [{name: s.gpu8, cpus: 8, memory_mib: 64000, disk_mib: 200000, gpus: 8, gpu_type: a100, features: [a100], price: 27.20 USD, boot: 10s}]\nmachines:\n"
	for _, h := range rig.Hosts {
		text += fmt.Sprintf("  - {name: %s, address: %s, type: s.gpu8, zone: hall-1, host_key: %q}\n", h.Name, h.Address, h.HostKey)
	}
	file := filepath.Join(dir, "machines.yaml")
	must(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

const config = `version: 1
state_dir: @DIR@/state
socket: @DIR@/spillway.sock
policy: @DIR@/policy.yaml
clusters: [{name: test, slurm: {bin_dir: @BIN@, munge_key_file: @DIR@/munge.key, controllers: ["@CONTROLLER@"]}}]
clouds: [{name: mine, plugin: {command: [@EXE@, plugin, pool, --inventory, @INVENTORY@, --state, @DIR@/pool], timeout: 2m}}]
enrol: {listen: "@GATEWAY@:7443"}
limits: {list_every: 2s, offers_every: 10s, reserve: 3s, absent_gap: 3s}
`

const policy = `version: 1
organisation: test
currency: USD
mode: burst
zone: UTC
roles: {admins: [root], approvers: [root]}
accounts: [{account: "*", to: research/vision}]
defaults: {most: 40, idle: 3s, life: 2h, wait: 1s}
rules: [{name: all, when: job.nodes > 0, class: P1}]
budgets: [{account: test/research/vision, every: day, limit: 100000 USD, approvers: [root]}]
`

// work leaves a process behind that no longer looks like the job's, and a file.
const work = `#!/bin/sh
hostname
setsid env -i sleep 983 >/dev/null 2>&1 &
echo mine >/tmp/left-by-a-job
sleep 2
`

// TestAJobRunsOnALentMachine is the whole of it: a job of a real cluster waits, a
// machine of the site's own is claimed over SSH, joins, runs the job, and is given
// back as it was, not switched off.
func TestAJobRunsOnALentMachine(t *testing.T) {
	dir := folder(t)
	cluster := slurmtest.New(t, slurmtest.Options{Dir: filepath.Join(dir, "slurm"), Version: "22.05"})
	join := cluster.Join()
	must(t, os.Mkdir(filepath.Join(dir, "ssh"), 0o755))
	rig := hosttest.StartOn(t, filepath.Join(dir, "ssh"), hosttest.Image(t, "22.05"), cluster.Network(), 2, join.Binds...)
	const look = `cat /etc/hosts; uname -n; ls -A /var/lib/spillway /etc/munge /var/spool /tmp /var/log/slurm 2>&1; ps -e -o args= | grep -v 'ps -e\|sh -c\|grep' | sort`
	before := []string{rig.In(t, 0, look), rig.In(t, 1, look)}

	must(t, os.WriteFile(filepath.Join(dir, "munge.key"), join.MungeKey, 0o600))
	must(t, os.WriteFile(filepath.Join(dir, "policy.yaml"), []byte(policy), 0o644))
	must(t, os.WriteFile(filepath.Join(dir, "spillway.yaml"), []byte(strings.NewReplacer(
		"@DIR@", dir, "@BIN@", cluster.BinDir(sandbox.Account{}), "@CONTROLLER@", join.Controller.String(), "@EXE@", exe,
		"@INVENTORY@", inventory(t, dir, rig), "@GATEWAY@", cluster.Network().Gateway.String(),
	).Replace(config)), 0o600))
	blocker, err := cluster.Submit(t.Context(), sandbox.Bob, "#!/bin/sh\nexec sleep 1000\n", "-N2", "--exclusive", "--gres=gpu:8", "--mem=1000", "--time=20")
	must(t, err)
	_, err = cluster.WaitJob(t.Context(), blocker, "RUNNING")
	must(t, err)
	daemon(t, dir, cluster)

	out := filepath.Join(cluster.SharedDir(), "home", "alice", "out")
	job, err := cluster.Submit(t.Context(), sandbox.Alice, work, "--gres=gpu:8", "--mem=1000", "--time=5", "--output="+out)
	must(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	done, err := cluster.WaitJob(ctx, job, "COMPLETED")
	if err != nil {
		t.Fatalf("%v\n%s", err, bootLogs(rig))
	}
	if on := done.Fields["NodeList"]; on == "" || strings.HasPrefix(on, "local") {
		t.Fatalf("the job ran on %q, which is no machine of the pool", on)
	}

	until(t, 2*time.Minute, "the machines to be given back", func() bool {
		for i := range rig.Machines {
			if rig.In(t, i, "ls -d /var/lib/spillway/owned 2>/dev/null || true") != "" {
				return false
			}
		}
		text, err := os.ReadFile(filepath.Join(dir, "pool", "state.json"))
		return err == nil && strings.Contains(string(text), `"released"`) && !strings.Contains(string(text), `"running"`) && !strings.Contains(string(text), `"ending"`)
	})
	for i := range rig.Machines {
		if !rig.Machines[i].Alive() {
			t.Errorf("n%d was switched off", i+1)
		} else if after := rig.In(t, i, look); after != before[i] {
			t.Errorf("n%d is not as it was:\n%s\nbefore:\n%s", i+1, after, before[i])
		}
	}
}

func bootLogs(rig *hosttest.Rig) string {
	var out strings.Builder
	for _, m := range rig.Machines {
		text, err := os.ReadFile(m.Path("/var/log/spillway-boot.log"))
		fmt.Fprintf(&out, "%s: %v\n%s\n", m.Name(), err, text)
	}
	return out.String()
}

// daemon runs the daemon until the test ends.
func daemon(t *testing.T, dir string, cluster *slurmtest.Cluster) {
	t.Helper()
	// Accounts are looked up where the cluster's users have theirs, as in a site's
	// directory service.
	bin := filepath.Join(dir, "bin")
	must(t, os.Mkdir(bin, 0o755))
	for _, name := range []string{"id", "getent"} {
		must(t, os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\nexec chroot "+cluster.Image().Dir+" "+name+" \"$@\"\n"), 0o755))
	}
	log, err := os.Create(filepath.Join(dir, "daemon.log"))
	must(t, err)
	c := exec.Command(exe, "run", "--config", filepath.Join(dir, "spillway.yaml"))
	c.Stdout, c.Stderr = log, log
	c.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"))
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	must(t, c.Start())
	t.Cleanup(func() {
		_ = c.Process.Signal(syscall.SIGTERM) // It may have ended already.
		late := time.AfterFunc(20*time.Second, func() { _ = c.Process.Kill() })
		_ = c.Wait() // What it left is what is judged.
		late.Stop()
		must(t, log.Close())
		if text, err := os.ReadFile(log.Name()); err == nil && t.Failed() {
			t.Logf("last of the daemon:\n%s", text[max(0, len(text)-8000):])
		}
	})
	until(t, time.Minute, "the daemon answers", func() bool {
		_, err := os.Stat(filepath.Join(dir, "spillway.sock"))
		return err == nil
	})
}

func until(t *testing.T, limit time.Duration, what string, ok func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	for !ok() {
		select {
		case <-ctx.Done():
			t.Fatalf("after %s not: %s", limit, what)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// TestThePoolPassesTheSuite runs what its owner would type before it is used.
func TestThePoolPassesTheSuite(t *testing.T) {
	rig := hosttest.Start(t, 6)
	dir := t.TempDir()
	c := exec.CommandContext(t.Context(), exe, "cloud", "test", "--rent", "--yes", "--timeout", "2m", "--patience", "2m", "--",
		exe, "plugin", "pool", "--inventory", inventory(t, dir, rig), "--state", filepath.Join(dir, "state"))
	out, err := c.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
	for i := range rig.Machines {
		if left := rig.In(t, i, "ls -A /var/lib/spillway"); left != "init" {
			t.Errorf("left on n%d: %s", i+1, left)
		}
	}
}
