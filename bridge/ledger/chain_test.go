package ledger_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/ledger"
)

var noon = at("2026-11-30T12:00:00Z")

func usd(micro int64) bridge.Money { return bridge.Money{Micro: micro, Currency: "USD"} }

func rental(id bridge.RentalID, account bridge.Account, hold int64) *bridge.Rental {
	return &bridge.Rental{ID: id, Cluster: "c1", Account: account, Hold: usd(hold)}
}

// chain is a sealed ledger of three rentals.
func chain(t *testing.T) ([]ledger.Transaction, ledger.Head) {
	t.Helper()
	var all []ledger.Transaction
	for i := range int64(3) {
		h, txs, err := ledger.Open(noon, rental(bridge.NewRentalID(i+1), "org/team/proj/ann", 100), "")
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, txs...)
		for _, cost := range []int64{10, 30, 120} {
			if h, txs, err = h.Post(noon.Add(time.Duration(cost)*time.Second), usd(cost)); err != nil {
				t.Fatal(err)
			}
			all = append(all, txs...)
		}
		if _, txs, err = h.Settle(noon.Add(time.Hour), usd(125)); err != nil {
			t.Fatal(err)
		}
		all = append(all, txs...)
	}
	var head ledger.Head
	for i := range all {
		head = all[i].Seal(head)
	}
	return all, head
}

func TestVerifyNamesTheRowThatIsNotAsItWasWritten(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(rows []ledger.Transaction) []ledger.Transaction
		want  *ledger.ChainError
	}{
		"a chain as it was written": {func(r []ledger.Transaction) []ledger.Transaction { return r }, nil},
		"an amount was raised": {func(r []ledger.Transaction) []ledger.Transaction {
			r[4].Amount.Micro++
			return r
		}, &ledger.ChainError{Seq: 5, Fault: ledger.Changed}},
		"a line was moved to another account": {func(r []ledger.Transaction) []ledger.Transaction {
			r[2].Lines[0].Account = "org/other"
			return r
		}, &ledger.ChainError{Seq: 3, Fault: ledger.Changed}},
		"a row was changed and hashed again": {func(r []ledger.Transaction) []ledger.Transaction {
			r[4].Memo = "nothing to see"
			r[4].Seal(ledger.Head{Seq: 4, Hash: r[3].Hash})
			return r
		}, &ledger.ChainError{Seq: 6, Fault: ledger.Unlinked}},
		"a row was taken out": {func(r []ledger.Transaction) []ledger.Transaction {
			return slices.Delete(r, 6, 7)
		}, &ledger.ChainError{Seq: 7, Fault: ledger.Missing}},
		"a row was taken out and the rest renumbered": {func(r []ledger.Transaction) []ledger.Transaction {
			r = slices.Delete(r, 6, 7)
			for i := range r {
				r[i].Seq = int64(i + 1)
			}
			return r
		}, &ledger.ChainError{Seq: 7, Fault: ledger.Unlinked}},
		"the first row is gone": {func(r []ledger.Transaction) []ledger.Transaction {
			return r[1:]
		}, &ledger.ChainError{Seq: 1, Fault: ledger.Missing}},
		"the last row is gone": {func(r []ledger.Transaction) []ledger.Transaction {
			return r[:len(r)-1]
		}, &ledger.ChainError{Seq: 21, Fault: ledger.Missing}},
		"two rows changed places": {func(r []ledger.Transaction) []ledger.Transaction {
			r[7], r[8] = r[8], r[7]
			r[7].Seq, r[8].Seq = 8, 9
			return r
		}, &ledger.ChainError{Seq: 8, Fault: ledger.Reordered}},
		"the last two rows changed places": {func(r []ledger.Transaction) []ledger.Transaction {
			n := len(r)
			r[n-2], r[n-1] = r[n-1], r[n-2]
			r[n-2].Seq, r[n-1].Seq = int64(n-1), int64(n)
			return r
		}, &ledger.ChainError{Seq: 20, Fault: ledger.Reordered}},
		"a sealed row that does not sum to zero": {func(r []ledger.Transaction) []ledger.Transaction {
			r[17].Lines = r[17].Lines[:1]
			r[17].Lines[0].Amount.Micro = 7
			r[17].Seal(ledger.Head{Seq: 17, Hash: r[16].Hash})
			return r
		}, &ledger.ChainError{Seq: 18, Fault: ledger.Uneven}},
	} {
		t.Run(name, func(t *testing.T) {
			rows, head := chain(t)
			if len(rows) != 21 {
				t.Fatalf("the chain has %d rows, the cases expect 21", len(rows))
			}
			err := ledger.Verify(slices.Values(c.spoil(rows)), head)
			var got *ledger.ChainError
			if errors.As(err, &got); (got == nil) != (c.want == nil) || got != nil && *got != *c.want {
				t.Errorf("got %v, want %v", err, c.want)
			}
		})
	}
}

func TestVerifySeesRowsBeyondTheHead(t *testing.T) {
	rows, head := chain(t)
	extra := rows[0]
	extra.Seal(head)
	var got *ledger.ChainError
	if err := ledger.Verify(slices.Values(append(rows, extra)), head); !errors.As(err, &got) || got.Seq != 22 {
		t.Errorf("got %v, want a fault at 22", err)
	}
}
