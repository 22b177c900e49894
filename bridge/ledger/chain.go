package ledger

import (
	"fmt"
	"iter"
)

// ChainFault is what is wrong with a row of a chain.
type ChainFault string

// The faults of a chain.
const (
	Changed   ChainFault = "changed"   // the content does not match its hash
	Missing   ChainFault = "missing"   // rows that were there are gone
	Reordered ChainFault = "reordered" // the row stands where another belongs
	// Unlinked is a row that is whole but does not follow the one before it: that
	// one was replaced, or rows between them were taken out and the rest renumbered.
	Unlinked ChainFault = "unlinked"
	Uneven   ChainFault = "uneven" // the lines do not sum to zero
)

// ChainError names the first wrong row of a chain.
type ChainError struct {
	Seq   int64
	Fault ChainFault
}

// Error names the row and the fault.
func (e *ChainError) Error() string {
	return fmt.Sprintf("ledger transaction %d is %s", e.Seq, e.Fault)
}

// Verify reads a whole chain, in the order of its numbers, and returns a
// *ChainError for the first row that is not as it was written. The head must be
// known from elsewhere, or the loss of the last rows could not be seen.
func Verify(chain iter.Seq[Transaction], head Head) error {
	var last Head
	var stray int64 // a whole row whose predecessor is not the one before it
	for t := range chain {
		if stray != 0 {
			// What follows is read only to tell a missing row from one that stands elsewhere.
			if t.Prev == last.Hash {
				return &ChainError{stray, Reordered}
			}
			continue
		}
		switch {
		case t.digest() != t.Hash:
			return &ChainError{t.Seq, Changed}
		case t.Seq != last.Seq+1 || t.Prev != last.Hash:
			stray = t.Seq
		case t.Balanced() != nil:
			return &ChainError{t.Seq, Uneven}
		default:
			last = Head{t.Seq, t.Hash}
		}
	}
	switch {
	case stray == last.Seq+1:
		return &ChainError{stray, Unlinked}
	case stray != 0, last.Seq < head.Seq:
		return &ChainError{last.Seq + 1, Missing}
	case last != head:
		return &ChainError{last.Seq, Changed} // rows nobody acknowledged, or a chain made anew
	}
	return nil
}
