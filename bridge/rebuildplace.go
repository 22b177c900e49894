package bridge

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// place gives each instance its machine, and each machine its node: by the
// address that the scheduler reaches it at, else in the order of ids, those that
// have a node first. It returns what is too many.
func (b *Rebuilt) place(mine []Instance, q *Queue, now time.Time) (rest []Instance) { //nolint:gocyclo // Each way to seat a machine, the surest first.
	r := &b.Rental
	nodes := make([]*Node, r.Count)
	for i := range q.Nodes {
		if owner, n, ok := RentalOfNode(q.Nodes[i].Name); ok && owner == r.ID && n < r.Count {
			nodes[n] = &q.Nodes[i]
		}
	}
	seat := make([]*Instance, r.Count)
	seated := map[string]bool{}
	sit := func(n int, in *Instance) { seat[n], seated[in.ID] = in, true }
	for _, dead := range []bool{false, true} {
		for n, node := range nodes {
			i := slices.IndexFunc(mine, func(in Instance) bool {
				return node != nil && node.Address != "" && in.Address == node.Address && (in.State == InstanceGone) == dead && !seated[in.ID]
			})
			if i >= 0 && seat[n] == nil {
				sit(n, &mine[i])
			}
		}
	}
	unsure := false
	for _, pass := range []struct{ dead, node bool }{{false, true}, {false, false}, {true, false}, {true, true}} {
		for i := range mine {
			if in := &mine[i]; !seated[in.ID] && (in.State == InstanceGone) == pass.dead {
				if n := freeSeat(seat, nodes, pass.node); n >= 0 {
					sit(n, in)
					unsure = unsure || pass.node && r.Count > 1
				}
			}
		}
	}
	if unsure {
		b.guess("which machine is which node goes by the order of their ids")
	}
	for i := range mine {
		if !seated[mine[i].ID] {
			rest = append(rest, mine[i])
		}
	}
	for n, in := range seat {
		r.Machines = append(r.Machines, r.machine(n, in, q, now))
	}
	return rest
}

// freeSeat is the first place without a machine whose node is there, or is not;
// negative if there is none.
func freeSeat(seat []*Instance, nodes []*Node, node bool) int {
	for n := range seat {
		if seat[n] == nil && (nodes[n] != nil) == node {
			return n
		}
	}
	return -1
}

// machine is one machine as its cloud and the scheduler show it; without an
// instance one that is gone, or comes back when a list shows it.
func (r *Rental) machine(n int, in *Instance, q *Queue, now time.Time) Machine {
	m := Machine{Ordinal: n, State: MachineGone, Node: NodeName(r.ID, n), Rate: r.Rate}
	if in == nil {
		return m
	}
	m.ID, m.Address, m.Started, m.Fault = in.ID, in.Address, in.Launched.UTC(), in.Fault
	if in.Launched.IsZero() {
		m.Started = now
	}
	if own, ok := r.OwnRate(in.Rate); ok {
		m.Rate = own
	}
	inside := slices.Contains(q.Overlays[PartitionName(r.ID)], m.Node) || slices.ContainsFunc(q.Runs, func(run Run) bool { return slices.Contains(run.Nodes, m.Node) })
	switch {
	case in.State == InstanceGone:
		if m.Stopped = in.Stopped.UTC(); in.Stopped.IsZero() {
			m.Stopped = now
		}
		return m
	case in.State == InstanceStopping:
		m.State = MachineReleasing
	case inside:
		m.State, m.Joined = MachineJoined, now
	default:
		m.State = MachineCreated
	}
	if !in.NoticeAt.IsZero() {
		m.NoticeAt, m.ReclaimAt = in.NoticeAt.UTC(), in.ReclaimAt.UTC()
		if m.State != MachineReleasing {
			m.State = MachineNoticed
		}
	}
	return m
}

// stand finds how far a rental was: what the scheduler holds of it is let in,
// what it holds drained for a return goes back.
func (b *Rebuilt) stand(q *Queue, now time.Time) { //nolint:gocyclo // What a scheduler can hold of a rental, one after the other.
	r := &b.Rental
	in, live, leaving := false, false, false
	for i := range r.Machines {
		m := &r.Machines[i]
		live = live || m.State != MachineGone && m.State != MachineReleasing
		if m.Joined.IsZero() {
			continue
		}
		in = true
		if n := nodeNamed(q, m.Node); n != nil && strings.HasPrefix(n.Reason, ReleaseReason) {
			leaving = true
		}
	}
	switch {
	case !live:
		r.State = StateReleasing
	case !in:
		r.State = StateJoining
	case leaving:
		r.State = StateDraining
	default:
		r.State = StateAdmitted
	}
	for i := range q.Runs {
		if len(r.nodesAmong(q.Runs[i].Nodes)) > 0 {
			r.Running = append(r.Running, q.Runs[i].Job)
		}
	}
	slices.Sort(r.Running)
	if r.State != StateAdmitted && r.State != StateDraining {
		return
	}
	if len(r.Running) == 0 {
		r.IdleSince = now
	}
	for i := range r.Machines {
		m := &r.Machines[i]
		busy := slices.ContainsFunc(q.Runs, func(run Run) bool { return slices.Contains(run.Nodes, m.Node) })
		if m.State == MachineJoined && !busy {
			m.IdleSince = now
		}
	}
}

// nodesAmong are those of some nodes that are a rental's.
func (r *Rental) nodesAmong(names []string) (out []string) {
	for _, n := range names {
		if owner, _, ok := RentalOfNode(n); ok && owner == r.ID {
			out = append(out, n)
		}
	}
	return out
}

// anyNode is a node of a rental that responds, else any, else an empty one.
func (r *Rental) anyNode(q *Queue) (found Node) {
	for i := range q.Nodes {
		n := &q.Nodes[i]
		if owner, _, ok := RentalOfNode(n.Name); ok && owner == r.ID && (found.Name == "" || n.Responding && !found.Responding) {
			found = *n
		}
	}
	return found
}

func nodeNamed(q *Queue, name string) *Node {
	if i := slices.IndexFunc(q.Nodes, func(n Node) bool { return n.Name == name }); i >= 0 {
		return &q.Nodes[i]
	}
	return nil
}

// RentalOfNode reads a rental's id and a machine's ordinal out of a node name
// of ours.
func RentalOfNode(node string) (RentalID, int, bool) {
	rest, ok := strings.CutPrefix(node, "sw-")
	i := strings.LastIndexByte(rest, '-')
	if !ok || i < 0 {
		return "", 0, false
	}
	id, err := ParseRentalID(rest[:i])
	n, err2 := strconv.Atoi(rest[i+1:])
	return id, n, err == nil && err2 == nil && n >= 0
}
