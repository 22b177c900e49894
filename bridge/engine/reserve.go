package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"spillway.sh/spillway/bridge"
)

// reserve turns the plan's orders into rentals: hold and create intent in one
// transaction, or a question that holds nothing.
func (e *Engine) reserve(ctx context.Context, c *cycle) error {
	if c.dark || c.marks.Frozen || c.marks.Protected != "" || !e.lookedAround() {
		return nil
	}
	var errs []error
	for i := range c.plan.Rent {
		o := &c.plan.Rent[i]
		if o.Ask == "" && e.memory.launched(o.Offer.Pool.Cloud, c.now) >= e.limits.Launches {
			continue // what still waits then is decided anew in the next cycles
		}
		err := e.order(ctx, c, o)
		if errors.Is(err, bridge.ErrOverBudget) {
			c.again = true // the money went to somebody else meanwhile: decide anew
			continue
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// order makes one rental of an order.
func (e *Engine) order(ctx context.Context, c *cycle, o *bridge.Order) error {
	id, err := e.store.NextID(ctx)
	if err != nil {
		return fmt.Errorf("number a rental: %w", err)
	}
	r := bridge.Draw(id, o, c.now)
	if o.Ask != "" {
		return e.propose(ctx, c, r, o)
	}
	if err := e.freeze(ctx, c, &r); err != nil {
		return err
	}
	n := c.tell(bridge.NewsReserved, &r)
	n.Cost, n.Who = r.Hold, r.Requester
	saved, err := e.store.Reserve(ctx, r, e.o.Budgets, n) // I4: before any create
	if err != nil {
		return fmt.Errorf("reserve rental %s: %w", id, err)
	}
	e.memory.unsent[id] = true
	e.memory.launches[r.Pool.Cloud] = append(e.memory.launches[r.Pool.Cloud], c.now)
	e.keep(c, saved)
	return nil
}

// launched is how many launches were begun on a cloud in the last minute.
func (m *memory) launched(cloud string, now time.Time) int {
	m.launches[cloud] = recent(m.launches[cloud], now.Add(-time.Minute))
	return len(m.launches[cloud])
}

// propose puts a rental to a person; nothing is held.
func (e *Engine) propose(ctx context.Context, c *cycle, r bridge.Rental, o *bridge.Order) error {
	r.State, r.Why = bridge.StateWaiting, o.Ask
	r.AskUntil = c.now.Add(cmp.Or(o.AskFor, e.limits.Ask))
	n := c.tell(bridge.NewsAsked, &r)
	n.Cost, n.Who = o.Hold, o.Requester
	saved, err := e.store.Propose(ctx, r, n)
	if err != nil {
		return fmt.Errorf("propose rental %s: %w", r.ID, err)
	}
	e.keep(c, saved)
	return nil
}

// freeze fixes every parameter of the create call, so that each retry is the
// same to the byte. The life of the machines begins now.
func (e *Engine) freeze(ctx context.Context, c *cycle, r *bridge.Rental) error {
	r.Expires = r.EndFrom(c.now)
	boot, err := e.o.Boot(r, c.now)
	if err != nil {
		return fmt.Errorf("ticket for rental %s: %w", r.ID, err)
	}
	boot.Expires = r.Expires
	var script string
	err = e.write(ctx, r.Cluster, func(ctx context.Context, s Scheduler) error {
		script, err = s.UserData(ctx, r, boot)
		return err
	})
	if err != nil {
		return fmt.Errorf("user data of rental %s: %w", r.ID, err)
	}
	ceiling, err := r.CloudRate()
	if err != nil {
		return fmt.Errorf("ceiling of rental %s: %w", r.ID, err)
	}
	r.Launch = bridge.Launch{
		Rental: r.ID, Attempt: r.Attempt, Pool: r.Pool, Count: r.Count, MaxRate: ceiling, Contract: r.Contract,
		Tags: bridge.Tags(r, e.store.StoreID(), e.store.Epoch()), UserData: script, Expires: r.Expires,
	}
	r.Launch.Token = bridge.Token(e.store.StoreID(), r.Launch)
	return nil
}
