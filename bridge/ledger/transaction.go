package ledger

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"strconv"
	"time"

	"spillway.sh/spillway/bridge"
)

// Kind is what a transaction does.
type Kind string

// The kinds of transactions.
const (
	KindHold    Kind = "hold"    // sets the worst case of a rental aside
	KindExtend  Kind = "extend"  // sets more aside for the same rental
	KindPost    Kind = "post"    // meters cost out of the hold
	KindAdjust  Kind = "adjust"  // cost beyond the hold, or a correction downwards
	KindSettle  Kind = "settle"  // ends the hold and returns what is left of it
	KindVoid    Kind = "void"    // ends a hold that cost nothing and returns it whole
	KindOverage Kind = "overage" // allows one rental above one budget
)

// Book is where a line is written.
type Book string

// The books.
const (
	Room    Book = "room"
	Held    Book = "held"
	Posted  Book = "posted"
	Overage Book = "overage"
)

// Line is one side of a transaction; debits are positive.
type Line struct {
	Account bridge.Account `json:"account"`
	Book    Book           `json:"book"`
	Amount  bridge.Money   `json:"amount"`
}

// Transaction is one entry of the ledger, never changed once it is sealed.
type Transaction struct {
	Seq     int64           `json:"seq"` // from 1, without gaps
	At      time.Time       `json:"at"`
	Period  string          `json:"period"` // day of At in UTC; an overage: the period of its budget
	Kind    Kind            `json:"kind"`
	Cluster string          `json:"cluster"`
	Rental  bridge.RentalID `json:"rental"`
	Account bridge.Account  `json:"account"` // that pays; an overage: the account of its budget
	Amount  bridge.Money    `json:"amount"`  // held, added, posted, returned or allowed
	Who     string          `json:"who,omitempty"`
	Memo    string          `json:"memo,omitempty"`
	Lines   []Line          `json:"lines"`
	Prev    string          `json:"prev"` // hash of the transaction before, hexadecimal
	Hash    string          `json:"hash"`
}

// Head is the end of a chain: the number and the hash of its last transaction.
// The zero head is that of an empty chain.
type Head struct {
	Seq  int64  `json:"seq"`
	Hash string `json:"hash"`
}

// Seal gives a transaction its place after head and returns the new head.
func (t *Transaction) Seal(head Head) Head {
	t.Seq, t.Prev = head.Seq+1, head.Hash
	t.Hash = t.digest()
	return Head{t.Seq, t.Hash}
}

// digest covers everything but the sequence number, which the place in the
// chain gives: so a row that was moved is told from one that was changed.
func (t *Transaction) digest() string {
	h := sha256.New()
	part(h, t.Prev)
	part(h, strconv.FormatInt(t.At.UnixNano(), 10))
	for _, s := range []string{t.Period, string(t.Kind), t.Cluster, string(t.Rental), string(t.Account), t.Who, t.Memo} {
		part(h, s)
	}
	money(h, t.Amount)
	for _, l := range t.Lines {
		part(h, string(l.Account))
		part(h, string(l.Book))
		money(h, l.Amount)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// part writes a field with its length, so that no two contents look the same.
func part(h hash.Hash, s string) { fmt.Fprintf(h, "%d:%s,", len(s), s) }

func money(h hash.Hash, m bridge.Money) {
	part(h, strconv.FormatInt(m.Micro, 10))
	part(h, string(m.Currency))
}

// Balanced reports whether the lines sum to zero in the currency of the
// transaction; ErrCurrency or ErrOverflow of package bridge otherwise.
func (t *Transaction) Balanced() error {
	sum := bridge.Money{Currency: t.Amount.Currency}
	for _, l := range t.Lines {
		var err error
		if sum, err = sum.Add(l.Amount); err != nil {
			return fmt.Errorf("sum lines of transaction %d: %w", t.Seq, err)
		}
	}
	if !sum.IsZero() {
		return fmt.Errorf("sum lines of transaction %d: %d micro-units are left over", t.Seq, sum.Micro)
	}
	return nil
}
