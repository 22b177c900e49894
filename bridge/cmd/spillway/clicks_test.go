package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/books"
	"spillway.sh/spillway/bridge/desk"
	"spillway.sh/spillway/bridge/store"
)

// counter is two desks over one real store, as two replicas of a bot have
// them; the queue and the offers stand still.
type counter struct {
	store *store.Store
	desks [2]*desk.Desk

	mu       sync.Mutex // of marks
	budgets  []bridge.Budget
	approval bridge.Approval
	askAbove bridge.Money
	rate     bridge.Rate
}

func (c *counter) Budgets() []bridge.Budget  { return c.budgets }
func (c *counter) Approval() bridge.Approval { return c.approval }
func (c *counter) Wake()                     {}

func (c *counter) Terms(*bridge.Demand, *bridge.Facts) *bridge.Terms {
	return &bridge.Terms{
		Burst: true, Class: bridge.P1, Account: "site/ai/nlp", Markets: []bridge.Market{bridge.OnDemand}, Most: 1000, Least: 1,
		Idle: time.Hour, Life: 24 * time.Hour, Ask: true, AskAbove: c.askAbove, AskFor: time.Hour,
	}
}

func (c *counter) View() (bridge.Snapshot, bridge.Plan, bool) {
	return bridge.Snapshot{
		Now: noon, MaxQueueAge: time.Minute, Queues: []bridge.Queue{{Cluster: "main", ObservedAt: noon}},
		Offers: []bridge.Offer{{
			Pool:  bridge.Pool{Cloud: "stratus", Region: "east", Zone: "east-1", Type: "gpu8", Market: bridge.OnDemand},
			Shape: bridge.Shape{CPUs: 64, MemoryMiB: 512 << 10, GPUs: 8, GPUType: "h100"}, Rate: c.rate, SampledAt: noon, MaxAge: time.Hour, Available: -1,
		}},
	}, bridge.Plan{Now: noon}, true
}

func (c *counter) Remember(ctx context.Context, change func(*bridge.Marks), news ...bridge.News) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	m, err := c.store.Marks(ctx)
	if err != nil {
		return err
	}
	change(&m)
	return c.store.SaveMarks(ctx, m, news...)
}

func (c *counter) as(name string) desk.Person { return c.desks[0].Roles.Of(name, 1000, nil) }

func newCounter(t *testing.T, hard bool, limit int64, approvers ...string) *counter {
	t.Helper()
	usd := func(units int64) bridge.Money { return bridge.Money{Micro: units * bridge.Micro, Currency: "USD"} }
	c := &counter{
		askAbove: usd(1), rate: bridge.Rate(usd(10)),
		budgets: []bridge.Budget{{Account: "site", Every: bridge.Month, Zone: time.UTC, Limit: usd(limit), Hard: hard}},
	}
	clock := func() time.Time { return noon }
	var err error
	if c.store, err = store.Open(t.Context(), t.TempDir(), store.Options{Now: clock}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.store.Close(); err != nil {
			t.Error(err)
		}
	})
	for i := range c.desks {
		c.desks[i] = desk.New(desk.Config{
			Version: "test", Reader: books.Books{Store: c.store}, Writer: c.store, Viewer: c, Loop: c, Rules: c, Now: clock,
			Roles: desk.Roles{Admins: []string{"ana"}, Approvers: approvers}, Clusters: []string{"main"},
		})
	}
	return c
}

// ask makes a question of somebody's.
func (c *counter) ask(t *testing.T, who, key string) desk.Rental {
	t.Helper()
	p := c.as(who)
	p.Roles = append(p.Roles, desk.Admin) // who may rent for any project
	a, err := c.desks[0].Rent(t.Context(), p, desk.RentRequest{Wish: desk.Wish{Words: []string{"8xh100 for 1h on-demand project nlp"}}, Key: key})
	if err != nil || !a.Waiting {
		t.Fatalf("%v, waiting %t", err, a.Waiting)
	}
	return a.Rental
}

