package slurmtest

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"spillway.sh/spillway/bridge/sandbox"
)

const (
	headName = "head"
	// startLimit is how long daemons may take to come up on a busy machine.
	startLimit = 60 * time.Second
	// pollEvery is the pause between two looks at a cluster that is waited for.
	pollEvery = 50 * time.Millisecond
)

// Cluster is a running Slurm cluster.
type Cluster struct {
	options Options
	dir     string // Empty until the rig's folder is ours.
	image   sandbox.Image
	network *sandbox.Network
	key     []byte
	conf    string
	head    *sandbox.Machine
	nodes   []*sandbox.Machine
}

// Start builds the image if need be, starts the cluster and returns when all
// local nodes are idle. The caller must Close it; one Close too many is no error.
func Start(ctx context.Context, options Options) (*Cluster, error) {
	options, err := options.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("start cluster: %w", err)
	}
	if err := sandbox.CheckHost(); err != nil {
		return nil, fmt.Errorf("start cluster: %w", err)
	}
	if _, err := sandbox.SweepAbandoned(ctx); err != nil {
		return nil, fmt.Errorf("start cluster: %w", err)
	}
	c := &Cluster{options: options}
	if err := c.prepare(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("start cluster: %w", err), c.Close(context.WithoutCancel(ctx)))
	}
	if err := c.boot(ctx); err != nil {
		// The logs go with the cluster, so what they say last goes into the error.
		err = fmt.Errorf("start cluster: %w%s", err, c.lastWords())
		return nil, errors.Join(err, c.Close(context.WithoutCancel(ctx)))
	}
	return c, nil
}

// prepare makes what needs no machine yet: image, folders, network, key.
func (c *Cluster) prepare(ctx context.Context) error {
	spec, err := sandbox.SlurmImage(c.options.Version, c.options.Accounting)
	if err != nil {
		return err
	}
	for _, p := range c.options.Packages {
		spec.Name, spec.Packages = spec.Name+"-"+p, append(spec.Packages, p)
	}
	if c.image, err = sandbox.EnsureImage(ctx, spec, c.options.Progress); err != nil {
		return err
	}
	if err := c.makeFolders(); err != nil {
		return err
	}
	if c.network, err = sandbox.CreateNetwork(ctx, filepath.Join(c.dir, "net")); err != nil {
		return err
	}
	c.key = make([]byte, 128)
	if _, err := rand.Read(c.key); err != nil {
		return err
	}
	nodes := make([]confNode, c.options.LocalNodes)
	for i := range nodes {
		nodes[i] = confNode{Name: fmt.Sprintf("local%d", i+1), Address: c.address(i + 1)}
	}
	c.conf, err = renderSlurmConf(c.options, c.address(0), nodes)
	return err
}

// address gives the head node and then the local nodes fixed addresses, since
// slurm.conf names them before they exist.
func (c *Cluster) address(i int) netip.Addr {
	address := c.network.Gateway
	for range 9 + i {
		address = address.Next()
	}
	return address
}

