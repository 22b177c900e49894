package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/books"
)

// glance is one look at the world by this command itself, for questions asked
// while the daemon is down. It reads and decides; it changes nothing.
type glance struct {
	a     *app
	site  *site
	books books.Books

	once sync.Once
	snap bridge.Snapshot
	plan bridge.Plan
	ok   bool
	said map[string]bridge.Reply // by the clouds, as engine.Health has them
}

// glanceAtMost is how long clusters and clouds may take to answer.
const glanceAtMost = 30 * time.Second

// View looks, the first time it is asked.
func (g *glance) View() (bridge.Snapshot, bridge.Plan, bool) {
	g.once.Do(func() {
		ctx, cancel := context.WithTimeout(g.a.ctx, glanceAtMost)
		defer cancel()
		if err := g.look(ctx); err != nil {
			fmt.Fprintln(g.a.errs, "spillway:", err)
			return
		}
		g.plan = bridge.Decide(&g.snap, g.site)
		g.ok = true
	})
	return g.snap, g.plan, g.ok
}

// Replies are those of the clouds to this look.
func (g *glance) Replies() map[string]bridge.Reply { return g.said }

// look reads store, clusters and clouds. A cloud that does not answer offers
// nothing; a cluster that does not answer has no queue to speak of.
func (g *glance) look(ctx context.Context) error {
	if err := g.remembered(ctx); err != nil {
		return err
	}
	var mu sync.Mutex
	providers := g.site.providers()
	g.said = map[string]bridge.Reply{}
	complain := func(what string, err error) { fmt.Fprintf(g.a.errs, "spillway: %s does not answer: %v\n", what, err) }
	var all errgroup.Group
	for _, name := range g.site.clusterNames() {
		all.Go(func() error {
			q, err := g.site.clusters[name].Observe(ctx)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				complain("cluster "+name, err)
				return nil
			}
			g.snap.Queues = append(g.snap.Queues, q)
			return nil
		})
	}
	rates, err := g.site.policy.Rates(utcNow())
	if err != nil {
		fmt.Fprintln(g.a.errs, "spillway:", err)
	}
	for _, cloud := range g.site.clouds {
		all.Go(func() error {
			offers, err := cloud.Offers(ctx)
			mu.Lock()
			defer mu.Unlock()
			g.said["offers/"+cloud.Name()] = bridge.Reply{}.Next("offers", utcNow(), err)
			if err != nil {
				complain("cloud "+cloud.Name(), err)
				return nil
			}
			provider := providers[cloud.Name()]
			for i := range offers {
				o := provider.On(offers[i])
				g.snap.Offers = append(g.snap.Offers, o.In(g.site.policy.Currency(), rates, utcNow()))
			}
			return nil
		})
	}
	err = all.Wait()
	g.snap.Now = utcNow()
	return err
}

// remembered is the part of a look that the store has.
func (g *glance) remembered(ctx context.Context) error {
	now := utcNow()
	live, err := g.books.Live(ctx)
	if err != nil {
		return err
	}
	marks, err := g.books.Marks(ctx)
	if err != nil {
		return err
	}
	balances, err := g.books.Balances(ctx, now, g.site.Budgets())
	if err != nil {
		return err
	}
	g.snap = bridge.Snapshot{
		Now: now, Rentals: live, Pools: marks.Pools, Budgets: balances, Answers: marks.Answers, Reclaims: marks.Reclaims,
		MaxQueueAge: max(g.site.config.Limits.QueueAge, glanceAtMost), Frozen: marks.Frozen, Protected: marks.Protected != "",
	}
	return nil
}
