package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"spillway.sh/spillway/bridge"
)

var noTime time.Time

// strangers judges machines that carry our tags and that the store does not
// know. Those of another store are never touched: their presence means that
// this store is new, restored or one too many, and no new money flows until a
// person has looked.
func (e *Engine) strangers(ctx context.Context, c *cycle, list bridge.Listing) error {
	if c.dark || c.gentle {
		return nil // what we cannot read, we cannot call unknown
	}
	known := map[string]bool{}
	for _, r := range c.live {
		for i := range r.Machines {
			known[r.Machines[i].ID] = true
		}
	}
	var errs []error
	found := map[string]*bridge.Instance{}
	var foreign []string
	for i := range list.Instances {
		in := &list.Instances[i]
		switch {
		case in.ID == "" || known[in.ID] || in.State == bridge.InstanceGone:
		case in.Tags[bridge.TagStore] == e.store.StoreID():
			found[list.Cloud+"/"+in.ID] = in
		case in.Tags[bridge.TagStore] != "" && e.o.Clusters[in.Tags[bridge.TagCluster]] != nil:
			foreign = append(foreign, list.Cloud+"/"+in.ID)
		}
	}
	e.heard[list.Cloud] = true
	errs = append(errs, e.foreigners(ctx, c, list, foreign))
	errs = append(errs, e.younger(ctx, c, found))
	errs = append(errs, e.suspect(ctx, c, list, found))
	return errors.Join(errs...)
}

// lookedAround reports whether every cloud was listed since the start, or has
// failed to answer: a store that is new, or a copy from before, must not rent
// before it is seen for what it is.
func (e *Engine) lookedAround() bool {
	for name := range e.clouds {
		if !e.heard[name] && e.memory.health["list/"+name] == "" {
			return false
		}
	}
	return true
}

// younger opens the breaker for machines of rentals that this store has not
// given ids to yet: an intent is durable before its create call, so the store is
// a copy from before.
func (e *Engine) younger(ctx context.Context, c *cycle, found map[string]*bridge.Instance) error {
	if len(found) == 0 || c.marks.Protected != "" {
		return nil
	}
	given, err := e.store.Given(ctx)
	if err != nil {
		return fmt.Errorf("read how many rentals there were: %w", err)
	}
	var ids []string
	for _, in := range found {
		if id := bridge.RentalID(in.Tags[bridge.TagRental]); id.Number() > given {
			ids = append(ids, string(id))
		}
	}
	if len(ids) == 0 || e.memory.warned["younger"] {
		return nil
	}
	slices.Sort(ids)
	cause := fmt.Sprintf("%s: rented by this store, which knows nothing of it, so it is a copy from before. "+
		"Stop the daemon and run `spillway adopt`, then `spillway thaw`", strings.Join(slices.Compact(ids), ", "))
	err = e.remember(ctx, c, func(m *bridge.Marks) { m.Protected, m.ProtectedAt = cause, noTime },
		bridge.News{At: c.now, Kind: bridge.NewsProtected, Text: cause})
	e.memory.warned["younger"] = err == nil
	return err
}

// foreigners opens the breaker for machines of another store, once for each.
func (e *Engine) foreigners(ctx context.Context, c *cycle, list bridge.Listing, foreign []string) error {
	slices.Sort(foreign)
	var before []string
	for _, key := range c.marks.Foreign {
		if strings.HasPrefix(key, list.Cloud+"/") {
			before = append(before, key)
		}
	}
	fresh := slices.DeleteFunc(slices.Clone(foreign), func(k string) bool { return slices.Contains(before, k) })
	if len(fresh) == 0 && (!list.Complete || len(before) == len(foreign)) {
		return nil
	}
	cause := fmt.Sprintf("%s: rented for this cluster by another store; nothing of it is touched. "+
		"If that store is lost, stop the daemon and run `spillway adopt`; if another daemon has it, stop one of the two. Then `spillway thaw`",
		strings.Join(fresh, ", "))
	var news []bridge.News
	if len(fresh) > 0 {
		news = append(news, bridge.News{At: c.now, Kind: bridge.NewsProtected, Text: cause})
	}
	return e.remember(ctx, c, func(m *bridge.Marks) {
		if list.Complete {
			m.Foreign = slices.DeleteFunc(m.Foreign, func(k string) bool {
				return strings.HasPrefix(k, list.Cloud+"/") && !slices.Contains(foreign, k)
			})
		}
		m.Foreign = append(m.Foreign, fresh...)
		if len(fresh) > 0 {
			m.Protected, m.ProtectedAt = cause, noTime
		}
	}, news...)
}

