package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"spillway.sh/spillway/bridge"
)

// noticeSource is who gave word of a machine being taken back.
type noticeSource struct {
	from        string // the provider's name of the event, as its agent heard it; empty: a list of the cloud
	at, reclaim time.Time
}

// noticed records the first word of a machine being taken back. A later one
// adds only what the first did not say: when, and that the cloud's own list
// bears an agent out.
func (c *cycle) noticed(r *bridge.Rental, m *bridge.Machine, s noticeSource) []bridge.News {
	if !m.NoticeAt.IsZero() {
		if m.ReclaimAt.IsZero() {
			m.ReclaimAt = s.reclaim
		}
		if s.from == "" {
			m.NoticeFrom = ""
		}
		return nil
	}
	m.NoticeAt, m.ReclaimAt, m.NoticeFrom = s.at, s.reclaim, s.from
	if m.State == bridge.MachineJoined || m.State == bridge.MachineCreated {
		m.State = bridge.MachineNoticed
	}
	n := c.tellMachine(bridge.NewsNotice, r, m) // the journal, before anything is done
	n.Why, n.Text = bridge.ReasonNotice, s.from
	return []bridge.News{n}
}

// listenTo brings a rental up to what the agents of its machines say of notices.
func (e *Engine) listenTo(c *cycle, r *bridge.Rental) []bridge.News {
	var news []bridge.News
	for i := range r.Machines {
		m := &r.Machines[i]
		h, ok := e.reports.of(r, m)
		if !ok || m.State == bridge.MachineGone || m.State == bridge.MachineReleasing {
			continue
		}
		switch {
		case h.Notice != nil && h.Notice.Advice:
			news = append(news, e.advised(c, r, m, &h)...)
		case h.Notice != nil:
			news = append(news, c.noticed(r, m, noticeSource{from: source(&h), at: h.since, reclaim: h.takenAt})...)
		case calledOff(m, &h):
			news = append(news, c.callOff(r, m))
		}
	}
	return news
}

// source is never empty, which would mean a list.
func source(h *heard) string {
	if h.Notice.Source == "" {
		return "agent"
	}
	return h.Notice.Source
}

// advised tells once of a cloud's word that a machine is more likely to be
// taken than usual. Its jobs stay: most such machines live on for hours.
func (e *Engine) advised(c *cycle, r *bridge.Rental, m *bridge.Machine, h *heard) []bridge.News {
	key := "advice " + m.Node
	if e.memory.warned[key] {
		return nil
	}
	e.memory.warned[key] = true
	n := c.tellMachine(bridge.NewsWarning, r, m)
	n.Text = source(h) + ": the cloud says that this machine is more likely than usual to be taken back"
	return []bridge.News{n}
}

// calledOff reports whether a notice is taken back: the agent that gave it no
// longer does. One that a list gave stands.
func calledOff(m *bridge.Machine, h *heard) bool {
	return m.State == bridge.MachineNoticed && m.NoticeFrom != "" && h.calm()
}

// callOff makes a machine what it was before its notice. The node is put back
// into service by a later step, which the mark of the drain asks for.
func (c *cycle) callOff(r *bridge.Rental, m *bridge.Machine) bridge.News {
	n := c.tellMachine(bridge.NewsCalledOff, r, m)
	n.Text = m.NoticeFrom
	m.State = bridge.MachineJoined
	if m.Joined.IsZero() {
		m.State = bridge.MachineCreated
	}
	m.NoticeAt, m.ReclaimAt, m.NoticeFrom = noTime, noTime, ""
	return n
}

// restore puts machines back into service that were drained for a notice that
// was called off. A gang comes back when none of it is noticed.
func (e *Engine) restore(ctx context.Context, c *cycle, r *bridge.Rental) error {
	if r.State != bridge.StateAdmitted && r.State != bridge.StateJoining || r.Gang > 1 && len(nodesOf(r, bridge.MachineNoticed)) > 0 {
		return nil
	}
	var nodes []string
	for i := range r.Machines {
		if m := &r.Machines[i]; !m.Drained.IsZero() && (m.State == bridge.MachineJoined || m.State == bridge.MachineCreated) {
			nodes = append(nodes, m.Node)
			m.Drained = noTime
		}
	}
	if len(nodes) == 0 {
		return nil
	}
	err := e.write(ctx, r.Cluster, func(ctx context.Context, s Scheduler) error { return s.Undrain(ctx, nodes, drainReason) })
	if err != nil {
		return fmt.Errorf("put %v back into service: %w", nodes, err)
	}
	for _, n := range nodes {
		delete(e.memory.drained, n)
	}
	q, _ := c.queue(r.Cluster)
	for _, run := range q.on(nodes...) {
		r.Alerted = without(r.Alerted, run.Job) // a next notice is told to it again
	}
	return e.save(ctx, c, r)
}

