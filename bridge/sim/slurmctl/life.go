package slurmctl

import (
	"slices"
	"time"

	"spillway.sh/spillway/bridge/sim/invariant"
)

// requeueDelay is how long a job that was put back is not eligible: the life of
// a credential and a second.
const requeueDelay = 121 * time.Second

// limit is how long a job may run; zero: for ever.
func (c *Controller) limit(j *job) time.Duration {
	p := c.partition(j.runsIn)
	if p == nil || p.maxTime == 0 || j.Limit > 0 && j.Limit < p.maxTime {
		return j.Limit
	}
	return p.maxTime
}

// run starts a job.
func (c *Controller) run(j *job, p *partition, nodes []*node, now time.Time) {
	j.state, j.reason, j.start, j.end, j.estimate = running, reasonNone, now, time.Time{}, time.Time{}
	j.others, j.runsIn = j.partition, p.Name
	j.partition = []string{p.Name}
	j.nodes = nil
	j.before, j.saves, j.returns, j.signalled, j.joined = j.saved, nil, false, time.Time{}, false
	j.dead = now.Add(j.Work - j.before)
	for _, n := range nodes {
		n.take(j)
		j.nodes = append(j.nodes, n.Name)
	}
	j.starts = append(j.starts, invariant.Start{At: now, Nodes: slices.Clone(j.nodes)})
	for _, n := range nodes {
		if !n.gone.IsZero() {
			j.dead = time.Time{} // it never begins there
		}
	}
}

// doneAt is how much of the work is done at a moment of a run.
func (j *job) doneAt(at time.Time) time.Duration {
	return min(j.Work, j.before+max(0, at.Sub(j.start)))
}

// stopWork is the moment from which a run does nothing any more: what it saved
// until then counts.
func (c *Controller) stopWork(j *job, now time.Time) {
	if j.signalled.IsZero() && j.state == running && !j.dead.IsZero() {
		done := j.doneAt(now)
		if j.Checkpoint > 0 {
			j.saved = max(j.saved, done/j.Checkpoint*j.Checkpoint)
		}
	}
	j.saves, j.dead = nil, time.Time{}
	if j.signalled.IsZero() {
		j.signalled = now
	}
}

// finish ends a job whose script has ended.
func (c *Controller) finish(j *job, now time.Time) {
	why := "completed"
	j.state, j.exit = completed, "0:0"
	switch {
	case !j.signalled.IsZero(): // by scancel --signal
		j.state, j.exit, j.reason, why = failed, "0:15", "NonZeroExitCode", "failed"
	case j.Fails:
		j.state, j.exit, j.reason, why = failed, "1:0", "NonZeroExitCode", "failed"
	default:
		j.saved = j.Work
	}
	c.closeStart(j, j.dead, why) // slurmctld may hear of it later
	j.end, j.dead = now, time.Time{}
	for _, n := range c.nodesOf(j) {
		n.free(j)
	}
	c.release(j, now)
	c.depend(now)
}

// nodesOf are a job's nodes that slurmctld still has.
func (c *Controller) nodesOf(j *job) []*node {
	var out []*node
	for _, name := range j.nodes {
		if n := c.nodes[name]; n != nil {
			out = append(out, n)
		}
	}
	return out
}

// closeStart notes how a run ended.
func (c *Controller) closeStart(j *job, now time.Time, why string) {
	if k := len(j.starts) - 1; k >= 0 && j.starts[k].End.IsZero() {
		j.starts[k].End, j.starts[k].Why = now, why
	}
}

// release is the moment when a job has left its nodes.
func (c *Controller) release(j *job, now time.Time) {
	for _, n := range c.nodesOf(j) {
		n.leave(j, now)
	}
	j.completing, j.runsIn = false, ""
	c.look(now)
}

// endRun sends SIGTERM to a running job that is to end in a state; it is
// completing until its processes are gone.
func (c *Controller) endRun(j *job, state, why string, now time.Time) {
	alive := !j.dead.IsZero()
	gone := now.Add(min(j.Grace, c.options.KillWait))
	if alive && j.SaveOn == "TERM" {
		j.saves = append(j.saves, now.Add(j.SaveTakes))
	}
	for _, at := range j.saves {
		if alive && !at.After(gone) {
			j.saved = max(j.saved, j.doneAt(now))
		}
	}
	if !j.signalled.IsZero() && alive { // it was ending already
		gone = earliest(gone, j.dead)
	}
	c.stopWork(j, now)
	c.closeStart(j, now, why)
	j.state, j.end, j.completing, j.exit = state, now, true, "0:0"
	if state == cancelled || state == timeout {
		j.exit = "0:15"
	}
	for _, n := range c.nodesOf(j) {
		n.free(j)
	}
	j.dead = gone
	if !alive {
		j.dead = now
	}
	if c.waitsFor(j) {
		j.dead = time.Time{}
	}
	if !j.dead.IsZero() && !j.dead.After(now) {
		c.cleared(j, now)
	}
	if state != pending {
		c.depend(now)
	}
}

