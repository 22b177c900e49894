package sim

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/cloud/local/server"
	"spillway.sh/spillway/bridge/cloud/local/wire"
	"spillway.sh/spillway/bridge/desk"
	"spillway.sh/spillway/bridge/engine"
	"spillway.sh/spillway/bridge/sim/invariant"
	"spillway.sh/spillway/bridge/sim/slurmctl"
	"spillway.sh/spillway/bridge/store"
	"spillway.sh/spillway/policies"
)

// Cluster is the name of the world's one cluster.
const Cluster = "main"

// World is a cluster, clouds, people and a bridge. Its methods are for one
// goroutine.
type World struct {
	Slurm *slurmctl.Controller
	Cloud *server.Server
	// Of the present life; nil while the bridge is dead.
	Store  *store.Store
	Desk   *desk.Desk
	Engine *engine.Engine

	setup  Setup
	born   time.Time
	policy *policies.File
	site   site
	host   *host
	ways   ways
	clock  clock
	story  *story
	lifeMu sync.Mutex
	life   *life
	lives  int

	checker *invariant.Checker
	found   []invariant.Violation
	seen    seen
	books   sync.Mutex // held from a write of the store until it is written down, and while both are read
	calls   calls

	plan    plan
	over    bool // no new trouble any more
	ctx     context.Context
	cancel  context.CancelFunc
	working sync.WaitGroup
}

// New makes the world of a setup, with no bridge in it yet.
func New(ctx context.Context, s Setup) (*World, error) {
	time.Sleep(time.Until(cmp.Or(s.Begin, time.Now())))
	w := &World{setup: s, born: time.Now().UTC(), ways: ways{seed: s.Seed, n: map[string]uint64{}}}
	w.story = newStory(w.born, s.Trace)
	w.ctx, w.cancel = context.WithCancel(context.WithoutCancel(ctx))
	for _, dir := range []string{w.stateDir(), w.cloudDir()} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("make world: %w", err)
		}
	}
	for name, text := range map[string]string{"munge.key": mungeKey, "agent": "#!/bin/sh\n"} {
		if err := os.WriteFile(filepath.Join(s.Dir, name), []byte(text), 0o700); err != nil { //nolint:gosec // The agent is a program.
			return nil, fmt.Errorf("make world: %w", err)
		}
	}
	w.site = w.newSite()
	var err error
	if w.policy, err = policies.Parse("policy.yaml", w.site.policy); err != nil {
		return nil, fmt.Errorf("make world: %w", err)
	}
	w.Slurm = slurmctl.New(w.site.slurm)
	w.host = newHost(w)
	w.Cloud, err = server.Open(ctx, server.Options{
		Dir: w.cloudDir(), World: w.site.clouds, Host: w.host, Pulse: s.span(10 * time.Second), ID: w.host.name,
	})
	if err != nil {
		return nil, fmt.Errorf("make world: %w", err)
	}
	w.checker = invariant.New(w.rules())
	w.seen.start()
	w.calls.take()
	return w, nil
}

func (w *World) stateDir() string { return filepath.Join(w.setup.Dir, "state") }
func (w *World) cloudDir() string { return filepath.Join(w.setup.Dir, "clouds") }

// storeID is that of a store that is made in this world.
func (w *World) storeID() string { return fmt.Sprintf("sim%016x", w.setup.Seed) }

// Now is the time by the bridge's clock.
func (w *World) Now() time.Time { return w.clock.Now() }

// Policy is the world's policy file.
func (w *World) Policy() *policies.File { return w.policy }

// Submit sends a job.
func (w *World) Submit(j slurmctl.Job) bridge.JobID {
	id := w.Slurm.Submit(j)
	w.story.tell(time.Now(), "job %s of %s: %d nodes, %d GPUs, %d CPUs, %s of work, restartable %t, limit %s", id, j.User, max(j.Nodes, 1), j.GPUs, j.CPUs, j.Work, j.Restartable, j.Limit)
	return id
}

// Fault sets faults of the clouds, or carries out commands.
func (w *World) Fault(f ...wire.Fault) error {
	for i := range f {
		w.story.tell(time.Now(), "fault %s %s %s %s %s", f[i].Kind, f[i].Cloud, f[i].Op, f[i].Pool, f[i].Instance)
	}
	return w.operator(f)
}

// Close ends the world, and the bridge in it.
func (w *World) Close() error {
	w.Kill()
	w.cancel()
	w.working.Wait()
	return w.Cloud.Close()
}
