package demo

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"text/template"
	"time"

	"golang.org/x/sys/unix"

	"spillway.sh/spillway/bridge/cloud/local/server"
	"spillway.sh/spillway/bridge/sandbox"
	"spillway.sh/spillway/slurm/slurmtest"
)

//go:embed world.yaml policy.yaml slack.yaml config.tmpl
var files embed.FS

// rig is everything the demo starts: a cluster, the clouds' server and the
// daemon, the latter two as processes of their own.
type rig struct {
	dir     string
	exe     string
	cluster *slurmtest.Cluster
	clouds  *exec.Cmd
	daemon  *exec.Cmd
	slack   string // address of the local Slack, which the daemon starts
	logs    []io.Closer
}

const (
	cloudPort = "7070"
	enrolPort = "7443"
	// parting is how long a process may take to end after it was asked to.
	parting = 15 * time.Second
)

func (r *rig) path(parts ...string) string {
	return filepath.Join(append([]string{r.dir}, parts...)...)
}
func (r *rig) socket() string             { return r.path("spillway.sock") }
func (r *rig) shared() string             { return r.cluster.SharedDir() }
func (r *rig) gateway(port string) string { return r.cluster.Network().Gateway.String() + ":" + port }
func (r *rig) cloudURL() string           { return "http://" + r.gateway(cloudPort) }
func (r *rig) config() string             { return r.path("spillway.yaml") }

// startCluster starts slurmctld and two local nodes.
func (r *rig) startCluster(ctx context.Context, version string, progress io.Writer) error {
	var err error
	r.cluster, err = slurmtest.Start(ctx, slurmtest.Options{Dir: r.path("slurm"), Version: version, Overlays: 12, Progress: progress})
	return err
}

// startClouds starts the clouds' server and waits until it answers.
func (r *rig) startClouds(ctx context.Context) error {
	world, err := files.ReadFile("world.yaml")
	if err != nil {
		return err
	}
	if err := os.WriteFile(r.path("world.yaml"), world, 0o644); err != nil {
		return fmt.Errorf("write the clouds' world: %w", err)
	}
	r.clouds, err = r.start("clouds", "localcloud",
		"--dir", r.path("cloud"), "--world", r.path("world.yaml"), "--listen", r.gateway(cloudPort),
		"--image", r.cluster.Image().Dir, "--network", r.cluster.Network().Dir, "--share", r.shared(), "--agent", r.exe)
	if err != nil {
		return err
	}
	return r.until(ctx, "the clouds answer", r.clouds, func() bool { return r.cloudsAnswer(ctx) })
}

// startDaemon writes configuration and policy and starts spillway run.
func (r *rig) startDaemon(ctx context.Context) error {
	if err := r.configure(); err != nil {
		return fmt.Errorf("configure: %w", err)
	}
	// The socket of a daemon that was killed says nothing of the next one.
	err := os.Remove(r.socket())
	if err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("remove the old socket: %w", err)
	}
	if r.daemon, err = r.start("spillway", "run", "--config", r.config()); err != nil {
		return err
	}
	return r.until(ctx, "the daemon answers", r.daemon, func() bool { _, err := os.Stat(r.socket()); return err == nil })
}

func (r *rig) configure() error {
	policy, err := files.ReadFile("policy.yaml")
	if err != nil {
		return err
	}
	people, err := files.ReadFile("slack.yaml")
	if err != nil {
		return err
	}
	if r.slack == "" {
		if r.slack, err = freeAddress(); err != nil {
			return err
		}
	}
	join := r.cluster.Join()
	err = errors.Join(r.accounts(), os.WriteFile(r.path("policy.yaml"), policy, 0o644), os.WriteFile(r.path("slack.yaml"), people, 0o644),
		os.WriteFile(r.path("munge.key"), join.MungeKey, 0o600))
	if err != nil {
		return err
	}
	type cloud struct{ Name, URL, TokenFile string }
	var clouds []cloud
	for _, name := range []string{"stratus", "nimbus"} {
		clouds = append(clouds, cloud{name, r.cloudURL(), r.path("cloud", "tokens", name+"-demo")})
	}
	t, err := template.ParseFS(files, "config.tmpl")
	if err != nil {
		return err
	}
	f, err := os.Create(r.config())
	if err != nil {
		return err
	}
	err = t.Execute(f, map[string]any{
		"State": r.path("state"), "Socket": r.socket(), "Policy": r.path("policy.yaml"),
		"Bin": r.cluster.BinDir(sandbox.Account{}), "MungeKey": r.path("munge.key"), "Controller": join.Controller,
		"Clouds": clouds, "Enrol": r.gateway(enrolPort), "Slack": r.slack, "People": r.path("slack.yaml"),
	})
	return errors.Join(err, f.Close())
}

