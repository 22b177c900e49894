package demo

import (
	"bytes"
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
	"text/template"
	"time"

	"spillway.sh/spillway/bridge/cloud/local/server"
	"spillway.sh/spillway/bridge/cloud/local/server/ec2"
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
	ec2     bool   // the clouds are rented from by the driver of EC2
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
	if r.ec2 {
		// As EC2 charges. Its spot machines cost what the market does, from one moment
		// to the next; those of the local cloud keep their first price, so that it may
		// not move here.
		world = bytes.ReplaceAll(world, []byte("minimum: 10s"), []byte("minimum: 60s"))
		for _, swing := range []string{", swing: 4, every: 20s", ", swing: 6, every: 20s"} {
			world = bytes.ReplaceAll(world, []byte(swing), nil)
		}
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
	clouds, err := r.clouds()
	if err != nil {
		return err
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

// cloud is one of the demo's in the configuration. With an image it is rented from
// in EC2's words.
type cloud struct {
	Name, URL, TokenFile             string
	Image, Region, Type, Credentials string
	Features                         string
}

// clouds are the demo's two. For the driver of EC2 their tokens are keys in a file
// of its SDK.
func (r *rig) clouds() ([]cloud, error) {
	all := []cloud{
		{Name: "stratus", Region: "north", Type: "s.gpu8", Features: "[a100]"},
		{Name: "nimbus", Region: "east", Type: "n.gpu8", Features: "[a100, nvlink]"},
	}
	var keys strings.Builder
	for i := range all {
		c := &all[i]
		c.URL, c.TokenFile, c.Credentials = r.CloudURL(), r.Token(c.Name+"-demo"), r.path("aws.credentials")
		if !r.ec2 {
			continue
		}
		secret, err := os.ReadFile(c.TokenFile)
		if err != nil {
			return nil, err
		}
		c.Image = ec2.ImageID(c.Name, c.Region)
		fmt.Fprintf(&keys, "[%s]\naws_access_key_id = %s\naws_secret_access_key = %s\n", c.Name, filepath.Base(c.TokenFile), strings.TrimSpace(string(secret)))
	}
	if !r.ec2 {
		return all, nil
	}
	return all, os.WriteFile(r.path("aws.credentials"), []byte(keys.String()), 0o600)
}

// freeAddress is a loopback address that nobody listens on just now.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("find an address for the local Slack: %w", err)
	}
	return l.Addr().String(), l.Close()
}
