package engine

import (
	"cmp"
	"slices"

	"spillway.sh/spillway/bridge"
)

// sight is one view of a cluster, with what the steps look up in it.
type sight struct {
	bridge.Queue
	runs  map[string][]int // indexes into Runs, by node
	nodes map[string]*bridge.Node
	waits map[bridge.JobID][]*bridge.Demand // by job without its task; of the jobs asked for so far
}

func newSight(q bridge.Queue) *sight {
	s := &sight{Queue: q, runs: map[string][]int{}, nodes: make(map[string]*bridge.Node, len(q.Nodes)), waits: map[bridge.JobID][]*bridge.Demand{}}
	for i := range q.Runs {
		for _, n := range q.Runs[i].Nodes {
			s.runs[n] = append(s.runs[n], i)
		}
	}
	for i := range q.Nodes {
		s.nodes[q.Nodes[i].Name] = &q.Nodes[i]
	}
	return s
}

// on returns the jobs that hold any of the nodes, in the order of their ids.
func (s *sight) on(nodes ...string) []bridge.Run {
	var found []int
	for _, n := range nodes {
		found = append(found, s.runs[n]...)
	}
	slices.Sort(found)
	found = slices.Compact(found)
	out := make([]bridge.Run, len(found))
	for i, k := range found {
		out[i] = s.Runs[k]
	}
	slices.SortFunc(out, func(a, b bridge.Run) int { return cmp.Compare(a.Job, b.Job) })
	return out
}

// look finds the waiting records of many jobs in one pass.
func (s *sight) look(jobs []bridge.JobID) {
	fresh := map[bridge.JobID]bool{}
	for _, j := range jobs {
		b := j.Base()
		if _, done := s.waits[b]; !done {
			fresh[b], s.waits[b] = true, nil
		}
	}
	if len(fresh) == 0 {
		return
	}
	for i := range s.Demands {
		if b := s.Demands[i].Job.Base(); fresh[b] {
			s.waits[b] = append(s.waits[b], &s.Demands[i])
		}
	}
}

// waiting returns the waiting records of a job, or of the array it is a task of.
func (s *sight) waiting(job bridge.JobID) []*bridge.Demand {
	s.look([]bridge.JobID{job})
	return s.waits[job.Base()]
}

// queued reports whether a job itself waits; a task of an array for itself.
func (s *sight) queued(job bridge.JobID) bool {
	return slices.ContainsFunc(s.waiting(job), func(d *bridge.Demand) bool { return d.Job == job })
}

// promised reports whether a rental was made for, or routed to, a job or the
// array it is a task of.
func promised(r *bridge.Rental, job bridge.JobID) bool {
	return slices.ContainsFunc(r.Jobs, func(j bridge.JobID) bool { return j.Base() == job.Base() })
}
