package bill

import (
	"fmt"
	"strings"
)

// FaultKind is what is wrong with one place of a file.
type FaultKind string

// The kinds of faults of a file.
const (
	FaultMalformed FaultKind = "malformed"        // not CSV, or too few or too many cells
	FaultEncoding  FaultKind = "encoding"         // bytes that are no text
	FaultColumn    FaultKind = "no-column"        // the header lacks a column
	FaultTwice     FaultKind = "column-twice"     // the header has one twice
	FaultEmpty     FaultKind = "empty"            // a cell that must say something
	FaultAmount    FaultKind = "amount"           // no amount
	FaultCurrency  FaultKind = "currency"         // no currency of ISO 4217
	FaultTime      FaultKind = "time"             // no time
	FaultReversed  FaultKind = "reversed"         // ends before it begins
	FaultFuture    FaultKind = "future"           // is of a time to come
	FaultKindWord  FaultKind = "kind"             // a word for a kind of charge that is not known
	FaultNegative  FaultKind = "negative"         // usage below zero
	FaultTags      FaultKind = "tags"             // not a list of tags
	FaultDuplicate FaultKind = "duplicate"        // the line of a key that another line has
	FaultMost      FaultKind = "too-many"         // more than is read of one file
	FaultNothing   FaultKind = "nothing"          // no line at all
	FaultRate      FaultKind = "no-exchange-rate" // a currency without a rate
)

// Fault is one thing wrong with a file.
type Fault struct {
	Line   int       `json:"line"`             // of the file, from 1; zero: the file as a whole
	Column int       `json:"column,omitempty"` // of the sheet, from 1; zero: the whole line
	Name   string    `json:"name,omitempty"`   // of the column
	Kind   FaultKind `json:"kind"`
	Got    string    `json:"got,omitempty"`  // what is there
	Want   string    `json:"want,omitempty"` // what would be right, or the line it collides with
}

// faultWords say a kind; %[1]s is Got, %[2]s Want.
var faultWords = map[FaultKind]string{
	FaultMalformed: "not a line of CSV: %[1]s",
	FaultEncoding:  "bytes that are not text in %[2]s; say --encoding",
	FaultColumn:    "there is no column %[1]s; there are %[2]s",
	FaultTwice:     "two columns are called %[1]s",
	FaultEmpty:     "nothing is given",
	FaultAmount:    "%[1]q is no amount: want a plain number such as 12.34",
	FaultCurrency:  "%[1]q is no currency of ISO 4217",
	FaultTime:      "%[1]q is no time: want %[2]s",
	FaultReversed:  "the period ends %[1]s, not after it begins, %[2]s",
	FaultFuture:    "%[1]s is in the future: export the bill when the period is over",
	FaultKindWord:  "the kind of charge %[1]q is not known; known: %[2]s",
	FaultNegative:  "usage for %[1]s: only credits, refunds and taxes may be below zero",
	FaultTags:      "not a list of tags: %[1]s",
	FaultDuplicate: "the same charge as on line %[2]s",
	FaultMost:      "more than %[2]s are not read: narrow the export to the account that is rented from",
	FaultNothing:   "there are no lines to read",
	FaultRate:      "no exchange rate for %[1]s: %[2]s",
}

// Error says the place and what is wrong there.
func (f Fault) Error() string {
	var place strings.Builder
	if f.Line > 0 {
		fmt.Fprintf(&place, "line %d", f.Line)
		if f.Column > 0 {
			fmt.Fprintf(&place, ", column %d", f.Column)
		}
		if f.Name != "" {
			fmt.Fprintf(&place, " (%s)", f.Name)
		}
		place.WriteString(": ")
	}
	return place.String() + f.Words(faultWords[f.Kind])
}

// Words says what is wrong by a format of which the first fact is Got, the
// second Want; it need not use them.
func (f Fault) Words(format string) string {
	return fmt.Sprintf(format+"%[3]s", f.Got, f.Want, "") // the third keeps facts that are not used from being complained of
}

// Faults are all that is wrong with a file, up to MostFaults.
type Faults struct {
	List []Fault
	More bool // there are more
}

// MostFaults is how many faults of one file are said.
const MostFaults = 20

// Error says them, a line each.
func (f *Faults) Error() string {
	lines := make([]string, 0, len(f.List)+1)
	for _, x := range f.List {
		lines = append(lines, x.Error())
	}
	if f.More {
		lines = append(lines, "and more")
	}
	return strings.Join(lines, "\n")
}

func (f *Faults) add(x Fault) {
	if len(f.List) == MostFaults {
		f.More = true
		return
	}
	f.List = append(f.List, x)
}

// err is nil where nothing is wrong.
func (f *Faults) err() error {
	if len(f.List) == 0 {
		return nil
	}
	return f
}
