package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"spillway.sh/spillway/bridge"
)

// idle names machines without a job, once for each spell: to their owner or,
// where nobody owns them, to the owner of the budget that pays. They go back by
// the plan of a later cycle, as bridge.Returns has it. It comes after release, so that
// what goes already is not named, and never on a view that may hide a job.
func (e *Engine) idle(ctx context.Context, c *cycle) error {
	if c.gentle || c.dark {
		return nil
	}
	var errs []error
	for _, r := range c.rentals(bridge.StateAdmitted) {
		if _, fresh := c.queue(r.Cluster); fresh && someIdle(&r) {
			errs = append(errs, e.name(ctx, c, &r))
		}
	}
	return errors.Join(errs...)
}

func someIdle(r *bridge.Rental) bool {
	for i := range r.Machines {
		if m := &r.Machines[i]; m.State == bridge.MachineJoined && !m.IdleSince.IsZero() {
			return true
		}
	}
	return false
}

// name notes whether anybody owns an idle rental, and tells of its machines
// that are due. What is told and that it was told are one transaction.
func (e *Engine) name(ctx context.Context, c *cycle, r *bridge.Rental) error {
	unowned := time.Duration(0)
	if r.Adopted || !e.owned(c, r.Requester) {
		unowned = e.o.Watch.OrDefault().Unowned
	}
	changed := r.Unowned != unowned
	r.Unowned = unowned
	due := bridge.Untold(r, e.o.Watch, c.now)
	if len(due) == 0 && !changed {
		return nil
	}
	for _, i := range due {
		r.Machines[i].IdleTold = c.now
	}
	var news []bridge.News
	if len(due) > 0 {
		news = append(news, e.idleNews(c, r, due))
	}
	return e.save(ctx, c, r, news...)
}

// idleNews says which machines have no job, for how long, what that has cost,
// and when they go.
func (e *Engine) idleNews(c *cycle, r *bridge.Rental, due []int) bridge.News {
	n := c.tell(bridge.NewsIdle, r)
	n.Why, n.Cost, n.Who = bridge.ReasonIdle, r.IdleCost(c.now), r.Requester
	nodes := make([]string, 0, len(due))
	var goes time.Time
	for _, i := range due {
		m := &r.Machines[i]
		nodes = append(nodes, m.Node)
		n.Took = max(n.Took, c.now.Sub(m.IdleSince))
		if at := r.Goes(m); goes.IsZero() || at.Before(goes) {
			goes = at
		}
	}
	n.Node = strings.Join(nodes, ",")
	if len(due) == 1 {
		n.Machine = r.Machines[due[0]].ID
	}
	at := goes.UTC().Format(time.RFC3339)
	owners := strings.Join(bridge.OwnersOf(e.o.Budgets, r.Scope(), e.o.Admins), " and ")
	switch {
	case r.Unowned == 0:
		n.Text = fmt.Sprintf("goes back at %s unless a job comes, or: spillway keep %s 1h", at, r.ID)
		return n
	case owners == "":
		n.Text = fmt.Sprintf("nobody owns it; goes back at %s unless a job comes, or: spillway keep %s 1h", at, r.ID)
	default:
		n.Text = fmt.Sprintf("nobody owns it, and its money is answered for by %s; goes back at %s unless a job comes, or: spillway keep %s 1h", owners, at, r.ID)
	}
	n.Who = ""
	return n
}

// owner is what the host said of an account.
type owner struct {
	gone bool
	at   time.Time
}

// How long the host's word on an account counts, and how long it may take.
const (
	ownersFor  = 10 * time.Minute
	ownersCall = 10 * time.Second
)

// owned reports whether the host knows the account of a rental's requester. While it has
// not said so, or does not answer, everybody is believed to be there.
func (e *Engine) owned(c *cycle, account string) bool {
	if e.o.Known == nil || account == "" {
		return account != ""
	}
	key, m := "owner/"+account, e.memory
	if known, r, ok := take[bool](e.calls, key); ok && r.err == nil {
		m.owners[account] = owner{!known, c.now}
	}
	if was, ok := m.owners[account]; (!ok || c.now.Sub(was.at) >= ownersFor) && !e.calls.busy(key) && !m.resting(key, c.now) {
		m.rest(key, c.now, time.Minute, time.Minute, 0)
		e.calls.start(key, "owners", ownersCall, true, func(ctx context.Context) (any, error) { return e.o.Known(ctx, account) })
	}
	return !m.owners[account].gone
}
