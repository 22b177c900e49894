package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"spillway.sh/spillway/bridge"
)

// prolong extends a rental whose job needs longer than its hold reaches, by a
// new hold; where money or policy do not allow it, the owner is warned in time.
func (e *Engine) prolong(ctx context.Context, c *cycle, r *bridge.Rental, runs []bridge.Run) error {
	var end time.Time
	var last *bridge.Run
	var errs []error
	for i := range runs {
		run := &runs[i]
		errs = append(errs, e.raised(ctx, c, r, run))
		if run.TimeLimit > 0 && !run.Started.IsZero() {
			if t := run.Started.Add(run.TimeLimit); t.After(end) {
				end, last = t, run
			}
		}
	}
	if last != nil && end.After(r.Expires) {
		errs = append(errs, e.extend(ctx, c, r, last, end))
	}
	if len(runs) > 0 {
		errs = append(errs, e.ladder(ctx, c, r, runs))
	}
	return errors.Join(errs...)
}

// extend adds the money for a longer life, if policy lets the job live so long.
// A refusal is not asked again before a minute has passed.
func (e *Engine) extend(ctx context.Context, c *cycle, r *bridge.Rental, run *bridge.Run, end time.Time) error {
	key := "extend/" + string(r.ID)
	if c.dark || c.marks.Frozen || e.memory.resting(key, c.now) {
		return nil
	}
	until := end.Add(time.Minute).Truncate(time.Second)
	t := e.terms(r, run)
	if t.Life <= 0 || until.Sub(r.Created) > t.Life || r.Contracted() && until.After(r.Until) {
		return nil // the ladder warns
	}
	more, err := r.Longer(until)
	if err != nil {
		return fmt.Errorf("price of extending rental %s: %w", r.ID, err)
	}
	next := copyRental(*r)
	next.Expires = until
	n := c.tell(bridge.NewsExtended, r)
	n.Job, n.Cost, n.Text = run.Job, more, "until "+until.Format(time.RFC3339)
	saved, err := e.lengthen(ctx, next, more, n)
	if errors.Is(err, bridge.ErrOverBudget) {
		e.memory.rest(key, c.now, time.Minute, 10*time.Minute, 0)
		return nil
	}
	if err := e.kept(c, &next, saved, err); err != nil {
		return err
	}
	*r = next
	return nil
}

// lengthen stores a later end with what it adds to the hold. Inside time that is
// held already it adds nothing.
func (e *Engine) lengthen(ctx context.Context, r bridge.Rental, more bridge.Money, n bridge.News) (bridge.Rental, error) {
	if more.IsZero() {
		return e.store.Save(ctx, r, n)
	}
	return e.store.Extend(ctx, r, more, e.o.Budgets, n)
}

// postpone tells a cloud that ends machines by itself of their new end, until
// it has heard.
func (e *Engine) postpone(c *cycle, r *bridge.Rental) error {
	cloud, ok := e.clouds[r.Pool.Cloud].(Extender)
	if !ok || r.Expires.Equal(r.Launch.Expires) || r.Launch.Token == "" || e.memory.postponed[r.ID].Equal(r.Expires) {
		return nil
	}
	key := "postpone/" + string(r.ID)
	if until, res, ok := take[time.Time](e.calls, key); ok {
		if res.err != nil {
			e.memory.rest(key, c.now, e.limits.Retry, e.limits.RetryMost, 0)
			return fmt.Errorf("postpone the end of rental %s: %w", r.ID, res.err)
		}
		e.memory.postponed[r.ID] = until
	}
	if e.memory.postponed[r.ID].Equal(r.Expires) || e.memory.resting(key, c.now) {
		return nil
	}
	var ids []string
	for _, m := range r.Live() {
		if m.ID != "" {
			ids = append(ids, m.ID)
		}
	}
	until := r.Expires
	e.calls.start(key, r.Pool.Cloud, e.limits.Call, false, func(ctx context.Context) (any, error) {
		return until, cloud.Extend(ctx, ids, until)
	})
	return nil
}

// raised warns of a running job whose time limit was raised after it started:
// its hold was computed for the old one.
func (e *Engine) raised(ctx context.Context, c *cycle, r *bridge.Rental, run *bridge.Run) error {
	key := jobKey(r.Cluster, run.Job)
	was, seen := e.memory.limits[key]
	if !seen {
		e.memory.limits[key] = run.TimeLimit
		return nil
	}
	if was == 0 || run.TimeLimit != 0 && run.TimeLimit <= was || !run.Started.Add(run.TimeLimit).After(r.Expires) && run.TimeLimit != 0 {
		return nil
	}
	return e.warn(ctx, c, r, run.Job, "raised", fmt.Sprintf("its time limit was raised outside; the machines are paid for until %s", r.Expires.Format(time.RFC3339)))
}

// ladder warns, once at each rung, of machines that end under a running job.
func (e *Engine) ladder(ctx context.Context, c *cycle, r *bridge.Rental, runs []bridge.Run) error {
	left := r.Expires.Sub(c.now)
	var errs []error
	for i := range runs {
		run := &runs[i]
		if run.TimeLimit > 0 && !run.Started.Add(run.TimeLimit).After(r.Expires) {
			continue // it ends before them
		}
		if rung := rungOf(e.limits.Warn, left); rung > 0 {
			at := r.Expires.Format(time.RFC3339)
			errs = append(errs, e.warn(ctx, c, r, run.Job, "ends "+rung.String()+" "+at,
				fmt.Sprintf("its machines end at %s, in less than %s", at, rung)))
		}
	}
	return errors.Join(errs...)
}

// rungOf is the narrowest rung that what is left has passed; zero: none.
func rungOf(rungs []time.Duration, left time.Duration) time.Duration {
	var narrowest time.Duration
	for _, r := range rungs {
		if left > 0 && left <= r && (narrowest == 0 || r < narrowest) {
			narrowest = r
		}
	}
	return narrowest
}

// warn tells something about a job once.
func (e *Engine) warn(ctx context.Context, c *cycle, r *bridge.Rental, job bridge.JobID, what, text string) error {
	key := what + "/" + jobKey(r.Cluster, job)
	if e.memory.warned[key] {
		return nil
	}
	n := c.tell(bridge.NewsWarning, r)
	n.Job, n.Text = job, text
	if err := e.store.Tell(ctx, n); err != nil {
		return fmt.Errorf("warn of job %s: %w", job, err)
	}
	e.memory.warned[key] = true
	return nil
}

// forgetLimits drops what is remembered of jobs that run no more.
func (e *Engine) forgetLimits(c *cycle) {
	running := map[string]bool{}
	for _, q := range c.queues {
		for i := range q.Runs {
			running[jobKey(q.Cluster, q.Runs[i].Job)] = true
		}
	}
	for key := range e.memory.limits {
		if !running[key] {
			delete(e.memory.limits, key)
		}
	}
	maps.DeleteFunc(e.memory.where, func(key string, _ []string) bool { return !running[key] })
	for key := range e.memory.warned {
		if i := strings.LastIndexByte(key, '/'); i > 0 {
			j := strings.LastIndexByte(key[:i], '/')
			if !running[key[j+1:]] {
				delete(e.memory.warned, key)
			}
		}
	}
}
