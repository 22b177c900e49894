package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"spillway.sh/spillway/bridge"
)

// provision drives every launching rental to created or refused. An outcome
// that is unknown is neither: the same call with the same token is made again,
// or its machines are found in a list, until the time limit.
func (e *Engine) provision(ctx context.Context, c *cycle) error {
	var errs []error
	for _, r := range c.rentals(bridge.StateLaunching, bridge.StateJoining, bridge.StateReleasing) {
		errs = append(errs, e.launch(ctx, c, &r))
	}
	for _, r := range c.rentals(bridge.StateAdmitted, bridge.StateDraining) {
		e.watchCreate(c, &r) // a machine a list lacks is looked at directly
	}
	return errors.Join(errs...)
}

// launch takes one rental one step further.
func (e *Engine) launch(ctx context.Context, c *cycle, r *bridge.Rental) error {
	if h, res, ok := take[bridge.Handle](e.calls, "create/"+string(r.ID)); ok {
		if err := e.created(ctx, c, r, h, res); err != nil || r.State == bridge.StateReleasing {
			return err
		}
	}
	if l, ok := c.looks[r.ID]; ok && l.err != nil {
		if err := e.lookFailed(ctx, c, r, l.err); err != nil {
			return err
		}
	}
	if r.State == bridge.StateLaunching {
		if err := e.advance(ctx, c, r); err != nil {
			return err
		}
	}
	e.watchCreate(c, r)
	return nil
}

// advance is the next thing to do for a launching rental.
func (e *Engine) advance(ctx context.Context, c *cycle, r *bridge.Rental) error {
	switch {
	case len(named(r)) == r.Count:
		if err := move(r, bridge.EventCreated, bridge.ReasonCreated, c.now); err != nil {
			return err
		}
		c.again = true
		return e.save(ctx, c, r)
	case e.baffled(c, r):
		return e.goElsewhere(ctx, c, r)
	case c.over(r.Since.Add(e.limits.Launch)):
		return e.giveUp(ctx, c, r, bridge.EventLate, bridge.ReasonLaunchLate)
	case r.Launch.Token == "" && c.over(r.Until):
		return e.giveUp(ctx, c, r, bridge.EventRelease, bridge.ReasonExpired)
	case r.Launch.Token == "":
		return e.approved(ctx, c, r)
	case r.Handle == "":
		return e.create(ctx, c, r)
	}
	return nil
}

// approved freezes the create call of a rental that came through the desk, by
// an answer or a request.
func (e *Engine) approved(ctx context.Context, c *cycle, r *bridge.Rental) error {
	if c.dark || c.marks.Frozen || c.marks.Protected != "" || !e.lookedAround() {
		return nil
	}
	e.memory.unsent[r.ID] = true // without parameters no call can have been made
	if err := e.freeze(ctx, c, r); err != nil {
		return err
	}
	if err := e.save(ctx, c, r); err != nil {
		return err
	}
	return e.create(ctx, c, r)
}

// create sends the frozen call, beside the loop. Frozen money flows nowhere:
// not even a retry is sent then, for it might be the first to arrive.
func (e *Engine) create(ctx context.Context, c *cycle, r *bridge.Rental) error {
	key := "create/" + string(r.ID)
	cloud := e.clouds[r.Pool.Cloud]
	if cloud == nil {
		return fmt.Errorf("rental %s: no cloud %q is configured", r.ID, r.Pool.Cloud)
	}
	if c.dark || c.marks.Frozen || c.marks.Protected != "" || !e.lookedAround() || e.calls.busy(key) || e.memory.resting(key, c.now) {
		return nil
	}
	if e.memory.unsent[r.ID] && !c.wanted(r) {
		return e.giveUp(ctx, c, r, bridge.EventRelease, bridge.ReasonDemandGone)
	}
	if e.memory.sentAt[r.ID].IsZero() {
		if !e.memory.unsent[r.ID] { // from before a crash: it may have been sent
			e.memory.doubt[r.ID] = true
		}
		if err := e.store.Tell(ctx, c.tell(bridge.NewsCreating, r)); err != nil {
			c.dark = true
			return fmt.Errorf("tell of create for %s: %w", r.ID, err)
		}
	}
	if e.memory.sentAt[r.ID].IsZero() {
		e.gauges.sent.Observe(max(e.time().Sub(r.Since), 0).Seconds())
	}
	delete(e.memory.unsent, r.ID)
	e.memory.sentAt[r.ID] = c.now
	launch := r.Launch
	e.gauges.creates.WithLabelValues(r.Pool.Cloud).Inc()
	e.calls.start(key, r.Pool.Cloud, e.limits.Call, true, func(ctx context.Context) (any, error) { return cloud.Create(ctx, launch) })
	return nil
}

