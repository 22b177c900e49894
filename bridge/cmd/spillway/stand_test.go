package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/books"
	"spillway.sh/spillway/bridge/checkpoint"
	"spillway.sh/spillway/bridge/cloud/local"
	"spillway.sh/spillway/bridge/cloud/local/server"
	"spillway.sh/spillway/bridge/desk"
	"spillway.sh/spillway/bridge/desk/socket"
	"spillway.sh/spillway/bridge/store"
	"spillway.sh/spillway/policies"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// stand is a daemon without an engine: store, policy, desk and socket are the
// real ones; the queue, the offers and the clock stand still.
type stand struct {
	dir    string
	store  *store.Store
	policy *policies.File
	judge  bridge.Policy
	end    func()
	ended  chan error

	mu     sync.Mutex
	now    time.Time
	name   string
	groups []string
}

type standKey struct{}

func standOf(ts *testscript.TestScript) *stand { return ts.Value(standKey{}).(*stand) }

func (s *stand) be(name string, groups []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.name, s.groups = name, groups
}

func (s *stand) hour(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = noon.Add(time.Duration(n) * time.Hour)
}

func (s *stand) clock() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

func (s *stand) who(context.Context, int) (string, []string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.name, s.groups, nil
}

// Budgets and Terms make it the desk's rules.
func (s *stand) Budgets() []bridge.Budget { return s.policy.Budgets() }

// Approval is what the policy says of answers.
func (s *stand) Approval() bridge.Approval { return s.policy.Approval() }

func (s *stand) Terms(d *bridge.Demand, f *bridge.Facts) *bridge.Terms { return s.judge.Terms(d, f) }
func (s *stand) Wake()                                                 {}

// Remember changes the marks.
func (s *stand) Remember(ctx context.Context, change func(*bridge.Marks), news ...bridge.News) error {
	m, err := s.store.Marks(ctx)
	if err != nil {
		return err
	}
	change(&m)
	return s.store.SaveMarks(ctx, m, news...)
}

// View decides on what stands still and what the store has now.
func (s *stand) View() (bridge.Snapshot, bridge.Plan, bool) {
	ctx, now := context.Background(), s.clock()
	live, err1 := s.store.Live(ctx)
	marks, err2 := s.store.Marks(ctx)
	balances, err3 := s.store.Balances(ctx, now, s.Budgets())
	if errors.Join(err1, err2, err3) != nil {
		return bridge.Snapshot{}, bridge.Plan{}, false
	}
	snap := bridge.Snapshot{
		Now: now, MaxQueueAge: time.Minute, Rentals: live, Budgets: balances, Answers: marks.Answers, Frozen: marks.Frozen,
		Queues: []bridge.Queue{{Cluster: "main", ObservedAt: now, Demands: demands(), Nodes: []bridge.Node{
			{Name: "local1", Shape: bridge.Shape{CPUs: 64, MemoryMiB: 512 << 10, GPUs: 8, GPUType: "h100"}, Usable: true, Responding: true},
		}}},
		Offers: offers(now),
	}
	return snap, bridge.Decide(&snap, s), true
}

func demands() []bridge.Demand {
	job := func(id, name, user string, nodes, gpus int, waited time.Duration) bridge.Demand {
		return bridge.Demand{
			Cluster: "main", Job: bridge.JobID(id), Name: name, User: user, Account: "nlp", Partition: "gpu", Nodes: nodes, Count: 1,
			Shape: bridge.Shape{CPUs: 8, MemoryMiB: 64 << 10, GPUs: gpus, GPUType: "h100"}, Submitted: noon.Add(-waited), Eligible: noon.Add(-waited),
			TimeLimit: 2 * time.Hour, Restartable: true, Standing: bridge.StandingHelps, Word: "Resources",
		}
	}
	ds := []bridge.Demand{
		job("4711", "train-large", "ana", 2, 8, 40*time.Minute), job("4712", "train-small", "ben", 1, 4, 12*time.Minute),
		job("4713", "licensed", "ana", 1, 1, 3*time.Minute), job("4714", "later", "ben", 1, 8, 26*time.Hour),
	}
	ds[2].Standing, ds[2].Hurdle, ds[2].Word = bridge.StandingUnplaceable, "it asks for the licence matlab", "Licenses"
	ds[3].Standing, ds[3].Word = bridge.StandingUser, "JobHeldUser"
	return ds
}

func offers(now time.Time) []bridge.Offer {
	offer := func(cloud, kind string, gpus int, m bridge.Market, price int64) bridge.Offer {
		return bridge.Offer{
			Pool:  bridge.Pool{Cloud: cloud, Region: "east", Zone: "east-1", Type: kind, Market: m},
			Shape: bridge.Shape{CPUs: 64, MemoryMiB: 512 << 10, GPUs: gpus, GPUType: "h100"},
			Rate:  bridge.Rate{Micro: price * bridge.Micro, Currency: "USD"}, SampledAt: now, MaxAge: time.Hour, Boot: 90 * time.Second, Available: -1,
		}
	}
	return []bridge.Offer{
		offer("stratus", "gpu8", 8, bridge.Spot, 11), offer("stratus", "gpu8", 8, bridge.OnDemand, 20),
		offer("nimbus", "gpu4", 4, bridge.OnDemand, 13), offer("nimbus", "gpu8", 8, bridge.OnDemand, 25),
	}
}

