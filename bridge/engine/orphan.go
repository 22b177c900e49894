package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
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
	errs = append(errs, e.foreigners(ctx, c, list, foreign))
	errs = append(errs, e.suspect(ctx, c, list, found))
	return errors.Join(errs...)
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
		"Run `spillway doctor`, then `spillway thaw`", strings.Join(fresh, ", "))
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
		errs = append(errs, e.orphan(ctx, c, list.Cloud, found[key]))
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

// orphan ends a machine nobody knows, or adopts it if a job runs on it. With a
// scheduler that cannot be read it may be working: then it is left alone.
func (e *Engine) orphan(ctx context.Context, c *cycle, cloud string, in *bridge.Instance) error {
	q, fresh := c.queue(in.Tags[bridge.TagCluster])
	if !fresh {
		return nil
	}
	if r, whole := e.rebuild(c, cloud, in); whole && len(q.on(nodesOf(&r, bridge.MachineJoined)...)) > 0 {
		return e.adopt(ctx, c, r)
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

// rebuild makes a rental of one machine from its tags; false if they are not whole.
func (e *Engine) rebuild(c *cycle, cloud string, in *bridge.Instance) (bridge.Rental, bool) {
	id, err := bridge.ParseRentalID(in.Tags[bridge.TagRental])
	attempt, err2 := strconv.Atoi(in.Tags[bridge.TagAttempt])
	rate, ok := parseRate(in.Tags[bridge.TagRate])
	expires, err3 := time.Parse(time.RFC3339, in.Tags[bridge.TagExpires])
	free := in.Pool.Market == bridge.Reserved // nothing is a ceiling of what is paid for already, and of nothing else
	if err != nil || err2 != nil || err3 != nil || !ok || free != (rate.Micro == 0) || in.Tags[bridge.TagAccount] == "" {
		return bridge.Rental{}, false
	}
	q, _ := c.queue(in.Tags[bridge.TagCluster])
	node := nodeOfRental(q, id)
	born := in.Launched.UTC()
	if in.Launched.IsZero() {
		born = c.now
	}
	account := bridge.Account(in.Tags[bridge.TagAccount])
	r := bridge.Rental{
		ID: id, State: bridge.StateLaunching, Since: c.now, Cluster: in.Tags[bridge.TagCluster],
		Account: account, Requester: string(account[strings.LastIndexByte(string(account), '/')+1:]),
		Class: bridge.Class(in.Tags[bridge.TagClass]), Gang: 1, Count: 1, Attempt: attempt,
		Pool: in.Pool, Rate: in.Rate, MaxRate: rate, FX: in.Tags[bridge.TagFX], Contract: in.Contract, Created: born, Expires: expires, Life: expires.Sub(born),
		Adopted: true, Idle: e.o.Watch.OrDefault().Tell + e.o.Watch.OrDefault().Unowned, // policy's own patience is not known
		Why: bridge.ReasonOrphan, Note: "rebuilt from the tags of " + in.ID,
		Machines: []bridge.Machine{{
			State: bridge.MachineJoined, ID: in.ID, Node: node, Address: in.Address, Rate: in.Rate, Started: born, Joined: c.now,
		}},
	}
	r.Pool.Cloud = cloud
	if free {
		r.Until = expires // its contract's end is not known; it was no sooner
	}
	r.Launch = bridge.Launch{Rental: id, Attempt: attempt, Token: in.Token, Pool: r.Pool, Count: 1, Tags: in.Tags, Expires: expires, Contract: in.Contract}
	if r.Launch.MaxRate, err = r.CloudRate(); err != nil {
		return r, false
	}
	if r.Hold, err = rate.Cost(r.Life, 1, bridge.RoundUp); err != nil {
		return r, false
	}
	own, ok := r.OwnRate(in.Rate)
	if !ok {
		own = rate // no dearer than its ceiling
	}
	r.Rate, r.Machines[0].Rate = own, own
	return r, node != ""
}

// nodeOfRental is a rental's node in a queue, one that responds if there is one;
// empty if it has none.
func nodeOfRental(q *sight, id bridge.RentalID) string {
	node := ""
	for _, n := range q.Nodes {
		if owner, ok := rentalOfNode(n.Name); ok && owner == id && (node == "" || n.Responding) {
			node = n.Name
		}
	}
	return node
}

// adopt takes a working machine back into the books. Its money is being spent
// already, so no budget is asked.
func (e *Engine) adopt(ctx context.Context, c *cycle, r bridge.Rental) error {
	n := c.tellMachine(bridge.NewsOrphan, &r, &r.Machines[0])
	n.Text = "adopted: a job runs on it"
	saved, err := e.store.Reserve(ctx, r, nil, n)
	if err != nil { // its rental is in the books already, ended: a new one then
		if r.ID, err = e.store.NextID(ctx); err == nil {
			n.Rental = r.ID
			saved, err = e.store.Reserve(ctx, r, nil, n)
		}
	}
	if err != nil {
		return fmt.Errorf("adopt %s: %w", r.Machines[0].ID, err)
	}
	e.keep(c, saved)
	return nil
}

func rateTag(r bridge.Rate) string {
	return strconv.FormatInt(r.Micro, 10) + " " + string(r.Currency)
}

func parseRate(s string) (bridge.Rate, bool) {
	n, cur, ok := strings.Cut(s, " ")
	micro, err := strconv.ParseInt(n, 10, 64)
	return bridge.Rate{Micro: micro, Currency: bridge.Currency(cur)}, ok && err == nil && micro >= 0
}

// rentalOfNode reads the rental's id out of a node name of ours.
func rentalOfNode(node string) (bridge.RentalID, bool) {
	rest, ok := strings.CutPrefix(node, "sw-")
	i := strings.LastIndexByte(rest, '-')
	if !ok || i < 0 {
		return "", false
	}
	id, err := bridge.ParseRentalID(rest[:i])
	return id, err == nil
}
