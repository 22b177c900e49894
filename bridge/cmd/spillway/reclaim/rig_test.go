package reclaim

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"text/template"
	"time"

	"spillway.sh/spillway/bridge/cloud/local/wire"
	"spillway.sh/spillway/bridge/desk"
	"spillway.sh/spillway/bridge/desk/socket"
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
		code = m.Run()
	}
	if err = errors.Join(err, os.RemoveAll(dir)); err != nil {
		fmt.Fprintln(os.Stderr, "build the binary under test:", err)
	}
	os.Exit(code)
}

const (
	cloudPort = "7070"
	enrolPort = "7443"
)

// rig is a cluster, a cloud and the daemon.
type rig struct {
	t       *testing.T
	dir     string
	cluster *slurmtest.Cluster
	client  *socket.Client
	daemon  *child
}

// newRig starts all of it and ends it with the test.
func newRig(t *testing.T, version string) *rig {
	t.Helper()
	return newRigOn(t, slurmtest.Options{Version: version, Overlays: 30})
}

// newRigOn is newRig with a cluster of the given kind, and a policy in which
// texts are replaced, one by the next.
func newRigOn(t *testing.T, options slurmtest.Options, edits ...string) *rig {
	t.Helper()
	dir, err := os.MkdirTemp("", "spillway-reclaim-") //nolint:usetesting // Users of the cluster enter it; none but its owner enters t.TempDir.
	must(t, err)
	must(t, os.Chmod(dir, 0o755))
	t.Cleanup(func() {
		_, err := sandbox.Sweep(context.Background(), dir)
		must(t, errors.Join(err, os.RemoveAll(dir)))
	})
	r := &rig{t: t, dir: dir}
	options.Dir = filepath.Join(dir, "slurm")
	r.cluster = slurmtest.New(t, options)
	t.Cleanup(func() {
		if text, err := os.ReadFile(r.cluster.ControllerLog()); err == nil && t.Failed() {
			t.Logf("last of slurmctld:\n%s", text[max(0, len(text)-12000):])
		}
	})
	must(t, os.WriteFile(r.path("world.yaml"), []byte(world), 0o644))
	r.process("clouds", "localcloud", "--dir", r.path("cloud"), "--world", r.path("world.yaml"), "--listen", r.gateway(cloudPort),
		"--image", r.cluster.Image().Dir, "--network", r.cluster.Network().Dir, "--share", r.cluster.SharedDir())
	r.until(30*time.Second, "the cloud answers", func() bool {
		_, err := os.Stat(r.path("cloud", "tokens", "stratus-test"))
		return err == nil && r.fault(wire.Fault{Kind: wire.CommandNotice, Instance: "none"}) != nil
	})
	r.configure(edits)
	r.daemon = r.process("spillway", "run", "--config", r.path("spillway.yaml"))
	r.client = socket.NewClient(r.path("spillway.sock"))
	t.Cleanup(r.client.Close)
	r.until(30*time.Second, "the daemon answers", func() bool {
		_, err := socket.Call(t.Context(), r.client, desk.AskRentals, desk.RentalsRequest{})
		return err == nil
	})
	return r
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (r *rig) path(parts ...string) string {
	return filepath.Join(append([]string{r.dir}, parts...)...)
}

func (r *rig) gateway(port string) string { return r.cluster.Network().Gateway.String() + ":" + port }

func (r *rig) configure(edits []string) {
	r.t.Helper()
	join := r.cluster.Join()
	must(r.t, os.WriteFile(r.path("policy.yaml"), []byte(strings.NewReplacer(append(edits, "@SHARED@", r.cluster.SharedDir())...).Replace(policy)), 0o644))
	// This host does not know the site's accounts, as a login node would.
	must(r.t, os.Mkdir(r.path("bin"), 0o755))
	for _, name := range []string{"id", "getent"} {
		must(r.t, os.WriteFile(r.path("bin", name), []byte("#!/bin/sh\nexec chroot "+r.cluster.Image().Dir+" "+name+" \"$@\"\n"), 0o755))
	}
	must(r.t, os.WriteFile(r.path("munge.key"), join.MungeKey, 0o600))
	var text bytes.Buffer
	must(r.t, template.Must(template.New("").Parse(config)).Execute(&text, map[string]any{
		"State": r.path("state"), "Socket": r.path("spillway.sock"), "Policy": r.path("policy.yaml"), "Bin": r.cluster.BinDir(sandbox.Account{}),
		"MungeKey": r.path("munge.key"), "Controller": join.Controller, "URL": "http://" + r.gateway(cloudPort),
		"Token": r.path("cloud", "tokens", "stratus-test"), "Enrol": r.gateway(enrolPort),
	}))
	must(r.t, os.WriteFile(r.path("spillway.yaml"), text.Bytes(), 0o600))
}

// child is a process of the binary under test.
type child struct {
	*exec.Cmd
	over chan struct{} // closed when it has ended
}

// process runs a subcommand until the test ends. Its log is shown when the
// test has failed.
func (r *rig) process(name string, args ...string) *child {
	r.t.Helper()
	log, err := os.Create(r.path(name + ".log"))
	must(r.t, err)
	c := &child{exec.Command(exe, args...), make(chan struct{})}
	c.Stdout, c.Stderr = log, log
	c.Env = append(os.Environ(), "PATH="+r.path("bin")+":"+os.Getenv("PATH"))
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	started := make(chan error, 1)
	go func() {
		defer close(c.over)
		runtime.LockOSThread() // The child dies with the thread that started it.
		err := c.Start()
		if started <- err; err == nil {
			_ = c.Wait() // What it left is what is judged.
		}
	}()
	must(r.t, <-started)
	r.t.Cleanup(func() {
		_ = c.Process.Signal(syscall.SIGTERM) // It may have ended already.
		late := time.AfterFunc(20*time.Second, func() { _ = c.Process.Kill() })
		<-c.over
		late.Stop()
		_ = log.Close()
		if r.t.Failed() {
			text, _ := os.ReadFile(log.Name())
			r.t.Logf("last of %s:\n%s", name, text[max(0, len(text)-6000):])
		}
	})
	return c
}

// until polls for a condition.
func (r *rig) until(limit time.Duration, what string, ok func() bool) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), limit)
	defer cancel()
	for !ok() {
		select {
		case <-ctx.Done():
			r.t.Fatalf("after %s not: %s\n%s", limit, what, r.queue())
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// queue is what a person would look at first.
func (r *rig) queue() string {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	out, err := r.cluster.Output(ctx, sandbox.Account{}, "sh", "-c", "squeue -a; sinfo -a -N -o '%N %P %T %E'")
	state, _ := exec.CommandContext(ctx, exe, "status", "--socket", r.path("spillway.sock")).CombinedOutput() // for its text alone
	return fmt.Sprintf("%s%v\n%s", out, err, state)
}

// fault asks the cloud for one.
func (r *rig) fault(f wire.Fault) error {
	token, err := os.ReadFile(r.path("cloud", "tokens", "admin"))
	if err != nil {
		return err
	}
	body, err := json.Marshal(wire.Faults{Faults: []wire.Fault{f}})
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(r.t.Context(), http.MethodPost, "http://"+r.gateway(cloudPort)+"/v1/faults", bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode >= http.StatusBadRequest {
		text, _ := io.ReadAll(io.LimitReader(res.Body, 1<<10))
		return fmt.Errorf("%s: %s: %s", f.Kind, res.Status, text)
	}
	return nil
}

// rentals are those that are open.
func (r *rig) rentals() []desk.Rental {
	a, err := socket.Call(r.t.Context(), r.client, desk.AskRentals, desk.RentalsRequest{})
	if err != nil {
		return nil // a daemon that is killed answers again in a moment
	}
	return a.Rentals
}

const config = `version: 1
state_dir: {{.State}}
socket: {{.Socket}}
policy: {{.Policy}}
clusters:
  - name: test
    slurm:
      bin_dir: {{.Bin}}
      munge_key_file: {{.MungeKey}}
      controllers: ["{{.Controller}}"]
clouds:
  - name: stratus
    local:
      url: {{.URL}}
      token_file: {{.Token}}
enrol:
  listen: {{.Enrol}}
limits: {list_every: 1s, offers_every: 10s, pool_down: 5s, pool_most: 10s, reserve: 3s, absent_gap: 3s, orphan_age: 20s, breaker: {vanish_most: 100}}
`

// Jobs that opted in by their names are signalled and have five seconds; gone
// is signalled never. What may not be requeued runs on demand.
const policy = `version: 1
organisation: test
currency: USD
mode: burst
zone: UTC
roles: {admins: [root], approvers: [root]}
accounts: [{account: "*", to: research/vision}]
defaults: {most: 40, idle: 3s, life: 2h, wait: 1s}
classes: {P2: {reclaims: 100}}
rules:
  - name: trainers
    when: job.restartable && job.name.startsWith("torch-")
    class: P2
    signal: {name: USR1, to: steps, window: 5s, for: all}
    checkpoint: {path: "@SHARED@/home/alice/work/%{ckpt}", framework: pytorch}
  - name: handlers
    when: job.restartable && job.name.startsWith("train-")
    class: P2
    signal: {name: USR1, to: batch, window: 5s, for: all}
  - name: others
    when: job.restartable
    class: P2
  - name: once
    when: job.nodes > 0
    class: P1
budgets: [{account: test/research/vision, every: day, limit: 100000 USD, approvers: [root]}]
`

const world = `version: 1
seed: 7
clouds:
  - name: stratus
    currency: USD
    notice: 14s
    boot: 2s
    billing: {step: 1s, minimum: 1s}
    limits: 20
    accounts: [{name: test}]
    types: [{name: s.gpu8, cpus: 8, memory_mib: 64000, disk_mib: 200000, gpu_type: a100, gpus: 8, features: [a100]}]
    regions:
      - name: north
        zones:
          - {name: north-1, pools: [{type: s.gpu8, spot: {rate: "9.10", stock: 8}, on_demand: {rate: "27.20", stock: 8}}]}
          - {name: north-2, pools: [{type: s.gpu8, spot: {rate: "9.20", stock: 8}}]}
          - {name: north-3, pools: [{type: s.gpu8, spot: {rate: "9.30", stock: 8}}]}
          - {name: north-4, pools: [{type: s.gpu8, spot: {rate: "9.40", stock: 8}}]}
          - {name: north-5, pools: [{type: s.gpu8, spot: {rate: "9.50", stock: 8}}]}
          - {name: north-6, pools: [{type: s.gpu8, spot: {rate: "9.60", stock: 8}}]}
`
