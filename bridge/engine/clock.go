package engine

import (
	"context"
	"time"

	"spillway.sh/spillway/bridge"
)

// seenStep is how far time may run ahead of the latest that the store has seen,
// while there is something that must end, before that is worth a write.
const seenStep = 10 * time.Minute

// begin starts a cycle at a time that never runs backwards. Where the host's
// clock stepped back, time goes on at half its pace until the clock has caught
// up: it must not stand still, for machines are ended by it, and failed calls
// wait for it. After a leap forward one cycle goes by in which nothing is ended
// for reasons of time: a suspended host or a wrong clock must not end a fleet at
// a glance.
func (e *Engine) begin(wall time.Time) *cycle {
	m, begun := e.memory, time.Now()
	now := wall.UTC()
	if now.Before(m.last) {
		now = m.last.Add(max(begun.Sub(m.begun), 0) / 2)
	}
	m.begun, m.ahead = begun, now.Sub(wall)
	c := &cycle{
		now: now, begun: begun,
		gentle: !m.last.IsZero() && now.Sub(m.last) > e.limits.Leap,
		lists:  map[string]*listing{}, looks: map[bridge.RentalID]look{},
		queues: map[string]*sight{}, live: map[bridge.RentalID]bridge.Rental{}, stored: map[bridge.RentalID]bridge.State{},
		steps: map[string]error{},
	}
	m.last = now
	return c
}

// believe compares the clock with the highest time the store has seen, at the
// first cycle after a start and whenever the store was away.
func (e *Engine) believe(c *cycle) {
	high := c.marks.HighWater
	if high.After(c.now) {
		e.memory.ahead += high.Sub(c.now)
		c.now = high
		e.memory.last = high
	}
	if !high.IsZero() && !e.memory.started && c.now.Sub(high) > e.limits.Leap {
		c.gentle = true
	}
	e.memory.started = true
}

// time is the host's time in the loop's own count, between two looks too.
func (e *Engine) time() time.Time { return e.o.Clock().UTC().Add(e.memory.ahead) }

// markTime has the store remember what time it is, now and then, as long as there
// is something that must end: a clock that steps back while no bridge runs is
// found out by it.
func (e *Engine) markTime(ctx context.Context, c *cycle) error {
	if len(c.live) == 0 || c.now.Sub(c.marks.HighWater) < seenStep {
		return nil
	}
	return e.remember(ctx, c, func(*bridge.Marks) {})
}

// over reports whether a time limit has passed, in a cycle whose clock may end
// things. A zero limit never passes.
func (c *cycle) over(limit time.Time) bool {
	return !c.gentle && !limit.IsZero() && !c.now.Before(limit)
}
