package sim

import (
	"fmt"
	"slices"
	"strings"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/cloud/local/wire"
	"spillway.sh/spillway/bridge/sim/invariant"
)

// Over reports whether nothing is rented, held or running any more by what the
// latest sight showed, and nothing waits that could be served.
func (w *World) Over() bool {
	return w.life != nil && len(w.liveMachines()) == 0 && len(w.liveRentals()) == 0 && len(w.nodes()) == 0 && !w.busy()
}

// Rented is how many machines of ours run by what the latest sight showed.
func (w *World) Rented() int { return len(w.liveMachines()) }

func (w *World) liveMachines() []string {
	var out []string
	for _, id := range w.seen.order {
		if m := w.seen.machines[id]; m.State != wire.StateTerminated && !m.Untouched {
			out = append(out, id+" "+string(m.State))
		}
	}
	return out
}

func (w *World) liveRentals() []string {
	var out []string
	for id, r := range w.seen.rentals {
		if !r.State.Ended() {
			out = append(out, string(id)+" "+string(r.State)+" "+string(r.Why))
		}
	}
	slices.Sort(out)
	return out
}

func (w *World) nodes() []string {
	_, nodes := w.Slurm.Truth()
	var out []string
	for _, n := range nodes {
		out = append(out, n.Name)
	}
	return out
}

// busy reports whether a job runs on machines of ours, or one waits that has
// been let out or may still be.
func (w *World) busy() bool {
	jobs, nodes := w.Slurm.Truth()
	ours := func(name string) bool {
		return slices.ContainsFunc(nodes, func(n invariant.Node) bool { return n.Name == name })
	}
	for i := range jobs {
		j := &jobs[i]
		if j.State == "PENDING" || running(j) && slices.ContainsFunc(j.Nodes, ours) {
			return true
		}
	}
	return len(w.waiting()) > 0
}

func running(j *invariant.Job) bool {
	return slices.Contains([]string{"RUNNING", "COMPLETING", "CONFIGURING", "SUSPENDED"}, j.State)
}

// waiting are the questions that nobody has answered.
func (w *World) waiting() []bridge.Rental {
	var out []bridge.Rental
	for _, r := range w.seen.rentals {
		if r.State == bridge.StateWaiting {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, func(a, b bridge.Rental) int { return strings.Compare(string(a.ID), string(b.ID)) })
	return out
}

// left says what is not over.
func (w *World) left() string {
	return fmt.Sprintf("left are machines %v, rentals %v, nodes %v", w.liveMachines(), w.liveRentals(), w.nodes())
}
