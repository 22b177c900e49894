package killed

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"text/template"
	"time"

	"spillway.sh/spillway/bot/slackd"
	"spillway.sh/spillway/bridge/cmd/spillway/stage"
	"spillway.sh/spillway/bridge/desk/socket"
	"spillway.sh/spillway/bridge/sandbox"
	"spillway.sh/spillway/bridge/store"
	"spillway.sh/spillway/slurm/slurmtest"
)

// rig is a stage with a local Slack of its own, and the daemon that dies on it.
type rig struct {
	*stage.Stage
	t      *testing.T
	slack  *slackd.Client
	client *socket.Client
	said   int // of the daemon's log so far
}

func newRig(t *testing.T) *rig {
	t.Helper()
	dir, err := os.MkdirTemp("", "spillway-killed-") //nolint:usetesting // Users of the cluster enter it; none but its owner enters t.TempDir.
	must(t, err)
	must(t, os.Chmod(dir, 0o755))
	r := &rig{Stage: &stage.Stage{Dir: dir}, t: t}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
		defer cancel()
		if err := r.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	r.Exe, err = stage.Build(t.Context(), dir, "crashpoints")
	must(t, err)
	// Slurm is to remember every job to the end, and what became of it.
	r.Cluster, err = slurmtest.Start(t.Context(), slurmtest.Options{Dir: r.Path("slurm"), Overlays: 40, ExtraConf: "MinJobAge=86400", Progress: os.Stderr})
	must(t, err)
	must(t, errors.Join(r.StartClouds(t.Context(), []byte(world)), r.PrepareDaemon()))
	r.startSlack()
	r.configure()
	r.client = socket.NewClient(r.socket())
	t.Cleanup(r.client.Close)
	return r
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (r *rig) socket() string { return r.Path("spillway.sock") }

// startSlack starts a local Slack that outlives the daemon.
func (r *rig) startSlack() {
	r.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(r.t, err)
	address := l.Addr().String()
	must(r.t, l.Close())
	c, err := r.Start("slackd", "slackd", "--state", r.Path("slack"), "--listen", address, "--speed", "20")
	must(r.t, err)
	must(r.t, r.Until(r.t.Context(), "Slack answers", c, func() bool { return strings.Contains(r.Log("slackd"), "control token") }))
	token, err := os.ReadFile(r.Path("slack", "tokens", "control"))
	must(r.t, err)
	r.slack = &slackd.Client{Base: "http://" + address, Token: strings.TrimSpace(string(token))}
}

func (r *rig) configure() {
	r.t.Helper()
	var out bytes.Buffer
	must(r.t, template.Must(template.New("").Parse(config)).Execute(&out, map[string]any{
		"State": r.Path("state"), "Socket": r.socket(), "Policy": r.Path("policy.yaml"),
		"Bin": r.Cluster.BinDir(sandbox.Account{}), "MungeKey": r.MungeKey(), "Controller": r.Cluster.Join().Controller,
		"URL": r.CloudURL(), "Token": r.Token("stratus-test"), "Enrol": r.Enrol(), "Slack": r.slack.Base, "Tokens": r.Path("slack", "tokens"),
	}))
	must(r.t, errors.Join(os.WriteFile(r.Path("spillway.yaml"), out.Bytes(), 0o600), os.WriteFile(r.Path("policy.yaml"), []byte(policy), 0o600)))
}

// start starts the daemon; it dies at the first of these points that it comes to.
func (r *rig) start(points []string) *exec.Cmd {
	r.t.Helper()
	r.said = len(r.log())
	c, err := r.Run("spillway", "env", "SPILLWAY_CRASH_AT="+strings.Join(points, ","), r.Exe, "run", "--config", r.Path("spillway.yaml"))
	must(r.t, err)
	return c
}

// wait waits for the daemon's death, and kills it itself after a time. It returns
// the point at which it died by itself.
func (r *rig) wait(c *exec.Cmd, most time.Duration) (point string) {
	r.t.Helper()
	kill := time.AfterFunc(most, func() { _ = c.Process.Kill() }) // It may be dead by then.
	defer kill.Stop()
	err := c.Wait()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		r.t.Fatalf("the daemon ended by itself: %v\n%s", err, r.tail())
	}
	for line := range strings.Lines(r.log()[r.said:]) {
		if at, ok := strings.CutPrefix(line, "killed at "); ok {
			point = strings.TrimSpace(at)
		}
	}
	r.proveStore()
	return point
}

