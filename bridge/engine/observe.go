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

// observe asks what is true now. Clouds are listed before the store is read,
// so that a machine recorded meanwhile is never taken for an orphan. What
// does not answer in time is picked up by a later cycle; a queue that did not
// arrive stays the old one, and grows stale.
func (e *Engine) observe(ctx context.Context, c *cycle) error {
	var keys []string
	for name, cloud := range e.clouds {
		keys = append(keys, e.askCloud(c, name, cloud)...)
	}
	for name, s := range e.o.Clusters {
		keys = append(keys, e.askQueue(c, name, s)...)
	}
	e.calls.await(ctx, e.limits.Patience, keys)
	errs := []error{e.takeLists(c)}
	errs = append(errs, e.readStore(ctx, c)) // I1: after the lists
	errs = append(errs, e.takeQueues(c))
	e.takeLooks(c)
	e.queued(c)
	e.snapshot(c)
	return errors.Join(errs...)
}

// askQueue starts a read of a cluster when it is due: after the interval, or,
// when something asked for this cycle, after twice the time a read takes.
// One that is under way from before is not waited for again.
func (e *Engine) askQueue(c *cycle, name string, s Observer) []string {
	m, key := e.memory, "queue/"+name
	due := e.interval(name)
	if !m.regular {
		due = min(due, 2*m.took[name])
	}
	if c.now.Sub(m.read[name]) < due || e.calls.busy(key) {
		return nil
	}
	m.read[name] = c.now
	e.calls.start(key, key, e.limits.Read, false, func(ctx context.Context) (any, error) { return s.Observe(ctx) })
	return []string{key}
}

// askCloud starts what is due: the list, and the prices.
func (e *Engine) askCloud(c *cycle, name string, cloud Cloud) []string {
	m := e.memory
	list, offers := "list/"+name, "offers/"+name
	if _, told := e.told.LoadAndDelete(name); told {
		m.listed[name] = noTime
	}
	if c.now.Sub(m.listed[name]) >= e.limits.ListEvery && !m.resting(list, c.now) && !e.calls.busy(list) {
		m.listed[name] = c.now
		at := c.now
		e.calls.start(list, name, e.limits.Call, false, func(ctx context.Context) (any, error) { return e.list(ctx, cloud, at) })
	}
	if c.now.Sub(m.priced[name]) >= e.limits.OffersEvery && !m.resting(offers, c.now) && !e.calls.busy(offers) {
		m.priced[name] = c.now
		e.calls.start(offers, name, e.limits.Call, false, func(ctx context.Context) (any, error) { return cloud.Offers(ctx) })
	}
	return []string{list, offers}
}

func (e *Engine) takeLists(c *cycle) error {
	rates, err := e.rates(c)
	errs := []error{err}
	for _, name := range slices.Sorted(maps.Keys(e.clouds)) {
		if l, r, ok := take[bridge.Listing](e.calls, "list/"+name); ok {
			errs = append(errs, e.answered(c, "list/"+name, r.err))
			if r.err == nil {
				l.Cloud = name
				c.lists[name] = newListing(l, e.store.StoreID())
				if !l.Complete {
					errs = append(errs, fmt.Errorf("list %s: not all pages arrived; nothing is judged absent", name))
				}
			}
		}
		if o, r, ok := take[[]bridge.Offer](e.calls, "offers/"+name); ok {
			errs = append(errs, e.answered(c, "offers/"+name, r.err))
			if r.err == nil {
				e.memory.offers[name] = e.provided(name, o)
			}
		}
		for i := range e.memory.offers[name] {
			c.offers = append(c.offers, e.memory.offers[name][i].In(e.o.Currency, rates, c.now))
		}
	}
	bridge.CheckPrices(c.offers, e.o.Prices)
	return errors.Join(errs...)
}

// rates are the exchange rates of now. Those of a file that cannot be read stay
// what they were, and its fault is shown as long as it lasts.
func (e *Engine) rates(c *cycle) (bridge.Rates, error) {
	const key = "exchange rates"
	if e.o.Rates == nil {
		return bridge.Rates{}, nil
	}
	rates, err := e.o.Rates(c.now)
	if err != nil {
		e.memory.health[key] = err.Error()
		return rates, fmt.Errorf("%s: %w", key, err)
	}
	delete(e.memory.health, key)
	return rates, nil
}

// answered keeps the health of a read, and pauses one that fails.
func (e *Engine) answered(c *cycle, key string, err error) error {
	m := e.memory
	m.replies.note(key, c.now, err)
	if err == nil {
		delete(m.pause, key)
		delete(m.health, key)
		return nil
	}
	var after time.Duration
	if ce, ok := errors.AsType[*bridge.CloudError](err); ok {
		after = ce.RetryAfter
	}
	m.rest(key, c.now, e.limits.Retry, e.limits.RetryMost, after)
	m.replies.rests(key, m.pause[key].until)
	m.health[key] = err.Error()
	return fmt.Errorf("%s: %w", key, err)
}