// suspect remembers strangers with our store id, and acts on those that are
// old enough and were in two complete lists.
func (e *Engine) suspect(ctx context.Context, c *cycle, list bridge.Listing, found map[string]*bridge.Instance) error {
	if !list.Complete || len(found) == 0 && !e.anySuspect(c, list.Cloud) {
		return nil
	}
	var due []string
	err := e.remember(ctx, c, func(m *bridge.Marks) {
		due = nil
		if m.Suspects == nil {
			m.Suspects = map[string]bridge.Suspect{}
		}
		maps.DeleteFunc(m.Suspects, func(key string, _ bridge.Suspect) bool {
			return found[key] == nil && strings.HasPrefix(key, list.Cloud+"/")
		})
		for key, in := range found {
			s := m.Suspects[key]
			if s.First.IsZero() {
				s.First = list.At
			}
			if s.Lists == 0 || list.At.After(s.Last) {
				s.Last, s.Lists = list.At, s.Lists+1
			}
			m.Suspects[key] = s
			born := later(in.Launched, time.Time{})
			if born.IsZero() {
				born = s.First
			}
			if s.Lists >= 2 && c.now.Sub(born) > e.limits.OrphanAge {
				due = append(due, key)
			}
		}
	})
	errs := []error{err}
	slices.Sort(due)
	for _, key := range due {
		errs = append(errs, e.orphan(ctx, c, list.Cloud, found[key], found))
	}
	return errors.Join(errs...)
}

func (e *Engine) anySuspect(c *cycle, cloud string) bool {
	for key := range c.marks.Suspects {
		if strings.HasPrefix(key, cloud+"/") {
			return true
		}
	}
	return false
}

// orphan ends a machine nobody knows, or adopts its rental if a job runs on
// that. With a scheduler that cannot be read it may be working: then it is left
// alone.
func (e *Engine) orphan(ctx context.Context, c *cycle, cloud string, in *bridge.Instance, found map[string]*bridge.Instance) error {
	if _, fresh := c.queue(in.Tags[bridge.TagCluster]); !fresh {
		return nil
	}
	for _, r := range c.live {
		if machineOf(&r, in.ID) != nil {
			return nil // adopted in this cycle, with another machine of its rental
		}
	}
	if r := e.rebuild(c, cloud, in, found); r != nil && len(r.Running) > 0 {
		return e.adopt(ctx, c, *r)
	}
	key := "terminate/" + cloud + "/" + in.ID
	if _, res, ok := take[struct{}](e.calls, key); ok && res.err != nil {
		e.memory.rest(key, c.now, e.limits.Retry, e.limits.RetryMost, 0)
	}
	if e.calls.busy(key) || e.memory.resting(key, c.now) {
		return nil
	}
	n := bridge.News{
		At: c.now, Kind: bridge.NewsOrphan, Cluster: in.Tags[bridge.TagCluster], Rental: bridge.RentalID(in.Tags[bridge.TagRental]),
		Machine: in.ID, Why: bridge.ReasonOrphan, Text: "ended: our tags, older than " + e.limits.OrphanAge.String() + ", in two complete lists, unknown to the store",
	}
	if err := e.store.Tell(ctx, n); err != nil {
		return fmt.Errorf("tell of orphan %s: %w", in.ID, err)
	}
	e.memory.rest(key, c.now, e.limits.RetryMost, e.limits.RetryMost, 0)
	e.startTerminate(key, cloud, []string{in.ID})
	return nil
}

// rebuild makes the rental that a stranger is of from it and from the others of
// that rental; nil if its tags are not whole.
func (e *Engine) rebuild(c *cycle, cloud string, in *bridge.Instance, found map[string]*bridge.Instance) *bridge.Rental {
	q, _ := c.queue(in.Tags[bridge.TagCluster])
	var all []bridge.Instance
	for _, other := range found {
		if other.Tags[bridge.TagRental] == in.Tags[bridge.TagRental] {
			one := *other
			one.Pool.Cloud = cloud
			all = append(all, one)
		}
	}
	made, _ := bridge.Rebuild(all, map[string]*bridge.Queue{q.Cluster: &q.Queue}, e.o.Watch, c.now)
	for i := range made {
		if machineOf(&made[i].Rental, in.ID) != nil {
			return &made[i].Rental
		}
	}
	return nil
}

// adopt takes a working rental back into the books. Its money is being spent
// already, so no budget is asked.
func (e *Engine) adopt(ctx context.Context, c *cycle, r bridge.Rental) error {
	first := slices.IndexFunc(r.Machines, func(m bridge.Machine) bool { return m.ID != "" })
	n := c.tellMachine(bridge.NewsOrphan, &r, &r.Machines[first])
	n.Why, n.Text = bridge.ReasonOrphan, "adopted: a job runs on it"
	saved, err := e.store.Adopt(ctx, r, n)
	if err != nil { // its rental is in the books already, ended: a new one then
		if r.ID, err = e.store.NextID(ctx); err == nil {
			n.Rental = r.ID
			saved, err = e.store.Adopt(ctx, r, n)
		}
	}
	if err != nil {
		return fmt.Errorf("adopt %s: %w", r.Machines[first].ID, err)
	}
	e.keep(c, saved)
	return nil
}