// ail keeps new jobs off machines whose agents find them unfit after they were
// let in. What runs there runs on; idle, they are given back like any other.
func (e *Engine) ail(ctx context.Context, c *cycle, r *bridge.Rental) error {
	var errs []error
	for i := range r.Machines {
		m := &r.Machines[i]
		h, ok := e.reports.of(r, m)
		if !ok || !e.o.Gate || m.State != bridge.MachineJoined || h.Health != bridge.HealthUnfit || e.memory.drained[m.Node] {
			continue
		}
		err := e.write(ctx, r.Cluster, func(ctx context.Context, s Scheduler) error {
			return s.Drain(ctx, []string{m.Node}, "spillway: unfit")
		})
		if err != nil {
			errs = append(errs, fmt.Errorf("drain unfit %s: %w", m.Node, err))
			continue
		}
		e.memory.drained[m.Node] = true
		n := c.tellMachine(bridge.NewsWarning, r, m)
		n.Why, n.Text = bridge.ReasonUnfit, "takes no more jobs: "+h.failures()
		errs = append(errs, e.store.Tell(ctx, n))
	}
	return errors.Join(errs...)
}

// aftermath looks at jobs that are not on the machines any more that they were
// alerted on. One that waits again without our doing has requeued itself; the
// rest of it is done as if we had.
func (e *Engine) aftermath(ctx context.Context, c *cycle, r *bridge.Rental, q *sight) error {
	var errs []error
	here := jobsOf(q.on(nodesOf(r, bridge.MachineNoticed, bridge.MachineJoined, bridge.MachineGone, bridge.MachineReleasing)...))
	for _, job := range slices.Clone(r.Alerted) {
		if slices.Contains(here, job) {
			continue
		}
		_, under := c.marks.Requeued[r.Cluster][job]
		elsewhere := slices.ContainsFunc(q.Runs, func(run bridge.Run) bool { return run.Job == job })
		if under || !elsewhere && !q.queued(job) {
			r.Alerted = without(r.Alerted, job)
			errs = append(errs, e.save(ctx, c, r))
			continue
		}
		if err := e.countReclaim(ctx, c, r, job); err != nil {
			errs = append(errs, err)
			continue
		}
		e.memory.requeued[jobKey(r.Cluster, job)] = true
		n := c.tell(bridge.NewsRequeued, r)
		n.Job, n.Why, n.Text = job, bridge.ReasonNotice, "it requeued itself"
		errs = append(errs, e.drop(ctx, c, r, job, n))
	}
	return errors.Join(errs...)
}

// outcome tells how a job has ended that left machines which are being taken:
// one that ended well may have been ended by the taking, with a script that
// calls every end a good one.
func (e *Engine) outcome(ctx context.Context, c *cycle, r *bridge.Rental, q *sight, job bridge.JobID) error {
	if _, under := c.marks.Requeued[r.Cluster][job]; under || q.queued(job) || !e.lately(r, q, job) {
		return nil
	}
	var state string
	err := e.write(ctx, r.Cluster, func(ctx context.Context, s Scheduler) (err error) {
		state, err = s.Ending(ctx, job)
		return err
	})
	switch {
	case errors.Is(err, bridge.ErrNoJob):
		state = "no longer known"
	case err != nil:
		return fmt.Errorf("ask how job %s has ended: %w", job, err)
	}
	text := "it left a machine that is taken back and waits no more; the scheduler calls it " + state
	if state == "COMPLETED" {
		text = "it is COMPLETED, on a machine that is taken back: if it had not finished, its script ends well at every signal; see that its result is whole"
	}
	return e.warn(ctx, c, r, job, "ended", text)
}

// lately reports whether a job was last seen on a machine that is being taken,
// or whose node outlived it. Where it was is not known after a restart: then
// any machine of its rental counts.
func (e *Engine) lately(r *bridge.Rental, q *sight, job bridge.JobID) bool {
	where, seen := e.memory.where[jobKey(r.Cluster, job)]
	return slices.ContainsFunc(r.Machines, func(m bridge.Machine) bool {
		if seen && !slices.Contains(where, m.Node) {
			return false
		}
		return !m.NoticeAt.IsZero() || m.State == bridge.MachineGone && q.nodes[m.Node] != nil
	})
}

func without(jobs []bridge.JobID, job bridge.JobID) []bridge.JobID {
	return slices.DeleteFunc(slices.Clone(jobs), func(j bridge.JobID) bool { return j == job })
}
