package main

import "spillway.sh/spillway/bridge/desk"

type ledgerCmd struct {
	Check ledgerCheckCmd `cmd:"" help:"Prove that every entry balances, no entry was changed, and holds match rentals."`
}

type ledgerCheckCmd struct{ format }

// Help gives examples.
func (ledgerCheckCmd) Help() string {
	return `Examples:
  spillway ledger check
  spillway ledger check -o json

Exit code 7 when something does not balance.

JSON keys: balanced, entries, open_holds, held[], posted[], problems[], head.`
}

// Run checks the books.
func (c *ledgerCheckCmd) Run(a *app) error {
	got, err := ask(a, desk.AskLedger, desk.LedgerRequest{})
	if err != nil {
		return err
	}
	err = c.print(a, got, func(p *page) {
		if got.Balanced {
			p.line("The books balance: %s, chain of hashes whole, holds match rentals.", entries(got.Entries))
			if got.Head != "" {
				p.line("Newest hash: %s", got.Head)
			}
			return
		}
		p.line("The books do not balance:")
		for _, x := range got.Problems {
			p.line("  %s", x)
		}
		p.line("Freeze spending (spillway freeze), keep the store as it is, and compare with its last copy.")
	})
	if err == nil && !got.Balanced {
		return errFound
	}
	return err
}

func entries(n int64) string { return countWith(n, "entry", "entries") }
