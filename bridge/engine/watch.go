package engine

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"time"

	"spillway.sh/spillway/bridge"
)

// watch follows the jobs of every rental that may have some, meters what its
// machines cost, and warns before it ends.
func (e *Engine) watch(ctx context.Context, c *cycle) error {
	var errs []error
	for _, r := range c.rentals(bridge.StateAdmitted, bridge.StateDraining) {
		q, fresh := c.queue(r.Cluster)
		if !fresh {
			continue
		}
		runs := q.on(nodesOf(&r, bridge.MachineJoined, bridge.MachineNoticed)...)
		errs = append(errs, e.follow(ctx, c, &r, q, runs), e.foreign(ctx, c, &r, runs))
		if r.State == bridge.StateAdmitted {
			errs = append(errs, e.letIn(ctx, c, &r, q), e.prolong(ctx, c, &r, runs), e.postpone(c, &r))
		}
	}
	for _, r := range c.rentals(bridge.StateLaunching, bridge.StateJoining, bridge.StateAdmitted, bridge.StateDraining, bridge.StateReleasing) {
		errs = append(errs, e.meter(ctx, c, &r))
	}
	e.forgetLimits(c)
	return errors.Join(errs...)
}

// follow tells of jobs that came and went, and keeps since when the rental and
// each of its machines are idle.
func (e *Engine) follow(ctx context.Context, c *cycle, r *bridge.Rental, q *sight, runs []bridge.Run) error {
	before := copyRental(*r)
	var news []bridge.News
	var errs []error
	for i := range runs {
		if !slices.Contains(r.Running, runs[i].Job) {
			news = append(news, e.arrived(c, r, &runs[i]))
		}
		e.memory.where[jobKey(r.Cluster, runs[i].Job)] = runs[i].Nodes
	}
	r.Running = jobsOf(runs)
	for _, j := range before.Running {
		if !slices.Contains(r.Running, j) {
			n := c.tell(bridge.NewsFinished, r)
			n.Job = j
			news = append(news, n)
			errs = append(errs, e.outcome(ctx, c, r, q, j))
			delete(e.memory.where, jobKey(r.Cluster, j))
		}
	}
	r.IdleSince = idleSince(r.IdleSince, len(runs) > 0, c.now)
	for i := range r.Machines {
		if m := &r.Machines[i]; m.State == bridge.MachineJoined {
			busy := slices.ContainsFunc(runs, func(run bridge.Run) bool { return slices.Contains(run.Nodes, m.Node) })
			m.IdleSince = idleSince(m.IdleSince, busy, c.now)
		}
	}
	if len(news) > 0 || !reflect.DeepEqual(before, *r) {
		errs = append(errs, e.save(ctx, c, r, news...))
	}
	return errors.Join(errs...)
}

// arrived is the news of a job's start.
func (e *Engine) arrived(c *cycle, r *bridge.Rental, run *bridge.Run) bridge.News {
	n := c.tell(bridge.NewsStarted, r)
	n.Job, n.Node = run.Job, run.Nodes[0]
	e.atHome(&n)
	if len(r.Running) == 0 && !r.IdleSince.IsZero() && !run.Started.IsZero() {
		n.Took = max(run.Started.Sub(r.IdleSince), 0)
		e.gauges.started.Observe(n.Took.Seconds())
	}
	return n
}

func idleSince(since time.Time, busy bool, now time.Time) time.Time {
	switch {
	case busy:
		return noTime
	case since.IsZero():
		return now
	}
	return since
}

func jobsOf(runs []bridge.Run) []bridge.JobID {
	var out []bridge.JobID
	for i := range runs {
		out = append(out, runs[i].Job)
	}
	return out
}

// foreign takes jobs of other money off the rental. One of the same project is
// let be, and promised the machines it has.
func (e *Engine) foreign(ctx context.Context, c *cycle, r *bridge.Rental, runs []bridge.Run) error {
	var errs []error
	for i := range runs {
		run := &runs[i]
		if promised(r, run.Job) {
			continue
		}
		if a := e.terms(r, run).Account; a != "" && a.Project() == r.Account.Project() {
			r.Jobs = append(r.Jobs, run.Job)
			errs = append(errs, e.save(ctx, c, r))
			continue
		}
		if e.memory.warned["foreign/"+jobKey(r.Cluster, run.Job)] {
			continue
		}
		e.memory.warned["foreign/"+jobKey(r.Cluster, run.Job)] = true
		n := c.tell(bridge.NewsForeign, r)
		n.Job, n.Text = run.Job, "runs on machines another project pays for; requeued"
		if err := e.evict(ctx, r, run); err != nil {
			n.Text = "runs on machines another project pays for; left alone: " + err.Error()
		}
		errs = append(errs, e.store.Tell(ctx, n))
	}
	return errors.Join(errs...)
}

// evict takes a foreign job off: its way in first, so that it does not come back.
func (e *Engine) evict(ctx context.Context, r *bridge.Rental, run *bridge.Run) error {
	if !run.Restartable {
		return bridge.ErrNotRestartable
	}
	return e.write(ctx, r.Cluster, func(ctx context.Context, s Scheduler) error {
		if err := s.Requeue(ctx, run.Job); err != nil {
			return err
		}
		return s.Unroute(ctx, r, run.Job)
	})
}
