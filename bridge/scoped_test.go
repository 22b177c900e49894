package bridge

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func scopeOf(o *Order) Scope { return Scope{o.Account, o.Offer.Pool.Cloud, o.Offer.Shape.GPUType} }

// heldIn is what a plan holds in a scope, and the most one of its questions asks for.
func heldIn(p *Plan, s Scope) (held, asked int64) {
	for i := range p.Rent {
		o := &p.Rent[i]
		switch {
		case !s.Covers(scopeOf(o)):
		case o.Ask == "":
			held += o.Hold.Micro
		default:
			asked = max(asked, o.Hold.Micro)
		}
	}
	return held, asked
}

// drawScoped is a world with budgets of clouds and classes beside one that
// covers all.
func drawScoped(t *rapid.T) (*Snapshot, spoken) {
	s, policy := drawWorld(t)
	s.Budgets = append(rapid.SliceOfN(rapid.Custom(drawBudget), 0, 4).Draw(t, "scoped"),
		Balance{Account: "uni", Period: "2026-11", Limit: Money{int64(rapid.IntRange(0, 400).Draw(t, "all")) * Micro, "USD"}})
	for _, x := range policy {
		x.Share, x.AskAbove = false, Money{} // a take-over spends too, and is not an order; a dear batch is asked about
	}
	return s, policy
}

// TestMoreOfABudgetNeverBuysLessInIt holds for every budget, whatever others
// there are: the more is in it, the more is held of what it covers.
func TestMoreOfABudgetNeverBuysLessInIt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, policy := drawScoped(t)
		at := rapid.IntRange(0, len(s.Budgets)-1).Draw(t, "budget")
		more := copySnapshot(s)
		more.Budgets[at].Limit.Micro += int64(rapid.IntRange(1, 100).Draw(t, "more")) * Micro
		less, most := Decide(s, policy), Decide(more, policy)
		scope := s.Budgets[at].Scope()
		before, _ := heldIn(&less, scope)
		after, _ := heldIn(&most, scope)
		if after < before {
			t.Fatalf("%s with %s holds %d, with %s %d", scope, s.Budgets[at].Limit, before, more.Budgets[at].Limit, after)
		}
	})
}

// TestAmpleScopesChangeNothing holds that budgets of clouds and classes which
// are never reached leave a plan as it is.
func TestAmpleScopesChangeNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, policy := drawWorld(t)
		s.Budgets = []Balance{{Account: "uni", Limit: Money{1e6 * Micro, "USD"}, Hard: rapid.Bool().Draw(t, "hard")}}
		n := copySnapshot(s)
		for _, b := range rapid.SliceOfN(rapid.Custom(drawBudget), 1, 4).Draw(t, "scoped") {
			b.Account, b.Limit = "uni", Money{1e6 * Micro, "USD"}
			n.Budgets = append(n.Budgets, b)
		}
		if diff := cmp.Diff(Decide(s, policy), Decide(n, policy)); diff != "" {
			t.Fatalf("(-without +with):\n%s", diff)
		}
	})
}

// TestAnEmptyBudgetOfACloudIsAPolicyWithoutIt holds that of a cloud whose budget
// is empty the same is bought as where policy does not allow the cloud.
func TestAnEmptyBudgetOfACloudIsAPolicyWithoutIt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, policy := drawWorld(t)
		s.Rentals, s.Budgets = nil, []Balance{{Account: "uni", Limit: Money{1e6 * Micro, "USD"}}}
		s.Offers = slices.DeleteFunc(s.Offers, func(o Offer) bool { return o.Pool.Market == Reserved }) // what costs nothing needs no budget
		n := copySnapshot(s)
		n.Budgets = append(n.Budgets, Balance{Account: "uni", Cloud: "north", Limit: Money{0, "USD"}, Hard: true})
		south := spoken{}
		for name, x := range policy {
			x.AskAbove = Money{} // what is asked about depends on the cheapest of all clouds
			c := *x
			c.Clouds, south[name] = []string{"south"}, &c
		}
		want, got := Decide(s, south), Decide(n, policy)
		if diff := cmp.Diff(want.Rent, got.Rent); diff != "" {
			t.Fatalf("orders (-policy +budget):\n%s", diff)
		}
	})
}

// TestScopeOfNoBudgetBuysNothing holds that what no budget covers is not bought,
// also where the same account has a budget of something else.
func TestScopeOfNoBudgetBuysNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, policy := drawWorld(t)
		p := Decide(s, policy)
		for i := range p.Rent {
			o, covered := &p.Rent[i], false
			for k := range s.Budgets {
				covered = covered || s.Budgets[k].Scope().Covers(scopeOf(o))
			}
			if !covered {
				t.Fatalf("nothing covers %+v", o)
			}
		}
	})
}

// TestScopesAreRememberedRightly holds that a Decider whose choices were made
// while one budget was used up decides as anew when another one is.
func TestScopesAreRememberedRightly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, policy := drawScoped(t)
		d := NewDecider(policy)
		for range 6 {
			if diff := cmp.Diff(Decide(s, policy), d.Decide(s)); diff != "" {
				t.Fatalf("(-at once +remembering):\n%s", diff)
			}
			s = copySnapshot(s)
			s.Now = s.Now.Add(time.Second)
			for i := range s.Queues {
				s.Queues[i].ObservedAt = s.Now
			}
			if k := rapid.IntRange(0, len(s.Budgets)-1).Draw(t, "changes"); rapid.Bool().Draw(t, "moves") {
				s.Budgets[k].Posted.Micro = int64(rapid.IntRange(0, 120).Draw(t, "posted")) * Micro
			}
		}
	})
}
