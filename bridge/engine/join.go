package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"spillway.sh/spillway/bridge"
)

// join waits for machines to register, and admits them. A gang is admitted
// whole, in one call; of independent machines each is admitted as it comes.
// What does not register in time, or registers with less than declared, is
// given back.
func (e *Engine) join(ctx context.Context, c *cycle) error {
	var errs []error
	for _, r := range c.rentals(bridge.StateJoining, bridge.StateAdmitted) {
		q, fresh := c.queue(r.Cluster)
		if !fresh {
			continue
		}
		errs = append(errs, e.register(ctx, c, &r, q))
	}
	return errors.Join(errs...)
}

// register takes one rental's machines through registration and admission.
func (e *Engine) register(ctx context.Context, c *cycle, r *bridge.Rental, q *sight) error {
	var news []bridge.News
	var bad fault
	for i := range r.Machines {
		m := &r.Machines[i]
		if m.State != bridge.MachineCreated {
			continue
		}
		ready, wrong := e.examine(r, m, q.nodes[m.Node])
		switch {
		case wrong.why != "":
			bad = wrong
			m.State, m.Fault = bridge.MachineReleasing, wrong.text
			t := c.tellMachine(bridge.NewsReleasing, r, m)
			t.Why, t.Text = wrong.why, wrong.text
			news = append(news, t)
		case ready:
			m.State, m.Joined = bridge.MachineJoined, c.now
			news = append(news, e.joined(c, r, m))
		}
	}
	if len(news) > 0 {
		if err := e.save(ctx, c, r, news...); err != nil {
			return err
		}
	}
	if bad.why != "" {
		if err := e.misfit(ctx, c, r, bad); err != nil || r.State == bridge.StateReleasing {
			return err
		}
	}
	if err := e.late(ctx, c, r); err != nil || r.State == bridge.StateReleasing {
		return err
	}
	return e.admit(ctx, c, r, q)
}

// joined tells that a machine is ready, and how long each stage of that took,
// which is known from the machine alone and gone with it.
func (e *Engine) joined(c *cycle, r *bridge.Rental, m *bridge.Machine) bridge.News {
	n := c.tellMachine(bridge.NewsJoined, r, m)
	if h, ok := e.reports.of(r, m); ok {
		n.Text = h.readied()
	}
	return n
}

// fault is why a machine is not taken.
type fault struct {
	why  bridge.Reason
	text string
}

// examine reports whether a machine may join, or why it never will: what its
// own agent found counts even before it has registered.
func (e *Engine) examine(r *bridge.Rental, m *bridge.Machine, n *bridge.Node) (ready bool, wrong fault) {
	if m.Rate.Micro > r.MaxRate.Micro && r.MaxRate.Micro > 0 && m.Rate.Currency == r.MaxRate.Currency {
		return false, fault{bridge.ReasonTooDear, fmt.Sprintf("the cloud charges %s an hour, at most %s was agreed", bridge.Money(m.Rate), bridge.Money(r.MaxRate))}
	}
	h, reported := e.reports.of(r, m)
	if e.o.Gate && h.Health == bridge.HealthUnfit {
		e.gauges.unfit.WithLabelValues(r.Pool.Cloud).Inc()
		return false, fault{bridge.ReasonUnfit, h.failures()}
	}
	if n == nil {
		return false, fault{}
	}
	if why := lacking(r, n); why != "" {
		return false, fault{bridge.ReasonWrongShape, why}
	}
	fit := !e.o.Gate || reported && h.Health == bridge.HealthFit
	return fit && n.Responding && n.Usable, fault{}
}

// lacking says what a registered node has less of than declared.
func lacking(r *bridge.Rental, n *bridge.Node) string {
	if slices.Contains(n.States, "INVALID_REG") {
		return "the scheduler refuses its registration: " + n.Reason
	}
	if !n.Responding {
		return ""
	}
	declared := r.Declared()
	want, has := &declared, &n.Shape
	switch {
	case has.GPUs < want.GPUs:
		return fmt.Sprintf("%d of %d GPUs", has.GPUs, want.GPUs)
	case has.CPUs < want.CPUs:
		return fmt.Sprintf("%d of %d CPUs", has.CPUs, want.CPUs)
	case has.MemoryMiB < want.MemoryMiB:
		return fmt.Sprintf("%d of %d MiB", has.MemoryMiB, want.MemoryMiB)
	case want.GPUs > 0 && want.GPUType != "" && has.GPUType != "" && has.GPUType != want.GPUType:
		return fmt.Sprintf("GPUs of type %s, not %s", has.GPUType, want.GPUType)
	}
	return ""
}

// misfit lets the pool rest and counts the failure; a gang goes back whole.
func (e *Engine) misfit(ctx context.Context, c *cycle, r *bridge.Rental, bad fault) error {
	cause := &bridge.CloudError{Kind: bridge.CloudUnknown, Op: "join", Cloud: r.Pool.Cloud, Code: string(bad.why), Message: bad.text}
	err := errors.Join(e.poolDown(ctx, c, r.Pool, cause.Kind, cause), e.fail(ctx, c))
	if r.State == bridge.StateJoining && (r.Gang > 1 || len(nodesOf(r, bridge.MachineJoined, bridge.MachineCreated)) == 0) {
		r.Note = bad.text
		return errors.Join(err, e.giveUp(ctx, c, r, bridge.EventRelease, bad.why))
	}
	return err
}

