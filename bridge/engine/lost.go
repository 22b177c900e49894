package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"spillway.sh/spillway/bridge"
)

// verdictAfter is how long after a job's restart nothing is said of what it
// lost, when its checkpoints cannot be looked at.
const verdictAfter = 5 * time.Minute

// followRuns notes runs on rented machines, sees those that were broken off,
// and tells what was lost when the job runs again. The marks are written once
// for all of it, so that a crash neither forgets a loss nor tells it twice.
func (e *Engine) followRuns(ctx context.Context, c *cycle) (changed bool, err error) {
	var errs []error
	for cluster := range c.queues {
		q, fresh := c.queue(cluster)
		if !fresh {
			continue
		}
		old := c.marks.Runs[cluster]
		next, news := e.runsNow(c, q, old)
		if len(news) == 0 && maps.Equal(old, next) {
			continue
		}
		changed = true
		errs = append(errs, e.remember(ctx, c, func(m *bridge.Marks) {
			if m.Runs == nil {
				m.Runs = map[string]map[bridge.JobID]bridge.Interruption{}
			}
			m.Runs[cluster] = next
		}, news...))
	}
	return changed, errors.Join(errs...)
}

// runsNow is what is to be remembered of one cluster's runs, with the news.
func (e *Engine) runsNow(c *cycle, q *sight, old map[bridge.JobID]bridge.Interruption) (map[bridge.JobID]bridge.Interruption, []bridge.News) {
	next := map[bridge.JobID]bridge.Interruption{}
	var news []bridge.News
	ours := e.ourRuns(c, q)
	for job, was := range old {
		kept, told := e.followRun(c, q, job, was, ours[job])
		if kept != nil {
			next[job] = *kept
		}
		news = append(news, told...)
	}
	for job, now := range ours {
		if _, known := next[job]; !known {
			next[job] = *now
		}
	}
	slices.SortFunc(news, func(a, b bridge.News) int { return cmp.Compare(a.Job, b.Job) })
	return next, news
}

// ourRuns are the runs on rented machines of jobs whose checkpoints are looked
// for.
func (e *Engine) ourRuns(c *cycle, q *sight) map[bridge.JobID]*bridge.Interruption {
	out := map[bridge.JobID]*bridge.Interruption{}
	for _, r := range c.live {
		if r.Cluster != q.Cluster {
			continue
		}
		for _, run := range q.on(nodesOf(&r, bridge.MachineJoined, bridge.MachineNoticed)...) {
			if _, looked := e.memory.looks.jobs[jobKey(q.Cluster, run.Job)]; !looked || run.Started.IsZero() {
				continue
			}
			rate := r.Rate
			rate.Micro *= int64(len(run.Nodes))
			out[run.Job] = &bridge.Interruption{Rental: r.ID, Started: run.Started, Restarts: run.Restarts, Rate: rate, Pool: r.Pool, From: -1}
		}
	}
	return out
}

// followRun takes one remembered run further; nil: it is over, and whatever
// there was to tell is told.
func (e *Engine) followRun(c *cycle, q *sight, job bridge.JobID, was bridge.Interruption, ours *bridge.Interruption) (*bridge.Interruption, []bridge.News) {
	restarts, running, started, there := runState(q, job)
	switch {
	case !there:
		return nil, nil // it ended
	case restarts == was.Restarts && was.Stopped.IsZero():
		return e.followResumed(c, q.Cluster, job, was)
	case restarts > was.Restarts+1 && !was.Stopped.IsZero():
		was.Again = time.Time{} // broken off again before anything was said
		was.Restarts = restarts - 1
	}
	if was.Stopped.IsZero() {
		was.Stopped = e.lastSeen(c, q, was.Started, started)
	}
	if !running {
		return &was, nil
	}
	if was.Again.IsZero() {
		was.Again = c.now
	}
	news, from, worth, sure := e.verdict(c, q.Cluster, job, &was, started)
	if !sure && c.now.Sub(was.Again) < verdictAfter {
		return &was, nil
	}
	if ours == nil {
		return nil, news // it runs on machines that are not ours
	}
	ours.From, ours.Worth = from, worth
	if from >= 0 {
		ours.Before = was.Done(e.resumedFrom(q.Cluster, job, started))
	}
	return ours, news
}

