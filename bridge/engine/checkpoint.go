package engine

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"spillway.sh/spillway/bridge"
)

// How much is looked at: looks that are under way at once, and waiting jobs of
// one cluster whose checkpoints are looked for.
// A queue longer than queueLong is gone through less often.
const (
	looksMost   = 32
	waitingMost = 1000
	queueLong   = 5000
)

// looks are the checkpoints known of jobs, and what is due to be looked at.
type looks struct {
	jobs   map[string]*looked   // by cluster and job
	seen   map[string]*sight    // the queue that jobs were last taken from
	waited map[string]time.Time // when those that wait were
	under  int
	// As snapshots have them: never changed, only replaced.
	newest map[string]map[bridge.JobID]bridge.Checkpoint
	first  map[string]map[bridge.JobID]bool
}

// looked is what is known of one job's checkpoints.
type looked struct {
	job     bridge.CheckpointJob
	rule    *bridge.CheckpointRule
	running bool
	wanted  time.Time // since
	due     time.Time // of the next look
	under   bool
	look    bridge.CheckpointLook // the latest that was finished
	err     error                 // of the latest
	before  *bridge.Checkpoint    // the newest of the look before
}

func newLooks() looks {
	return looks{jobs: map[string]*looked{}, seen: map[string]*sight{}, waited: map[string]time.Time{}}
}

// checkpoints keeps what is known of the checkpoints of running and waiting
// jobs that policy has a rule for. Looks run beside the loop, a bounded number
// at once; a cycle takes those that are back and never waits for one.
func (e *Engine) checkpoints(ctx context.Context, c *cycle) error {
	if e.o.Checkpoints == nil {
		return nil
	}
	changed := e.takeCheckpoints()
	changed = e.wanted(c) || changed
	moved, err := e.followRuns(ctx, c)
	changed = e.lookDue(c) || changed
	ls := &e.memory.looks
	if changed || moved {
		ls.newest = ls.all(c.marks.Runs)
	}
	if changed || len(ls.first) > 0 {
		ls.first = ls.unanswered(c.now)
	}
	return err
}

func lookKey(key string) string { return "checkpoint/" + key }

// takeCheckpoints picks up the looks that are finished.
func (e *Engine) takeCheckpoints() (changed bool) {
	ls := &e.memory.looks
	for key, j := range ls.jobs {
		got, r, ok := take[bridge.CheckpointLook](e.calls, lookKey(key))
		if !ok {
			continue
		}
		j.under, j.err, changed = false, r.err, true
		ls.under--
		e.healthOf(j)
		if r.err != nil {
			continue // the old one is still the newest known
		}
		if n := j.look.Newest; n != nil {
			j.before = n
		}
		j.look = got
	}
	return changed
}

// healthOf keeps whether the storage of a rule can be looked at, for people who
// run it. What a job says wrongly of itself is not their trouble.
func (e *Engine) healthOf(j *looked) {
	key := "checkpoints/" + j.rule.Name
	ce, bad := errors.AsType[*bridge.CheckpointError](j.err)
	switch {
	case j.err == nil:
		delete(e.memory.health, key)
	case !bad || ce.Kind != bridge.TroubleUnsaid && ce.Kind != bridge.TroubleOutside && ce.Kind != bridge.TroubleTooMany:
		e.memory.health[key] = j.err.Error()
	}
}

// wanted finds the jobs to look at, and forgets those that are gone.
func (e *Engine) wanted(c *cycle) (changed bool) {
	ls := &e.memory.looks
	for cluster, q := range c.queues {
		if _, fresh := c.queue(cluster); !fresh || ls.seen[cluster] == q {
			continue
		}
		ls.seen[cluster] = q
		there := map[string]bool{}
		for _, id := range slices.Sorted(maps.Keys(c.live)) {
			r := c.live[id]
			if r.Cluster != cluster {
				continue
			}
			for _, run := range q.on(nodesOf(&r, bridge.MachineJoined, bridge.MachineNoticed)...) {
				d := e.demandOf(&r, &run)
				e.want(c, there, &d, e.terms(&r, &run), true)
			}
		}
		e.wantElsewhere(c, q, there)
		if ls.dueWaiting(c, q, there, e.limits.Look) {
			e.wantWaiting(c, q, there)
		}
		maps.DeleteFunc(ls.jobs, func(key string, j *looked) bool {
			gone := j.job.Cluster == cluster && !there[key] && !j.under
			changed = changed || gone
			return gone
		})
	}
	return changed
}

// wantElsewhere adds jobs that were broken off on rented machines and run again
// on others.
func (e *Engine) wantElsewhere(c *cycle, q *sight, there map[string]bool) {
	broken := c.marks.Runs[q.Cluster]
	if len(broken) == 0 {
		return
	}
	for i := range q.Runs {
		run := &q.Runs[i]
		if _, ok := broken[run.Job]; !ok || there[jobKey(q.Cluster, run.Job)] {
			continue
		}
		d := bridge.Demand{
			Cluster: q.Cluster, Job: run.Job, Name: run.Name, User: run.User, Account: run.Account, Partition: run.Partition,
			Comment: run.Comment, Nodes: max(len(run.Nodes), 1), Count: 1, TimeLimit: run.TimeLimit, Restartable: run.Restartable, Restarts: run.Restarts,
		}
		e.want(c, there, &d, e.o.Policy.Terms(&d, &bridge.Facts{Cluster: q.Cluster}), true)
	}
}

