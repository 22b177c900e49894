package engine

import "spillway.sh/spillway/bridge"

// estimated keeps when a job would start on its own cluster, by the scheduler's
// last word before it may use machines of ours: after that the word is about
// those.
func (e *Engine) estimated(d *bridge.Demand) {
	if len(d.Overlays) == 0 && !d.StartEstimate.IsZero() {
		e.memory.estimates[jobKey(d.Cluster, d.Job.Base())] = d.StartEstimate
	}
}

// atHome adds to the news of a job's start what its wait is measured by: when
// it was submitted, how many GPUs it has, and when it would have started on its
// own cluster. A job that nobody saw waiting has none of them.
func (e *Engine) atHome(n *bridge.News) {
	key := jobKey(n.Cluster, n.Job.Base())
	d, ok := e.memory.demands[key]
	if !ok {
		return
	}
	n.Submitted, n.Estimate, n.GPUs = d.Submitted, e.memory.estimates[key], d.Shape.GPUs*max(d.Nodes, 1)
}