// accounts has the daemon look accounts up where alice has hers, as a site's
// directory service would tell: this host does not know her.
func (r *rig) accounts() error {
	getent := "#!/bin/sh\nexec chroot " + r.cluster.Image().Dir + " getent \"$@\"\n"
	return errors.Join(os.MkdirAll(r.path("bin"), 0o755), os.WriteFile(r.path("bin", "getent"), []byte(getent), 0o755))
}

// freeAddress is a loopback address that nobody listens on just now.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("find an address for the local Slack: %w", err)
	}
	return l.Addr().String(), l.Close()
}

// start runs a subcommand of this binary with its output in a log.
func (r *rig) start(name string, args ...string) (*exec.Cmd, error) {
	log, err := os.OpenFile(r.path(name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	r.logs = append(r.logs, log)
	// Not bound to a context: rig.close ends it, in the right order. Its own
	// process group keeps a Ctrl-C at the terminal from reaching it first, and
	// it is told to end when the demo is killed.
	c := exec.Command(r.exe, args...)
	c.Stdout, c.Stderr = log, log
	c.Env = append(os.Environ(), "PATH="+r.path("bin")+":"+os.Getenv("PATH"))
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	if err := c.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	return c, nil
}

// until polls for a condition, and fails early when the process has ended.
func (r *rig) until(ctx context.Context, what string, c *exec.Cmd, ok func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for !ok() {
		if ended(c.Process.Pid) {
			return fmt.Errorf("wait until %s: the process has ended: %s", what, lastLines(c))
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait until %s: %w: %s", what, context.Cause(ctx), lastLines(c))
		case <-time.After(50 * time.Millisecond):
		}
	}
	return nil
}

// close ends everything in the order in which it may be missed, purges what the
// clouds still run, and removes the rig's folder. It works from any state.
func (r *rig) close(ctx context.Context) error {
	var errs []error
	errs = append(errs, end(r.daemon), end(r.clouds))
	for _, l := range r.logs {
		errs = append(errs, l.Close())
	}
	if r.cluster != nil {
		errs = append(errs, r.cluster.Close(ctx))
	}
	if _, err := sandbox.Sweep(ctx, r.dir); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(append(errs, os.RemoveAll(r.dir))...)
}

// end asks a process to end and kills it when it does not.
func end(c *exec.Cmd) error {
	if c == nil || c.Process == nil {
		return nil
	}
	_ = c.Process.Signal(syscall.SIGTERM) // It may have ended already.
	done := make(chan struct{})
	go func() { _ = c.Wait(); close(done) }() // Its exit status was judged by what it left.
	select {
	case <-done:
	case <-time.After(parting):
		_ = c.Process.Kill()
		<-done
		return fmt.Errorf("%s did not end when asked", c.Args[1])
	}
	return nil
}

// judge reads the clouds' own ledger.
func (r *rig) judge(now time.Time) (server.Judgement, error) {
	entries, err := server.ReadLedger(r.path("cloud", "ledger.jsonl"))
	if err != nil {
		return server.Judgement{}, err
	}
	return server.Judge(entries, now)
}

// cloudsAnswer reports whether the clouds' server serves requests.
func (r *rig) cloudsAnswer(ctx context.Context) bool {
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", r.gateway(cloudPort))
	if err != nil {
		return false
	}
	return c.Close() == nil
}

// lastLines is the end of what a process wrote.
func lastLines(c *exec.Cmd) string {
	f, ok := c.Stdout.(*os.File)
	if !ok {
		return ""
	}
	text, err := os.ReadFile(f.Name())
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-5):], "\n")
}

// ended reports whether a child has exited, without reaping it.
func ended(pid int) bool {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
	return err != nil || info.Signo != 0
}
