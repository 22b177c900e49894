package desk

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"spillway.sh/spillway/bridge"
)

// SpendRequest asks what was spent; Account narrows it to one branch.
type SpendRequest struct {
	Account bridge.Account `json:"account,omitempty"`
}

// SpendAnswer is every budget the asker may see, as a tree read from top to
// bottom: an account comes before what is below it.
type SpendAnswer struct {
	Accounts []Balance `json:"accounts"`
	// Approvers may approve above any soft budget, by their role.
	Approvers []string `json:"approvers,omitempty"`
}

// Balance is one budget in one period: left is limit less posted less held.
type Balance struct {
	Account bridge.Account    `json:"account"`
	Cloud   string            `json:"cloud,omitempty"` // that it is of alone; empty: all
	GPU     string            `json:"gpu,omitempty"`   // class that it is of alone; empty: all
	Every   bridge.PeriodKind `json:"every,omitempty"`
	Period  string            `json:"period"`
	Limit   bridge.Money      `json:"limit"`
	Posted  bridge.Money      `json:"posted"`
	Held    bridge.Money      `json:"held"`
	Left    bridge.Money      `json:"left"`
	Hard    bool              `json:"hard"`
	// State is ok, used-up, or over-committed: less than is posted and held already.
	State     bridge.BudgetState `json:"state,omitempty"`
	Approvers []string           `json:"approvers,omitempty"`
}

// Spend answers what each account has spent, holds and has left.
func (d *Desk) Spend(ctx context.Context, p Person, q SpendRequest) (SpendAnswer, error) {
	budgets := d.Rules.Budgets()
	if q.Account != "" && !slices.ContainsFunc(budgets, func(b bridge.Budget) bool { return under(b.Account, q.Account) }) {
		return SpendAnswer{}, wrong(NotFound, "spillway spend", "no budget is set for account %q or below it", q.Account)
	}
	mine, err := d.accountsOf(ctx, p)
	if err != nil {
		return SpendAnswer{}, err
	}
	var shown []bridge.Budget
	for _, b := range budgets {
		if q.Account != "" && !under(b.Account, q.Account) {
			continue
		}
		visible := p.may(SeeAll) || p.approves(&b) || slices.ContainsFunc(mine, func(a bridge.Account) bool { return under(a, b.Account) })
		if visible {
			shown = append(shown, b)
		}
	}
	bs, err := d.weigh(ctx, shown)
	if err != nil {
		return SpendAnswer{}, err
	}
	a := SpendAnswer{Accounts: asBalances(bs), Approvers: d.Roles.Approvers}
	slices.SortStableFunc(a.Accounts, func(x, y Balance) int {
		return cmp.Or(slices.Compare(strings.Split(string(x.Account), "/"), strings.Split(string(y.Account), "/")),
			parts(x.Scope())-parts(y.Scope()), strings.Compare(x.Cloud, y.Cloud), strings.Compare(x.GPU, y.GPU))
	})
	return a, nil
}

// under reports whether an account is another or below it.
func under(a, top bridge.Account) bool {
	return a == top || strings.HasPrefix(string(a), string(top)+"/")
}
