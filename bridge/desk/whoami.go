package desk

import (
	"context"
	"slices"

	"spillway.sh/spillway/bridge"
)

// WhoAmIRequest asks who the asker is taken for.
type WhoAmIRequest struct{}

// WhoAmIAnswer is the asker, with what they spend from and approve.
type WhoAmIAnswer struct {
	Person   Person           `json:"person"`
	Projects []bridge.Account `json:"projects"` // the asker may rent for
	Approves []bridge.Account `json:"approves"` // budgets
}

// WhoAmI answers who the asker is taken for and what they may do.
func (d *Desk) WhoAmI(ctx context.Context, p Person, _ WhoAmIRequest) (WhoAmIAnswer, error) {
	mine, err := d.accountsOf(ctx, p)
	if err != nil {
		return WhoAmIAnswer{}, err
	}
	a := WhoAmIAnswer{Person: p, Projects: mine, Approves: []bridge.Account{}}
	for _, b := range d.Rules.Budgets() {
		if p.approves(&b) && !slices.Contains(a.Approves, b.Account) {
			a.Approves = append(a.Approves, b.Account)
		}
	}
	return a, nil
}
