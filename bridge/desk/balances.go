package desk

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"spillway.sh/spillway/bridge"
)

// balance is a budget with what it has in the period of now.
type balance struct {
	bridge.Balance
	budget bridge.Budget
}

// balances returns the budgets that what is spent in a scope counts in, widest
// first.
func (d *Desk) balances(ctx context.Context, spent bridge.Scope) ([]balance, error) {
	return d.balancesOf(ctx, func(b *bridge.Budget) bool { return b.Scope().Covers(spent) })
}

// pathBalances returns the budgets of an account and of all above it, those of
// single clouds and classes too, widest first.
func (d *Desk) pathBalances(ctx context.Context, a bridge.Account) ([]balance, error) {
	return d.balancesOf(ctx, func(b *bridge.Budget) bool { return under(a, b.Account) })
}

func (d *Desk) balancesOf(ctx context.Context, counts func(*bridge.Budget) bool) ([]balance, error) {
	var of []bridge.Budget
	for _, b := range d.Rules.Budgets() {
		if counts(&b) {
			of = append(of, b)
		}
	}
	out, err := d.weigh(ctx, of)
	slices.SortStableFunc(out, func(x, y balance) int {
		return cmp.Or(strings.Count(string(x.Account), "/")-strings.Count(string(y.Account), "/"), parts(x.Scope())-parts(y.Scope()))
	})
	return out, err
}

// weigh reads what budgets have, in their order.
func (d *Desk) weigh(ctx context.Context, of []bridge.Budget) ([]balance, error) {
	bs, err := d.Reader.Balances(ctx, d.Now(), of)
	if err != nil {
		return nil, unreadable(err)
	}
	out := make([]balance, 0, len(bs))
	for i := range of {
		out = append(out, balance{bs[i], of[i]})
	}
	return out, nil
}

// parts is to how many clouds and classes a scope is narrowed.
func parts(s bridge.Scope) int {
	n := 0
	if s.Cloud != "" {
		n++
	}
	if s.GPU != "" {
		n++
	}
	return n
}

// covering are those of some budgets that what is spent in a scope counts in.
func covering(bs []balance, spent bridge.Scope) []balance {
	return slices.DeleteFunc(slices.Clone(bs), func(b balance) bool { return !b.Scope().Covers(spent) })
}

// countIn are the budgets that any of some offers counts in.
func (r *request) countIn(quotes []Quoted) []balance {
	return slices.DeleteFunc(slices.Clone(r.bs), func(b balance) bool {
		return parts(b.Scope()) > 0 && !slices.ContainsFunc(quotes, func(q Quoted) bool { return b.Scope().Covers(r.scope(&q.offer)) })
	})
}

func asBalances(bs []balance) []Balance {
	out := make([]Balance, 0, len(bs))
	for i := range bs {
		b := &bs[i]
		left, err := b.Left()
		if err != nil {
			left = bridge.Money{Currency: b.Limit.Currency} // nothing is left where the sum makes no sense
		}
		out = append(out, Balance{
			Account: b.Account, Cloud: b.Cloud, GPU: b.GPU, Every: b.budget.Every, Period: b.Period, Limit: b.Limit, Posted: b.Posted, Held: b.Held,
			Left: left, Hard: b.Hard, State: b.State(), Approvers: b.budget.Approvers,
		})
	}
	return out
}

// Scope is what the budget covers.
func (b *Balance) Scope() bridge.Scope {
	return bridge.Scope{Account: b.Account, Cloud: b.Cloud, GPU: b.GPU}
}

// Scope says a scope for people.
func (l Lang) Scope(s bridge.Scope) string {
	if l != Chinese || s.Cloud == "" {
		return s.String()
	}
	cloud := s.Cloud
	s.Cloud = ""
	return s.String() + "（" + cloud + "）"
}