// open starts the daemon in the script's folder.
func (s *stand) open(atEnd func(func())) error {
	s.now, s.name = noon, "ana"
	text, err := os.ReadFile(filepath.Join(s.dir, "policy.yaml"))
	if err != nil {
		return err
	}
	if s.policy, err = policies.Parse("policy.yaml", text); err != nil {
		return err
	}
	s.judge = s.policy.Policy()
	if s.store, err = store.Open(context.Background(), filepath.Join(s.dir, "state"), store.Options{Now: s.clock, StoreID: "thestore"}); err != nil {
		return err
	}
	roles := s.policy.Roles()
	d := desk.New(desk.Config{
		Version: "test", Reader: books.Books{Store: s.store}, Weekly: s.store, Capacity: s.policy.Capacity, Writer: books.Books{Store: s.store}, Viewer: s, Loop: s, Rules: s,
		Roles: desk.Roles{Admins: roles.Admins, Approvers: roles.Approvers, Escalation: s.policy.Approval().Escalation}, Clusters: []string{"main"}, Now: s.clock,
		Finder: s.finder(),
	})
	l, err := socket.Listen(filepath.Join(s.dir, "s"))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.end, s.ended = cancel, make(chan error, 1)
	go func() { s.ended <- socket.New(d, s.who, slog.New(slog.DiscardHandler)).Serve(ctx, l) }()
	atEnd(func() { _ = s.close() })
	return nil
}

// finder looks in the script's own folder scratch for what is in /scratch of
// others. Its files are ten minutes apart, in the order of their names.
func (s *stand) finder() desk.Finder {
	dir := filepath.Join(s.dir, "scratch")
	return checkpoint.New(checkpoint.Options{Clock: s.clock, Open: func(string) (fs.FS, io.Closer, error) {
		at := noon.Add(-time.Hour)
		err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if err == nil && !e.IsDir() {
				at = at.Add(10 * time.Minute)
				err = os.Chtimes(path, at, at)
			}
			return err
		})
		if err != nil {
			return nil, nil, err
		}
		r, err := os.OpenRoot(dir)
		if err != nil {
			return nil, nil, err
		}
		return r.FS(), r, nil
	}})
}

func (s *stand) close() error {
	if s.end == nil {
		return nil
	}
	s.end()
	s.end = nil
	return errors.Join(<-s.ended, s.store.Close())
}

// tamper changes the file of the store.
func (s *stand) tamper(statement string) error {
	db, err := sql.Open("sqlite", filepath.Join(s.dir, "state", "spillway.db"))
	if err != nil {
		return err
	}
	_, err = db.Exec(statement)
	return errors.Join(err, db.Close())
}

// cloud starts a local cloud, rents one machine of our store and one of
// another's there, and writes a configuration that names it.
func (s *stand) cloud(ts *testscript.TestScript) error {
	dir := filepath.Join(s.dir, "cloud")
	ctx := context.Background()
	srv, err := server.Open(ctx, server.Options{Dir: dir, World: server.DefaultWorld(), Host: server.NewNullHost()})
	if err != nil {
		return err
	}
	ts.Defer(func() { _ = srv.Close() })
	at, err := srv.Listen("127.0.0.1:0")
	if err != nil {
		return err
	}
	c, err := local.New(local.Config{Name: "stratus", URL: "http://" + at.String(), TokenFile: srv.TokenFile("stratus", "default")})
	if err != nil {
		return err
	}
	offers, err := c.Offers(ctx)
	if err != nil {
		return err
	}
	for i, of := range []string{"thestore", "anotherstore"} {
		r := bridge.Rental{
			ID: bridge.NewRentalID(int64(i + 1)), Cluster: "main", Account: "site/ai/nlp/ana", Requester: "ana", Class: bridge.P1, Attempt: 1,
			Pool: offers[0].Pool, Shape: offers[0].Shape, Rate: offers[0].Rate, MaxRate: offers[0].Rate, Count: 1, Gang: 1,
			Life: time.Hour, Created: time.Now(), Expires: time.Now().Add(time.Hour).Truncate(time.Second),
		}
		_, err := c.Create(ctx, bridge.Launch{
			Rental: r.ID, Attempt: 1, Token: fmt.Sprint("token", i), Pool: r.Pool, Count: 1, MaxRate: r.MaxRate,
			Tags: bridge.Tags(&r, of, 1), UserData: "#!/bin/sh\n", Expires: r.Expires,
		})
		if err != nil {
			return err
		}
	}
	for { // until the cloud's own lists show both
		list, err := c.List(ctx, "thestore", "main")
		if err != nil {
			return err
		}
		if len(list.Instances) == 2 {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	free, err := freeAddress()
	if err != nil {
		return err
	}
	text := fmt.Sprintf(`version: 1
state_dir: state
socket: s
policy: policy.yaml
clusters: [{name: main, slurm: {bin_dir: %s}}]
clouds: [{name: stratus, local: {url: "http://%s", token_file: %s}}]
enrol: {listen: "%s"}
`, s.dir, at, srv.TokenFile("stratus", "default"), free)
	return os.WriteFile(filepath.Join(s.dir, "spillway.yaml"), []byte(text), 0o600)
}

// freeAddress is an address on this host that nobody listens on just now.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}