// waitsFor reports whether a node that does not answer keeps a job completing:
// until it is down, nobody says that the job's processes are gone.
func (c *Controller) waitsFor(j *job) bool {
	return slices.ContainsFunc(c.nodesOf(j), func(n *node) bool { return !n.gone.IsZero() && !n.down })
}

// requeue puts a running job back to the queue.
func (c *Controller) requeue(j *job, why string, now time.Time) {
	j.restarts++
	j.partition, j.returns = back(j), true
	c.endRun(j, pending, why, now)
}

// back is what a job may run in again: where it ran first, then the others.
func back(j *job) []string {
	list := []string{j.runsIn}
	for _, name := range j.others {
		if name != j.runsIn {
			list = append(list, name)
		}
	}
	return list
}

// cleared is a job whose last process is gone.
func (c *Controller) cleared(j *job, now time.Time) {
	c.release(j, now)
	j.dead = time.Time{}
	if !j.returns {
		return
	}
	j.returns, j.nodes = false, nil
	j.state, j.start, j.end = pending, time.Time{}, time.Time{}
	j.delay(now.Add(requeueDelay))
}

// delay makes a job that waits eligible at a moment, and not before.
func (j *job) delay(until time.Time) {
	j.reasons, j.reason, j.eligible = nil, reasonBegin, until
}

// fail is a run that lost a node: it goes back to the queue where it may, else
// it is over.
func (c *Controller) fail(j *job, now time.Time) {
	if j.Restartable {
		c.requeue(j, "node-fail", now)
		return
	}
	c.endRun(j, nodeFail, "node-fail", now)
}

// setDown declares a node down: its jobs fail, and nothing waits for it.
func (c *Controller) setDown(n *node, now time.Time) {
	n.down = true
	for _, j := range slices.Clone(n.jobs) {
		if j.state == running {
			c.fail(j, now)
		}
		if j.completing && (j.dead.IsZero() && !c.waitsFor(j) || c.allDown(j)) {
			c.cleared(j, now)
		}
	}
	c.look(now)
}

func (c *Controller) allDown(j *job) bool {
	return !slices.ContainsFunc(c.nodesOf(j), func(n *node) bool { return !n.down })
}

// cancel ends a job for its owner.
func (c *Controller) cancel(j *job, now time.Time) {
	switch {
	case j.completing && j.state == pending: // it was on its way back
		j.state, j.returns, j.cancelled, j.end = cancelled, false, true, now
		c.depend(now)
	case j.state == pending:
		j.state, j.cancelled, j.end, j.reason = cancelled, true, now, reasonNone
		c.depend(now)
		c.look(now)
	case j.state == running:
		j.cancelled = true
		c.endRun(j, cancelled, "cancelled", now)
	}
}

// depend lets jobs go whose dependency has completed.
func (c *Controller) depend(now time.Time) {
	for _, j := range c.active {
		if j.state != pending || j.reason != reasonDepends {
			continue
		}
		on := c.named(string(j.After))
		switch {
		case slices.ContainsFunc(on, func(o *job) bool { return o.state == pending || o.state == running }):
		case slices.ContainsFunc(on, func(o *job) bool { return o.state != completed }):
			j.reason, j.never = reasonNever, true
		default:
			j.After, j.reason, j.eligible = "", reasonNone, now
			c.look(now)
		}
	}
}

// harmless are signals that end no process that does not handle them.
var harmless = []string{"CONT", "URG", "WINCH", "CHLD"}

// signal reaches a job's processes. What they do not handle ends them.
func (c *Controller) signal(j *job, name string, now time.Time) {
	switch {
	case j.dead.IsZero() || slices.Contains(harmless, name): // nobody is there, or nobody cares
	case name == j.SaveOn && name != "TERM":
		j.saves = append(j.saves, now.Add(j.SaveTakes))
		slices.SortFunc(j.saves, time.Time.Compare)
	case j.state == running:
		gone := now
		if name == "TERM" {
			gone = now.Add(min(j.Grace, c.options.KillWait))
			if j.SaveOn == "TERM" && j.SaveTakes <= gone.Sub(now) {
				j.saved = max(j.saved, j.doneAt(now))
			}
		}
		c.stopWork(j, now)
		j.dead = gone
	}
}