// late gives back what did not register in time: all of it if no whole gang
// did, else the machines that are missing. While the scheduler is away nothing
// can register, and when it is back it is not known by all at once: they have
// their time again.
func (e *Engine) late(ctx context.Context, c *cycle, r *bridge.Rental) error {
	missing := nodesOf(r, bridge.MachineCreated, bridge.MachineIntended)
	since := r.Since
	if r.State == bridge.StateAdmitted {
		since = r.Created.Add(e.limits.Launch) // when it joined is known no more
	}
	since = later(since, e.memory.back[r.Cluster])
	if len(missing) == 0 || !c.over(since.Add(e.limits.Join)) {
		return nil
	}
	if r.State == bridge.StateJoining && len(whole(r)) == 0 {
		return e.giveUp(ctx, c, r, bridge.EventLate, bridge.ReasonJoinLate)
	}
	for i := range r.Machines {
		if m := &r.Machines[i]; m.State == bridge.MachineCreated || m.State == bridge.MachineIntended {
			m.State = bridge.MachineReleasing
		}
	}
	n := c.tell(bridge.NewsReleasing, r)
	n.Why, n.Text = bridge.ReasonJoinLate, fmt.Sprintf("%d of %d machines did not register", len(missing), r.Count)
	return errors.Join(e.save(ctx, c, r, n), e.poolDown(ctx, c, r.Pool, bridge.CloudUnknown, errors.New(n.Text)), e.fail(ctx, c))
}

// whole returns the registered nodes that make up whole gangs. A noticed one
// stays a member until it is dismissed.
func whole(r *bridge.Rental) []string {
	var in []string
	for i := range r.Machines {
		m := &r.Machines[i]
		if m.State == bridge.MachineJoined || m.State == bridge.MachineNoticed && !m.Joined.IsZero() {
			in = append(in, m.Node)
		}
	}
	return in[:len(in)/max(r.Gang, 1)*max(r.Gang, 1)]
}

// admit lets the joined gangs in, in one call, and then their jobs.
func (e *Engine) admit(ctx context.Context, c *cycle, r *bridge.Rental, q *sight) error {
	nodes := whole(r)
	if len(nodes) == 0 || r.State == bridge.StateAdmitted && e.memberOf(r, q, nodes) {
		return nil
	}
	err := e.write(ctx, r.Cluster, func(ctx context.Context, s Scheduler) error { return s.Admit(ctx, r, nodes) })
	if err != nil {
		return fmt.Errorf("admit rental %s: %w", r.ID, err)
	}
	e.memory.members[r.ID], e.memory.memberAt[r.ID] = nodes, e.time()
	if r.State == bridge.StateJoining {
		if err := move(r, bridge.EventJoined, bridge.ReasonAdmitted, c.now); err != nil {
			return err
		}
		r.IdleSince = c.now
		n := c.tell(bridge.NewsAdmitted, r)
		n.At = e.time() // what runs is measured from here, not from the look that found it ready
		if err := e.save(ctx, c, r, n); err != nil {
			return err
		}
	}
	return errors.Join(e.letIn(ctx, c, r, q), e.poolUp(ctx, c, r.Pool))
}

// memberOf reports whether the overlay holds exactly the nodes. A restarted
// scheduler forgets them; what was just written is believed until the queue is
// younger.
func (e *Engine) memberOf(r *bridge.Rental, q *sight, nodes []string) bool {
	has := slices.Sorted(slices.Values(q.Overlays[bridge.PartitionName(r.ID)]))
	want := slices.Sorted(slices.Values(nodes))
	if slices.Equal(has, want) {
		return true
	}
	return slices.Equal(e.memory.members[r.ID], nodes) && q.ObservedAt.Before(e.memory.memberAt[r.ID])
}

// letIn routes the rental's waiting jobs to it, all in one call. It looks at what
// each job may use already, so it repeats nothing and repairs what was lost.
func (e *Engine) letIn(ctx context.Context, c *cycle, r *bridge.Rental, q *sight) error {
	var due []bridge.JobID
	q.look(r.Jobs)
	for _, job := range r.Jobs {
		for _, d := range q.waiting(job) {
			last := e.memory.routed[r.ID][d.Job]
			if !inOverlay(d, r.ID) && c.now.Sub(last) >= routeAgain && !q.ObservedAt.Before(last) {
				due = append(due, d.Job)
			}
		}
	}
	if len(due) == 0 {
		return nil
	}
	return e.routeJobs(ctx, c, r, due)
}

// routeAgain is how long a route that does not show is given before it is
// written again.
const routeAgain = 30 * time.Second

func (e *Engine) routeJobs(ctx context.Context, c *cycle, r *bridge.Rental, jobs []bridge.JobID) error {
	err := e.write(ctx, r.Cluster, func(ctx context.Context, s Scheduler) error { return s.Route(ctx, r, jobs...) })
	if errors.Is(err, bridge.ErrNoJob) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("route jobs %s to rental %s: %w", jobs, r.ID, err)
	}
	routed := e.memory.routed[r.ID]
	if routed == nil {
		routed = map[bridge.JobID]time.Time{}
		e.memory.routed[r.ID] = routed
	}
	var news []bridge.News
	for _, job := range jobs {
		if routed[job].IsZero() {
			n := c.tell(bridge.NewsRouted, r)
			n.Job = job
			news = append(news, n)
		}
		routed[job] = c.now
	}
	if len(news) == 0 {
		return nil
	}
	return e.store.Tell(ctx, news...)
}
