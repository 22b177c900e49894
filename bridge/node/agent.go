package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"spillway.sh/spillway/bridge"
)

// Member makes the machine one of its cluster: munge and slurmd for Slurm.
type Member interface {
	// Prepare writes what the scheduler's daemon needs: names, keys, configuration.
	// Asked again without the secrets, it keeps those it wrote.
	Prepare(ctx context.Context, node string, fields map[string]string) error
	// Run starts the daemon and keeps it running until ctx ends; one that runs
	// already is taken over. It tells when it runs and why it does not, and leaves
	// it running.
	Run(ctx context.Context, node string, fields map[string]string, tell func(bridge.Stage)) error
	// Busy reports whether a job has processes here; when it cannot tell, it has.
	Busy() bool
}

// Options is what an agent is made of.
type Options struct {
	Bridge Bridge
	Member Member
	Clouds [][]Cloud // tried in this order, those of one list together
	Dir    string    // its folder, root's alone

	TicketFile string
	Expires    time.Time // as the boot script was told

	Every time.Duration // between two reports, until the bridge says otherwise
	Stale time.Duration // without the bridge and without a job it is off after this
	Site  Site

	Clock Clock
	Now   func() time.Time
	// Off switches the machine off. It returns only when it could not.
	Off func(why string)
	// Stopping reports whether the machine is going down by another's wish.
	Stopping func() bool
	Log      *slog.Logger
}

// Defaults of Options.
const (
	everyDefault = 5 * time.Second
	staleDefault = 15 * time.Minute
)

// Agent is one machine's agent.
type Agent struct {
	o      Options
	life   *life
	status *status
	skew   skew
	grant  Grant
}

// New makes an agent.
func New(o Options) *Agent {
	if o.Every <= 0 {
		o.Every = everyDefault
	}
	if o.Stale <= 0 {
		o.Stale = staleDefault
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Stopping == nil {
		o.Stopping = func() bool { return false }
	}
	return &Agent{o: o, life: newLife(&o, o.Now()), status: newStatus()}
}

// Run does all of an agent's work until ctx ends.
func (a *Agent) Run(ctx context.Context) error {
	if err := os.MkdirAll(a.o.Dir, 0o700); err != nil {
		return fmt.Errorf("make the agent's folder: %w", err)
	}
	all, ctx := errgroup.WithContext(ctx)
	all.Go(func() error { a.life.watch(ctx); return nil })
	all.Go(func() error { return a.serve(ctx, all) })
	if err := all.Wait(); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// serve is the agent's life in order; what goes on meanwhile belongs to all.
func (a *Agent) serve(ctx context.Context, all *errgroup.Group) error {
	cloud, instance, err := a.identify(ctx)
	if err != nil {
		return err
	}
	all.Go(func() error { a.watchNotices(ctx, cloud); return nil })
	if err := a.enrol(ctx, instance); err != nil {
		return err
	}
	all.Go(func() error { a.beat(ctx, cloud); return nil })
	all.Go(func() error { a.watchGPUs(ctx); return nil })
	if err := a.prepare(ctx); err != nil {
		return err
	}
	if !a.pass(ctx) {
		return nil // Unfit: it is given back, or off when nobody hears of it.
	}
	a.o.Log.Info("fit", "node", a.grant.Node)
	a.status.set(func(s *status) { s.health = bridge.HealthFit })
	return a.o.Member.Run(ctx, a.grant.Node, a.grant.Fields, a.stage)
}

// prepare tries until the machine is ready to become a member.
func (a *Agent) prepare(ctx context.Context) error {
	began := a.o.Clock()
	var last error
	err := again(ctx, func() error {
		last = a.o.Member.Prepare(ctx, a.grant.Node, a.grant.Fields)
		if last != nil {
			a.o.Log.Warn("prepare to join", "err", last)
			a.stage(bridge.Stage{Name: stagePrepare, Took: a.o.Clock() - began, Text: last.Error()})
		}
		return last
	})
	if err != nil {
		return err
	}
	a.stage(bridge.Stage{Name: stagePrepare, OK: true, Took: a.o.Clock() - began})
	a.forgetTicket()
	return nil
}

// stagePrepare is the stage of writing keys and configuration.
const stagePrepare = "prepare"

// stage tells of one stage, in place of what was told of it before.
func (a *Agent) stage(s bridge.Stage) {
	a.status.set(func(st *status) {
		for i := range st.stages {
			if st.stages[i].Name == s.Name {
				st.stages[i] = s
				return
			}
		}
		st.stages = append(st.stages, s)
	})
}

// again tries something at first soon and then every half minute, until it is
// done or ctx ends.
func again(ctx context.Context, do func() error) error {
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, 30*time.Second) {
		err := do()
		if err == nil {
			return nil
		}
		if !sleep(ctx, pause) {
			return context.Cause(ctx)
		}
	}
}

// sleep reports false when ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

func (a *Agent) path(name string) string { return filepath.Join(a.o.Dir, name) }
