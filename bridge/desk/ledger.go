package desk

import (
	"context"
)

// LedgerRequest asks to check the books.
type LedgerRequest struct{}

// LedgerAnswer is the outcome; no problems means the books balance.
type LedgerAnswer struct {
	LedgerReport
	Balanced bool `json:"balanced"`
}

// CheckBooks proves the ledger: entries balance, the chain of hashes is whole,
// holds match rentals.
func (d *Desk) CheckBooks(ctx context.Context, p Person, _ LedgerRequest) (LedgerAnswer, error) {
	if err := p.need(CheckLedger); err != nil {
		return LedgerAnswer{}, err
	}
	rep, err := d.Reader.CheckLedger(ctx)
	if err != nil {
		return LedgerAnswer{}, unreadable(err)
	}
	if rep.Problems == nil {
		rep.Problems = []string{}
	}
	return LedgerAnswer{rep, len(rep.Problems) == 0}, nil
}
