package ledger

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
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

	// Of rentals whose hold is settled; their amounts are signed.
	KindBill   Kind = "bill"   // the provider's bill differs from what was metered
	KindCredit Kind = "credit" // a discount or a credit of the provider
	KindRefund Kind = "refund" // money that came back
)

// Corrects reports whether the kind changes a cost after its hold was settled.
func (k Kind) Corrects() bool { return k == KindBill || k == KindCredit || k == KindRefund }

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
	Period  string          `json:"period"` // day of its cost in UTC; an overage: the period of its budget
	Kind    Kind            `json:"kind"`
	Cluster string          `json:"cluster"`
	Rental  bridge.RentalID `json:"rental"`
	Account bridge.Account  `json:"account"` // that pays; an overage: the account of its budget
	Amount  bridge.Money    `json:"amount"`  // held, added, posted, returned or allowed
	Who     string          `json:"who,omitempty"`
	Memo    string          `json:"memo,omitempty"`
	// Cloud and GPU are those of the rental, or of an overage's budget; empty: all,
	// or a hold of before they were kept.
	Cloud string `json:"cloud,omitempty"`
	GPU   string `json:"gpu,omitempty"`
	// Used is when the cost arose, if it is not At, and Key the name that a
	// correction has outside.
	Used  time.Time `json:"used,omitzero"`
	Key   string    `json:"key,omitempty"`
	FX    string    `json:"fx,omitempty"` // bridge.Exchange.String of what converted the amount
	Lines []Line    `json:"lines"`
	Prev  string    `json:"prev"` // hash of the transaction before, hexadecimal
	Hash  string    `json:"hash"`
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

// Scope is where the transaction counts; an overage: what its budget covers.
func (t *Transaction) Scope() bridge.Scope {
	return bridge.Scope{Account: t.Account, Cloud: t.Cloud, GPU: t.GPU}
}

// Arose is when the cost arose, which is the period that it counts in.
func (t *Transaction) Arose() time.Time {
	if t.Used.IsZero() {
		return t.At
	}
	return t.Used
}

// digest covers everything but the sequence number, which the place in the
// chain gives: so a row that was moved is told from one that was changed. What
// was added to transactions later counts only where it is set, so that older
// rows keep their hashes.
func (t *Transaction) digest() string {
	var room [1024]byte
	b := part(room[:0], t.Prev)
	b = number(b, t.At.UnixNano())
	for _, s := range [...]string{t.Period, string(t.Kind), t.Cluster, string(t.Rental), string(t.Account), t.Who, t.Memo} {
		b = part(b, s)
	}
	b = money(b, t.Amount)
	for i := range t.Lines {
		l := &t.Lines[i]
		b = part(b, string(l.Account))
		b = part(b, string(l.Book))
		b = money(b, l.Amount)
	}
	b = named(b, "cloud", t.Cloud)
	b = named(b, "gpu", t.GPU)
	b = named(b, "key", t.Key)
	b = named(b, "fx", t.FX)
	if !t.Used.IsZero() {
		b = named(b, "used", strconv.FormatInt(t.Used.UnixNano(), 10))
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// part writes a field with its length, so that no two contents look the same.
func part(b []byte, s string) []byte {
	b = append(strconv.AppendInt(b, int64(len(s)), 10), ':')
	return append(append(b, s...), ',')
}

func number(b []byte, n int64) []byte {
	var digits [20]byte
	return part(b, string(strconv.AppendInt(digits[:0], n, 10)))
}

func money(b []byte, m bridge.Money) []byte {
	return part(number(b, m.Micro), string(m.Currency))
}

// named writes a field that may be left out. No other field begins with a plus.
func named(b []byte, name, s string) []byte {
	if s == "" {
		return b
	}
	return part(append(append(append(b, '+'), name...), '='), s)
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
