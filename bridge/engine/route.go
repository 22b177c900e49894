package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"spillway.sh/spillway/bridge"
)

// route lets the plan's jobs onto machines that are in the scheduler already.
// The rental promises itself to the job first, so that nothing else is bought
// for it.
func (e *Engine) route(ctx context.Context, c *cycle) error {
	var errs []error
	for _, rt := range c.plan.Route {
		r, ok := c.live[rt.Rental]
		if !ok || r.State != bridge.StateAdmitted {
			continue
		}
		r = copyRental(r)
		q, fresh := c.queue(r.Cluster)
		if !fresh {
			continue
		}
		if rt.Account != "" && rt.Account.Project() != r.Account.Project() {
			errs = append(errs, e.warn(ctx, c, &r, rt.Job, "shared", fmt.Sprintf("%s would have to pay for machines that %s holds the money for; it waits", rt.Account.Project(), r.Account.Project())))
			continue
		}
		for _, d := range q.waiting(rt.Job) {
			e.memory.demands[jobKey(r.Cluster, rt.Job.Base())] = *d
			e.estimated(d)
		}
		if !slices.Contains(r.Jobs, rt.Job) {
			r.Jobs = append(r.Jobs, rt.Job)
			if err := e.save(ctx, c, &r); err != nil {
				errs = append(errs, err)
				continue
			}
		}
		errs = append(errs, e.letIn(ctx, c, &r, q))
	}
	return errors.Join(errs...)
}

// inOverlay reports whether a job may use a rental's overlay already.
func inOverlay(d *bridge.Demand, id bridge.RentalID) bool {
	return slices.Contains(d.Overlays, bridge.PartitionName(id))
}