// cameOf is what came of a click.
func cameOf(a desk.DecideAnswer, err error) desk.ResultKind {
	if err == nil {
		return a.Result.Kind
	}
	if r := desk.AsError(err).Result; r != nil {
		return r.Kind
	}
	return desk.ResultKind(err.Error())
}

// check proves the books and returns what happened to each rental by news.
func (c *counter) check(t *testing.T) map[bridge.RentalID][]bridge.News {
	t.Helper()
	report, err := books.Books{Store: c.store}.CheckLedger(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range report.Problems {
		t.Errorf("ledger: %s", p)
	}
	news, err := c.store.News(t.Context(), store.NewsFilter{Limit: 1_000_000})
	if err != nil {
		t.Fatal(err)
	}
	out := map[bridge.RentalID][]bridge.News{}
	for _, n := range news {
		switch n.Kind {
		case bridge.NewsApproved, bridge.NewsDenied:
			out[n.Rental] = append(out[n.Rental], n)
		}
	}
	return out
}

// Two hundred people click the same fifty cards at once, through two replicas:
// each card has one decision at most, made by somebody who may, and what is
// held stays within the budget.
func TestB_TwoHundredPeopleClickFiftyCards(t *testing.T) {
	const people, cards, limit = 200, 50, 200
	var approvers []string
	for i := range 120 {
		approvers = append(approvers, fmt.Sprintf("boss%d", i))
	}
	c := newCounter(t, true, limit, approvers...)
	asked := make([]desk.Rental, cards)
	for i := range asked {
		asked[i] = c.ask(t, fmt.Sprintf("boss%d", i), fmt.Sprint("card", i)) // approvers ask too
	}
	type outcome struct {
		card int
		who  string
		kind desk.ResultKind
	}
	clicks := make(chan outcome, people*cards)
	var wg sync.WaitGroup
	for i := range people {
		who := fmt.Sprintf("boss%d", i)
		if i >= 120 {
			who = fmt.Sprintf("stranger%d", i)
		}
		wg.Go(func() {
			for _, n := range rand.New(rand.NewPCG(1, uint64(i))).Perm(cards) {
				r := &asked[n]
				a, err := c.desks[i%2].Decide(t.Context(), c.as(who), desk.DecideRequest{Rental: string(r.ID), Revision: r.Revision, Yes: i%5 != 0, Text: "use the queue"})
				if err != nil && desk.AsError(err).Result == nil {
					if desk.AsError(err).Kind != desk.OverBudget { // somebody took the money between look and transaction
						t.Errorf("%s on %s: %v", who, r.ID, err)
					}
					continue
				}
				clicks <- outcome{n, who, cameOf(a, err)}
			}
		})
	}
	wg.Wait()
	close(clicks)
	won := make([][]outcome, cards)
	for o := range clicks {
		if o.kind == desk.ResultApproved || o.kind == desk.ResultDenied {
			won[o.card] = append(won[o.card], o)
		}
		if o.who[0] == 's' && o.kind != desk.ResultNotAllowed {
			t.Errorf("%s got %s", o.who, o.kind)
		}
	}
	told, held := c.check(t), int64(0)
	for i := range asked {
		r, err := c.store.Rental(t.Context(), asked[i].ID)
		if err != nil {
			t.Fatal(err)
		}
		if len(won[i]) > 1 || len(told[r.ID]) != len(won[i]) || r.State == bridge.StateWaiting && len(won[i]) > 0 {
			t.Errorf("%s is %s; decided by %v, told %d times", r.ID, r.State, won[i], len(told[r.ID]))
		}
		for _, n := range told[r.ID] {
			if n.Who == r.Requester || n.Who != won[i][0].who || n.Digest != asked[i].Digest || n.Digest == "" {
				t.Errorf("%s: %s by %s on %.8s", r.ID, n.Kind, n.Who, n.Digest)
			}
		}
		if r.State.Held() {
			held += r.Hold.Micro
		}
	}
	if held > limit*bridge.Micro || held == 0 {
		t.Errorf("%d is held of %d", held, limit*bridge.Micro)
	}
}

// Two Approve clicks a moment apart reach two replicas: one wins, the other is
// told who did.
func TestB_F1_TwoClicksOneWinner(t *testing.T) {
	c := newCounter(t, false, 1, "mei", "tom")
	for round := range 40 {
		r := c.ask(t, "ana", fmt.Sprint("round", round))
		kinds := make([]desk.ResultKind, 4)
		var wg sync.WaitGroup
		for i := range kinds {
			wg.Go(func() {
				a, err := c.desks[i%2].Decide(t.Context(), c.as([]string{"mei", "tom"}[i/2]), desk.DecideRequest{Rental: string(r.ID), Revision: r.Revision, Yes: true})
				kinds[i] = cameOf(a, err)
			})
		}
		wg.Wait()
		got := map[desk.ResultKind]int{}
		for _, k := range kinds {
			got[k]++
		}
		want := map[desk.ResultKind]int{desk.ResultApproved: 1, desk.ResultRepeated: 1, desk.ResultAlready: 2}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("round %d (-want +got):\n%s", round, diff)
		}
		if n := len(c.check(t)[r.ID]); n != 1 {
			t.Fatalf("round %d: told %d times", round, n)
		}
	}
}