// runState says how a job stands in a queue.
func runState(q *sight, job bridge.JobID) (restarts int, running bool, started time.Time, there bool) {
	if i := slices.IndexFunc(q.Runs, func(r bridge.Run) bool { return r.Job == job }); i >= 0 {
		return q.Runs[i].Restarts, true, q.Runs[i].Started, true
	}
	for _, d := range q.waiting(job) {
		if d.Job == job || d.Job == job.Base() {
			return d.Restarts, false, time.Time{}, true
		}
	}
	return 0, false, time.Time{}, false
}

// lastSeen is when a run that was broken off ended, at the latest.
func (e *Engine) lastSeen(c *cycle, q *sight, began, again time.Time) time.Time {
	at := c.now
	if q.ObservedAt.Before(at) {
		at = q.ObservedAt
	}
	if !again.IsZero() && again.Before(at) {
		at = again
	}
	return later(at, began)
}

// verdict says what a job that runs again lost: resumed only with a step; from
// the beginning only when a look after the stop found nothing complete.
func (e *Engine) verdict(c *cycle, cluster string, job bridge.JobID, was *bridge.Interruption, started time.Time) (news []bridge.News, from int64, worth bridge.Money, sure bool) {
	from = -1
	j := e.memory.looks.jobs[jobKey(cluster, job)]
	if j == nil || j.look.At.Before(was.Stopped) {
		return nil, from, worth, j == nil
	}
	ck := e.checkpointBefore(cluster, job, started)
	if ck == nil && j.look.Newest != nil {
		return nil, from, worth, true // it has written one since, and the one before is not known
	}
	n := bridge.News{At: c.now, Cluster: cluster, Rental: was.Rental, Job: job, Pool: &was.Pool}
	since := was.Started
	switch {
	case ck == nil:
		n.Kind = bridge.NewsLost
		n.Text = "starts again from the beginning: no complete checkpoint was found"
	case ck.Step < 0:
		n.Kind = bridge.NewsWarning
		n.Text = "runs again beside a complete checkpoint that gives no step: whether it resumed is not known"
	default:
		n.Kind = bridge.NewsResumed
		n.Text = fmt.Sprintf("resumed at step %d (checkpoint age %s)", ck.Step, max(was.Stopped.Sub(ck.At), 0).Round(time.Second))
		from = ck.Step
	}
	if ck != nil {
		since = later(since, ck.At)
	}
	n.Took = max(was.Stopped.Sub(since), 0)
	n.Cost = costOver(was.Rate, n.Took)
	if from >= 0 {
		worth = costOver(was.Rate, since.Sub(was.Started))
	}
	return []bridge.News{n}, from, worth, true
}

// resumedFrom is when the checkpoint that a run goes on from was written; zero:
// there is none.
func (e *Engine) resumedFrom(cluster string, job bridge.JobID, started time.Time) time.Time {
	if ck := e.checkpointBefore(cluster, job, started); ck != nil {
		return ck.At
	}
	return noTime
}

// checkpointBefore is the newest checkpoint known of a job that was written
// before its present run.
func (e *Engine) checkpointBefore(cluster string, job bridge.JobID, started time.Time) *bridge.Checkpoint {
	j := e.memory.looks.jobs[jobKey(cluster, job)]
	if j == nil {
		return nil
	}
	for _, ck := range []*bridge.Checkpoint{j.look.Newest, j.before} {
		if ck != nil && !ck.At.After(started) {
			return ck
		}
	}
	return nil
}

// costOver is what so much time of a run cost.
func costOver(rate bridge.Rate, d time.Duration) bridge.Money {
	m, err := rate.Cost(max(d, 0), 1, bridge.RoundHalfEven)
	if err != nil {
		return bridge.Money{Currency: rate.Currency}
	}
	return m
}

// followResumed looks whether a run that had a checkpoint to resume from did:
// one that writes a lower step afterwards began anew.
func (e *Engine) followResumed(c *cycle, cluster string, job bridge.JobID, was bridge.Interruption) (*bridge.Interruption, []bridge.News) {
	j := e.memory.looks.jobs[jobKey(cluster, job)]
	if was.From < 0 || j == nil || j.look.Newest == nil || !j.look.Newest.At.After(was.Started) || j.look.Newest.Step < 0 {
		return &was, nil
	}
	step := j.look.Newest.Step
	from, worth := was.From, was.Worth
	was.From, was.Worth = -1, bridge.Money{}
	if step >= from {
		return &was, nil
	}
	return &was, []bridge.News{{
		At: c.now, Kind: bridge.NewsLost, Cluster: cluster, Rental: was.Rental, Job: job, Pool: &was.Pool, Cost: worth,
		Text: fmt.Sprintf("began anew: it wrote step %d after a restart beside step %d", step, from),
	}}
}
