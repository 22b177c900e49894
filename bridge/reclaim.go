package bridge

import (
	"slices"
	"strings"
	"time"
)

// ReturnLead is how long before the end of a paid step an idle machine is
// given back, so that draining and the terminate call end inside the step.
const ReturnLead = 2 * time.Minute

// withdrawals are the questions none of whose jobs waits any more. A stale
// view proves nothing.
func withdrawals(s *Snapshot, pending map[string]waiting) []RentalID {
	var out []RentalID
	for i := range s.Rentals {
		r := &s.Rentals[i]
		if r.State == StateWaiting && len(r.Jobs) > 0 && allGone(r, pending) {
			out = append(out, r.ID)
		}
	}
	slices.Sort(out)
	return out
}

// returns are the rentals, or machines of them, to give back: past their end,
// broken gangs, demand gone before admission, and idle ones at the end of what
// is paid. needed names rentals that pending demands are served by; they are
// kept. Only an expired rental is returned while a job runs on it, and only
// that is decided on a stale view.
func returns(s *Snapshot, needed map[RentalID]bool, pending map[string]waiting) []Return {
	var out []Return
	queues := map[string]*occupancy{}
	for i := range s.Queues {
		if q := &s.Queues[i]; !s.Stale(q) {
			queues[q.Cluster] = occupancyOf(q)
		}
	}
	for i := range s.Rentals {
		r := &s.Rentals[i]
		occ := queues[r.Cluster]
		switch r.State {
		case StateLaunching, StateJoining, StateAdmitted, StateDraining:
		case StateWaiting, StateReleasing, StateSettled, StateClosed:
			continue
		}
		if ret, ok := returnOf(r, s.Now, occ, pending, needed[r.ID]); ok {
			out = append(out, ret)
		}
	}
	slices.SortFunc(out, func(a, b Return) int { return strings.Compare(string(a.Rental), string(b.Rental)) })
	return out
}

// occupancy is which nodes of a cluster have a job.
type occupancy struct {
	at   time.Time
	busy map[string]bool
}

func occupancyOf(q *Queue) *occupancy {
	o := &occupancy{at: q.ObservedAt, busy: map[string]bool{}}
	for i := range q.Runs {
		for _, n := range q.Runs[i].Nodes {
			o.busy[n] = true
		}
	}
	return o
}

func returnOf(r *Rental, now time.Time, occ *occupancy, pending map[string]waiting, needed bool) (Return, bool) {
	all := Return{Rental: r.ID}
	busy := occ == nil || slices.ContainsFunc(r.Machines, func(m Machine) bool { return occ.busy[m.Node] })
	switch {
	case reached(r.Expires, now):
		all.Why, all.Drain = ReasonExpired, busy && r.State == StateAdmitted
		return all, true
	case reached(r.ReleaseAt, now) && r.State != StateDraining:
		all.Why, all.Drain = ReasonAskedRelease, busy && r.State == StateAdmitted
		return all, true
	case busy || r.State == StateDraining:
		return idleMachines(r, now, occ)
	case broken(r):
		all.Why = ReasonGangBroken
		return all, true
	case r.State != StateAdmitted:
		all.Why = ReasonDemandGone
		return all, len(r.Jobs) > 0 && !needed && allGone(r, pending)
	case needed:
		return all, false
	}
	all.Why, all.Drain = ReasonIdle, true
	return all, !r.IdleSince.IsZero() && idleOver(r, nil, oldestStart(r), now)
}

// reached reports whether an instant, if one is set, has come.
func reached(at, now time.Time) bool { return !at.IsZero() && !now.Before(at) }

// idleMachines are single machines of a rental of independent jobs that have
// been idle long enough while others still work.
func idleMachines(r *Rental, now time.Time, occ *occupancy) (Return, bool) {
	ret := Return{Rental: r.ID, Why: ReasonIdle, Drain: true}
	if occ == nil || r.State != StateAdmitted || r.Gang > 1 {
		return ret, false
	}
	for i := range r.Machines {
		m := &r.Machines[i]
		if m.State == MachineJoined && !occ.busy[m.Node] && !m.IdleSince.IsZero() && idleOver(r, m, m.Started, now) {
			ret.Machines = append(ret.Machines, m.Ordinal)
		}
	}
	return ret, len(ret.Machines) > 0
}

// idleOver reports whether an idle machine, or with nil a whole idle rental, is
// to be given back: policy's patience is over, and so is nearly all that is paid.
func idleOver(r *Rental, m *Machine, started, now time.Time) bool {
	if until, ok := r.patience(m); !ok || now.Before(until) {
		return false
	}
	if started.IsZero() {
		return true
	}
	lived := now.Sub(started)
	return r.Billing().Paid(lived)-lived <= ReturnLead
}

func oldestStart(r *Rental) time.Time {
	var out time.Time
	for i := range r.Machines {
		m := &r.Machines[i]
		if m.State != MachineGone && (out.IsZero() || m.Started.Before(out)) {
			out = m.Started
		}
	}
	return out
}

// broken reports whether a gang has lost a machine, so that no gang fits it.
func broken(r *Rental) bool {
	return r.Gang > 1 && len(r.Machines) > 0 && upcoming(r) < r.Gang
}

// waiting are those of a cluster's jobs that rentals were made for and that wait,
// as seen at one time.
type waiting struct {
	at   time.Time
	jobs map[JobID]bool
}

// pendingJobs are the jobs that wait, with the arrays they belong to, in
// every cluster that is seen well.
func pendingJobs(s *Snapshot) map[string]waiting {
	out := make(map[string]waiting, len(s.Queues))
	wanted := map[JobID]bool{}
	for i := range s.Rentals {
		for _, j := range s.Rentals[i].Jobs {
			wanted[j.Base()] = true
		}
	}
	for i := range s.Queues {
		q := &s.Queues[i]
		if s.Stale(q) {
			continue
		}
		jobs := map[JobID]bool{}
		out[q.Cluster] = waiting{q.ObservedAt, jobs}
		if len(wanted) == 0 {
			continue
		}
		for k := range q.Demands {
			if base := q.Demands[k].Job.Base(); wanted[base] {
				jobs[base] = true
			}
		}
	}
	return out
}

// allGone reports whether none of a rental's jobs waits; false where the
// cluster is not seen well, or was seen no later than the rental was made: the job
// that a person rents for may be younger than the look.
func allGone(r *Rental, pending map[string]waiting) bool {
	w, seen := pending[r.Cluster]
	return seen && w.at.After(r.Created) && !slices.ContainsFunc(r.Jobs, func(j JobID) bool { return w.jobs[j.Base()] })
}
