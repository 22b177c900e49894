package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"spillway.sh/spillway/bridge"
)

// nudge is how often, and when last, the scheduler was asked to look anew.
type nudge struct {
	tries int
	last  time.Time
}

const (
	nudgesMost = 5
	nudgeGap   = time.Minute
	// setAside is Slurm's word for a job whose request it thinks no node can
	// meet. A job that comes back while its nodes are missing may get it, with
	// priority zero, and keep it when they are there again.
	setAside = "BadConstraints"
)

// revive has the scheduler look anew at requeued jobs that it set aside though
// a node that fits them is there: once a minute, five times at most.
func (e *Engine) revive(ctx context.Context, c *cycle) error {
	var errs []error
	seen := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(c.queues)) {
		q, fresh := c.queue(name)
		for i := range q.Demands {
			d := &q.Demands[i]
			if !fresh || d.Restarts == 0 || d.Word != setAside {
				continue
			}
			key := jobKey(name, d.Job)
			seen[key] = true
			if n := e.memory.nudges[key]; n.tries < nudgesMost && c.now.Sub(n.last) >= nudgeGap && hasNodes(q, d) {
				errs = append(errs, e.nudge(ctx, c, d, key))
			}
		}
	}
	maps.DeleteFunc(e.memory.nudges, func(key string, n nudge) bool { return !seen[key] && c.now.Sub(n.last) > nudgesMost*nudgeGap })
	return errors.Join(errs...)
}

func (e *Engine) nudge(ctx context.Context, c *cycle, d *bridge.Demand, key string) error {
	n := e.memory.nudges[key]
	e.memory.nudges[key] = nudge{n.tries + 1, c.now}
	err := e.write(ctx, d.Cluster, func(ctx context.Context, s Scheduler) error { return s.Nudge(ctx, d.Job) })
	if err != nil && !errors.Is(err, bridge.ErrNoJob) {
		return fmt.Errorf("have job %s looked at anew: %w", d.Job, err)
	}
	c.again = true
	text := fmt.Sprintf("the scheduler set it aside (%s) when it was requeued, though nodes that fit it are there; asked to look anew, %d of %d", setAside, n.tries+1, nudgesMost)
	return e.store.Tell(ctx, bridge.News{At: c.now, Kind: bridge.NewsWarning, Cluster: d.Cluster, Job: d.Job, Text: text})
}

// hasNodes reports whether as many nodes that fit a demand are in service.
// They need not be free: a job that waits for its turn is not set aside.
func hasNodes(q *sight, d *bridge.Demand) bool {
	n := 0
	for i := range q.Nodes {
		if has := &q.Nodes[i]; has.Usable && has.Holds(&d.Shape) {
			n++
		}
	}
	return n >= d.Nodes
}
