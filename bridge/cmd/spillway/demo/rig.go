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
	"text/template"
	"time"

	"spillway.sh/spillway/bridge/cloud/local/server"
	"spillway.sh/spillway/bridge/cmd/spillway/stage"
	"spillway.sh/spillway/bridge/sandbox"
	"spillway.sh/spillway/slurm/slurmtest"
)

//go:embed world.yaml policy.yaml slack.yaml config.tmpl
var files embed.FS

// rig is everything the demo starts: a cluster, the clouds' server and the
// daemon, the latter two as processes of their own.
type rig struct {
	*stage.Stage
	cluster *slurmtest.Cluster
	daemon  *exec.Cmd
	slack   string // address of the local Slack, which the daemon starts
}

func (r *rig) path(parts ...string) string                   { return r.Path(parts...) }
func (r *rig) socket() string                                { return r.path("spillway.sock") }
func (r *rig) config() string                                { return r.path("spillway.yaml") }
func (r *rig) judge(now time.Time) (server.Judgement, error) { return r.Judge(now) }
func (r *rig) close(ctx context.Context) error               { return r.Close(ctx) }

// startCluster starts slurmctld and two local nodes.
func (r *rig) startCluster(ctx context.Context, version string, progress io.Writer) error {
	err := r.StartCluster(ctx, version, 12, progress)
	r.cluster = r.Cluster
	return err
}

// startClouds starts the clouds' server.
func (r *rig) startClouds(ctx context.Context) error {
	world, err := files.ReadFile("world.yaml")
	if err != nil {
		return err
	}
	return r.StartClouds(ctx, world)
}

// startDaemon writes configuration and policy and starts spillway run.
func (r *rig) startDaemon(ctx context.Context) error {
	if err := r.configure(); err != nil {
		return fmt.Errorf("configure: %w", err)
	}
	var err error
	r.daemon, err = r.StartDaemon(ctx, "spillway", r.config(), r.socket())
	return err
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
	err = errors.Join(r.PrepareDaemon(), os.WriteFile(r.path("policy.yaml"), policy, 0o644), os.WriteFile(r.path("slack.yaml"), people, 0o644))
	if err != nil {
		return err
	}
	type cloud struct{ Name, URL, TokenFile string }
	var clouds []cloud
	for _, name := range []string{"stratus", "nimbus"} {
		clouds = append(clouds, cloud{name, r.CloudURL(), r.Token(name + "-demo")})
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
		"Bin": r.cluster.BinDir(sandbox.Account{}), "MungeKey": r.MungeKey(), "Controller": r.cluster.Join().Controller,
		"Clouds": clouds, "Enrol": r.Enrol(), "Slack": r.slack, "People": r.path("slack.yaml"),
	})
	return errors.Join(err, f.Close())
}

// freeAddress is a loopback address that nobody listens on just now.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("find an address for the local Slack: %w", err)
	}
	return l.Addr().String(), l.Close()
}
