package engine

import (
	"context"
	"errors"
	"slices"
	"time"

	"spillway.sh/spillway/bridge"
)

// poolDown lets a pool rest after a refusal, twice as long each time in a row.
// The next decision goes elsewhere.
func (e *Engine) poolDown(ctx context.Context, c *cycle, p bridge.Pool, kind bridge.CloudErrorKind, cause error) error {
	first := e.limits.PoolDown
	switch kind {
	case bridge.CloudQuota, bridge.CloudPrice, bridge.CloudDenied, bridge.CloudInvalid, bridge.CloudMismatch:
		first = e.limits.QuotaDown
	case bridge.CloudNoCapacity, bridge.CloudThrottled, bridge.CloudNotFound, bridge.CloudUnknown:
	}
	code := string(kind)
	var ce *bridge.CloudError
	if errors.As(cause, &ce) && ce.Code != "" {
		code = ce.Code
	}
	e.memory.replies.refused(p, c.now, kind, cause)
	return e.remember(ctx, c, func(m *bridge.Marks) {
		h := healthOf(m, p)
		h.At, h.Kind = c.now, kind
		rest := max(min(first<<min(h.Failures, 20), e.limits.PoolMost), first)
		h.Failures++
		h.DownUntil, h.Code = c.now.Add(rest), code
	})
}

// poolUp forgets a pool's refusals: it has just delivered. That it takes
// machines back is not made good by one that was under way.
func (e *Engine) poolUp(ctx context.Context, c *cycle, p bridge.Pool) error {
	e.memory.replies.note("create/"+p.String(), c.now, nil)
	refused := func(h bridge.PoolHealth) bool {
		return h.Pool == p && (h.Code != poolReclaimed || !h.DownUntil.After(c.now))
	}
	known := slices.ContainsFunc(c.marks.Pools, refused)
	if !known && len(c.marks.Failures) == 0 {
		return nil
	}
	return e.remember(ctx, c, func(m *bridge.Marks) {
		m.Pools = slices.DeleteFunc(m.Pools, refused)
		if len(m.Failures) > 0 {
			m.Failures = m.Failures[1:] // a success pays for one failure
		}
	})
}

// fail counts a launch that never joined, for the breaker.
func (e *Engine) fail(ctx context.Context, c *cycle) error {
	return e.remember(ctx, c, func(m *bridge.Marks) {
		m.Failures = append(recent(m.Failures, c.now.Add(-e.limits.FailWindow)), c.now)
	})
}

// recent returns the times after one.
func recent(ts []time.Time, after time.Time) []time.Time {
	return slices.DeleteFunc(slices.Clone(ts), func(t time.Time) bool { return !t.After(after) })
}
