package engine

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"spillway.sh/spillway/bridge"
)

// expedite makes requeued jobs eligible as soon as their steps are dead. A
// goroutine of each looks often, so that the cut does not wait for a cycle.
func (e *Engine) expedite(ctx context.Context, c *cycle) error {
	var errs []error
	for _, cluster := range slices.Sorted(maps.Keys(c.marks.Requeued)) {
		s := e.o.Clusters[cluster]
		if s == nil {
			continue
		}
		for _, job := range slices.Sorted(maps.Keys(c.marks.Requeued[cluster])) {
			key := "expedite/" + jobKey(cluster, job)
			if took, r, ok := take[time.Duration](e.calls, key); ok {
				if r.err == nil || errors.Is(r.err, bridge.ErrNoJob) {
					errs = append(errs, e.eligible(ctx, c, cluster, job, took, r.err == nil))
					continue
				}
				e.memory.rest(key, c.now, e.limits.Expedite, e.limits.RetryMost, 0)
			}
			if !e.memory.resting(key, c.now) && e.left(c, cluster, job) {
				e.calls.start(key, "expedite/"+cluster, e.limits.Call, true, func(ctx context.Context) (any, error) {
					return e.untilEligible(ctx, s, job)
				})
			}
		}
	}
	return errors.Join(errs...)
}

// left reports whether a job has been told to leave its machines, or has left
// them: one whose requeue did not arrive still runs, and is not eligible for
// that.
func (e *Engine) left(c *cycle, cluster string, job bridge.JobID) bool {
	q, _ := c.queue(cluster)
	running := slices.ContainsFunc(q.Runs, func(r bridge.Run) bool { return r.Job == job })
	return !running || e.memory.requeued[jobKey(cluster, job)]
}

// untilEligible returns how long the job's steps can have been dead before it
// was eligible: the time since it was last seen that they were not.
func (e *Engine) untilEligible(ctx context.Context, s Preempter, job bridge.JobID) (time.Duration, error) {
	last := time.Now()
	for {
		asked := time.Now()
		ok, err := s.Expedite(ctx, job)
		if err != nil {
			return 0, err
		}
		if ok {
			return time.Since(last), nil
		}
		last = asked
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-time.After(e.limits.Expedite):
		}
	}
}

// eligible closes a job's requeue. The next cycle sees it as demand.
func (e *Engine) eligible(ctx context.Context, c *cycle, cluster string, job bridge.JobID, took time.Duration, exists bool) error {
	c.again = true
	delete(e.memory.requeued, jobKey(cluster, job))
	delete(e.memory.pause, "expedite/"+jobKey(cluster, job))
	var news []bridge.News
	if exists {
		e.gauges.eligible.Observe(took.Seconds())
		news = append(news, bridge.News{At: c.now, Kind: bridge.NewsEligible, Cluster: cluster, Job: job, Took: took})
	}
	return e.remember(ctx, c, func(m *bridge.Marks) {
		delete(m.Requeued[cluster], job)
		if len(m.Requeued[cluster]) == 0 {
			delete(m.Requeued, cluster)
		}
	}, news...)
}

func jobKey(cluster string, job bridge.JobID) string { return cluster + "/" + string(job) }