// created records how a create call ended.
func (e *Engine) created(ctx context.Context, c *cycle, r *bridge.Rental, h bridge.Handle, res result) error {
	key := "create/" + string(r.ID)
	if res.err == nil {
		delete(e.memory.pause, key)
		if r.Handle == h {
			return nil
		}
		r.Handle = h
		return e.save(ctx, c, r)
	}
	kind := bridge.KindOf(res.err)
	e.gauges.refused.WithLabelValues(r.Pool.Cloud, string(kind)).Inc()
	var after time.Duration
	if ce, ok := errors.AsType[*bridge.CloudError](res.err); ok {
		after = ce.RetryAfter
	}
	e.memory.rest(key, c.now, e.limits.Retry, e.limits.RetryMost, after)
	switch {
	case r.State != bridge.StateLaunching: // cancelled meanwhile; the sweep proves what became of it
		if !kind.Refused() {
			e.memory.doubt[r.ID] = true
		}
		return nil
	case kind.Refused():
		return e.refused(ctx, c, r, res.err)
	case kind == bridge.CloudThrottled:
		return nil // nothing happened
	}
	e.memory.doubt[r.ID] = true
	e.memory.puzzle(c, r, res.err)
	e.memory.listed[r.Pool.Cloud] = noTime // look for it at once
	if r.Why == bridge.ReasonUnknown {
		return nil
	}
	r.Why = bridge.ReasonUnknown
	n := c.tell(bridge.NewsUnknown, r)
	n.Text = res.err.Error()
	return e.save(ctx, c, r, n)
}

// refused ends an attempt, and lets its pool rest. It proves that nothing was
// created unless an earlier call of this attempt is in doubt: then the lists
// must prove it.
func (e *Engine) refused(ctx context.Context, c *cycle, r *bridge.Rental, cause error) error {
	if !e.memory.doubt[r.ID] {
		for i := range r.Machines {
			if m := &r.Machines[i]; m.ID == "" {
				m.State = bridge.MachineGone
			}
		}
	}
	ev := bridge.EventRefused
	if r.State == bridge.StateJoining {
		ev = bridge.EventRelease
	}
	if err := move(r, ev, bridge.ReasonRefused, c.now); err != nil {
		return err
	}
	n := c.tell(bridge.NewsRefused, r)
	n.Text = cause.Error()
	c.again = true
	return errors.Join(e.save(ctx, c, r, n), e.poolDown(ctx, c, r.Pool, bridge.KindOf(cause), cause))
}

// lookFailed judges an error of Observe. A capacity failure may arrive here only.
func (e *Engine) lookFailed(ctx context.Context, c *cycle, r *bridge.Rental, cause error) error {
	kind := bridge.KindOf(cause)
	if kind.Refused() && kind != bridge.CloudDenied && kind != bridge.CloudInvalid && r.State != bridge.StateReleasing {
		delete(e.memory.doubt, r.ID)
		return e.refused(ctx, c, r, cause)
	}
	e.memory.rest("observe/"+string(r.ID), c.now, e.limits.Retry, e.limits.RetryMost, 0)
	if kind == bridge.CloudThrottled || kind == bridge.CloudNotFound || r.State == bridge.StateReleasing {
		return nil
	}
	return fmt.Errorf("observe rental %s: %w", r.ID, cause)
}

// giveUp releases a rental that did not come in time; what exists of it, or
// may exist, is proved gone before it is settled. A pool that was never asked
// is not to blame.
func (e *Engine) giveUp(ctx context.Context, c *cycle, r *bridge.Rental, ev bridge.Event, why bridge.Reason) error {
	asked := r.Launch.Token != "" && !e.memory.unsent[r.ID] || e.calls.busy("create/"+string(r.ID)) || len(named(r)) > 0
	if !asked {
		for i := range r.Machines {
			r.Machines[i].State = bridge.MachineGone
		}
	}
	if err := move(r, ev, why, c.now); err != nil {
		return err
	}
	c.again = true
	err := e.save(ctx, c, r, c.tell(bridge.NewsReleasing, r))
	if ev != bridge.EventLate || !asked {
		return err
	}
	return errors.Join(err, e.poolDown(ctx, c, r.Pool, bridge.CloudUnknown, fmt.Errorf("%s", why)), e.fail(ctx, c))
}

// watchCreate looks at an accepted create until all its machines are known and
// run, and again while one that is being ended is not gone.
func (e *Engine) watchCreate(c *cycle, r *bridge.Rental) {
	key := "observe/" + string(r.ID)
	cloud := e.clouds[r.Pool.Cloud]
	if r.Handle == "" || cloud == nil || e.memory.resting(key, c.now) || !e.unsettledLook(r) {
		return
	}
	launch, handle := r.Launch, r.Handle
	e.calls.start(key, r.Pool.Cloud, e.limits.Call, false, func(ctx context.Context) (any, error) {
		return cloud.Observe(ctx, launch, handle)
	})
}

func (e *Engine) unsettledLook(r *bridge.Rental) bool {
	return e.memory.disputed[r.ID] || slices.ContainsFunc(r.Machines, func(m bridge.Machine) bool {
		return m.State != bridge.MachineGone && (m.ID == "" || m.Address == "" || m.Absent > 0 || r.State == bridge.StateReleasing)
	})
}

// named returns the machines whose instance is known.
func named(r *bridge.Rental) []bridge.Machine {
	return slices.DeleteFunc(slices.Clone(r.Machines), func(m bridge.Machine) bool { return m.ID == "" })
}
