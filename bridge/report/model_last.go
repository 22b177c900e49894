package report

import "spillway.sh/spillway/bridge"

// Spot is part 5.
type Spot struct {
	GPUHours Hours        `json:"gpu_hours"`
	SharePM  *int         `json:"share_pm"` // of elastic GPU-hours
	Cost     bridge.Money `json:"cost"`
	// OnDemand is what the same hours would have cost on demand, and Saving what
	// spot machines saved against it; lost work not counted.
	OnDemand    *bridge.Money `json:"on_demand"`
	Saving      *bridge.Money `json:"saving"`
	SavingPM    *int          `json:"saving_pm"`
	Preemptions int           `json:"preemptions"` // machines taken back
	LostHours   Hours         `json:"lost_hours"`  // GPU-hours of work done again
	LostCost    bridge.Money  `json:"lost_cost"`
	// Price and Effective are of one GPU-hour, without and with the lost work.
	Price     *bridge.Money `json:"price"`
	Effective *bridge.Money `json:"effective"`
	// NoCheckpoint are jobs that began anew for want of a checkpoint.
	NoCheckpoint []LostJob `json:"no_checkpoint"`
}

// LostJob is a job that lost a run.
type LostJob struct {
	Job  bridge.JobID `json:"job"`
	Runs int          `json:"runs"`
	Cost bridge.Money `json:"cost"`
}

// Top is part 6. Each list adds up to elastic spend; its last line may be the
// others together, whose Name is empty.
type Top struct {
	Projects []TopLine `json:"projects"`
	Users    []TopLine `json:"users"`
	Jobs     []TopLine `json:"jobs"`
	// Changed is the project whose spend changed most since the week before.
	Changed *TopLine `json:"changed"`
}

// TopLine is what one project, user or job cost.
type TopLine struct {
	Name   string        `json:"name"`
	Others int           `json:"others,omitempty"` // how many are in this line together
	Cost   bridge.Money  `json:"cost"`
	PM     int           `json:"pm"` // of elastic spend
	Before *bridge.Money `json:"before"`
	Change *bridge.Money `json:"change"`
}

// WasteKind is how machines cost money for nothing.
type WasteKind string

// The kinds of waste.
const (
	WasteIdle      WasteKind = "idle"      // without a job for over 20 minutes
	WasteForgotten WasteKind = "forgotten" // asked for by hand, and never ran a job
	WasteOrphan    WasteKind = "orphan"    // belonged to no rental
	WasteTimeout   WasteKind = "timeout"   // the rental's longest life ended it; what its machines idled
)

// Waste is part 7.
type Waste struct {
	Lines  []WasteLine  `json:"lines"`            // the dearest first
	Cost   bridge.Money `json:"cost"`             // of all lines
	Hidden int          `json:"hidden,omitempty"` // further lines, whose cost is in More
	More   bridge.Money `json:"more,omitzero"`
}

// WasteLine is one rental, or machine, that cost money for nothing.
type WasteLine struct {
	Kind    WasteKind       `json:"kind"`
	Rental  bridge.RentalID `json:"rental,omitempty"`
	Machine string          `json:"machine,omitempty"`
	Owner   string          `json:"owner,omitempty"`
	Account bridge.Account  `json:"account,omitempty"`
	Took    Span            `json:"took"`
	Cost    bridge.Money    `json:"cost"`
	// Running is true while it still costs money; Command then releases it.
	Running bool   `json:"running,omitempty"`
	Command string `json:"command,omitempty"`
}

// Approvals is part 8: questions asked in the week, and the answers to them.
type Approvals struct {
	Asked      int          `json:"asked"`
	Approved   int          `json:"approved"`
	Denied     int          `json:"denied"`
	Expired    int          `json:"expired"`
	Withdrawn  int          `json:"withdrawn"`
	Waiting    int          `json:"waiting"`     // still without an answer
	Median     *Span        `json:"median"`      // from question to answer
	OverBudget bridge.Money `json:"over_budget"` // worst case of what was approved above a budget
	// Reason is why most of them were asked.
	Reason      bridge.Reason `json:"reason,omitempty"`
	ReasonCount int           `json:"reason_count,omitempty"`
}

// Guard is part 9: whether what is promised about money holds.
type Guard struct {
	// Bills are rentals whose bill was compared with what was metered; the error is
	// bill less metered, per mille of metered.
	Bills    int  `json:"bills"`
	ErrorPM  *int `json:"error_pm"` // the median, without sign
	WorstPM  *int `json:"worst_pm"` // the largest, with its sign
	HoldPM   *int `json:"hold_pm"`  // holds of what rentals then cost, per mille of cost
	HoldN    int  `json:"hold_n"`   // rentals it is of
	Overruns int  `json:"overruns"` // of them, those that cost more than their hold
	// PriceAge is how old the oldest price of an offer is; nil: offers are not seen.
	PriceAge *Span `json:"price_age"`
	Stale    int   `json:"stale"` // offers whose price is too old to buy at
	// Undelivered are messages that did not reach the chat; nil: not known.
	Undelivered *int `json:"undelivered"`
}

// Advice is one thing worth doing.
type Advice struct {
	Code    AdviceCode        `json:"code"`
	Saves   bridge.Money      `json:"saves"` // a week, about
	Command string            `json:"command"`
	Facts   map[string]string `json:"facts"` // what its text needs
}

// AdviceCode says what to do.
type AdviceCode string

// The kinds of advice.
const (
	AdviseReserve    AdviceCode = "reserve"    // more reserved capacity
	AdviseUnreserve  AdviceCode = "unreserve"  // less of it
	AdviseRelease    AdviceCode = "release"    // machines that do nothing
	AdviseIdle       AdviceCode = "idle"       // release idle machines sooner
	AdviseCheckpoint AdviceCode = "checkpoint" // jobs that lose their work on spot
	AdviseSpot       AdviceCode = "spot"       // more work on spot machines
	AdviseStarts     AdviceCode = "starts"     // starts that fail
)

// Note says why a figure is absent, or how one was come by.
type Note struct {
	Part  Part              `json:"part"`
	Code  NoteCode          `json:"code"`
	Facts map[string]string `json:"facts,omitempty"`
}

// NoteCode is what a note says.
type NoteCode string
