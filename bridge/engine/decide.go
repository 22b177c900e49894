package engine

import (
	"context"
	"maps"
	"slices"
	"time"

	"spillway.sh/spillway/bridge"
)

// decide asks the pure core what is to be done about what was observed.
func (e *Engine) decide(_ context.Context, c *cycle) error {
	e.snapshot(c)
	e.foresee(c)
	c.plan = e.o.Decide(&c.snap)
	return nil
}

// foresee adds the jobs on noticed machines to what waits: they will be
// requeued, and a replacement that is asked for now boots while they write
// their checkpoints. The reclaim that is about to happen counts already.
func (e *Engine) foresee(c *cycle) {
	for i := range c.snap.Queues {
		q := &c.snap.Queues[i]
		doomed := e.doomed(c, c.queues[q.Cluster])
		if len(doomed) == 0 {
			continue
		}
		q.Demands = slices.Concat(q.Demands, doomed)
		c.snap.Reclaims = maps.Clone(c.snap.Reclaims)
		if c.snap.Reclaims == nil {
			c.snap.Reclaims = map[string]map[bridge.JobID]int{}
		}
		counts := maps.Clone(c.snap.Reclaims[q.Cluster])
		if counts == nil {
			counts = map[bridge.JobID]int{}
		}
		for k := range doomed {
			if _, counted := c.marks.Requeued[q.Cluster][doomed[k].Job]; !counted {
				counts[doomed[k].Job]++
			}
		}
		c.snap.Reclaims[q.Cluster] = counts
	}
}

// doomed are the restartable jobs on noticed machines of one cluster, as
// demands, and those just taken off a machine that is gone, which the last look
// saw on it still; unless they wait again already.
func (e *Engine) doomed(c *cycle, q *sight) []bridge.Demand {
	var out []bridge.Demand
	for _, id := range slices.Sorted(maps.Keys(c.live)) {
		r := c.live[id]
		noticed, gone := nodesOf(&r, bridge.MachineNoticed), nodesOf(&r, bridge.MachineGone)
		if r.Cluster != q.Cluster || len(noticed)+len(gone) == 0 {
			continue
		}
		runs := q.on(noticed...)
		for _, run := range q.on(gone...) {
			_, under := c.marks.Requeued[r.Cluster][run.Job]
			known := slices.ContainsFunc(runs, func(other bridge.Run) bool { return other.Job == run.Job })
			if under && !known {
				runs = append(runs, run)
			}
		}
		for i := range runs {
			if run := &runs[i]; run.Restartable && !q.queued(run.Job) {
				out = append(out, e.demandOf(&r, run))
			}
		}
	}
	return out
}

// demandOf is a running job as it was, or would be, queued.
func (e *Engine) demandOf(r *bridge.Rental, run *bridge.Run) bridge.Demand {
	d, ok := e.memory.demands[jobKey(r.Cluster, run.Job.Base())]
	if !ok {
		d = bridge.Demand{
			Cluster: r.Cluster, Name: run.Name, User: run.User, Account: run.Account, Partition: r.Origin, Comment: run.Comment,
			Shape: r.Shape, Nodes: max(r.Gang, 1), Submitted: r.Created, Eligible: r.Created, TimeLimit: run.TimeLimit,
		}
	}
	d.Job, d.Count, d.Restartable, d.Restarts, d.Standing = run.Job, 1, run.Restartable, run.Restarts, bridge.StandingHelps
	return d
}

// queued keeps the demands of jobs that have a rental, so that policy can be
// asked about them in the same words when they run.
func (e *Engine) queued(c *cycle) {
	wanted := map[string]bool{}
	jobs := map[string][]bridge.JobID{}
	for _, r := range c.live {
		for _, j := range slices.Concat(r.Jobs, r.Running) {
			wanted[jobKey(r.Cluster, j.Base())] = true
			jobs[r.Cluster] = append(jobs[r.Cluster], j)
		}
	}
	maps.DeleteFunc(e.memory.demands, func(key string, _ bridge.Demand) bool { return !wanted[key] })
	maps.DeleteFunc(e.memory.estimates, func(key string, _ time.Time) bool { return !wanted[key] })
	for cluster, js := range jobs {
		q, _ := c.queue(cluster)
		q.look(js)
		for _, j := range js {
			for _, d := range q.waiting(j) {
				e.memory.demands[jobKey(cluster, j.Base())] = *d
				e.estimated(d)
			}
		}
	}
}
