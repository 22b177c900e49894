package bill

import (
	"time"

	"spillway.sh/spillway/bridge"
)

// Guess is why a bill may differ from what was metered. It follows from the
// figures alone and is a pointer for people, nothing that money hangs on.
type Guess string

// The guesses.
const (
	GuessEqual    Guess = "equal"
	GuessRounding Guess = "rounding"        // within the tolerance
	GuessPrice    Guess = "price-differed"  // the same time at another price
	GuessLonger   Guess = "ran-longer"      // billed for longer than it was metered
	GuessShorter  Guess = "ran-shorter"     // billed for less time
	GuessMinimum  Guess = "minimum-charge"  // a minimum or a longer step than the offer said
	GuessCredit   Guess = "credit"          // a credit or a refund
	GuessTax      Guess = "tax"             // tax is on the bill
	GuessExtra    Guess = "other-charges"   // disks, addresses and the like
	GuessExchange Guess = "exchange-rate"   // converted at another rate than the machines were rented at
	GuessDone     Guess = "settled-already" // by these very lines
	GuessOpen     Guess = "not-ended"       // its books are open: it waits
	GuessPart     Guess = "billed-in-part"  // the bill does not reach from its beginning to its end: it waits
	GuessNoLine   Guess = "no-line-yet"
	GuessBelow    Guess = "below-nothing" // credits are more than it cost: it waits for a person
)

// Stray is why a line belongs to no rental for certain.
type Stray string

// The strays.
const (
	StrayUnknown   Stray = "unknown-rental" // has our tag, and no such rental is known
	StrayDisagree  Stray = "tag-disagrees"  // its tag says one rental, its machine another
	StrayCloud     Stray = "other-cloud"    // of a rental that was made in another cloud
	StrayNeverMade Stray = "never-launched" // of a rental that never had machines
)

// Case is what one rental's bill comes to. All money is in the currency of the
// books.
type Case struct {
	Rental     bridge.RentalID `json:"rental"`
	Account    bridge.Account  `json:"account"`
	State      bridge.State    `json:"state"`
	Machines   int             `json:"machines"`
	Lines      int             `json:"lines"`
	From       time.Time       `json:"from"` // of the first line; of the rental where there is none
	To         time.Time       `json:"to"`
	Metered    bridge.Money    `json:"metered"` // before any correction
	Was        bridge.Money    `json:"was"`     // in the books now
	Billed     bridge.Money    `json:"billed"`
	Difference bridge.Money    `json:"difference"` // billed less was
	Why        Guess           `json:"why"`
	FX         []string        `json:"fx,omitempty"` // the rates that converted it
	Invoices   []string        `json:"invoices,omitempty"`
	// Corrections bring the books to what was billed; none: nothing is to be done,
	// or it has to wait.
	Corrections []bridge.Correction `json:"corrections,omitempty"`
}

// StrayLine is a line that is not settled by itself.
type StrayLine struct {
	Line
	Why   Stray           `json:"why"`
	Other bridge.RentalID `json:"other,omitempty"` // whose machine it is
}

// Statement is a bill next to the books.
type Statement struct {
	Cloud    string          `json:"cloud"`
	From     time.Time       `json:"from"`
	To       time.Time       `json:"to"`
	Currency bridge.Currency `json:"currency"`
	Lines    int             `json:"lines"` // that belong to rentals

	Matched   []Case      `json:"matched"`   // within the tolerance, or settled
	Differing []Case      `json:"differing"` // corrected by an import
	Waiting   []Case      `json:"waiting"`   // books not closed, or not billed whole
	Missing   []Case      `json:"missing"`   // rentals of that time without a line
	Stray     []StrayLine `json:"stray"`
	NotOurs   []Sum       `json:"not_ours"` // by kind

	Metered bridge.Money `json:"metered"` // of matched and differing
	Was     bridge.Money `json:"was"`
	Billed  bridge.Money `json:"billed"`
	Change  bridge.Money `json:"change"` // of all corrections
}

// Corrections are all that an import makes, in the order of the rentals.
func (s *Statement) Corrections() []bridge.Correction {
	var out []bridge.Correction
	for _, list := range [][]Case{s.Matched, s.Differing} {
		for i := range list {
			out = append(out, list[i].Corrections...)
		}
	}
	return out
}

// Tolerance is what a rental's bill may differ by, in micro-units, and count as
// rounded: a cent.
const Tolerance = bridge.Micro / 100

// Books are what a bill is compared with.
type Books struct {
	Cloud string
	// Store is our store's id: what carries the tag of another one is not ours,
	// whatever its rental is called. Empty: not asked.
	Store   string
	Rentals []bridge.Rental
	// Prior are the corrections there are of them.
	Prior []bridge.Correction
	// Tolerance in micro-units of the books' currency.
	Tolerance int64
	Currency  bridge.Currency
	// Exchange converts an amount that arose at a time, and says at which rate.
	Exchange func(m bridge.Money, to bridge.Currency, at time.Time) (bridge.Money, string, error)
	Zone     *time.Location // of the budgets, whose days a correction counts in
	Now      time.Time
	Who      string
	// From and To are the time the bill speaks of.
	From, To time.Time
}
