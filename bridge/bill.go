package bridge

import "time"

// CorrectionKind is why a cost changes after its rental's books were closed.
type CorrectionKind string

// The kinds of corrections.
const (
	ByBill   CorrectionKind = "bill"   // the provider's bill differs from what was metered
	ByCredit CorrectionKind = "credit" // the provider gave a discount or a credit
	ByRefund CorrectionKind = "refund" // money came back
)

// Correction changes what a rental has cost after its books were closed. It is
// an entry of its own; nothing that was written is changed.
type Correction struct {
	Key    string         `json:"key"` // the same key with the same content counts once
	Rental RentalID       `json:"rental"`
	Kind   CorrectionKind `json:"kind"`
	Amount Money          `json:"amount"` // added to the cost; negative lowers it
	// Used is when the cost arose: the period that it counts in, however late the
	// bill is.
	Used time.Time `json:"used"`
	Who  string    `json:"who"` // Unix account
	Memo string    `json:"memo,omitempty"`
	FX   string    `json:"fx,omitempty"` // Exchange.String of what converted the bill's currency
}

// BillLine is one line of a provider's bill.
type BillLine struct {
	Cloud   string    `json:"cloud"`   // its name in our configuration
	Invoice string    `json:"invoice"` // the provider's number
	Key     string    `json:"key"`     // of the line, unique within the cloud
	Machine string    `json:"machine,omitempty"`
	Rental  RentalID  `json:"rental,omitempty"` // by its tag; empty: not said
	From    time.Time `json:"from"`
	To      time.Time `json:"to"`
	Kind    string    `json:"kind"` // usage, credit, refund, tax, other
	Amount  Money     `json:"amount"`
	Text    string    `json:"text,omitempty"`
}