// boot starts the machines and their daemons, the head node first.
func (c *Cluster) boot(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	c.nodes = make([]*sandbox.Machine, c.options.LocalNodes)
	group, groupCtx := errgroup.WithContext(ctx)
	group.Go(func() error { return c.bootHead(groupCtx) })
	for i := range c.nodes {
		group.Go(func() error { return c.bootNode(groupCtx, i) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	if err := c.writeCommands(); err != nil {
		return err
	}
	return c.waitNodesIdle(ctx)
}

func (c *Cluster) bootHead(ctx context.Context) error {
	spec := c.machine(headName, 0)
	spec.Files = append(spec.Files, c.confFiles("/etc/slurm")...)
	owner, err := imageUser(c.image, c.options.SlurmUser)
	if err != nil {
		return err
	}
	if c.options.Accounting {
		spec.Files = append(spec.Files, sandbox.File{
			Path: "/etc/slurm/slurmdbd.conf", Data: []byte(slurmdbdConf(c.options.SlurmUser)),
			Mode: 0o600, UID: owner.ID, GID: owner.ID,
		})
	}
	if c.head, err = sandbox.Start(ctx, spec); err != nil {
		return err
	}
	for _, script := range c.headScripts() {
		if err := c.script(ctx, c.head, script); err != nil {
			return err
		}
	}
	return nil
}

func (c *Cluster) headScripts() []string {
	scripts := []string{mungeScript, fmt.Sprintf(foldersScript, c.options.SlurmUser)}
	if c.options.Accounting {
		scripts = append(scripts, c.accountingScripts()...)
	}
	return append(scripts, "slurmctld", waitControllerScript)
}

func (c *Cluster) bootNode(ctx context.Context, i int) error {
	name := fmt.Sprintf("local%d", i+1)
	spec := c.machine(name, i+1)
	spec.Files = append(spec.Files, c.confFiles("/etc/slurm")...)
	spec.GPUs = c.options.GPUs
	node, err := sandbox.Start(ctx, spec)
	if err != nil {
		return err
	}
	c.nodes[i] = node
	for _, script := range []string{mungeScript, fmt.Sprintf(foldersScript, "root"), "slurmd -N " + name} {
		if err := c.script(ctx, node, script); err != nil {
			return err
		}
	}
	return nil
}

// machine returns the spec that head and local nodes have in common.
func (c *Cluster) machine(name string, i int) sandbox.Spec {
	hosts := map[string]netip.Addr{headName: c.address(0)}
	for i := range c.options.LocalNodes {
		hosts[fmt.Sprintf("local%d", i+1)] = c.address(i + 1)
	}
	delete(hosts, name)
	return sandbox.Spec{
		Dir:  filepath.Join(c.dir, "machines"),
		Name: name, Image: c.image, Network: c.network, Address: c.address(i),
		Hosts: hosts, Binds: c.binds(), Detached: c.options.Detached,
	}
}

func (c *Cluster) binds() []sandbox.Bind {
	return []sandbox.Bind{
		{From: c.options.SharedDir, To: c.options.SharedDir},
		{From: filepath.Join(c.options.SharedDir, "home"), To: "/home"},
	}
}

func (c *Cluster) confFiles(dir string) []sandbox.File {
	munge, err := imageUser(c.image, "munge")
	if err != nil {
		munge = sandbox.Account{}
	}
	return []sandbox.File{
		{Path: filepath.Join(dir, "slurm.conf"), Data: []byte(c.conf)},
		{Path: filepath.Join(dir, "gres.conf"), Data: []byte(gresConf(c.options.GPUType, c.options.GPUs))},
		{Path: filepath.Join(dir, "cgroup.conf"), Data: []byte(cgroupConf(c.options.Version))},
		{Path: "/etc/munge/munge.key", Data: c.key, Mode: 0o400, UID: munge.ID, GID: munge.ID},
	}
}

// script runs shell lines on a machine as root.
func (c *Cluster) script(ctx context.Context, m *sandbox.Machine, lines string) error {
	_, err := m.Output(ctx, sandbox.Command{Args: []string{"/bin/sh", "-ec", lines}})
	return err
}

// waitNodesIdle waits until the controller has heard of every local node.
func (c *Cluster) waitNodesIdle(ctx context.Context) error {
	return poll(ctx, "local nodes to be idle", func() (bool, string, error) {
		out, err := c.Output(ctx, sandbox.Account{}, "sinfo", "-h", "-N", "-o", "%N=%T")
		states := strings.Fields(out)
		slices.Sort(states)
		states = slices.Compact(states)
		for _, state := range states {
			if !strings.HasSuffix(state, "=idle") {
				return false, out, nil
			}
		}
		if err != nil {
			return false, err.Error(), nil //nolint:nilerr // Asked again until the time is over.
		}
		return len(states) == c.options.LocalNodes, out, nil
	})
}

// poll asks until the answer is yes, an error, or ctx ends; the error then
// tells what was seen last.
func poll(ctx context.Context, what string, ask func() (bool, string, error)) error {
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	for {
		done, seen, err := ask()
		if done || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w: last seen: %s", what, ctx.Err(), strings.TrimSpace(seen))
		case <-ticker.C:
		}
	}
}

// Dir returns the rig's folder.
func (c *Cluster) Dir() string { return c.dir }

// SharedDir returns the folder that all machines share, at its path on the
// host and in the machines.
func (c *Cluster) SharedDir() string { return c.options.SharedDir }

// Version returns the Slurm version, for instance "22.05".
func (c *Cluster) Version() string { return c.options.Version }

// Image returns the root file system of the machines.
func (c *Cluster) Image() sandbox.Image { return c.image }

// Network returns the network that head, nodes and joining machines are on.
func (c *Cluster) Network() *sandbox.Network { return c.network }

// Head returns the machine of the controller.
func (c *Cluster) Head() *sandbox.Machine { return c.head }

// Nodes returns the machines of the local nodes.
func (c *Cluster) Nodes() []*sandbox.Machine { return slices.Clone(c.nodes) }

// SlurmConf returns the cluster's slurm.conf.
func (c *Cluster) SlurmConf() string { return c.conf }

// ControllerLog returns the host's path of slurmctld's log.
func (c *Cluster) ControllerLog() string {
	return filepath.Join(c.head.Dir(), "upper/var/log/slurm/slurmctld.log")
}

// NodeLog returns the host's path of the slurmd log of a machine.
func NodeLog(m *sandbox.Machine) string {
	return filepath.Join(m.Dir(), "upper/var/log/slurm/slurmd.log")
}

// lastWords collects the end of each daemon's log.
func (c *Cluster) lastWords() string {
	var text strings.Builder
	logs, _ := filepath.Glob(filepath.Join(c.dir, "machines/*/upper/var/log/slurm/*.log"))
	for _, path := range logs {
		data, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		lines := bytes.Split(bytes.TrimSpace(data), []byte("\n"))
		rel, _ := filepath.Rel(filepath.Join(c.dir, "machines"), path)
		fmt.Fprintf(&text, "\n%s:", rel)
		for _, line := range lines[max(0, len(lines)-5):] {
			fmt.Fprintf(&text, "\n  %s", line)
		}
	}
	return text.String()
}

// Close switches all machines off and removes everything but a SharedDir that
// the caller brought and the images.
func (c *Cluster) Close(ctx context.Context) error {
	if c.dir == "" {
		return nil
	}
	group, groupCtx := errgroup.WithContext(ctx)
	for _, m := range append(slices.Clone(c.nodes), c.head) {
		if m != nil {
			group.Go(func() error { return m.Stop(groupCtx) })
		}
	}
	err := group.Wait()
	if c.network != nil {
		err = errors.Join(err, c.network.Close(ctx))
	}
	// Machines that joined without their owner stopping them are swept with the rest.
	_, swept := sandbox.Sweep(ctx, c.dir)
	if err := errors.Join(err, swept); err != nil {
		return fmt.Errorf("close cluster: %w", err)
	}
	return nil
}

// SlurmAccount returns the account that slurmctld runs as, with the image's number.
func (c *Cluster) SlurmAccount() (sandbox.Account, error) {
	return imageUser(c.image, c.options.SlurmUser)
}
