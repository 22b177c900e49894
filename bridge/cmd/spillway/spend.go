package main

import (
	"strings"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/desk"
)

type spendCmd struct {
	format
	Account string `arg:"" optional:"" help:"Only this account and what is below it, for example site/physics."`
}

// Help gives examples.
func (spendCmd) Help() string {
	return `Examples:
  spillway spend
  spillway spend site/physics -o json

Left is the limit less what was spent and less what is held. Held is the worst case of everything that is rented now;
what is not needed of it comes back when the machines are gone. A budget of one cloud, or of one class of GPU, counts
only what goes there; it is named after its account: site/physics h100 on north. Over-committed is one whose limit is
less than what is spent and held already: what runs goes on, nothing new is rented in it.

JSON keys: accounts[] (account, cloud, gpu, every, period, state (ok, used-up, over-committed), limit, posted, held, left, hard, approvers[]); amounts are {micro, currency}.`
}

// Run shows budgets as a tree.
func (c *spendCmd) Run(a *app) error {
	got, err := ask(a, desk.AskSpend, desk.SpendRequest{Account: bridge.Account(c.Account)})
	if err != nil {
		return err
	}
	return c.print(a, got, func(p *page) {
		if len(got.Accounts) == 0 {
			p.line("No budget is set that you may see. Without a budget nothing is rented.")
			return
		}
		p.table("ACCOUNT\tEVERY\tPERIOD\tLIMIT\tSPENT\tHELD\tLEFT\tKIND", budgetRows(got.Accounts, true))
	})
}

// budgetRows are budgets as rows; a tree indents what is below another.
func budgetRows(bs []desk.Balance, tree bool) []string {
	rows := make([]string, 0, len(bs))
	for i := range bs {
		b := &bs[i]
		depth := 0
		if tree {
			for j := range i {
				if o := bs[j].Scope(); o != b.Scope() && o.Covers(b.Scope()) {
					depth = max(depth, strings.Count(string(o.Account), "/")+1)
				}
			}
		}
		kind := "ask above"
		if b.Hard {
			kind = "hard"
		}
		if b.State == bridge.BudgetOverCommitted {
			kind += ", over-committed"
		}
		rows = append(rows, row(strings.Repeat("  ", depth)+b.Scope().String(), b.Every, b.Period, b.Limit.Floor(), b.Posted, b.Held, b.Left.Floor(), kind))
	}
	return rows
}