// log is what all the daemon's lives have written.
func (r *rig) log() string {
	text, err := os.ReadFile(r.Path("spillway.log"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		r.t.Fatal(err)
	}
	return string(text)
}

func (r *rig) tail() string {
	text := r.log()
	return text[max(0, len(text)-12000):]
}

// proveStore has SQLite check the file that a death left, and the ledger in it.
func (r *rig) proveStore() {
	r.t.Helper()
	if _, err := os.Stat(r.Path("state", "spillway.db")); err != nil {
		return // it died before there was one
	}
	s, err := store.OpenReadOnly(r.t.Context(), r.Path("state"), store.Options{})
	if err != nil {
		r.t.Fatalf("open what was left: %v", err)
	}
	defer func() { must(r.t, s.Close()) }()
	report, err := s.CheckLedger(r.t.Context())
	if err = errors.Join(err, s.Integrity(r.t.Context())); err != nil || len(report.Faults) > 0 {
		r.t.Fatalf("what was left is not whole: %v %v", err, report.Faults)
	}
}

// until polls for a condition. What a person would look at is told when it does
// not come.
func (r *rig) until(limit time.Duration, what string, ok func() bool, tell func() string) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), limit)
	defer cancel()
	for !ok() {
		select {
		case <-ctx.Done():
			r.t.Fatalf("after %s not: %s\n%s\n%s\n%s", limit, what, tell(), r.scene(), r.tail())
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// scene is what a person would look at first.
func (r *rig) scene() string {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	out, err := r.Cluster.Output(ctx, sandbox.Account{}, "sh", "-c", "squeue -a; sinfo -a -N -o '%N %P %T %E'")
	for _, command := range []string{"status", "rentals"} {
		said, e := exec.CommandContext(ctx, r.Exe, command, "--config", r.Path("spillway.yaml")).CombinedOutput()
		out, err = out+string(said), errors.Join(err, e)
	}
	return fmt.Sprintf("%s%v", out, err)
}

const config = `version: 1
state_dir: {{.State}}
socket: {{.Socket}}
policy: {{.Policy}}
clusters:
  - name: main
    slurm:
      bin_dir: {{.Bin}}
      munge_key_file: {{.MungeKey}}
      controllers: ["{{.Controller}}"]
clouds:
  - name: stratus
    local: {url: {{.URL}}, token_file: {{.Token}}}
enrol: {listen: "{{.Enrol}}"}
slack:
  api: {{.Slack}}/api/
  bot_token_file: {{.Tokens}}/bot
  app_token_file: {{.Tokens}}/app
  channel: C0BURST01
  users: {T0HPC0001/U0LEA0001: root, T0HPC0001/U0ANA0001: alice}
limits: {list_every: 1s, offers_every: 5s, pool_down: 2s, pool_most: 4s, retry: 500ms, retry_most: 2s, reserve: 3s, absent_gap: 2s, orphan_age: 10s, breaker: {fails: 1000, vanish_most: 1000}}
`

const policy = `version: 1
organisation: test
currency: USD
mode: burst
zone: UTC
roles: {admins: [root], approvers: [root]}
accounts: [{account: "*", to: research/vision}]
defaults: {most: 40, idle: 2s, life: 4h, wait: 1s, ask: true, ask_for: 10m, comment: true}
rules:
  - name: dear
    when: job.name.startsWith("ask")
    class: P1
    max_rate: 30 USD/h
    ask_above: 1 USD
  - name: trainers
    when: job.restartable && job.name.startsWith("train")
    class: P2
    max_rate: 13 USD/h
    signal: {name: USR1, to: batch, window: 1s, for: all}
  - name: all
    when: job.nodes > 0
    class: P1
    max_rate: 30 USD/h
    ask_above: 20 USD
budgets: [{account: test/research/vision, every: day, limit: 100000 USD, approvers: [root]}]
`

const world = `version: 1
seed: 7
clouds:
  - name: stratus
    currency: USD
    notice: 8s
    boot: 1s
    billing: {step: 1s, minimum: 1s}
    limits: 20
    accounts: [{name: test}]
    types: [{name: s.gpu8, cpus: 8, memory_mib: 64000, disk_mib: 200000, gpu_type: a100, gpus: 8, features: [a100]}]
    regions:
      - name: north
        zones:
          - {name: north-1, pools: [{type: s.gpu8, spot: {rate: "9.80", stock: 12}, on_demand: {rate: "27.20", stock: 12}}]}
`
