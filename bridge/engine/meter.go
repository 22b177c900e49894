package engine

import (
	"context"
	"fmt"
	"hash/fnv"
	"time"

	"spillway.sh/spillway/bridge"
)

// meter posts what a rental has cost so far, once a minute and only when it has
// grown. Each rental has its own second of the minute, so that hundreds that were
// launched together are not all posted in one look.
func (e *Engine) meter(ctx context.Context, c *cycle, r *bridge.Rental) error {
	last, seen := e.memory.posted[r.ID]
	if !seen {
		last = r.Created.Add(-phase(r.ID, e.limits.Post))
		e.memory.posted[r.ID] = last
	}
	gone := c.now.Sub(last)
	if c.dark || gone < e.limits.Post {
		return nil
	}
	cost, err := costOf(r, c.now)
	if err != nil {
		return fmt.Errorf("meter rental %s: %w", r.ID, err)
	}
	if cost.Micro <= r.Cost.Micro {
		return nil
	}
	e.memory.posted[r.ID] = last.Add(gone.Truncate(e.limits.Post))
	next := copyRental(*r)
	next.Cost = cost
	saved, err := e.store.Post(ctx, next)
	return e.kept(c, r, saved, err)
}

// phase is a rental's own part of a span.
func phase(id bridge.RentalID, span time.Duration) time.Duration {
	h := fnv.New64a()
	_, _ = h.Write([]byte(id)) // never fails
	return time.Duration(h.Sum64() % uint64(max(span, 1)))
}

// costOf is what all machines of a rental have cost until now, by the cloud's
// own rates and steps.
func costOf(r *bridge.Rental, now time.Time) (bridge.Money, error) {
	sum := bridge.Money{Currency: r.Hold.Currency}
	for i := range r.Machines {
		one, err := machineCost(r, &r.Machines[i], now)
		if err == nil {
			sum, err = sum.Add(one)
		}
		if err != nil {
			return bridge.Money{}, fmt.Errorf("cost of machine %s: %w", r.Machines[i].ID, err)
		}
	}
	return sum, nil
}

func machineCost(r *bridge.Rental, m *bridge.Machine, now time.Time) (bridge.Money, error) {
	rate := m.Rate
	if rate.Micro <= 0 {
		rate = r.Rate
	}
	if m.ID == "" || m.Started.IsZero() {
		return bridge.Money{Currency: rate.Currency}, nil
	}
	end := now
	switch {
	case !m.Stopped.IsZero():
		end = m.Stopped
	case m.Absent > 0: // perhaps gone since; if not, the next post catches up
		end = m.AbsentAt
	}
	return rate.Cost(r.Billing().Charged(end.Sub(m.Started)), 1, bridge.RoundHalfEven)
}
