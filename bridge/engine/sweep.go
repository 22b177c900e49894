package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"

	"spillway.sh/spillway/bridge"
)

// sweep compares what the clouds say with what the store knows: machines
// found, noticed, gone or absent; then machines nobody knows; then nodes
// whose machine is long gone.
func (e *Engine) sweep(ctx context.Context, c *cycle) error {
	e.reports.prune(c.live)
	var errs []error
	for _, r := range c.rentals(bridge.StateLaunching, bridge.StateJoining, bridge.StateAdmitted, bridge.StateDraining, bridge.StateReleasing) {
		errs = append(errs, e.learn(ctx, c, &r))
	}
	for _, name := range slices.Sorted(maps.Keys(c.lists)) {
		errs = append(errs, e.strangers(ctx, c, c.lists[name].Listing))
	}
	errs = append(errs, e.ghosts(ctx, c))
	return errors.Join(errs...)
}

// learn brings a rental up to what its cloud says of it, and stores it if
// anything changed.
func (e *Engine) learn(ctx context.Context, c *cycle, r *bridge.Rental) error {
	before := copyRental(*r)
	var news []bridge.News
	if l, ok := c.looks[r.ID]; ok && l.err == nil {
		news = append(news, e.match(c, r, l.instances, true)...)
	}
	if list, ok := c.lists[r.Pool.Cloud]; ok {
		news = append(news, e.match(c, r, list.near(r), false)...)
		if list.Complete {
			news = append(news, e.absent(c, r, list)...)
		}
	}
	news = append(news, e.listenTo(c, r)...)
	if reflect.DeepEqual(before, *r) && len(news) == 0 {
		return nil
	}
	return errors.Join(e.save(ctx, c, r, news...), e.weigh(ctx, c, &before, r))
}

// ours reports whether an instance belongs to the rental's current attempt: by
// its token, and where its cloud does not say that, by its tags. An id may have
// been given twice, by a store and by a copy of it from before.
func (e *Engine) ours(r *bridge.Rental, in *bridge.Instance) bool {
	if r.Launch.Token != "" && in.Token != "" {
		return in.Token == r.Launch.Token
	}
	t := in.Tags
	return t[bridge.TagStore] == e.store.StoreID() && t[bridge.TagRental] == string(r.ID) &&
		t[bridge.TagAttempt] == strconv.Itoa(r.Attempt)
}

// match gives every instance of the rental its machine: by provider id, and a
// new one to the first machine without, in the order of ids.
func (e *Engine) match(c *cycle, r *bridge.Rental, instances []bridge.Instance, direct bool) []bridge.News {
	var mine []bridge.Instance
	for i := range instances {
		if in := &instances[i]; in.ID != "" && (machineOf(r, in.ID) != nil || e.ours(r, in)) {
			mine = append(mine, *in)
		}
	}
	slices.SortFunc(mine, func(a, b bridge.Instance) int { return cmp.Compare(a.ID, b.ID) })
	var news []bridge.News
	for i := range mine {
		m := machineOf(r, mine[i].ID)
		if m == nil {
			m = unnamed(r, &mine[i])
		}
		if m != nil {
			news = append(news, e.see(c, r, m, &mine[i], direct)...)
		}
	}
	return news
}

func machineOf(r *bridge.Rental, id string) *bridge.Machine {
	for i := range r.Machines {
		if r.Machines[i].ID == id {
			return &r.Machines[i]
		}
	}
	return nil
}

// unnamed returns the first machine whose instance was not seen yet. One that
// was judged never created comes back when it shows up after all.
func unnamed(r *bridge.Rental, in *bridge.Instance) *bridge.Machine {
	for i := range r.Machines {
		if m := &r.Machines[i]; m.ID == "" && (m.State != bridge.MachineGone || in.State != bridge.InstanceGone) {
			return m
		}
	}
	return nil
}

// see records what the cloud says of one machine, in a list or when it was
// looked at directly.
func (e *Engine) see(c *cycle, r *bridge.Rental, m *bridge.Machine, in *bridge.Instance, direct bool) []bridge.News {
	var news []bridge.News
	if m.ID == "" {
		m.ID = in.ID
		m.Started = in.Launched
		if m.State == bridge.MachineIntended || m.State == bridge.MachineGone {
			m.State = bridge.MachineCreated
		}
		news = append(news, c.tellMachine(bridge.NewsCreated, r, m))
	}
	if in.Address != "" {
		m.Address = in.Address
	}
	if rate, ok := r.OwnRate(in.Rate); ok {
		m.Rate = rate
	}
	if m.Started.IsZero() && in.State != bridge.InstanceGone {
		m.Started = c.now // not said: from when we first saw it
	}
	if !in.Launched.IsZero() {
		m.Started = in.Launched.UTC()
	}
	if in.State == bridge.InstanceGone {
		return append(news, e.seeGone(c, r, m, in)...)
	}
	if m.State == bridge.MachineGone {
		// A list that lags shows the dead for a while, and the books stay open as
		// long as it does. Only a direct look raises them; where there is none to
		// be had, the list does in the end.
		e.memory.disputed[r.ID] = !direct
		if !direct && (r.Handle != "" || c.now.Sub(e.memory.gone[r.ID]) < e.limits.AbsentGap) {
			return news
		}
		m.State, m.Stopped = bridge.MachineReleasing, noTime
	}
	m.Absent, m.AbsentAt = 0, noTime
	if in.NoticeAt.IsZero() {
		return news
	}
	return append(news, c.noticed(r, m, noticeSource{at: in.NoticeAt.UTC(), reclaim: in.ReclaimAt.UTC()})...)
}

