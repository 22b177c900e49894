package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"spillway.sh/spillway/bridge"
)

// release gives machines back: drain, dismiss from the scheduler when no job
// is left, terminate until the cloud says gone. It waits for running jobs, and
// for nothing else: not for budgets, answers or policy, and past a rental's
// end not for the scheduler either.
func (e *Engine) release(ctx context.Context, c *cycle) error {
	var errs []error
	for i := range c.plan.Return {
		errs = append(errs, e.giveBack(ctx, c, &c.plan.Return[i]))
	}
	for _, r := range c.rentals(bridge.StateLaunching, bridge.StateJoining, bridge.StateAdmitted, bridge.StateDraining) {
		if r.Launch.Token != "" && c.over(r.Expires) {
			errs = append(errs, e.expire(ctx, c, &r))
		}
	}
	for _, r := range c.rentals(bridge.StateDraining) {
		errs = append(errs, e.empty(ctx, c, &r))
	}
	for _, r := range c.rentals(bridge.StateReleasing) {
		errs = append(errs, e.expel(ctx, c, &r))
	}
	for _, r := range c.rentals(bridge.StateAdmitted, bridge.StateJoining, bridge.StateDraining, bridge.StateReleasing) {
		errs = append(errs, e.end(c, &r))
	}
	return errors.Join(errs...)
}

// giveBack begins what the plan asks for.
func (e *Engine) giveBack(ctx context.Context, c *cycle, ret *bridge.Return) error {
	r, ok := c.live[ret.Rental]
	if !ok {
		return nil
	}
	r = copyRental(r)
	switch r.State {
	case bridge.StateLaunching, bridge.StateJoining: // nothing runs there
		if c.gentle {
			return nil
		}
		return e.giveUp(ctx, c, &r, bridge.EventRelease, ret.Why)
	case bridge.StateAdmitted:
		if len(ret.Machines) > 0 && len(ret.Machines) < len(r.Live()) {
			return e.shrink(ctx, c, &r, ret)
		}
		if c.gentle && (ret.Why == bridge.ReasonIdle || ret.Why == bridge.ReasonExpired) {
			return nil
		}
		if err := move(&r, bridge.EventDrain, ret.Why, c.now); err != nil {
			return err
		}
		return e.save(ctx, c, &r, c.tell(bridge.NewsDraining, &r))
	case bridge.StateWaiting, bridge.StateDraining, bridge.StateReleasing, bridge.StateSettled, bridge.StateClosed:
	}
	return nil
}

// shrink gives single machines back, if no job holds them.
func (e *Engine) shrink(ctx context.Context, c *cycle, r *bridge.Rental, ret *bridge.Return) error {
	q, fresh := c.queue(r.Cluster)
	if !fresh || c.gentle {
		return nil
	}
	var nodes []string
	for i := range r.Machines {
		if m := &r.Machines[i]; m.State == bridge.MachineJoined && slices.Contains(ret.Machines, m.Ordinal) && len(q.on(m.Node)) == 0 {
			nodes = append(nodes, m.Node)
		}
	}
	if len(nodes) == 0 {
		return nil
	}
	if err := e.clear(ctx, r, nodes); err != nil {
		if errors.Is(err, bridge.ErrBusy) {
			return nil // a job was quicker
		}
		return err
	}
	for i := range r.Machines {
		if m := &r.Machines[i]; slices.Contains(nodes, m.Node) {
			m.State = bridge.MachineReleasing
		}
	}
	n := c.tell(bridge.NewsReleasing, r)
	n.Why, n.Node = ret.Why, strings.Join(nodes, ",")
	return e.save(ctx, c, r, n)
}

// clear drains nodes and takes them out of the scheduler. Drained first, no
// job can start between the look and the end (I17).
func (e *Engine) clear(ctx context.Context, r *bridge.Rental, nodes []string) error {
	if len(nodes) == 0 {
		return nil
	}
	undrained := slices.DeleteFunc(slices.Clone(nodes), func(n string) bool { return e.memory.drained[n] })
	if len(undrained) > 0 {
		err := e.write(ctx, r.Cluster, func(ctx context.Context, s Scheduler) error {
			return s.Drain(ctx, undrained, bridge.ReleaseReason)
		})
		if err != nil {
			return fmt.Errorf("drain rental %s: %w", r.ID, err)
		}
		for _, n := range undrained {
			e.memory.drained[n] = true
		}
	}
	return e.dismiss(ctx, r, nodes)
}

