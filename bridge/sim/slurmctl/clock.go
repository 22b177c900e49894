package slurmctl

import (
	"slices"
	"time"
)

// advance does all that has happened until now, each thing at its own moment,
// and returns now. A clock that goes back stands still here.
func (c *Controller) advance() time.Time {
	now := c.options.Now()
	if now.Before(c.at) {
		now = c.at
	}
	for {
		at := c.next()
		if at.IsZero() || at.After(now) {
			break
		}
		c.at = later(at, c.at)
		c.happen(c.at)
	}
	c.at = now
	return now
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// earliest is the first of times that are not zero.
func earliest(times ...time.Time) (first time.Time) {
	for _, t := range times {
		if !t.IsZero() && (first.IsZero() || t.Before(first)) {
			first = t
		}
	}
	return first
}

// awake reports whether slurmctld does anything at a moment.
func (c *Controller) awake(at time.Time) bool { return !c.stopped && !at.Before(c.hungUntil) }

func (c *Controller) hung() bool { return c.at.Before(c.hungUntil) }

// next is when something happens. What slurmctld does waits until it is awake;
// what machines do does not.
func (c *Controller) next() time.Time {
	var first, its time.Time
	for _, j := range c.active {
		first = earliest(first, j.nextOwn())
		if !c.stopped {
			its = earliest(its, c.nextOf(j))
		}
	}
	if c.stopped {
		return first
	}
	for _, name := range c.names {
		its = earliest(its, c.silence(c.nodes[name]))
	}
	its = earliest(its, c.passAt, c.backfillAt)
	if len(c.held) > 0 {
		its = earliest(its, c.hungUntil)
	}
	if !its.IsZero() {
		its = later(its, c.hungUntil)
	}
	return earliest(first, its)
}

// nextOwn is when something happens within a job, whatever slurmctld does.
func (j *job) nextOwn() time.Time {
	if j.state == running && len(j.saves) > 0 {
		return j.saves[0]
	}
	return time.Time{}
}

// nextOf is when slurmctld has something to do for a job.
func (c *Controller) nextOf(j *job) time.Time {
	switch {
	case j.completing:
		return j.dead
	case j.state == running:
		var limit time.Time
		if d := c.limit(j); d > 0 {
			limit = j.start.Add(d)
		}
		return earliest(j.dead, limit)
	case j.state == pending:
		if !j.eligible.IsZero() && (j.reason == reasonBegin) {
			return j.eligible
		}
		return time.Time{}
	}
	return j.end.Add(c.options.MinJobAge)
}

// silence is when slurmctld next learns something of a node that is gone: it
// misses a ping, then the node is down. A node that was put back into service
// is asked at once.
func (c *Controller) silence(n *node) time.Time {
	switch {
	case n.asked:
		return n.askedAt.Add(time.Second)
	case n.gone.IsZero() || n.down:
		return time.Time{}
	case !n.unanswered:
		return n.gone.Add(c.options.SlurmdTimeout / 2)
	}
	return n.gone.Add(c.options.SlurmdTimeout * 4 / 3)
}

// happen does what is due at a moment.
func (c *Controller) happen(now time.Time) {
	for _, j := range c.active {
		for len(j.saves) > 0 && !j.saves[0].After(now) {
			j.saved = max(j.saved, j.doneAt(j.saves[0]))
			j.saves = j.saves[1:]
		}
	}
	if !c.awake(now) {
		return
	}
	held := c.held
	c.held = nil
	for _, m := range held { // in the order in which all of it came in
		c.duties(m.at, now)
		m.do()
	}
	c.duties(now, now)
	c.active = slices.DeleteFunc(c.active, func(j *job) bool { return j.forgotten })
	for _, name := range slices.Clone(c.names) {
		n := c.nodes[name]
		if at := c.silence(n); !at.IsZero() && !at.After(now) {
			c.misses(n, now)
		}
	}
	if !c.passAt.IsZero() && !c.passAt.After(now) {
		c.passAt = time.Time{}
		c.pass(now, false)
	}
	if !c.backfillAt.IsZero() && !c.backfillAt.After(now) {
		c.backfillAt = time.Time{}
		c.pass(now, true)
	}
}

// duties are what is due for jobs until a moment, and is done now.
func (c *Controller) duties(until, now time.Time) {
	for _, j := range c.active {
		if at := c.nextOf(j); !at.IsZero() && !at.After(until) && !j.forgotten {
			c.due(j, now)
		}
	}
}

// due does what is due for one job.
func (c *Controller) due(j *job, now time.Time) {
	switch {
	case j.completing:
		c.cleared(j, now)
	case j.state == running && !j.dead.IsZero() && !j.dead.After(now):
		c.finish(j, now)
	case j.state == running:
		c.endRun(j, timeout, "timeout", now)
	case j.state == pending:
		j.reason = reasonNone
		c.look(now)
	default:
		j.forgotten = true
		c.byID[j.number] = slices.DeleteFunc(c.byID[j.number], func(one *job) bool { return one == j })
	}
}

// misses is what slurmctld makes of a node that does not answer.
func (c *Controller) misses(n *node, now time.Time) {
	if n.asked {
		n.asked = false
		n.unanswered = !n.gone.IsZero()
		c.look(now)
		return
	}
	if !n.unanswered {
		n.unanswered = true
		return
	}
	n.unanswered = true
	if n.reason == "" {
		n.reason, n.reasonAt = "Not responding", now
	}
	c.setDown(n, now)
}

// look has the queue looked at soon.
func (c *Controller) look(now time.Time) {
	if c.passAt.IsZero() {
		c.passAt = now.Add(passDelay)
	}
	if c.backfillAt.IsZero() {
		c.backfillAt = now.Add(c.options.Backfill)
	}
}
