package engine

import (
	"context"
	"errors"
	"fmt"

	"spillway.sh/spillway/bridge"
)

// settle closes the books of rentals whose machines are all gone, twice over:
// each was judged gone, and a complete list sent for after that shows none.
func (e *Engine) settle(ctx context.Context, c *cycle) error {
	var errs []error
	for _, r := range c.rentals(bridge.StateReleasing) {
		if len(r.Live()) > 0 || e.calls.busy("create/"+string(r.ID)) || !e.confirmed(c, &r) {
			continue
		}
		errs = append(errs, e.closeBooks(ctx, c, &r))
	}
	return errors.Join(errs...)
}

// confirmed reports whether a list sent for after the last machine was judged
// gone bears that out (I6). Where nothing was ever created, the refusal is
// proof enough.
func (e *Engine) confirmed(c *cycle, r *bridge.Rental) bool {
	if len(named(r)) == 0 && !e.memory.doubt[r.ID] {
		return true
	}
	judged, ok := e.memory.gone[r.ID]
	if !ok { // before a restart: judged anew
		e.memory.gone[r.ID] = c.now
		e.memory.listed[r.Pool.Cloud] = noTime
		return false
	}
	list, ok := c.lists[r.Pool.Cloud]
	if !ok || !list.Complete || !list.At.After(judged) {
		if !ok {
			e.hurry(c, r.Pool.Cloud)
		}
		return false
	}
	for _, in := range list.near(r) {
		if in.State != bridge.InstanceGone && (machineOf(r, in.ID) != nil || e.ours(r, &in)) {
			return false
		}
	}
	return true
}

// hurry has a cloud listed again within a cycle.
func (e *Engine) hurry(c *cycle, cloud string) {
	if c.now.Sub(e.memory.listed[cloud]) >= e.limits.Cycle {
		e.memory.listed[cloud] = noTime
	}
}

// closeBooks posts the final cost and returns the rest of the hold.
func (e *Engine) closeBooks(ctx context.Context, c *cycle, r *bridge.Rental) error {
	cost, err := costOf(r, c.now)
	if err != nil {
		return fmt.Errorf("settle rental %s: %w", r.ID, err)
	}
	if cost.Micro < r.Cost.Micro {
		cost = r.Cost // what was posted stays; a bill corrects it
	}
	r.Cost = cost
	why := r.Why
	if err := move(r, bridge.EventGone, why, c.now); err != nil {
		return err
	}
	saved, err := e.store.Settle(ctx, *r, c.tell(bridge.NewsSettled, r))
	if err != nil {
		return fmt.Errorf("settle rental %s: %w", r.ID, err)
	}
	e.keep(c, saved)
	e.gauges.settled.WithLabelValues(r.Pool.Cloud).Inc()
	c.again = true
	return nil
}