// empty moves a draining rental on once no job is left on it. What cannot be
// seen may be busy.
func (e *Engine) empty(ctx context.Context, c *cycle, r *bridge.Rental) error {
	q, fresh := c.queue(r.Cluster)
	if !fresh {
		return nil
	}
	var errs []error
	nodes := nodesOf(r, bridge.MachineCreated, bridge.MachineJoined, bridge.MachineNoticed)
	errs = append(errs, e.unroute(ctx, r, q))
	known := slices.DeleteFunc(slices.Clone(nodes), func(n string) bool { return q.nodes[n] == nil })
	err := e.clear(ctx, r, known)
	switch {
	case errors.Is(err, bridge.ErrBusy), err == nil && len(q.on(nodes...)) > 0:
		return errors.Join(errs...) // its jobs end first (I16)
	case err != nil:
		return errors.Join(append(errs, err)...)
	}
	if err := move(r, bridge.EventRelease, r.Why, c.now); err != nil {
		return err
	}
	return errors.Join(append(errs, e.save(ctx, c, r, c.tell(bridge.NewsReleasing, r)))...)
}

// unroute takes the rental's overlay off the jobs that still wait with it.
func (e *Engine) unroute(ctx context.Context, r *bridge.Rental, q *sight) error {
	var errs []error
	for i := range q.Demands {
		d := &q.Demands[i]
		if !inOverlay(d, r.ID) {
			continue
		}
		err := e.write(ctx, r.Cluster, func(ctx context.Context, s Scheduler) error { return s.Unroute(ctx, r, d.Job) })
		if err != nil && !errors.Is(err, bridge.ErrNoJob) {
			errs = append(errs, fmt.Errorf("unroute job %s from rental %s: %w", d.Job, r.ID, err))
		}
		delete(e.memory.routed[r.ID], d.Job)
	}
	return errors.Join(errs...)
}

// expire ends a rental whose paid time is over, whatever runs there and
// whoever does not answer.
func (e *Engine) expire(ctx context.Context, c *cycle, r *bridge.Rental) error {
	if err := move(r, bridge.EventRelease, bridge.ReasonExpired, c.now); err != nil {
		return err
	}
	return e.save(ctx, c, r, c.tell(bridge.NewsReleasing, r))
}

// expel requeues what may be requeued on machines that go back at once: past
// their end, or because a person said now. They do not wait for it.
func (e *Engine) expel(ctx context.Context, c *cycle, r *bridge.Rental) error {
	q, _ := c.queue(r.Cluster)
	var errs []error
	for _, run := range q.on(nodesOf(r, bridge.MachineJoined, bridge.MachineNoticed)...) {
		if run.Restartable {
			errs = append(errs, e.requeue(ctx, c, r, &run, r.Why))
		}
	}
	return errors.Join(errs...)
}

// end terminates a rental's releasing machines, again and again until its
// cloud says gone.
func (e *Engine) end(c *cycle, r *bridge.Rental) error {
	if cur, ok := c.live[r.ID]; ok {
		*r = copyRental(cur) // as the steps above left it
	}
	var ids []string
	for i := range r.Machines {
		m := &r.Machines[i]
		if m.ID != "" && m.State != bridge.MachineGone && (r.State == bridge.StateReleasing || m.State == bridge.MachineReleasing) {
			ids = append(ids, m.ID)
		}
	}
	key := "terminate/" + string(r.ID)
	_, res, ok := take[struct{}](e.calls, key)
	if ok {
		e.memory.rest(key, c.now, e.limits.Retry, e.limits.RetryMost, 0)
		e.memory.listed[r.Pool.Cloud] = noTime // look whether they are gone
		c.again = true
	}
	if len(ids) > 0 && !e.calls.busy(key) && !e.memory.resting(key, c.now) {
		if e.clouds[r.Pool.Cloud] == nil {
			return fmt.Errorf("rental %s: no cloud %q is configured to end its machines", r.ID, r.Pool.Cloud)
		}
		e.startTerminate(key, r.Pool.Cloud, ids)
	}
	if ok && res.err != nil {
		return fmt.Errorf("terminate %v of rental %s: %w", ids, r.ID, res.err)
	}
	return nil
}
