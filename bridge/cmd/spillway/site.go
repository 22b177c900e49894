package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/books"
	"spillway.sh/spillway/bridge/cloud/contract"
	"spillway.sh/spillway/bridge/cloud/local"
	"spillway.sh/spillway/bridge/cloud/plugin"
	"spillway.sh/spillway/bridge/config"
	"spillway.sh/spillway/bridge/config/strict"
	"spillway.sh/spillway/bridge/desk"
	"spillway.sh/spillway/bridge/engine"
	"spillway.sh/spillway/bridge/store"
	"spillway.sh/spillway/policies"
	"spillway.sh/spillway/slurm"
)

// site is what the configuration names: clusters, clouds and policy, wired to
// their adapters. Nothing of it runs yet.
type site struct {
	config   *config.Config
	policy   *policies.File
	judge    bridge.Policy
	clusters map[string]*slurm.Cluster
	clouds   []engine.Cloud
}

// loadFiles reads configuration and policy, and returns the mistakes of both.
func loadFiles(path string) (*config.Config, *policies.File, error) {
	c, err := config.Load(path)
	if err != nil {
		return nil, nil, err
	}
	p, err := policies.Default()
	if c.Policy != "" {
		p, err = policies.Load(c.Policy)
	}
	if err != nil {
		return c, nil, err
	}
	if p.Mode() == policies.Burst && c.Enrol.Listen == "" {
		return c, p, fmt.Errorf("%s: the policy may rent (mode: burst), but machines could not enrol; for example:\nenrol: {listen: 0.0.0.0:7443, advertise: \"https://HOST:7443\"}", path)
	}
	for _, k := range p.Capacity() {
		if k.Cloud != "" && !slices.ContainsFunc(c.Clouds, func(x config.Cloud) bool { return x.Name == k.Cloud }) {
			return c, p, fmt.Errorf("%s: capacity %s is with cloud %s, which the configuration does not have; for example:\nclouds: [{name: %s, local: {url: \"http://127.0.0.1:7070\", token_file: token}}]", c.Policy, k.Name, k.Cloud, k.Cloud)
		}
	}
	if err := p.NeedsStorage(); err != nil && c.Storage == nil {
		return c, p, err
	}
	return c, p, nil
}

func loadSite(path string) (*site, error) {
	c, p, err := loadFiles(path)
	if err != nil {
		return nil, err
	}
	s := &site{config: c, policy: p, judge: p.Policy(), clusters: map[string]*slurm.Cluster{}}
	for i := range c.Clusters {
		s.clusters[c.Clusters[i].Name] = slurm.New(slurmOptions(&c.Clusters[i]))
	}
	for i := range c.Clouds {
		cloud, err := s.cloud(&c.Clouds[i])
		if err != nil {
			return nil, err
		}
		s.clouds = append(s.clouds, contract.New(cloud, p.Capacity(), utcNow))
	}
	return s, nil
}

func slurmOptions(c *config.Cluster) slurm.Options {
	o := slurm.Options{Name: c.Name}
	if x := c.Slurm; x != nil {
		o.BinDir, o.Conf, o.Read, o.Controllers, o.MungeKeyFile, o.MachineConf, o.Timeout = x.BinDir, x.Conf, slurm.Format(x.Read), x.Controllers, x.MungeKeyFile, x.MachineConf, x.Timeout
		if x.Workflows != nil {
			o.Workflows = []slurm.Workflow{}
		}
		for _, w := range x.Workflows {
			o.Workflows = append(o.Workflows, slurm.Workflow(w))
		}
	}
	return o
}

func (s *site) cloud(c *config.Cloud) (engine.Cloud, error) {
	if p := c.Plugin; p != nil {
		settings, err := json.Marshal(p.Settings)
		if err != nil {
			return nil, fmt.Errorf("settings of cloud %s: %w", c.Name, err)
		}
		return plugin.New(plugin.Config{Name: c.Name, Command: p.Command, Settings: settings, Env: p.Env, Timeout: p.Timeout, Log: slog.Default()})
	}
	if c.OpenStack != nil {
		return openStackOf(c)
	}
	if c.AWS != nil {
		return awsOf(c)
	}
	file := c.Local.Token.File()
	if file == "" {
		var err error
		if file, err = s.tokenFile(c); err != nil {
			return nil, err
		}
	}
	cloud, err := local.New(local.Config{Name: c.Name, URL: c.Local.URL, TokenFile: file, Timeout: c.Local.Timeout})
	if err != nil {
		return nil, err
	}
	return cloud, nil
}

