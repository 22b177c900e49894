package desk

import (
	"slices"
	"time"

	"spillway.sh/spillway/bridge"
)

// LocalSource is where a word about the local queue comes from.
type LocalSource string

// The sources: the scheduler's own estimate of a job's start, or what waits in
// the queue, from which no start follows.
const (
	FromScheduler LocalSource = "scheduler"
	FromQueue     LocalSource = "queue"
)

// Local is what the local queue would do for the same size. It is an estimate
// of somebody else, or a look, and never a promise.
type Local struct {
	Cluster string      `json:"cluster"`
	Source  LocalSource `json:"source"`
	At      time.Time   `json:"at"` // of the look it is from
	// Job is the one that the scheduler expects to start at Start.
	Job   bridge.JobID `json:"job,omitempty"`
	Start time.Time    `json:"start,omitzero"`
	// Waiting is how many jobs of everybody wait for machines, and Oldest for how
	// long the one that has waited longest.
	Waiting int   `json:"waiting"`
	Oldest  int64 `json:"oldest_seconds"`
}

// local looks at a cluster's queue; nil while it has not been seen lately.
func (d *Desk) local(s *bridge.Snapshot, cluster string, jobs ...bridge.JobID) *Local {
	now := d.Now()
	i := slices.IndexFunc(s.Queues, func(q bridge.Queue) bool { return q.Cluster == cluster })
	if i < 0 || s.Queues[i].ObservedAt.IsZero() || now.Sub(s.Queues[i].ObservedAt) > s.MaxQueueAge {
		return nil
	}
	q := &s.Queues[i]
	out := &Local{Cluster: cluster, Source: FromQueue, At: q.ObservedAt}
	for i := range q.Demands {
		dem := &q.Demands[i]
		if slices.ContainsFunc(jobs, func(j bridge.JobID) bool { return sameJob(dem.Job, j) }) && dem.StartEstimate.After(now) &&
			(out.Start.IsZero() || dem.StartEstimate.Before(out.Start)) {
			out.Source, out.Job, out.Start = FromScheduler, dem.Job, dem.StartEstimate
		}
		if dem.Standing == bridge.StandingHelps || dem.Standing == bridge.StandingBehind {
			out.Waiting += max(dem.Count, 1)
			out.Oldest = max(out.Oldest, int64(waited(dem, now)/time.Second))
		}
	}
	return out
}

// ifDenied is when the jobs of a question start without it, where the scheduler
// says so.
func (d *Desk) ifDenied(r *bridge.Rental) *Local {
	if len(r.Jobs) == 0 || r.State != bridge.StateWaiting {
		return nil
	}
	snap, _, err := d.look()
	if err != nil {
		return nil // a question can be answered without it
	}
	if l := d.local(&snap, r.Cluster, r.Jobs...); l != nil && l.Source == FromScheduler {
		return l
	}
	return nil
}
