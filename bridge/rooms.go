package bridge

import (
	"slices"
	"strings"
	"time"
)

// room is a rental with what is still free on it.
type room struct {
	rental  *Rental
	project Account
	places  []*place
	roof    roof // over the places, as they were or are
	vacant  bool // no job on it, none listed or routed: another project may take it over
}

// serves reports whether the rental's machines are, or will be, for jobs.
func serves(st State) bool {
	switch st {
	case StateWaiting, StateLaunching, StateJoining, StateAdmitted:
		return true
	case StateDraining, StateReleasing, StateSettled, StateClosed:
		return false
	}
	return false
}

// roomOf computes what a rental can take. Machines that boot count in full, also
// those of an admitted rental, whose machines are let in as each one comes; the
// others count as the scheduler shows them, unless it was asked before they were
// admitted.
func roomOf(r *Rental, q *Queue, nodes map[string]*Node) *room {
	m := &room{rental: r, project: r.Account.Project(), vacant: true}
	if r.State != StateAdmitted {
		for range upcoming(r) {
			m.places = append(m.places, expected(r))
		}
		return m
	}
	for i := range r.Machines {
		k := &r.Machines[i]
		if k.State != MachineJoined && k.State != MachineCreated {
			continue
		}
		n := nodes[k.Node]
		switch {
		case k.State == MachineCreated, n == nil && q.ObservedAt.Before(r.Since):
			m.places = append(m.places, expected(r))
		case n != nil && n.Usable:
			m.places = append(m.places, &place{has: &n.Shape, free: n.Free, features: r.Features})
			m.vacant = m.vacant && untouched(&n.Shape, &n.Free)
		}
	}
	return m
}

// expected is a machine as it will be in the scheduler.
func expected(r *Rental) *place {
	has := &r.Shape
	if r.GPUAs != "" {
		as := r.Declared()
		has = &as
	}
	return &place{has: has, free: *has, features: r.Features}
}

// upcoming is how many machines of a rental that is not admitted yet will come.
func upcoming(r *Rental) int {
	if len(r.Machines) == 0 {
		return r.Count
	}
	n := 0
	for i := range r.Machines {
		switch r.Machines[i].State {
		case MachineIntended, MachineCreated, MachineJoined:
			n++
		case MachineNoticed, MachineReleasing, MachineGone:
		}
	}
	return n
}

// machinesOf is how many machines of a rental count against a project's most.
func machinesOf(r *Rental) int {
	switch {
	case r.State == StateWaiting || r.State.Ended():
		return 0
	case len(r.Machines) == 0:
		return r.Count
	}
	return len(r.Live())
}

// localNodes are the cluster's own nodes on which something is free.
func localNodes(q *Queue, rented map[string]bool) []*localNode {
	var out []*localNode
	for i := range q.Nodes {
		n := &q.Nodes[i]
		if !n.Usable || n.Free.CPUs <= 0 || isRented(n, rented) {
			continue
		}
		out = append(out, &localNode{place{&n.Shape, n.Free, n.Features}, n.Partitions, n.Name, n.IdleSince})
	}
	slices.SortFunc(out, func(a, b *localNode) int { return strings.Compare(a.name, b.name) })
	return out
}

type localNode struct {
	place
	partitions []string
	name       string
	idleSince  time.Time
}

func isRented(n *Node, rented map[string]bool) bool {
	return rented[n.Name] || n.Dynamic && strings.HasPrefix(n.Name, "sw-")
}

// inPartition reports whether a job sent to the comma list may run on a node.
func inPartition(list string, partitions []string) bool {
	if list == "" {
		return true
	}
	for p := range strings.SplitSeq(list, ",") {
		if slices.Contains(partitions, p) {
			return true
		}
	}
	return false
}

// figures are the facts of a cluster, with what makes them anew at another time.
type figures struct {
	Facts
	oldest time.Time // since when the longest waits; zero: none does
}

func (f figures) at(now time.Time) figures {
	f.OldestWait = 0
	if !f.oldest.IsZero() {
		f.OldestWait = max(0, now.Sub(f.oldest))
	}
	return f
}

// figuresOf computes the figures of a cluster for policy conditions.
func figuresOf(q *Queue, now time.Time, rented map[string]bool) figures {
	f := figures{Facts: Facts{Cluster: q.Cluster}}
	for i := range q.Demands {
		d := &q.Demands[i]
		if d.Standing != StandingHelps && d.Standing != StandingBehind {
			continue
		}
		f.Pending++
		if since := waitsSince(d); !since.IsZero() && (f.oldest.IsZero() || since.Before(f.oldest)) {
			f.oldest = since
		}
	}
	var gpus, freeGPUs, cpus, freeCPUs int
	for i := range q.Nodes {
		n := &q.Nodes[i]
		if !n.Usable || isRented(n, rented) {
			continue
		}
		gpus, freeGPUs = gpus+n.Shape.GPUs, freeGPUs+n.Free.GPUs
		cpus, freeCPUs = cpus+n.Shape.CPUs, freeCPUs+n.Free.CPUs
	}
	switch {
	case gpus > 0:
		f.UtilisationPM = (gpus - freeGPUs) * 1000 / gpus
	case cpus > 0:
		f.UtilisationPM = (cpus - freeCPUs) * 1000 / cpus
	}
	return f.at(now)
}

// waitsSince is when a demand began to wait in the sense of a policy.
func waitsSince(d *Demand) time.Time {
	if d.Eligible.IsZero() {
		return d.Submitted
	}
	return d.Eligible
}
