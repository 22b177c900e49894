package words

import (
	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/desk"
)

// Verb is what is asked for.
type Verb string

// The verbs. Rent is a line without a verb.
const (
	Rent    Verb = "rent"
	Quote   Verb = "quote"
	Status  Verb = "status"
	List    Verb = "ls"
	Extend  Verb = "extend"
	Cancel  Verb = "cancel"
	Approve Verb = "approve"
	Deny    Verb = "deny"
	Spend   Verb = "spend"
	Budget  Verb = "budget"
	Report  Verb = "report"
	Prices  Verb = "prices"
	Clouds  Verb = "clouds"
	WhoAmI  Verb = "whoami"
	Help    Verb = "help"
	Again   Verb = "again"
	Snooze  Verb = "snooze"
	Keep    Verb = "keep"
	Freeze  Verb = "freeze"
	Thaw    Verb = "thaw"
	Release Verb = "release"
)

// verbs are all words that are verbs of /rent.
var verbs = map[string]Verb{
	"quote": Quote, "status": Status, "show": Status, "list": List, "ls": List, "mine": List,
	"extend": Extend, "cancel": Cancel, "withdraw": Cancel, "approve": Approve, "deny": Deny, "reject": Deny,
	"spend": Spend, "budget": Budget, "report": Report, "prices": Prices, "price": Prices, "clouds": Clouds, "whoami": WhoAmI,
	"help": Help, "?": Help, "again": Again, "snooze": Snooze, "keep": Keep, "freeze": Freeze, "thaw": Thaw,
}

// Request is a line as it was understood.
type Request struct {
	Verb Verb
	// Normal is the line as it was read: equal lines ask for the same.
	Normal string
	Read   []Reading

	Wish  desk.Wish // of Rent and Quote
	Quote string    // rent what this quote offered
	Offer int       // and which of its offers, from 1; zero: the first
	Yes   bool      // do not ask before it is done
	Twice bool      // really a second one

	Rentals []string // as typed, in plain letters
	Job     bridge.JobID
	Node    string
	All     bool
	// Words are the rest, which the desk reads: times, periods, names.
	Words []string
	Text  string // a reason
	GPU   string
	Place string
}

// Reading is a word that a phone had changed, and what it was read as.
type Reading struct{ Typed, As string }

// Known are the names that words may mean.
type Known struct {
	desk.Known
	Rentals []string // that the asker may name, for suggestions
}

// Missing says what of a rental is not known yet: nothing of it is guessed.
func (r *Request) Missing() (size, time bool) {
	w := &r.Wish
	if w.Job != "" {
		return false, false // the job's, which may lack a limit: the desk says so
	}
	size = w.Machines == 0 && w.Type == "" && w.GPUs == 0 && w.CPUs == 0 && w.MemoryMiB == 0
	return size, w.Seconds == 0 && w.Until.IsZero()
}
