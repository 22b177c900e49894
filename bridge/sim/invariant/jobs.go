package invariant

import (
	"slices"
	"strings"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/cloud/local/wire"
)

// forgotten is the state of a job that the scheduler itself has lost.
const forgotten = "LOST"

// noJobIsLost is I14: every job that was seen is still there, and waits, runs,
// or has ended by its own doing.
func (c *Checker) noJobIsLost(s *Sight) {
	there := map[bridge.JobID]bool{}
	for i := range s.Jobs {
		j := &s.Jobs[i]
		there[j.ID.Base()] = true
		if why := c.lost(s, j); why != "" {
			c.report(s, "I14", "job %s is %s: %s", j.ID, j.State, why)
		}
	}
	for id, w := range c.past.jobs {
		if w.first.ID != "" && !there[id] {
			c.report(s, "I14", "job %s is not there any more", id)
		}
	}
}

// lost says why the end of a job is not its own; empty: it is, or it has not
// ended.
func (c *Checker) lost(s *Sight, j *Job) string {
	var last Start
	if n := len(j.Starts); n > 0 {
		last = j.Starts[n-1]
	}
	switch state := strings.Fields(j.State + " .")[0]; state {
	case "PENDING", "RUNNING", "COMPLETING", "SUSPENDED", "COMPLETED", "CONFIGURING", "STOPPED", forgotten:
		return ""
	case "CANCELLED":
		if !j.Cancelled {
			return "its owner did not cancel it"
		}
	case "TIMEOUT":
		if j.Limit > 0 && last.End.Sub(last.At) < j.Limit {
			return "it ran for " + last.End.Sub(last.At).String() + " of " + j.Limit.String()
		}
	case "FAILED":
		if last.Why != "failed" {
			return "it did not fail by itself"
		}
	default: // NODE_FAIL and the like
		if j.Restartable {
			return "it may be requeued, and was not"
		}
		if why := c.ender(s, last); why != "" {
			return why
		}
	}
	return ""
}

// ender says that we, and not its provider or its end, took a machine from a
// job; empty: it was not us.
func (c *Checker) ender(s *Sight, start Start) string {
	for _, n := range start.Nodes {
		m := c.machineOf(s, n)
		if m == nil {
			continue
		}
		if asked := c.past.seen[m.ID]; asked == nil || !asked.asked || asked.askedAt.After(start.End) {
			continue // the job was gone before
		}
		r := s.rental(m.rental())
		if m.Ended == "terminated" && m.NoticeAt.IsZero() && m.Stopped.Before(m.Expires) && !c.forced(r) && !c.expired(r) {
			return "we ended its machine " + m.ID
		}
	}
	return ""
}

// machineOf is the machine behind a node of ours.
func (c *Checker) machineOf(s *Sight, node string) *Machine {
	for i := range s.Rentals {
		for k := range s.Rentals[i].Machines {
			if m := &s.Rentals[i].Machines[k]; m.Node == node && m.ID != "" {
				return s.machine(m.ID)
			}
		}
	}
	return nil
}

// forced reports whether a person wanted a rental given back.
func (c *Checker) forced(r *bridge.Rental) bool {
	if r == nil {
		return false
	}
	n, ok := c.past.life(r.ID).news[bridge.NewsReleasing]
	return ok && n.Who != ""
}

// expired reports whether a rental was ended because its paid time was over, by
// the clock that it was paid by.
func (c *Checker) expired(r *bridge.Rental) bool {
	if r == nil {
		return false
	}
	n, ok := c.past.life(r.ID).news[bridge.NewsReleasing]
	return ok && n.Why == bridge.ReasonExpired || r.Why == bridge.ReasonExpired && !c.past.clock.Before(r.Expires)
}

// noJobRunsTwice is I15: a job runs in one place at a time, never again after
// it has completed, and is interrupted once by each machine that is taken.
func (c *Checker) noJobRunsTwice(s *Sight) {
	for i := range s.Jobs {
		j := &s.Jobs[i]
		broken, by := 0, map[string]int{}
		for k, start := range j.Starts {
			if k > 0 {
				before := j.Starts[k-1]
				switch {
				case before.End.IsZero() || start.At.Before(before.End):
					c.report(s, "I15", "job %s started at %s, and ran already", j.ID, start.At.UTC().Format(time.RFC3339))
				case before.Why == "completed":
					c.report(s, "I15", "job %s started at %s, and had completed", j.ID, start.At.UTC().Format(time.RFC3339))
				}
			}
			if start.End.IsZero() || start.Why != "requeued" && start.Why != "node-fail" {
				continue
			}
			broken++
			for _, n := range start.Nodes {
				if m := c.machineOf(s, n); m != nil {
					by[m.ID]++
				}
			}
		}
		if j.Restarts > broken {
			c.report(s, "I15", "job %s was restarted %d times for %d interruptions", j.ID, j.Restarts, broken)
		}
		for id, n := range by {
			if m := s.machine(id); n > 1 && !m.NoticeAt.IsZero() {
				c.report(s, "I15", "job %s was taken off machine %s %d times for one notice", j.ID, id, n)
			}
		}
	}
}

