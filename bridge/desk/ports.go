package desk

import (
	"context"
	"time"

	"spillway.sh/spillway/bridge"
)

// Reader is the part of a store that questions are answered from. A read-only
// store, opened while the daemon is down, has all of it.
type Reader interface {
	// Rental returns one rental, or ErrNoRental.
	Rental(ctx context.Context, id bridge.RentalID) (bridge.Rental, error)
	// ByKey returns the rental made for a request by hand, or ErrNoRental.
	ByKey(ctx context.Context, key string) (bridge.Rental, error)
	// Live returns all rentals that have not ended.
	Live(ctx context.Context) ([]bridge.Rental, error)
	// Recent returns the latest rentals, ended ones too, newest first.
	Recent(ctx context.Context, limit int) ([]bridge.Rental, error)
	Balances(ctx context.Context, now time.Time, budgets []bridge.Budget) ([]bridge.Balance, error)
	// News returns what happened, oldest first.
	News(ctx context.Context, q NewsFilter) ([]bridge.News, error)
	// CheckLedger proves the books: entries balance, chain unbroken, holds match rentals.
	CheckLedger(ctx context.Context) (LedgerReport, error)
	Marks(ctx context.Context) (bridge.Marks, error)
}

// NewsFilter says which news are meant. Rental and Job together mean news of
// either.
type NewsFilter struct {
	After  int64 // ids above this one
	Limit  int   // at most this many; with After zero the latest ones
	Rental bridge.RentalID
	Job    bridge.JobID
}

// LedgerReport is the outcome of checking the books.
type LedgerReport struct {
	Entries   int64          `json:"entries"`
	OpenHolds int            `json:"open_holds"`
	Held      []bridge.Money `json:"held"`   // by all open holds, one a currency
	Posted    []bridge.Money `json:"posted"` // ever, one a currency
	Problems  []string       `json:"problems"`
	// Head is the hash of the newest entry; note it outside to prove later that
	// nothing before it was changed.
	Head string `json:"head,omitempty"`
}

// Writer is the part of a store that people's wishes and answers change. One
// method is one transaction; its writer's epoch and the rental's version are
// checked in it.
type Writer interface {
	NextID(ctx context.Context) (bridge.RentalID, error)
	// Propose stores a question; nothing is held.
	Propose(ctx context.Context, r bridge.Rental, news ...bridge.News) (bridge.Rental, error)
	// Reserve checks all budgets above r.Account and stores rental and hold
	// together, or bridge.ErrOverBudget and no trace.
	Reserve(ctx context.Context, r bridge.Rental, budgets []bridge.Budget, news ...bridge.News) (bridge.Rental, error)
	// Approve stores a yes: the decision's version is checked, budgets are
	// checked again, overage and hold are written with it.
	Approve(ctx context.Context, d bridge.Decision, r bridge.Rental, budgets []bridge.Budget, news ...bridge.News) (bridge.Rental, error)
	// Extend stores a rental's later end with more of a hold, if every budget has
	// room for that; else bridge.ErrOverBudget and no trace.
	Extend(ctx context.Context, r bridge.Rental, more bridge.Money, budgets []bridge.Budget, news ...bridge.News) (bridge.Rental, error)
	// ApproveExtension stores a yes to a question that extends a rental: both
	// become what they are given as, and the hold of one is added to the other's.
	ApproveExtension(ctx context.Context, d bridge.Decision, q, r bridge.Rental, budgets []bridge.Budget, news ...bridge.News) (question, extended bridge.Rental, err error)
	// Save stores the next version of a rental whose hold does not change.
	Save(ctx context.Context, r bridge.Rental, news ...bridge.News) (bridge.Rental, error)
}

// Loop is the engine while it runs.
type Loop interface {
	Viewer
	// Remember changes the marks, never losing a change of the loop itself.
	Remember(ctx context.Context, change func(*bridge.Marks), news ...bridge.News) error
	// Wake makes the next look at the world start now.
	Wake()
}

// Viewer shows the latest look at the world and what was decided on it; false
// until there was one.
type Viewer interface {
	View() (bridge.Snapshot, bridge.Plan, bool)
}

// Reporter knows what the agents of machines said last, and when.
type Reporter interface {
	Reported(rental bridge.RentalID, instance string) (bridge.Report, time.Time, bool)
}

// Rules are the policy as the desk needs it.
type Rules interface {
	bridge.Policy
	Budgets() []bridge.Budget
	Approval() bridge.Approval
}
