package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"spillway.sh/spillway/bridge"
)

// reclaim brings jobs off machines that a cloud takes back, and buries nodes
// whose machine is gone. The sweep has written the notice down already.
//
// The order for a noticed machine: drain, so that nothing new lands; signal
// the jobs that opted in; requeue when their window is over, and at once those
// that did not; cut the scheduler's own delay when the steps are dead; dismiss
// the node and give the machine back.
func (e *Engine) reclaim(ctx context.Context, c *cycle) error {
	var errs []error
	for _, r := range c.rentals(bridge.StateJoining, bridge.StateAdmitted, bridge.StateDraining, bridge.StateReleasing) {
		if q, fresh := c.queue(r.Cluster); fresh && len(r.Alerted) > 0 {
			errs = append(errs, e.aftermath(ctx, c, &r, q))
		}
		if noticed := nodesOf(&r, bridge.MachineNoticed); len(noticed) > 0 && r.State != bridge.StateReleasing {
			errs = append(errs, e.vacate(ctx, c, &r, noticed))
		}
		errs = append(errs, e.restore(ctx, c, &r), e.ail(ctx, c, &r), e.bury(ctx, c, &r))
	}
	errs = append(errs, e.expedite(ctx, c), e.revive(ctx, c))
	return errors.Join(errs...)
}

// vacate frees noticed machines.
func (e *Engine) vacate(ctx context.Context, c *cycle, r *bridge.Rental, noticed []string) error {
	q, fresh := c.queue(r.Cluster)
	runs := q.on(noticed...)
	nodes := noticed
	if r.Gang > 1 { // one machine lost is the gang lost
		nodes = nodesOf(r, bridge.MachineNoticed, bridge.MachineJoined)
	}
	err := e.alert(ctx, c, r, nodes, runs)
	if err != nil && !fresh {
		return err // the scheduler does not answer; the next cycle tries again
	}
	errs := []error{err}
	for i := range runs {
		if !c.now.Before(e.deadline(r, &runs[i])) {
			errs = append(errs, e.requeue(ctx, c, r, &runs[i], bridge.ReasonNotice))
		}
	}
	errs = append(errs, e.handBack(ctx, c, r, noticed, fresh && len(q.on(nodes...)) == 0))
	return errors.Join(errs...)
}

// drainReason stands in the scheduler at nodes that we drain for a notice.
const drainReason = "spillway: reclaim"

// alert drains nodes and signals their jobs, each once. What is done is stored
// with the rental: after a crash in between it is done again, and never left out.
func (e *Engine) alert(ctx context.Context, c *cycle, r *bridge.Rental, nodes []string, runs []bridge.Run) error {
	fresh := undrained(r, nodes)
	if len(fresh) > 0 {
		err := e.write(ctx, r.Cluster, func(ctx context.Context, s Scheduler) error { return s.Drain(ctx, fresh, drainReason) })
		if err != nil {
			return fmt.Errorf("drain %v for a notice: %w", fresh, err)
		}
	}
	signalled, err := e.signal(ctx, r, runs)
	if len(fresh) == 0 && !signalled {
		return err
	}
	var news []bridge.News
	if len(fresh) > 0 {
		n := c.tell(bridge.NewsDrained, r)
		n.Why, n.Node = bridge.ReasonNotice, fresh[0]
		if at := noticedAt(r); !at.IsZero() {
			n.Took = max(e.time().Sub(at), 0)
			e.gauges.drained.Observe(n.Took.Seconds())
		}
		news = append(news, n)
	}
	for i := range r.Machines {
		if m := &r.Machines[i]; slices.Contains(fresh, m.Node) {
			m.Drained = c.now
			e.memory.drained[m.Node] = true
		}
	}
	return errors.Join(err, e.save(ctx, c, r, news...))
}

// undrained are those of the nodes that were not drained for this notice yet.
func undrained(r *bridge.Rental, nodes []string) []string {
	var out []string
	for i := range r.Machines {
		if m := &r.Machines[i]; m.Drained.IsZero() && slices.Contains(nodes, m.Node) {
			out = append(out, m.Node)
		}
	}
	return out
}

// signal signals the jobs that opted in and were not signalled yet, and
// reports whether there were any.
func (e *Engine) signal(ctx context.Context, r *bridge.Rental, runs []bridge.Run) (bool, error) {
	var errs []error
	some := false
	for i := range runs {
		job := runs[i].Job
		t := e.terms(r, &runs[i])
		if t.Signal == "" || slices.Contains(r.Alerted, job) || e.memory.requeued[jobKey(r.Cluster, job)] {
			continue
		}
		err := e.write(ctx, r.Cluster, func(ctx context.Context, s Scheduler) error { return s.Signal(ctx, job, t.Signal, t.SignalTo) })
		if err != nil && !errors.Is(err, bridge.ErrNoJob) {
			errs = append(errs, fmt.Errorf("signal job %s: %w", job, err))
			continue
		}
		r.Alerted, some = append(r.Alerted, job), true
	}
	return some, errors.Join(errs...)
}

