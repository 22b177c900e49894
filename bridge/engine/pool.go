package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"spillway.sh/spillway/bridge"
)

// poolDown lets a pool, or all that its cloud's answer is about, rest after a
// refusal, twice as long each time until that is made good. The next decision
// goes elsewhere. A region or cloud that sends us away as a whole is told once.
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
	about := reachOf(c.marks.Pools, p, kind, ce, code).Of(p)
	var news []bridge.News
	known := slices.ContainsFunc(c.marks.Pools, func(h bridge.PoolHealth) bool { return h.Pool == about && h.Code == code })
	if about.Type == "" && !known {
		news = append(news, c.setAside(about, cause))
	}
	return e.remember(ctx, c, func(m *bridge.Marks) {
		m.Pools = bridge.Refused(m.Pools, about, kind, code, c.now, first, e.limits.PoolMost)
	}, news...)
}

// reachOf is how much a refusal is about. Its driver may know. A quota counts
// in all zones of a region. Of rights that are missing it is learned: first the
// region rests, and when another one says the same, the cloud.
func reachOf(known []bridge.PoolHealth, p bridge.Pool, kind bridge.CloudErrorKind, ce *bridge.CloudError, code string) bridge.Reach {
	switch {
	case ce == nil:
		return bridge.ReachPool
	case ce.Reach != bridge.ReachPool:
		return ce.Reach
	case kind == bridge.CloudQuota:
		return bridge.ReachZones
	case kind != bridge.CloudDenied:
		return bridge.ReachPool
	}
	for i := range known {
		if h := &known[i]; h.Pool.Cloud == p.Cloud && h.Pool.Type == "" && h.Pool.Region != p.Region && h.Kind == kind && h.Code == code {
			return bridge.ReachCloud
		}
	}
	return bridge.ReachRegion
}

// setAside is the news that a region or cloud sends us away.
func (c *cycle) setAside(about bridge.Pool, cause error) bridge.News {
	text := fmt.Sprintf("cloud %s is set aside and asked again now and then, everything else goes on: %s", about.Cloud, cause)
	if about.Region != "" {
		text = fmt.Sprintf("region %s of cloud %s is set aside and asked again now and then, everything else goes on: %s", about.Region, about.Cloud, cause)
	}
	return bridge.News{At: c.now, Kind: bridge.NewsWarning, Pool: &about, Why: bridge.ReasonRefused, Text: text}
}

// poolUp remembers that a pool has just delivered.
func (e *Engine) poolUp(ctx context.Context, c *cycle, p bridge.Pool) error {
	e.memory.replies.note("create/"+p.String(), c.now, nil)
	known := slices.ContainsFunc(c.marks.Pools, func(h bridge.PoolHealth) bool { return h.Pool.Covers(p) })
	if !known && len(c.marks.Failures) == 0 {
		return nil
	}
	return e.remember(ctx, c, func(m *bridge.Marks) {
		m.Pools = bridge.Delivered(m.Pools, p, c.now)
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
