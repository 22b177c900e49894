package stage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"spillway.sh/spillway/bridge/cloud/local/server"
	"spillway.sh/spillway/bridge/sandbox"
	"spillway.sh/spillway/slurm/slurmtest"
)

// Stage is a folder and what runs in it.
type Stage struct {
	Dir     string
	Exe     string // the spillway binary that all processes run
	Cluster *slurmtest.Cluster

	processes []*exec.Cmd // in the order in which they were started
	logs      []io.Closer
}

const (
	cloudPort = "7070"
	enrolPort = "7443"
	// parting is how long a process may take to end after it was asked to.
	parting = 15 * time.Second
)

// Path is a file or folder of the stage.
func (s *Stage) Path(parts ...string) string {
	return filepath.Join(append([]string{s.Dir}, parts...)...)
}

// Shared is the folder that all nodes and machines see.
func (s *Stage) Shared() string { return s.Cluster.SharedDir() }

// Scratch is the folder of one account on the shared file system.
func (s *Stage) Scratch(a sandbox.Account) string { return filepath.Join(s.Shared(), "home", a.Name) }

// Gateway is an address of this host that nodes and machines reach.
func (s *Stage) Gateway(port string) string {
	return s.Cluster.Network().Gateway.String() + ":" + port
}

// CloudURL is where the clouds answer.
func (s *Stage) CloudURL() string { return "http://" + s.Gateway(cloudPort) }

// Enrol is where machines knock at the daemon's door.
func (s *Stage) Enrol() string { return s.Gateway(enrolPort) }

// Token is the file with a cloud account's secret.
func (s *Stage) Token(name string) string { return s.Path("cloud", "tokens", name) }

// StartCluster starts slurmctld and two local nodes.
func (s *Stage) StartCluster(ctx context.Context, version string, overlays int, progress io.Writer) error {
	var err error
	s.Cluster, err = slurmtest.Start(ctx, slurmtest.Options{Dir: s.Path("slurm"), Version: version, Overlays: overlays, Progress: progress})
	return err
}

// StartClouds starts the clouds' server with a world and waits until it answers.
func (s *Stage) StartClouds(ctx context.Context, world []byte) error {
	if err := os.WriteFile(s.Path("world.yaml"), world, 0o644); err != nil {
		return fmt.Errorf("write the clouds' world: %w", err)
	}
	c, err := s.Start("clouds", "localcloud",
		"--dir", s.Path("cloud"), "--world", s.Path("world.yaml"), "--listen", s.Gateway(cloudPort),
		"--image", s.Cluster.Image().Dir, "--network", s.Cluster.Network().Dir, "--share", s.Shared(), "--agent", s.Exe)
	if err != nil {
		return err
	}
	return s.Until(ctx, "the clouds answer", c, func() bool { return s.cloudsAnswer(ctx) })
}

// cloudsAnswer reports whether the clouds' server serves requests.
func (s *Stage) cloudsAnswer(ctx context.Context) bool {
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", s.Gateway(cloudPort))
	if err != nil {
		return false
	}
	return c.Close() == nil
}

// StartDaemon starts spillway run with a configuration whose socket is given,
// and waits until it answers. Its log is name.log.
func (s *Stage) StartDaemon(ctx context.Context, name, config, socket string) (*exec.Cmd, error) {
	// The socket of a daemon that was killed says nothing of the next one.
	if err := os.Remove(socket); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("remove the old socket: %w", err)
	}
	d, err := s.Start(name, "run", "--config", config)
	if err != nil {
		return nil, err
	}
	return d, s.Until(ctx, "the daemon answers", d, func() bool { _, err := os.Stat(socket); return err == nil })
}

// PrepareDaemon leaves the files that a daemon's configuration names: the munge
// key, and a getent that looks accounts up where the cluster's users have
// theirs, as a site's directory service would tell; this host does not know them.
func (s *Stage) PrepareDaemon() error {
	getent := "#!/bin/sh\nexec chroot " + s.Cluster.Image().Dir + " getent \"$@\"\n"
	return errors.Join(os.MkdirAll(s.Path("bin"), 0o755), os.WriteFile(s.Path("bin", "getent"), []byte(getent), 0o755),
		os.WriteFile(s.MungeKey(), s.Cluster.Join().MungeKey, 0o600))
}

// MungeKey is the file with the cluster's key.
func (s *Stage) MungeKey() string { return s.Path("munge.key") }

// Close ends everything in the order in which it may be missed, purges what the
// clouds still run, and removes the folder. It works from any state.
func (s *Stage) Close(ctx context.Context) error {
	var errs []error
	for _, p := range slices.Backward(s.processes) {
		errs = append(errs, End(p))
	}
	for _, l := range s.logs {
		errs = append(errs, l.Close())
	}
	if s.Cluster != nil {
		errs = append(errs, s.Cluster.Close(ctx))
	}
	if _, err := sandbox.Sweep(ctx, s.Dir); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(append(errs, os.RemoveAll(s.Dir))...)
}

// Judge reads the clouds' own ledger.
func (s *Stage) Judge(now time.Time) (server.Judgement, error) {
	entries, err := server.ReadLedger(s.Path("cloud", "ledger.jsonl"))
	if err != nil {
		return server.Judgement{}, err
	}
	return server.Judge(entries, now)
}
