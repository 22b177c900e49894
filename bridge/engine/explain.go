package engine

import (
	"context"
	"errors"
	"fmt"

	"spillway.sh/spillway/bridge"
)

// commentsMost bounds the comments written in one cycle: each is a command to
// the scheduler, and a thousand hopeless jobs may come at once.
const commentsMost = 20

// explain tells the owners of jobs that never leave why, where policy allows
// it, and takes that back when it is true no more. It writes what changed only.
func (e *Engine) explain(ctx context.Context, c *cycle) error {
	if e.o.Explain == nil {
		return nil
	}
	said, left := map[string]bool{}, commentsMost
	var errs []error
	for _, v := range e.forOwners(c) {
		key := jobKey(v.Cluster, v.Job)
		text := e.o.Explain(v)
		said[key] = true
		if e.memory.comments[key].text == text || left == 0 || !e.mayComment(c, v) {
			continue
		}
		left--
		errs = append(errs, e.comment(ctx, key, comment{v.Cluster, v.Job, text}))
	}
	for key, old := range e.memory.comments {
		if _, fresh := c.queue(old.cluster); said[key] || !fresh || left == 0 {
			continue
		}
		left--
		old.text = ""
		errs = append(errs, e.comment(ctx, key, old))
	}
	return errors.Join(errs...)
}

// forOwners returns the verdicts that a job's owner can change by asking for
// something else, after one pass over each queue for all their jobs.
func (e *Engine) forOwners(c *cycle) []*bridge.Verdict {
	var out []*bridge.Verdict
	jobs := map[string][]bridge.JobID{}
	for i := range c.plan.Verdicts {
		if v := &c.plan.Verdicts[i]; forOwner(v) {
			out = append(out, v)
			jobs[v.Cluster] = append(jobs[v.Cluster], v.Job)
		}
	}
	for cluster, ids := range jobs {
		q, _ := c.queue(cluster)
		q.look(ids)
	}
	return out
}

// comment is what was last written to a job.
type comment struct {
	cluster string
	job     bridge.JobID
	text    string
}

// forOwner reports whether a verdict is one of those.
func forOwner(v *bridge.Verdict) bool {
	switch v.Why { //nolint:exhaustive // The others are not of the owner's making.
	case bridge.ReasonUnplaceable, bridge.ReasonWorkflow, bridge.ReasonDoubtful, bridge.ReasonNoOffer, bridge.ReasonTooDear,
		bridge.ReasonDeadline, bridge.ReasonNotRestartable, bridge.ReasonNoCheckpoint, bridge.ReasonOldCheckpoint:
		return v.Kind == bridge.Never
	}
	return false
}

// mayComment asks policy about one job.
func (e *Engine) mayComment(c *cycle, v *bridge.Verdict) bool {
	q, fresh := c.queue(v.Cluster)
	if !fresh {
		return false
	}
	for _, d := range q.waiting(v.Job) {
		return e.o.Policy.Terms(d, &bridge.Facts{Cluster: v.Cluster}).Comment
	}
	return false
}

// comment writes one, or with an empty text takes it away.
func (e *Engine) comment(ctx context.Context, key string, w comment) error {
	err := e.write(ctx, w.cluster, func(ctx context.Context, s Scheduler) error { return s.Comment(ctx, w.job, w.text) })
	switch {
	case err == nil && w.text != "":
		e.memory.comments[key] = w
		return nil
	case err == nil, errors.Is(err, bridge.ErrNoJob):
		delete(e.memory.comments, key)
		return nil
	}
	return fmt.Errorf("comment on job %s: %w", w.job, err)
}
