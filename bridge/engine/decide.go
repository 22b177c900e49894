package engine

import "context"

// decide asks the pure core what is to be done about what was observed.
func (e *Engine) decide(_ context.Context, c *cycle) error {
	e.snapshot(c)
	c.plan = e.o.Decide(&c.snap)
	return nil
}

// queued keeps the demands of jobs that have a rental, so that policy can be
// asked about them in the same words when they run.
func (e *Engine) queued(c *cycle) {
	wanted := map[string]bool{}
	for _, r := range c.live {
		for _, j := range r.Jobs {
			wanted[jobKey(r.Cluster, j)] = true
		}
	}
	for key := range e.memory.demands {
		if !wanted[key] {
			delete(e.memory.demands, key)
		}
	}
	if len(wanted) == 0 {
		return
	}
	for _, q := range c.queues {
		for i := range q.Demands {
			if key := jobKey(q.Cluster, q.Demands[i].Job); wanted[key] {
				e.memory.demands[key] = q.Demands[i]
			}
		}
	}
}