// Two persons are needed and four click at once: two yeses count, whoever
// gave them, and the money is held once.
func TestB_F1_TwoOfFourAtOnce(t *testing.T) {
	c := newCounter(t, false, 1, "mei", "tom", "leo", "eve")
	c.approval.TwoAbove = bridge.Money{Micro: bridge.Micro, Currency: "USD"}
	for round := range 20 {
		r := c.ask(t, "ana", fmt.Sprint("round", round))
		names := []string{"mei", "tom", "leo", "eve"}
		kinds := make([]desk.ResultKind, len(names))
		var wg sync.WaitGroup
		for i, name := range names {
			wg.Go(func() {
				a, err := c.desks[i%2].Decide(t.Context(), c.as(name), desk.DecideRequest{Rental: string(r.ID), Revision: r.Revision, Yes: true})
				kinds[i] = cameOf(a, err)
			})
		}
		wg.Wait()
		got := map[desk.ResultKind]int{}
		for _, k := range kinds {
			got[k]++
		}
		if diff := cmp.Diff(map[desk.ResultKind]int{desk.ResultAgreed: 1, desk.ResultApproved: 1, desk.ResultAlready: 2}, got); diff != "" {
			t.Fatalf("round %d (-want +got):\n%s", round, diff)
		}
		now, err := c.store.Rental(t.Context(), r.ID)
		if err != nil || len(now.Yeses) != 2 || now.Yeses[0].Who == now.Yeses[1].Who {
			t.Fatalf("%v, yeses %+v", err, now.Yeses)
		}
	}
	c.check(t)
}

// Sixty-four people rent at once through two replicas, and there is money for
// ten: ten rentals are held, to the cent.
func TestB_F24_AsManyAsFitAtOnce(t *testing.T) {
	c := newCounter(t, true, 1000, "mei")
	c.askAbove = bridge.Money{}
	probe, err := c.desks[0].Quote(t.Context(), c.as("ana"), desk.QuoteRequest{Wish: desk.Wish{Words: []string{"8xh100 for 1h on-demand project nlp"}}})
	if err != nil {
		t.Fatal(err)
	}
	c.budgets[0].Limit.Micro = 10 * probe.Offers[0].AtMost.Micro // equal is allowed
	var wg sync.WaitGroup
	errs := make([]error, 64)
	for i := range errs {
		wg.Go(func() {
			p := c.as(fmt.Sprintf("user%d", i))
			p.Roles = append(p.Roles, desk.Admin)
			_, errs[i] = c.desks[i%2].Rent(t.Context(), p, desk.RentRequest{Wish: desk.Wish{Words: []string{"8xh100 for 1h on-demand project nlp"}}})
		})
	}
	wg.Wait()
	held := 0
	for _, err := range errs {
		switch {
		case err == nil:
			held++
		case desk.AsError(err).Kind != desk.OverBudget:
			t.Error(err)
		}
	}
	if held != 10 {
		t.Errorf("%d rentals of 10 that fit", held)
	}
	c.check(t)
}
