package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/netip"
	"path/filepath"
	"strings"
	"time"

	"spillway.sh/spillway/bridge/cloud/local/server"
	"spillway.sh/spillway/bridge/sandbox"
)

type localcloudCmd struct {
	Dir     string   `required:"" help:"Folder of the cloud's state, ledger and tokens." placeholder:"DIR"`
	World   string   `help:"World file: clouds, types, stock, prices (default: a small one)." placeholder:"FILE" predictor:"file"`
	Listen  []string `help:"Address to answer on; several may be given." default:"127.0.0.1:7070" placeholder:"HOST:PORT"`
	Image   string   `help:"Root of the machines; without it an image with Slurm is built." placeholder:"DIR"`
	Slurm   string   `help:"Version of Slurm in that image." default:"24.11"`
	Network string   `help:"Network of the machines, made by another rig; without it one is made." placeholder:"DIR"`
	Share   []string `help:"Folder of this host that every machine sees, at the same path unless another is given; several may be." placeholder:"DIR[:PATH]"`
	Hosts   []string `help:"Names that machines can resolve." placeholder:"NAME=ADDRESS"`
	Agent   string   `help:"Program that every machine's image brings as its agent; without it machines fetch theirs." placeholder:"FILE"`
	Hollow  bool     `help:"Machines that only exist on paper: no root, no programs, for trying the interface."`
	Bill    string   `help:"Print what this cloud charges until now, as CSV in FOCUS columns, and stop." placeholder:"CLOUD"`
	Purge   bool     `help:"End every machine of the folder's world, remove what they left, and stop."`
}

// Help gives examples.
func (localcloudCmd) Help() string {
	return `Examples:
  spillway localcloud --dir /var/tmp/cloud
  spillway localcloud --dir /var/tmp/cloud --world world.yaml --listen 10.77.0.1:7070
  spillway localcloud --dir /var/tmp/cloud --bill nimbus > nimbus.csv
  spillway localcloud --dir /var/tmp/cloud --purge

Machines are Linux namespaces and need root. They outlive this command: start it again in the same folder and it takes
them over. The secrets of its customers are files below DIR/tokens, named CLOUD-ACCOUNT.`
}

// Run serves until it is told to stop.
func (c *localcloudCmd) Run(a *app) error {
	if c.Bill != "" {
		entries, err := server.ReadLedger(filepath.Join(c.Dir, "ledger.jsonl"))
		if err != nil {
			return err
		}
		return server.WriteBill(a.out, c.Bill, entries, utcNow())
	}
	log := slog.New(slog.NewTextHandler(a.errs, nil))
	world := server.DefaultWorld()
	if c.World != "" {
		var err error
		if world, err = server.LoadWorld(c.World); err != nil {
			return fmt.Errorf("read world: %w", err)
		}
	}
	host, err := c.host(a)
	if err != nil {
		return err
	}
	s, err := server.Open(a.ctx, server.Options{Dir: c.Dir, World: world, Host: host, Log: log})
	if err != nil {
		return err
	}
	if err := c.serve(a, s); err != nil {
		_ = s.Close() // the first error is the one to tell
		return err
	}
	return s.Close()
}

func (c *localcloudCmd) serve(a *app, s *server.Server) error {
	if c.Purge {
		ctx, cancel := context.WithTimeout(a.ctx, time.Minute)
		defer cancel()
		if err := s.Purge(ctx); err != nil {
			return err
		}
		return c.sweep(a)
	}
	for _, address := range c.Listen {
		at, err := s.Listen(address)
		if err != nil {
			return err
		}
		fmt.Fprintf(a.out, "The local cloud answers on http://%s; tokens are in %s.\n", at, filepath.Dir(s.AdminTokenFile()))
	}
	<-a.ctx.Done()
	return nil
}

// host is what runs the machines.
func (c *localcloudCmd) host(a *app) (server.Host, error) {
	if c.Hollow {
		return server.NewNullHost(), nil
	}
	h := &server.SandboxHost{Dir: filepath.Join(c.Dir, "machines"), Image: sandbox.Image{Dir: c.Image}, Hosts: map[string]netip.Addr{}}
	for _, pair := range c.Hosts {
		name, text, _ := strings.Cut(pair, "=")
		address, err := netip.ParseAddr(text)
		if err != nil {
			return nil, fmt.Errorf("read --hosts %q: want NAME=ADDRESS: %w", pair, err)
		}
		h.Hosts[name] = address
	}
	for _, pair := range c.Share {
		from, to, given := strings.Cut(pair, ":")
		if !given {
			to = from
		}
		h.Binds = append(h.Binds, sandbox.Bind{From: from, To: to})
	}
	var err error
	if c.Agent != "" {
		if c.Agent, err = filepath.Abs(c.Agent); err != nil {
			return nil, err
		}
		h.Binds = append(h.Binds, sandbox.Bind{From: c.Agent, To: "/usr/local/bin/spillway", ReadOnly: true})
	}
	if h.Network, err = c.network(a.ctx); err != nil {
		return nil, err
	}
	if c.Image != "" || c.Purge {
		return h, nil
	}
	spec, err := sandbox.SlurmImage(c.Slurm, false)
	if err != nil {
		return nil, err
	}
	h.Image, err = sandbox.EnsureImage(a.ctx, spec, a.errs)
	return h, err
}

// network opens another rig's network, or the one of this folder, making it
// the first time.
func (c *localcloudCmd) network(ctx context.Context) (*sandbox.Network, error) {
	if c.Network != "" {
		return sandbox.OpenNetwork(c.Network)
	}
	n, err := sandbox.OpenNetwork(c.ownNetwork())
	if errors.Is(err, fs.ErrNotExist) {
		return sandbox.CreateNetwork(ctx, c.ownNetwork())
	}
	return n, err
}

func (c *localcloudCmd) ownNetwork() string { return filepath.Join(c.Dir, "net") }

// sweep removes what machines and a network of our own left in the kernel. The
// ledger stays.
func (c *localcloudCmd) sweep(a *app) error {
	if c.Hollow || c.Network != "" {
		fmt.Fprintln(a.out, "All machines are gone.")
		return nil
	}
	n, err := sandbox.OpenNetwork(c.ownNetwork())
	if err != nil {
		return err
	}
	if err := n.Close(a.ctx); err != nil {
		return err
	}
	fmt.Fprintln(a.out, "All machines and the network are gone. The ledger stays in", c.Dir)
	return nil
}
