package bridge

import "time"

// Charge is what a settled rental cost in some time: what was metered, or one
// kind of correction.
type Charge struct {
	Rental RentalID `json:"rental"`
	Scope
	// Kind is post, bill, credit or refund.
	Kind   string    `json:"kind"`
	Amount Money     `json:"amount"`
	First  time.Time `json:"first"` // when the first and the last part of it arose
	Last   time.Time `json:"last"`
	FX     string    `json:"fx,omitempty"` // Exchange.String of what converted it
}