// seeGone records that the cloud says a machine is gone.
func (e *Engine) seeGone(c *cycle, r *bridge.Rental, m *bridge.Machine, in *bridge.Instance) []bridge.News {
	if m.State == bridge.MachineGone {
		return nil
	}
	wasOurs := m.State == bridge.MachineReleasing || r.State == bridge.StateReleasing
	m.State, m.Fault = bridge.MachineGone, cmp.Or(in.Fault, m.Fault)
	m.Stopped = in.Stopped.UTC()
	if in.Stopped.IsZero() {
		m.Stopped = c.now
	}
	return e.lost(c, r, m, wasOurs)
}

// lost is the news of a machine that is gone, by our hand or not.
func (e *Engine) lost(c *cycle, r *bridge.Rental, m *bridge.Machine, wasOurs bool) []bridge.News {
	e.memory.gone[r.ID] = c.now
	kind, why := bridge.NewsGone, r.Why
	switch {
	case wasOurs:
	case !m.NoticeAt.IsZero():
		kind, why = bridge.NewsReclaimed, bridge.ReasonReclaimed
	default:
		why = bridge.ReasonDied
		c.taken++
	}
	n := c.tellMachine(kind, r, m)
	n.Why, n.Text = why, m.Fault
	return []bridge.News{n}
}

// absent counts complete lists that lack a machine. Two of them AbsentGap
// apart prove that it is gone, or, of a create whose outcome is unknown, that
// it had no effect; a list requested too soon after the create proves nothing.
func (e *Engine) absent(c *cycle, r *bridge.Rental, list *listing) []bridge.News {
	var news []bridge.News
	for i := range r.Machines {
		m := &r.Machines[i]
		if m.State == bridge.MachineGone || m.ID != "" && list.has(m.ID) || !e.provable(c, r, m, list) {
			continue
		}
		if m.Absent == 0 || m.AbsentAt.IsZero() {
			m.Absent, m.AbsentAt = 1, list.At
			continue
		}
		if list.At.Sub(m.AbsentAt) < e.limits.AbsentGap {
			continue
		}
		wasOurs := m.ID == "" || m.State == bridge.MachineReleasing || r.State == bridge.StateReleasing
		m.Absent++
		m.State = bridge.MachineGone
		if m.ID != "" {
			m.Stopped = m.AbsentAt
		}
		news = append(news, e.lost(c, r, m, wasOurs)...)
	}
	return news
}

// provable reports whether a list that lacks a machine says anything.
func (e *Engine) provable(c *cycle, r *bridge.Rental, m *bridge.Machine, list *listing) bool {
	if m.ID != "" {
		return list.At.After(m.Started.Add(e.limits.Cycle))
	}
	if r.State != bridge.StateReleasing || e.calls.busy("create/"+string(r.ID)) {
		return false // the create may still be tried again
	}
	sent := later(e.memory.sentAt[r.ID], r.Since)
	return !c.gentle && list.At.Sub(sent) >= e.limits.OrphanAge
}

// ghosts takes nodes out of a scheduler whose rental is long settled: the
// scheduler was away when the machine went.
func (e *Engine) ghosts(ctx context.Context, c *cycle) error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(c.queues)) {
		q := c.queues[name]
		if c.dark || c.snap.Stale(&q.Queue) || c.marks.Protected != "" {
			continue
		}
		known := map[string]bool{}
		for _, r := range c.live {
			for i := range r.Machines {
				known[r.Machines[i].Node] = true
			}
		}
		seen := map[string]bool{}
		for i := range q.Nodes {
			n := &q.Nodes[i]
			id, _, ok := bridge.RentalOfNode(n.Name)
			if !ok || known[n.Name] || !n.Dynamic || n.Responding || len(q.on(n.Name)) > 0 {
				continue
			}
			seen[n.Name] = true
			if e.memory.ghosts[n.Name]++; e.memory.ghosts[n.Name] < 3 {
				continue
			}
			r := bridge.Rental{ID: id, Cluster: name}
			if err := e.write(ctx, name, func(ctx context.Context, s Scheduler) error { return s.Dismiss(ctx, &r, []string{n.Name}) }); err != nil {
				errs = append(errs, fmt.Errorf("dismiss ghost %s: %w", n.Name, err))
			}
		}
		maps.DeleteFunc(e.memory.ghosts, func(n string, _ int) bool { return !seen[n] })
	}
	return errors.Join(errs...)
}