// noticedAt is when the newest notice of a rental was given.
func noticedAt(r *bridge.Rental) time.Time {
	var at time.Time
	for i := range r.Machines {
		if r.Machines[i].State == bridge.MachineNoticed {
			at = later(at, r.Machines[i].NoticeAt)
		}
	}
	return at
}

// deadline is when a job on noticed machines is requeued: after its window
// for the checkpoint, and in any case Reserve before the first is taken.
func (e *Engine) deadline(r *bridge.Rental, run *bridge.Run) time.Time {
	t := e.terms(r, run)
	var at time.Time
	for i := range r.Machines {
		m := &r.Machines[i]
		if m.State != bridge.MachineNoticed || !slices.Contains(run.Nodes, m.Node) {
			continue
		}
		d := m.NoticeAt
		if t.Signal != "" {
			d = d.Add(t.SignalWindow)
		}
		if last := m.ReclaimAt.Add(-e.limits.Reserve); !m.ReclaimAt.IsZero() && d.After(last) {
			d = last
		}
		if at.IsZero() || d.Before(at) {
			at = d
		}
	}
	return at
}

// requeue takes a restartable job off its machines. The reclaim is counted
// before the call: a crash between them must not count it twice, or lose it.
func (e *Engine) requeue(ctx context.Context, c *cycle, r *bridge.Rental, run *bridge.Run, why bridge.Reason) error {
	if !run.Restartable {
		return e.warn(ctx, c, r, run.Job, "not-restartable", "its machine is taken back and it may not be requeued: it keeps its last seconds")
	}
	if _, under := c.marks.Requeued[r.Cluster][run.Job]; !under {
		if err := e.countReclaim(ctx, c, r, run.Job); err != nil {
			return err
		}
	} else if e.memory.requeued[jobKey(r.Cluster, run.Job)] {
		return nil
	}
	err := e.write(ctx, r.Cluster, func(ctx context.Context, s Scheduler) error { return s.Requeue(ctx, run.Job) })
	switch {
	case errors.Is(err, bridge.ErrNoJob):
		return nil // it ended by itself
	case errors.Is(err, bridge.ErrNotRestartable):
		run.Restartable = false
		return e.requeue(ctx, c, r, run, why)
	case err != nil:
		return fmt.Errorf("requeue job %s: %w", run.Job, err)
	}
	e.memory.requeued[jobKey(r.Cluster, run.Job)] = true
	n := c.tell(bridge.NewsRequeued, r)
	n.Job, n.Why = run.Job, why
	return errors.Join(e.drop(ctx, c, r, run.Job, n))
}

// countReclaim remembers that a job was taken off, and that it waits to be
// eligible again. Only spot machines the cloud took count against the job.
func (e *Engine) countReclaim(ctx context.Context, c *cycle, r *bridge.Rental, job bridge.JobID) error {
	delete(e.memory.requeued, jobKey(r.Cluster, job))
	return e.remember(ctx, c, func(m *bridge.Marks) {
		if m.Requeued == nil {
			m.Requeued = map[string]map[bridge.JobID]time.Time{}
		}
		if m.Requeued[r.Cluster] == nil {
			m.Requeued[r.Cluster] = map[bridge.JobID]time.Time{}
		}
		m.Requeued[r.Cluster][job] = c.now
		if r.Pool.Market != bridge.Spot || r.State == bridge.StateReleasing {
			return
		}
		if m.Reclaims == nil {
			m.Reclaims = map[string]map[bridge.JobID]int{}
		}
		if m.Reclaims[r.Cluster] == nil {
			m.Reclaims[r.Cluster] = map[bridge.JobID]int{}
		}
		m.Reclaims[r.Cluster][job]++
	})
}

// drop ends a rental's promise to a job, so that the job counts as demand again.
func (e *Engine) drop(ctx context.Context, c *cycle, r *bridge.Rental, job bridge.JobID, news ...bridge.News) error {
	r.Jobs, r.Alerted = without(r.Jobs, job), without(r.Alerted, job)
	delete(e.memory.routed[r.ID], job)
	return e.save(ctx, c, r, news...)
}

