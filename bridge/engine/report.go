package engine

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"spillway.sh/spillway/bridge"
)

// Health is how the engine and what it talks to are doing.
type Health struct {
	At     time.Time         `json:"at"` // of the latest cycle
	Took   time.Duration     `json:"took"`
	Cycles int64             `json:"cycles"`
	Steps  map[string]string `json:"steps,omitempty"` // errors of the latest cycle, by step
	Ports  map[string]string `json:"ports,omitempty"` // reads that fail, as list/CLOUD, offers/CLOUD, queue/CLUSTER, checkpoints/RULE
	// Replies are the last ones of clouds, as list/CLOUD, offers/CLOUD and create/POOL.
	Replies map[string]bridge.Reply `json:"replies,omitempty"`
	// Dark is true while the store cannot be read or written.
	Dark      bool   `json:"dark"`
	Frozen    bool   `json:"frozen"`
	Protected string `json:"protected,omitempty"`
}

type shown struct {
	snap   bridge.Snapshot
	plan   bridge.Plan
	health Health
}

// View returns the latest look at the world and what was decided on it; false
// until there was one. What it returns is shared and must not be changed.
func (e *Engine) View() (bridge.Snapshot, bridge.Plan, bool) {
	s := e.shown.Load()
	if s == nil {
		return bridge.Snapshot{}, bridge.Plan{}, false
	}
	return s.snap, s.plan, true
}

// Health returns how the latest cycle went.
func (e *Engine) Health() Health {
	if s := e.shown.Load(); s != nil {
		return s.health
	}
	return Health{}
}

// report shows what the cycle saw and did, keeps what the next one starts
// from, and returns all errors as one.
func (e *Engine) report(c *cycle) error {
	e.snapshot(c) // as the steps left it
	before := e.shown.Load()
	h := Health{
		At: c.now, Took: time.Since(c.begun), Cycles: 1, Steps: map[string]string{}, Ports: maps.Clone(e.memory.health), Replies: e.memory.replies.shown(),
		Dark: c.dark, Frozen: c.marks.Frozen, Protected: c.marks.Protected,
	}
	if before != nil {
		h.Cycles += before.health.Cycles
	}
	var errs []error
	for _, step := range slices.Sorted(maps.Keys(c.steps)) {
		err := c.steps[step]
		h.Steps[step] = err.Error()
		if onlyMeanwhile(err) {
			continue // the next cycle goes on from the newer version
		}
		e.gauges.errors.WithLabelValues(step).Inc()
		errs = append(errs, fmt.Errorf("%s: %w", step, err))
	}
	if !c.dark {
		e.memory.live = c.live
	}
	e.shown.Store(&shown{c.snap, c.plan, h})
	e.gauges.took.Observe(h.Took.Seconds())
	e.gauges.measure(c)
	if c.again {
		e.Wake()
	}
	return errors.Join(errs...)
}

// onlyMeanwhile reports whether all that went wrong is that somebody else was
// quicker with a rental.
func onlyMeanwhile(err error) bool {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return !slices.ContainsFunc(joined.Unwrap(), func(e error) bool { return !onlyMeanwhile(e) })
	}
	return errors.Is(err, bridge.ErrVersion)
}
