package engine

import (
	"context"
	"errors"
	"slices"

	"spillway.sh/spillway/bridge"
)

// approve closes questions that were not answered in time, and those whose
// demand is gone, and reminds approvers of the others. Answers come through the desk; what it approved is picked
// up by provision, which freezes the create call first.
func (e *Engine) approve(ctx context.Context, c *cycle) error {
	withdrawn := map[bridge.RentalID]bool{}
	for _, id := range c.plan.Withdraw {
		withdrawn[id] = true
	}
	var errs []error
	for _, r := range c.rentals(bridge.StateWaiting) {
		switch {
		case withdrawn[r.ID]:
			errs = append(errs, e.closeQuestion(ctx, c, &r, bridge.EventWithdraw, bridge.ReasonDemandGone, bridge.NewsWithdrawn))
		case c.over(r.AskUntil):
			errs = append(errs, e.lapse(ctx, c, &r))
		default:
			errs = append(errs, e.urge(ctx, c, &r))
		}
	}
	errs = append(errs, e.unanswer(ctx, c))
	return errors.Join(errs...)
}

func (e *Engine) closeQuestion(ctx context.Context, c *cycle, r *bridge.Rental, ev bridge.Event, why bridge.Reason, kind bridge.NewsKind) error {
	if err := move(r, ev, why, c.now); err != nil {
		return err
	}
	return e.save(ctx, c, r, c.tell(kind, r))
}

// lapse closes a question nobody answered; it is not asked again at once.
func (e *Engine) lapse(ctx context.Context, c *cycle, r *bridge.Rental) error {
	jobs := r.Jobs
	if err := e.closeQuestion(ctx, c, r, bridge.EventLapse, bridge.ReasonLapsed, bridge.NewsLapsed); err != nil {
		return err
	}
	if len(jobs) == 0 {
		return nil
	}
	return e.remember(ctx, c, func(m *bridge.Marks) {
		m.Answers = append(m.Answers, bridge.Answer{Jobs: jobs, Why: bridge.ReasonLapsed, Until: c.now.Add(e.limits.AskAgain)})
	})
}

// unanswer forgets answers whose time is over.
func (e *Engine) unanswer(ctx context.Context, c *cycle) error {
	stale := func(a bridge.Answer) bool { return c.over(a.Until) }
	if !slices.ContainsFunc(c.marks.Answers, stale) {
		return nil
	}
	return e.remember(ctx, c, func(m *bridge.Marks) {
		var kept []bridge.Answer
		for _, a := range m.Answers {
			if !stale(a) {
				kept = append(kept, a)
			}
		}
		m.Answers = kept
	})
}

// wanted reports whether any job a rental was made for still waits, or is
// about to wait again, as far as can be seen. A rental asked for by a person is
// always wanted.
func (c *cycle) wanted(r *bridge.Rental) bool {
	q, fresh := c.queue(r.Cluster)
	if len(r.Jobs) == 0 || !fresh || !q.ObservedAt.After(r.Created) {
		return true
	}
	q.look(r.Jobs)
	waits := slices.ContainsFunc(r.Jobs, func(j bridge.JobID) bool { return len(q.waiting(j)) > 0 })
	runs := slices.ContainsFunc(q.Runs, func(run bridge.Run) bool { return promised(r, run.Job) })
	return waits || runs
}