// handBack releases noticed machines that are empty, and the whole of a gang
// that loses one: not before its job has used its window, in which the notice
// may yet be called off.
func (e *Engine) handBack(ctx context.Context, c *cycle, r *bridge.Rental, noticed []string, empty bool) error {
	if r.Gang > 1 && (empty || r.State == bridge.StateJoining || len(r.Alerted) == 0) {
		return e.breakGang(ctx, c, r, bridge.ReasonNotice)
	}
	if !empty || r.Gang > 1 {
		return nil
	}
	if err := e.dismiss(ctx, r, noticed); err != nil {
		if errors.Is(err, bridge.ErrBusy) {
			return nil
		}
		return err
	}
	for i := range r.Machines {
		if m := &r.Machines[i]; m.State == bridge.MachineNoticed {
			m.State = bridge.MachineReleasing
		}
	}
	n := c.tell(bridge.NewsReleasing, r)
	n.Why, n.Node = bridge.ReasonNotice, strings.Join(noticed, ",")
	return e.save(ctx, c, r, n)
}

// breakGang drains a gang that cannot be whole any more, or a rental of which
// nothing is left: its jobs start again elsewhere, the survivors go back.
func (e *Engine) breakGang(ctx context.Context, c *cycle, r *bridge.Rental, why bridge.Reason) error {
	switch r.State {
	case bridge.StateAdmitted:
		if r.Gang > 1 {
			why = bridge.ReasonGangBroken
		}
		if err := move(r, bridge.EventDrain, why, c.now); err != nil {
			return err
		}
		return e.save(ctx, c, r, c.tell(bridge.NewsDraining, r))
	case bridge.StateJoining:
		if err := move(r, bridge.EventRelease, why, c.now); err != nil {
			return err
		}
		if err := e.save(ctx, c, r, c.tell(bridge.NewsReleasing, r)); err != nil || r.Pool.Market == bridge.Spot {
			return err // that spot machines are taken is the market's doing, and is weighed
		}
		return e.misfit(ctx, c, r, fault{why, "its machines went before they joined"})
	case bridge.StateWaiting, bridge.StateLaunching, bridge.StateDraining, bridge.StateReleasing, bridge.StateSettled, bridge.StateClosed:
	}
	return nil
}

// bury tells the scheduler of machines that are gone: their jobs are requeued
// by it at once, their nodes go. A node that is still busy is buried next time.
func (e *Engine) bury(ctx context.Context, c *cycle, r *bridge.Rental) error {
	q, fresh := c.queue(r.Cluster)
	if !fresh {
		return nil
	}
	var dead []string
	for _, n := range nodesOf(r, bridge.MachineGone) {
		if q.nodes[n] != nil {
			dead = append(dead, n)
		}
	}
	if len(dead) == 0 {
		return e.breakIfShort(ctx, c, r)
	}
	var errs []error
	for _, run := range q.on(dead...) {
		if _, under := c.marks.Requeued[r.Cluster][run.Job]; !under && run.Restartable {
			errs = append(errs, e.countReclaim(ctx, c, r, run.Job))
			n := c.tell(bridge.NewsRequeued, r)
			n.Job, n.Why = run.Job, bridge.ReasonDied
			errs = append(errs, e.drop(ctx, c, r, run.Job, n))
		}
	}
	if len(q.on(dead...)) > 0 || !e.memory.buried[dead[0]] {
		err := e.write(ctx, r.Cluster, func(ctx context.Context, s Scheduler) error {
			return s.Down(ctx, dead, "spillway: machine gone")
		})
		if err != nil {
			errs = append(errs, fmt.Errorf("set %v down: %w", dead, err))
		} else {
			e.memory.buried[dead[0]] = true
		}
		c.again = true
	}
	if err := e.dismiss(ctx, r, dead); err != nil && !errors.Is(err, bridge.ErrBusy) {
		errs = append(errs, err)
	}
	errs = append(errs, e.breakIfShort(ctx, c, r))
	return errors.Join(errs...)
}

// breakIfShort drains an admitted gang that lost a machine, and a rental that
// has none left.
func (e *Engine) breakIfShort(ctx context.Context, c *cycle, r *bridge.Rental) error {
	if r.State != bridge.StateAdmitted && r.State != bridge.StateJoining {
		return nil
	}
	lost := nodesOf(r, bridge.MachineGone, bridge.MachineReleasing)
	if r.Gang > 1 && len(lost) > 0 || len(lost) == len(r.Machines) {
		why := bridge.ReasonDied
		if slices.ContainsFunc(r.Machines, func(m bridge.Machine) bool { return !m.NoticeAt.IsZero() }) {
			why = bridge.ReasonReclaimed
		}
		return e.breakGang(ctx, c, r, why)
	}
	return nil
}

// terms asks policy about a job that runs on a rental.
func (e *Engine) terms(r *bridge.Rental, run *bridge.Run) *bridge.Terms {
	d := e.demandOf(r, run)
	if t := e.o.Policy.Terms(&d, &bridge.Facts{Cluster: r.Cluster}); t != nil {
		return t
	}
	return &bridge.Terms{}
}