// dueWaiting reports whether the waiting jobs of a queue are to be gone through.
// If not, those known stay so: a long queue is gone through now and then, and
// when a job left its machines.
func (ls *looks) dueWaiting(c *cycle, q *sight, there map[string]bool, every time.Duration) bool {
	due := len(q.Demands) <= queueLong || c.now.Sub(ls.waited[q.Cluster]) >= every
	for key, j := range ls.jobs {
		due = due || j.job.Cluster == q.Cluster && j.running && !there[key]
	}
	if due {
		ls.waited[q.Cluster] = c.now
		return true
	}
	for key, j := range ls.jobs {
		if j.job.Cluster == q.Cluster && !j.running {
			there[key] = true
		}
	}
	return false
}

// wantWaiting adds jobs that may be started from a checkpoint.
func (e *Engine) wantWaiting(c *cycle, q *sight, there map[string]bool) {
	n := 0
	for i := range q.Demands {
		d := &q.Demands[i]
		if !d.Restartable || d.Count != 1 || d.Standing == bridge.StandingUser || n >= waitingMost {
			continue
		}
		t := e.o.Policy.Terms(d, &bridge.Facts{Cluster: d.Cluster})
		if t == nil || t.Checkpoint == nil {
			continue
		}
		n++
		e.want(c, there, d, t, false)
	}
}

func (e *Engine) want(c *cycle, there map[string]bool, d *bridge.Demand, t *bridge.Terms, running bool) {
	if t == nil || t.Checkpoint == nil {
		return
	}
	key := jobKey(d.Cluster, d.Job)
	there[key] = true
	j := e.memory.looks.jobs[key]
	if j == nil {
		j = &looked{wanted: c.now, due: c.now}
		e.memory.looks.jobs[key] = j
	}
	if j.running != running {
		j.due = c.now // what it wrote before it stopped is what counts now
	}
	j.rule, j.running = t.Checkpoint, running
	j.job = bridge.CheckpointJob{Cluster: d.Cluster, Job: d.Job, User: d.User, Name: d.Name, Comment: d.Comment}
}

// lookDue starts the looks that are due, the longest overdue first, and reports
// whether there were any.
func (e *Engine) lookDue(c *cycle) bool {
	ls := &e.memory.looks
	var due []string
	for key, j := range ls.jobs {
		if !j.under && !c.now.Before(j.due) {
			due = append(due, key)
		}
	}
	slices.SortFunc(due, func(a, b string) int { return cmp.Or(ls.jobs[a].due.Compare(ls.jobs[b].due), cmp.Compare(a, b)) })
	for _, key := range due[:min(len(due), max(looksMost-ls.under, 0))] {
		j := ls.jobs[key]
		j.under, j.due = true, c.now.Add(e.limits.LookWaiting)
		ls.under++
		if j.running {
			j.due = c.now.Add(e.limits.Look)
		}
		rule, job, at := j.rule, j.job, c.now
		e.calls.start(lookKey(key), "checkpoints", e.limits.Call, rouse(!j.running), func(ctx context.Context) (any, error) {
			got, err := e.o.Checkpoints.Find(ctx, rule, job)
			got.At = at // as old as the question
			return got, err
		})
	}
	return len(due) > 0
}

// patience is how long a job waits for the first look at its checkpoints: a
// storage that hangs must not hold it up.
const patience = 10 * time.Second

// unanswered are the jobs whose first look is not back.
func (ls *looks) unanswered(now time.Time) map[string]map[bridge.JobID]bool {
	out := map[string]map[bridge.JobID]bool{}
	for _, j := range ls.jobs {
		if !j.look.At.IsZero() || j.err != nil || now.Sub(j.wanted) >= patience {
			continue
		}
		if out[j.job.Cluster] == nil {
			out[j.job.Cluster] = map[bridge.JobID]bool{}
		}
		out[j.job.Cluster][j.job.Job] = true
	}
	return out
}

// all gathers the newest of every job, with how long it had computed by then.
func (ls *looks) all(runs map[string]map[bridge.JobID]bridge.Interruption) map[string]map[bridge.JobID]bridge.Checkpoint {
	out := map[string]map[bridge.JobID]bridge.Checkpoint{}
	for _, j := range ls.jobs {
		if j.look.Newest == nil {
			continue
		}
		if out[j.job.Cluster] == nil {
			out[j.job.Cluster] = map[bridge.JobID]bridge.Checkpoint{}
		}
		ck := *j.look.Newest
		if run, ok := runs[j.job.Cluster][j.job.Job]; ok {
			ck.Done = run.Done(ck.At)
		}
		out[j.job.Cluster][j.job.Job] = ck
	}
	return out
}
