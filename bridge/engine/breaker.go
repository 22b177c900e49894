package engine

import (
	"context"
	"fmt"

	"spillway.sh/spillway/bridge"
)

// breaker stops new money when launches keep failing, or when many machines
// vanish at once: something is wrong that more machines would not mend.
// Releases go on. It closes by itself after a while, or by a person's thaw.
func (e *Engine) breaker(ctx context.Context, c *cycle) error {
	if c.dark {
		return nil
	}
	live := c.taken
	for _, r := range c.live {
		live += len(r.Live())
	}
	failures := len(recent(c.marks.Failures, c.now.Add(-e.limits.FailWindow)))
	switch {
	case c.marks.Protected != "":
		if at := c.marks.ProtectedAt; !at.IsZero() && c.over(at.Add(e.limits.CoolDown)) {
			return e.unprotect(ctx, c)
		}
	case c.taken > e.limits.VanishMost && c.taken*100 > live*e.limits.VanishShare:
		return e.protect(ctx, c, fmt.Sprintf("%d of %d machines vanished at once", c.taken, live))
	case failures >= e.limits.Fails:
		return e.protect(ctx, c, fmt.Sprintf("%d launches in the last %s never joined", failures, e.limits.FailWindow))
	}
	return nil
}

// protect opens the breaker.
func (e *Engine) protect(ctx context.Context, c *cycle, cause string) error {
	if c.marks.Protected == cause {
		return nil
	}
	return e.remember(ctx, c, func(m *bridge.Marks) {
		m.Protected, m.ProtectedAt = cause, c.now
	}, bridge.News{At: c.now, Kind: bridge.NewsProtected, Text: cause})
}

func (e *Engine) unprotect(ctx context.Context, c *cycle) error {
	return e.remember(ctx, c, func(m *bridge.Marks) {
		m.Protected, m.ProtectedAt, m.Failures = "", noTime, nil
	}, bridge.News{At: c.now, Kind: bridge.NewsThawed, Text: "the breaker has cooled down"})
}