// tokenFile keeps a secret that came by the environment where the adapter
// reads it: the state folder, which is its owner's alone.
func (s *site) tokenFile(c *config.Cloud) (string, error) {
	secret, err := c.Local.Token.Reveal()
	if err != nil {
		return "", fmt.Errorf("token of cloud %s: %w", c.Name, err)
	}
	path := filepath.Join(s.config.StateDir, "tokens", c.Name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", fmt.Errorf("keep token of cloud %s: %w", c.Name, err)
	}
	if err := os.WriteFile(path, []byte(secret+"\n"), 0o600); err != nil {
		return "", fmt.Errorf("keep token of cloud %s: %w", c.Name, err)
	}
	return path, nil
}

func (s *site) cloudNames() []string {
	out := make([]string, 0, len(s.clouds))
	for _, c := range s.clouds {
		out = append(out, c.Name())
	}
	return out
}

func (s *site) clusterNames() []string { return slices.Sorted(maps.Keys(s.clusters)) }

// storeID reads whose machines are ours.
func (s *site) storeID(ctx context.Context) (string, error) {
	db, err := store.OpenReadOnly(ctx, s.config.StateDir, store.Options{})
	if err != nil {
		return "", err
	}
	id := db.StoreID()
	return id, db.Close()
}

// warnings are what the policy says and probably does not mean, as far as the
// configuration can tell.
func warnings(c *config.Config, p *policies.File) strict.Faults {
	clouds := make([]string, 0, len(c.Clouds))
	for i := range c.Clouds {
		clouds = append(clouds, c.Clouds[i].Name)
	}
	out := append(p.Warnings(), p.UnknownClouds(clouds)...)
	slices.SortStableFunc(out, func(a, b *strict.Fault) int { return a.Line - b.Line })
	return out
}

func (s *site) warnings() strict.Faults { return warnings(s.config, s.policy) }

// Budgets and Terms make a site the desk's rules.
func (s *site) Budgets() []bridge.Budget { return s.policy.Budgets() }

// Approval is what the policy file says of answers to questions.
func (s *site) Approval() bridge.Approval { return s.policy.Approval() }

// Terms judges a demand by the policy file.
func (s *site) Terms(d *bridge.Demand, f *bridge.Facts) *bridge.Terms { return s.judge.Terms(d, f) }

func (s *site) roles() desk.Roles {
	r := s.policy.Roles()
	return desk.Roles{Admins: r.Admins, Approvers: r.Approvers, Escalation: s.policy.Approval().Escalation}
}

// site loads what the configuration names, for a command that needs it whole.
func (a *app) site() (*site, error) {
	s, err := loadSite(a.Config)
	if err != nil {
		return nil, &desk.Error{Kind: desk.Internal, Wrong: err.Error(), Try: "spillway check-config --config " + a.Config, Err: err}
	}
	return s, nil
}

// offline is a desk for while the daemon is down: the store, read-only, and a
// look at clusters and clouds of its own when a question needs one.
func (a *app) offline() (*desk.Desk, error) {
	s, err := loadSite(a.Config)
	if err != nil {
		return nil, err
	}
	db, err := store.OpenReadOnly(a.ctx, s.config.StateDir, store.Options{})
	if err != nil {
		return nil, err
	}
	a.closes = append(a.closes, db.Close)
	finder, err := s.finder()
	if err != nil {
		return nil, err
	}
	a.closes = append(a.closes, closeFinder(finder))
	view := &glance{a: a, site: s, books: books.Books{Store: db}}
	return desk.New(desk.Config{
		Version: version, Reader: books.Books{Store: db}, Weekly: db, Capacity: s.policy.Capacity, Viewer: view, Finder: finder, Rules: s, Roles: s.roles(), Clusters: s.clusterNames(), CloudNames: s.cloudNames(), CloudInfos: s.cloudInfos(), Replies: view.Replies, Exchange: s.exchange, Now: utcNow,
	}), nil
}

func utcNow() time.Time { return time.Now().UTC() }