// readStore loads rentals, marks and balances. If it cannot, the rentals last
// known are gone on with, and nothing new is bought.
func (e *Engine) readStore(ctx context.Context, c *cycle) error {
	live, err := e.store.Live(ctx)
	if err == nil {
		c.marks, err = e.store.Marks(ctx)
	}
	if err == nil {
		c.budgets, err = e.store.Balances(ctx, c.now, e.o.Budgets)
	}
	if err != nil {
		c.dark = true
		for id, r := range e.memory.live {
			c.live[id], c.stored[id] = copyRental(r), r.State
		}
		return errors.Join(fmt.Errorf("read store: %w", err), e.resave(ctx, c))
	}
	for i := range live {
		c.live[live[i].ID], c.stored[live[i].ID] = live[i], live[i].State
	}
	for id, r := range e.memory.live {
		if _, ok := c.live[id]; !ok {
			e.memory.forget(&r) // ended by the desk
		}
	}
	e.believe(c)
	return errors.Join(e.markTime(ctx, c), e.resave(ctx, c))
}

func (e *Engine) takeQueues(c *cycle) error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(e.o.Clusters)) {
		key := "queue/" + name
		q, r, ok := take[bridge.Queue](e.calls, key)
		switch {
		case ok && r.err != nil:
			e.memory.health[key] = r.err.Error()
			errs = append(errs, fmt.Errorf("observe cluster %s: %w", name, r.err))
		case ok:
			delete(e.memory.health, key)
			e.memory.took[name] = cmp.Or(q.Cost, r.took)
			q.Cluster, q.ObservedAt = name, q.ObservedAt.Add(e.memory.ahead) // by the loop's own count
			if old := e.memory.queues[name]; old != nil && c.now.Sub(old.ObservedAt) > e.queueAge(name) {
				e.memory.back[name] = c.now
			}
			e.memory.queues[name] = newSight(q)
		}
		if q := e.memory.queues[name]; q != nil {
			c.queues[name] = q
		}
	}
	return errors.Join(errs...)
}

func (e *Engine) takeLooks(c *cycle) {
	for id := range c.live {
		key := "observe/" + string(id)
		if seen, r, ok := take[[]bridge.Instance](e.calls, key); ok {
			c.looks[id] = look{seen, r.err}
		}
	}
}

// list asks one cloud for the machines of every cluster. The answer is as old
// as the question.
func (e *Engine) list(ctx context.Context, cloud Cloud, at time.Time) (bridge.Listing, error) {
	all := bridge.Listing{Cloud: cloud.Name(), At: at, Complete: true}
	seen := map[string]bool{}
	for _, cluster := range slices.Sorted(maps.Keys(e.o.Clusters)) {
		l, err := cloud.List(ctx, e.store.StoreID(), cluster)
		if err != nil && len(l.Instances) == 0 {
			return bridge.Listing{}, err
		}
		all.Complete = all.Complete && l.Complete && err == nil
		for _, in := range l.Instances {
			if !seen[in.ID] {
				seen[in.ID] = true
				all.Instances = append(all.Instances, in)
			}
		}
	}
	return all, nil
}

// snapshot gathers what a decision may look at.
func (e *Engine) snapshot(c *cycle) {
	c.snap = bridge.Snapshot{
		Now: c.now, Offers: c.offers, Budgets: c.budgets,
		Pools: c.marks.Pools, Answers: c.marks.Answers, Reclaims: c.marks.Reclaims,
		MaxQueueAge: e.limits.QueueAge, Checkpoints: e.memory.looks.newest, Looking: e.memory.looks.first,
		Frozen: c.marks.Frozen, Protected: c.marks.Protected != "",
	}
	for _, name := range slices.Sorted(maps.Keys(c.queues)) {
		c.snap.MaxQueueAge = max(c.snap.MaxQueueAge, e.queueAge(name))
		c.snap.Queues = append(c.snap.Queues, c.queues[name].Queue)
	}
	for _, id := range slices.Sorted(maps.Keys(c.live)) {
		c.snap.Rentals = append(c.snap.Rentals, copyRental(c.live[id]))
	}
	c.snap.Hazards = bridge.Hazards(c.marks.Hazards, c.snap.Rentals, c.now)
}

// queueAge is how old a look at a cluster may be before it counts for nothing.
func (e *Engine) queueAge(cluster string) time.Duration {
	return max(e.limits.QueueAge, 2*e.interval(cluster))
}

// interval is the time between two reads of a scheduler that nothing asked
// for: at least a cycle, and so long that reading keeps the scheduler busy for a
// tenth of it at most.
func (e *Engine) interval(cluster string) time.Duration {
	return min(max(e.limits.Cycle, 10*e.memory.took[cluster]), e.limits.Longest)
}