// nothingIsTakenFromItsJob is I16: a machine on which a job runs that may not
// be requeued is not ended before its time, unless its provider takes it or a
// person wants that.
func (c *Checker) nothingIsTakenFromItsJob(s *Sight) {
	for i := range s.Jobs {
		j := &s.Jobs[i]
		if j.Restartable {
			continue
		}
		for _, start := range j.Starts {
			if start.Why != "requeued" && start.Why != "node-fail" {
				continue
			}
			if why := c.ender(s, start); why != "" {
				c.report(s, "I16", "job %s may not be requeued, and %s", j.ID, why)
			}
		}
	}
	for i := range s.Calls {
		if call := &s.Calls[i]; call.Method == "Terminate" {
			c.underJobs(s, call)
		}
	}
}

// underJobs judges the end of machines on which a job ran when it was asked for.
func (c *Checker) underJobs(s *Sight, call *Call) {
	for _, id := range call.IDs {
		r, m := s.keeper(id)
		if r == nil || c.excused(s, r, m, call.Begun) {
			continue
		}
		for i := range s.Jobs {
			for _, start := range s.Jobs[i].Starts {
				runs := !start.At.After(call.Begun) && (start.End.IsZero() || start.End.After(call.Begun))
				if runs && slices.Contains(start.Nodes, m.Node) {
					c.report(s, "I16", "machine %s of %s was ended while job %s ran on it", id, r.ID, s.Jobs[i].ID)
				}
			}
		}
	}
}

// excused reports whether a machine may be ended without regard for what runs
// on it: its provider takes it or has taken it, its time is over, or a person
// wants that.
func (c *Checker) excused(s *Sight, r *bridge.Rental, m *bridge.Machine, at time.Time) bool {
	if !m.NoticeAt.IsZero() || c.forced(r) || c.expired(r) {
		return true
	}
	t := s.machine(m.ID)
	return t == nil || !t.NoticeAt.IsZero() || t.State != wire.StateRunning && t.Ended != "terminated" || !at.Before(t.Expires)
}

// drainComesBeforeTerminate is I17: a machine that was let in is taken out of
// the scheduler before it is ended, unless its provider takes it, its time is
// over, or a person wants it back at once. A scheduler that does not answer was
// asked.
func (c *Checker) drainComesBeforeTerminate(s *Sight) {
	for i := range s.Calls {
		call := &s.Calls[i]
		if call.Method != "Terminate" {
			continue
		}
		for _, id := range call.IDs {
			r, m := s.keeper(id)
			if r == nil || m.Joined.IsZero() || c.past.cleared[m.Node] || c.excused(s, r, m, call.Begun) {
				continue
			}
			if slices.ContainsFunc(s.Nodes, func(n Node) bool { return n.Name == m.Node && !n.Drained && !n.Dead && !n.Parked }) {
				c.report(s, "I17", "machine %s of %s was ended, and its node %s was never drained", id, r.ID, m.Node)
			}
		}
	}
}

// theQueueIsLeftAlone is I18: a job for which nothing was done keeps its place:
// its priority and its time of submission. A job is let onto a rental only if
// that is promised to it.
func (c *Checker) theQueueIsLeftAlone(s *Sight) {
	for i := range s.Jobs {
		j := &s.Jobs[i]
		w := c.past.jobs[j.ID.Base()]
		if w == nil || w.first.ID != j.ID || w.touched || j.State != "PENDING" {
			continue
		}
		if j.Priority != w.first.Priority || !j.Submitted.Equal(w.first.Submitted) {
			c.report(s, "I18", "job %s had priority %d and was submitted at %s, now it has %d and %s, and nothing was done for it", j.ID,
				w.first.Priority, w.first.Submitted.UTC().Format(time.RFC3339), j.Priority, j.Submitted.UTC().Format(time.RFC3339))
		}
	}
	for i := range s.Calls {
		call := &s.Calls[i]
		if call.Method != "Route" || call.Job == "" || call.Rental == "" {
			continue
		}
		promised := func(r *bridge.Rental) bool {
			return r != nil && slices.ContainsFunc(r.Jobs, func(id bridge.JobID) bool { return id.Base() == call.Job.Base() })
		}
		was, _ := c.past.was(call.Rental)
		if !promised(s.rental(call.Rental)) && !promised(&was) {
			c.report(s, "I18", "job %s was let onto %s, which is not promised to it", call.Job, call.Rental)
		}
	}
}
