package store_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/store"
)

// tree is a store with a budget on each of five levels of accounts and on parts
// of them, most of them tight.
type tree struct {
	s       *store.Store
	budgets []bridge.Budget
	next    atomic.Int64 // number of a rental
}

// newTree makes budgets that have room for about so many units altogether.
func newTree(t testing.TB, dir string, units float64) *tree {
	t.Helper()
	tree := &tree{s: open(t, dir, newHands(noon))}
	add := func(b bridge.Budget) { tree.budgets = append(tree.budgets, b) }
	add(budget("org", units, true))
	add(narrow(budget("org", units*0.6, true), "north", ""))
	add(narrow(budget("org", units*0.55, true), "", "h100"))
	for _, part := range []string{"a", "b"} {
		add(budget(bridge.Account("org/"+part), units*0.55, true))
		add(narrow(budget(bridge.Account("org/"+part), units*0.3, true), "south", "a100"))
		for _, team := range []string{"x", "y"} {
			add(budget(bridge.Account("org/"+part+"/"+team), units*0.3, true))
			for p := range 3 {
				project := bridge.Account(fmt.Sprintf("org/%s/%s/p%d", part, team, p))
				add(budget(project, units*0.12, true))
				add(budget(project+"/ann", units*0.07, false)) // a soft one refuses too, unless somebody says yes
			}
		}
	}
	return tree
}

// rental is the n-th that is asked for.
func (tr *tree) rental(n int64) bridge.Rental {
	part, team, p, who := n%2, n/2%2, n/4%3, n/12%3
	r := bridge.Rental{
		ID: bridge.NewRentalID(n), State: bridge.StateLaunching, Since: noon, Cluster: "c1", Requester: "ann", Count: 1, Gang: 1,
		Account: bridge.Account(fmt.Sprintf("org/%c/%c/p%d/%s", 'a'+part, 'x'+team, p, []string{"ann", "bob", "cyd"}[who])), Hold: usd(0), Created: noon,
	}
	r.Pool.Cloud, r.Shape.GPUType = []string{"north", "south"}[n/3%2], []string{"h100", "a100"}[n/5%2]
	r.Hold.Micro = 100_000 + n*37%100*10_000
	return r
}

type rushed struct{ admitted, refused int64 }

// rush lets many ask at once, each so many times; every third that is admitted
// ends at once, having cost a part of its hold.
func (tr *tree) rush(t testing.TB, people, times int) rushed {
	t.Helper()
	var admitted, refused atomic.Int64
	var wg sync.WaitGroup
	for range people {
		wg.Go(func() {
			for range times {
				n := tr.next.Add(1)
				r, err := tr.s.Reserve(t.Context(), tr.rental(n), tr.budgets)
				switch {
				case errors.Is(err, bridge.ErrOverBudget):
					refused.Add(1)
					continue
				case err == nil && n%3 == 0:
					err = spend(t.Context(), tr.s, r)
				}
				if err != nil {
					t.Error(err)
					return
				}
				admitted.Add(1)
			}
		})
	}
	wg.Wait()
	return rushed{admitted.Load(), refused.Load()}
}

func spend(ctx context.Context, s *store.Store, r bridge.Rental) error {
	r.State = bridge.StateReleasing
	r, err := s.Save(ctx, r)
	if err != nil {
		return err
	}
	r.State, r.Cost = bridge.StateSettled, bridge.Money{Micro: r.Hold.Micro / 2, Currency: r.Hold.Currency}
	_, err = s.Settle(ctx, r)
	return err
}

func (tr *tree) balances(t testing.TB) []bridge.Balance {
	t.Helper()
	return must[[]bridge.Balance](t)(tr.s.Balances(t.Context(), noon.Add(time.Minute), tr.budgets))
}

// never fails unless every budget is kept, and some budget was tight.
func (tr *tree) never(t testing.TB) {
	t.Helper()
	tight := false
	for _, b := range tr.balances(t) {
		left, err := b.Left()
		if err != nil || left.Micro < 0 {
			t.Errorf("%s has %s left of %s: %v", b.Scope(), left, b.Limit, err)
		}
		tight = tight || left.Micro < 1_100_000 // the largest hold
	}
	if !tight {
		t.Error("no budget came near its limit")
	}
}
