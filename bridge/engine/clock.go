package engine

import (
	"time"

	"spillway.sh/spillway/bridge"
)

// begin starts a cycle at a time that never runs backwards. After a leap
// forward one cycle goes by in which nothing is ended for reasons of time: a
// suspended host or a wrong clock must not end a fleet at a glance.
func (e *Engine) begin(now time.Time) *cycle {
	m := e.memory
	now = later(now.UTC(), m.last)
	c := &cycle{
		now: now, begun: time.Now(),
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
		c.now = high
		e.memory.last = high
	}
	if !high.IsZero() && !e.memory.started && c.now.Sub(high) > e.limits.Leap {
		c.gentle = true
	}
	e.memory.started = true
}

// over reports whether a time limit has passed, in a cycle whose clock may end
// things. A zero limit never passes.
func (c *cycle) over(limit time.Time) bool {
	return !c.gentle && !limit.IsZero() && !c.now.Before(limit)
}
