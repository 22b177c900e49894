package slurmctl

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// entry is one job in one of its partitions.
type entry struct {
	j  *job
	at int // of the partition in the job's list
	p  *partition
}

// pass looks at the queue: in each partition the jobs start in order of their
// priority until one has to wait. Backfill looks at those behind it, too, and
// starts what delays nobody before it.
func (c *Controller) pass(now time.Time, backfill bool) {
	failed := map[string]bool{}
	shadow := map[string]time.Time{} // nodes kept for jobs further ahead, and from when
	planned := 0
	for _, e := range c.queue(now) {
		j := e.j
		if j.state != pending {
			continue
		}
		if j.reasons == nil {
			j.reasons = make([]string, len(j.partition))
		}
		if failed[e.p.Name] && !backfill {
			if j.reasons[e.at] == "" || j.reasons[e.at] == reasonResources {
				j.reasons[e.at] = reasonPriority
			}
			continue
		}
		nodes, why := c.find(j, e.p, now, shadow)
		if nodes != nil {
			c.run(j, e.p, nodes, now)
			continue
		}
		if waits := why == reasonResources || why == reasonDown; waits && failed[e.p.Name] {
			why = reasonPriority
		} else if waits {
			failed[e.p.Name] = true
		}
		j.reasons[e.at] = why
		if backfill && why != reasonBad && planned < planMost {
			planned++
			c.plan(j, e.p, now, shadow)
		}
	}
	c.settle()
}

// planMost is how many jobs backfill plans for.
const planMost = 50

// queue is what may start now, in order.
func (c *Controller) queue(now time.Time) []entry {
	var out []entry
	for _, j := range c.active {
		if j.state != pending || j.completing || j.priority == 0 || j.eligible.IsZero() || j.eligible.After(now) {
			continue
		}
		for i, name := range j.partition {
			if p := c.partition(name); p != nil {
				out = append(out, entry{j, i, p})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b entry) int {
		return cmp.Or(cmp.Compare(b.p.priority, a.p.priority), cmp.Compare(b.j.priority, a.j.priority), cmp.Compare(a.j.number, b.j.number), cmp.Compare(a.j.task, b.j.task))
	})
	return out
}

// find returns nodes for a job in a partition, or why it waits.
func (c *Controller) find(j *job, p *partition, now time.Time, shadow map[string]time.Time) ([]*node, string) {
	switch {
	case p.state == "DOWN":
		return nil, reasonPartDown
	case p.state == "INACTIVE":
		return nil, reasonOff
	case len(p.nodes) == 0:
		return nil, reasonPartition
	case p.maxTime > 0 && j.Limit > p.maxTime:
		return nil, reasonPartTime
	case len(p.nodes) < j.Nodes:
		return nil, reasonTooMany
	case c.throttled(j):
		return nil, reasonThrottle
	}
	var free []*node
	could, up := 0, 0
	for _, name := range p.nodes {
		n := c.nodes[name]
		if n == nil || !n.could(j) {
			continue
		}
		could++
		if !n.usable() {
			continue
		}
		up++
		if from, kept := shadow[name]; kept && (j.Limit == 0 || now.Add(j.Limit).After(from)) {
			continue
		}
		if n.fits(j) && !n.completing() {
			free = append(free, n)
		}
	}
	switch {
	case could < j.Nodes:
		return nil, reasonBad
	case up < j.Nodes:
		return nil, reasonDown
	case len(free) < j.Nodes:
		return nil, reasonResources
	}
	// The fullest nodes first, so that large jobs find whole ones.
	slices.SortStableFunc(free, func(a, b *node) int { return cmp.Compare(a.GPUs-a.gpus, b.GPUs-b.gpus) })
	free = free[:j.Nodes]
	slices.SortFunc(free, func(a, b *node) int { return strings.Compare(a.Name, b.Name) })
	return free, ""
}

// throttled reports whether as many tasks of an array run as may.
func (c *Controller) throttled(j *job) bool {
	if j.Throttle == 0 {
		return false
	}
	n := 0
	for _, one := range c.byID[j.number] {
		if one.holds() {
			n++
		}
	}
	return n >= j.Throttle
}

// plan keeps nodes for a job that waits, from when it could start by the time
// limits of those before it.
func (c *Controller) plan(j *job, p *partition, now time.Time, shadow map[string]time.Time) {
	type moment struct {
		name string
		at   time.Time
	}
	var when []moment
	for _, name := range p.nodes {
		n := c.nodes[name]
		if n == nil || !n.could(j) || !n.usable() {
			continue
		}
		if from, kept := shadow[name]; kept && !from.IsZero() {
			continue // it is behind another job there, for no one knows how long
		}
		if at := c.freeAt(n, j, now); !at.IsZero() {
			when = append(when, moment{name, at})
		}
	}
	if len(when) < j.Nodes {
		return
	}
	slices.SortStableFunc(when, func(a, b moment) int { return a.at.Compare(b.at) })
	start := when[j.Nodes-1].at
	for _, one := range when[:j.Nodes] {
		shadow[one.name] = start
	}
	if start.After(now) {
		j.estimate = start
	}
}

// freeAt is when a job fits on a node by the limits of those that run there;
// zero: nobody knows.
func (c *Controller) freeAt(n *node, j *job, now time.Time) time.Time {
	if n.fits(j) && !n.completing() {
		return now
	}
	type end struct {
		at time.Time
		j  *job
	}
	var ends []end
	for _, one := range n.jobs {
		switch limit := c.limit(one); {
		case one.completing:
			ends = append(ends, end{later(one.dead, now), one})
		case limit > 0:
			ends = append(ends, end{one.start.Add(limit), one})
		}
	}
	slices.SortStableFunc(ends, func(a, b end) int { return a.at.Compare(b.at) })
	room := *n
	room.jobs = slices.Clone(n.jobs)
	for _, e := range ends {
		if !e.j.completing {
			room.free(e.j)
		}
		room.leave(e.j, now)
		if room.fits(j) {
			return e.at
		}
	}
	return time.Time{}
}

// settle makes what was found in each partition the word that the queue shows.
func (c *Controller) settle() {
	for _, j := range c.active {
		if j.state != pending || len(j.reasons) == 0 {
			continue
		}
		var words []string
		bad := true
		for _, why := range j.reasons {
			if why != "" && !slices.Contains(words, why) {
				words = append(words, why)
			}
			bad = bad && why == reasonBad
		}
		if len(words) > 0 {
			j.reason = strings.Join(words, ",")
		}
		if bad { // set aside until somebody releases it
			j.priority = 0
		}
	}
}
