package store

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/ledger"
)

// LedgerReport is what a check of the whole ledger found.
type LedgerReport struct {
	Transactions int64          `json:"transactions"`
	Head         ledger.Head    `json:"head"`
	OpenHolds    int            `json:"open_holds"`
	Held         []bridge.Money `json:"held"`   // all open holds, by currency
	Posted       []bridge.Money `json:"posted"` // all cost ever, by currency
	// Faults are sentences, each about one thing that is not as it must be.
	Faults []string `json:"faults,omitempty"`

	spans map[bridge.RentalID]held // by the ledger
}

// Balanced reports whether nothing was found wrong.
func (r *LedgerReport) Balanced() bool { return len(r.Faults) == 0 }

func (r *LedgerReport) fault(format string, args ...any) {
	r.Faults = append(r.Faults, fmt.Sprintf(format, args...))
}

// CheckLedger reads the whole ledger on one unchanging view: every transaction
// and every currency sums to zero, the chain is unbroken to its head, a replay
// gives exactly the stored balances and holds, and each rental that is held has
// one open hold that agrees with its row, all others none.
func (s *Store) CheckLedger(ctx context.Context) (LedgerReport, error) {
	var report LedgerReport
	err := s.read(ctx, func(tx prepared) error {
		var until int64 // rows beyond the head are read too, and found
		if err := tx.QueryRowContext(ctx, `select ledger_seq, ledger_hash, max(ledger_seq, coalesce((select max(seq) from ledger), 0)) from meta`).
			Scan(&report.Head.Seq, &report.Head.Hash, &until); err != nil {
			return err
		}
		var posted []packedPosts
		var rentals []booked
		var failed [2]error
		var reading sync.WaitGroup // beside the replay, which takes as long
		reading.Go(func() {
			if posted, failed[0] = readPosted(ctx, tx); failed[0] == nil {
				rentals, failed[1] = rows(ctx, tx, scanBooked, `select body, held_from, held_until from rentals order by num`)
			}
		})
		var sheet ledger.Sheet
		broken := report.replay(ctx, s.reads, &sheet, until)
		reading.Wait()
		if err := errors.Join(failed[0], failed[1], broken); err != nil {
			return err
		}
		report.rentals(rentals, &sheet)
		if err := report.posted(ctx, tx, &sheet, posted); err != nil {
			return err
		}
		for _, check := range []func(context.Context, asker, *ledger.Sheet) error{report.holds, report.held} {
			if err := check(ctx, tx, &sheet); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return report, fmt.Errorf("check ledger: %w", err)
	}
	return report, nil
}

// replay verifies the chain and adds its transactions up in the same pass. They
// are read on views of their own, which may be younger: a row that is there
// stays as it is.
func (r *LedgerReport) replay(ctx context.Context, db *sql.DB, sheet *ledger.Sheet, until int64) error {
	var broken error
	chain := chainOf(ctx, db, until, &broken)
	r.spans = map[bridge.RentalID]held{}
	err := ledger.Verify(func(yield func(ledger.Transaction) bool) {
		for t := range chain {
			r.Transactions++
			if err := sheet.Apply(&t); err != nil {
				r.fault("%s", err)
			}
			r.span(&t)
			if !yield(t) {
				return
			}
		}
	}, r.Head)
	if broken != nil {
		return broken
	}
	if err != nil {
		r.fault("%s", err)
	}
	for _, c := range slices.Sorted(maps.Keys(sheet.Total)) {
		if sum := sheet.Total[c]; sum != 0 {
			r.fault("all lines in %s sum to %d instead of zero", c, sum)
		}
	}
	return nil
}

// held is from when to when a rental had its hold; until is zero while it has it.
type held struct{ from, until int64 }

func (r *LedgerReport) span(t *ledger.Transaction) {
	id := bridge.RentalID(strings.Clone(string(t.Rental)))
	switch t.Kind {
	case ledger.KindHold:
		r.spans[id] = held{from: t.At.UnixNano()}
	case ledger.KindSettle, ledger.KindVoid:
		r.spans[id] = held{r.spans[id].from, t.At.UnixNano()}
	default:
	}
}

// holds compares the stored holds with the replayed ones.
func (r *LedgerReport) holds(ctx context.Context, q asker, sheet *ledger.Sheet) error {
	stored, err := rows(ctx, q, func(r *sql.Rows) (ledger.Hold, error) { return scanHold(r.Scan) }, holdColumns)
	if err != nil {
		return err
	}
	for _, h := range stored {
		if sheet.Holds[h.Rental] != h {
			r.fault("hold of %s is stored as %+v, the ledger gives %+v", h.Rental, h, sheet.Holds[h.Rental])
		}
	}
	if len(stored) != len(sheet.Holds) {
		r.fault("%d holds are stored, the ledger gives %d", len(stored), len(sheet.Holds))
	}
	for id := range sheet.Overage {
		if _, ok := sheet.Holds[id]; !ok {
			r.fault("an overage was allowed for %s, which has no hold", id)
		}
	}
	r.OpenHolds = len(sheet.Open())
	return nil
}

// held compares what accounts hold, and sums it by currency at their roots.
func (r *LedgerReport) held(ctx context.Context, q asker, sheet *ledger.Sheet) error {
	stored, err := tally(ctx, q, `select account, cloud, gpu, currency, 0, micro from held`)
	if err != nil {
		return err
	}
	replayed := map[slot]int64{}
	for p, sums := range sheet.Purses() {
		replayed[slot{p, 0}] = sums.Held
	}
	r.differences("held", stored, replayed)
	r.Held = roots(replayed)
	return nil
}

// posted compares what accounts spent in each quarter hour, of which every
// period is made.
func (r *LedgerReport) posted(ctx context.Context, q asker, sheet *ledger.Sheet, packed []packedPosts) error {
	r.Posted = postedRoots(sheet)
	if samePosts(packed, sheet) {
		return nil
	}
	stored, err := tally(ctx, q, `select account, cloud, gpu, currency, quarter, micro from posted`)
	if err != nil {
		return err
	}
	replayed := map[slot]int64{}
	for p, sums := range sheet.Purses() {
		for _, sum := range sums.Posted {
			replayed[slot{p, sum.Number}] = sum.Micro
		}
	}
	r.differences("posted", stored, replayed)
	return nil
}

func postedRoots(sheet *ledger.Sheet) []bridge.Money {
	all := map[slot]int64{}
	for p, sums := range sheet.Purses() {
		for _, sum := range sums.Posted {
			all[slot{p, 0}] += sum.Micro
		}
	}
	return roots(all)
}

// booked is what of a rental's row the ledger knows.
type booked struct {
	ID      bridge.RentalID `json:"id"`
	State   bridge.State    `json:"state"`
	Account bridge.Account  `json:"account"`
	Hold    bridge.Money    `json:"hold"`
	Cost    bridge.Money    `json:"cost"`
	Pool    struct {
		Cloud string `json:"cloud"`
	} `json:"pool"`
	Shape struct {
		GPUType string `json:"gpu_type"`
	} `json:"shape"`
	held
}

func scanBooked(r *sql.Rows) (b booked, err error) {
	var body sql.RawBytes
	if err := r.Scan(&body, &b.from, &b.until); err != nil {
		return b, err
	}
	part := []byte(body)
	if i := bytes.Index(part, afterMoney); i > 0 { // the longer part of a row; no string holds a bare quote
		part = append(part[:i:i], '}')
	}
	if err := json.Unmarshal(part, &b); err != nil {
		return b, fault(ErrCorrupt, err)
	}
	return b, nil
}

// afterMoney begins what the ledger knows nothing of.
var afterMoney = []byte(`,"launch":{`)

// rentals compares each rental's row with its hold.
func (r *LedgerReport) rentals(all []booked, sheet *ledger.Sheet) {
	for i := range all {
		v := &all[i]
		h, known := sheet.Holds[v.ID]
		open := known && !h.Closed
		scope := bridge.Scope{Account: v.Account, Cloud: v.Pool.Cloud, GPU: v.Shape.GPUType}
		switch {
		case open != v.State.Held(): // I11
			r.fault("rental %s is %s, an open hold is there: %t", v.ID, v.State, open)
		case known && (h.Total != v.Hold || h.Posted.Micro != v.Cost.Micro || !accords(h, scope)):
			r.fault("rental %s of %s has hold %s and cost %s, the ledger has %s of %s and %s", v.ID, scope, v.Hold, v.Cost, h.Total, h.Scope(), h.Posted)
		case v.held != r.spans[v.ID]:
			r.fault("rental %s is said to have its hold from %d to %d, by the ledger from %d to %d", v.ID, v.from, v.until, r.spans[v.ID].from, r.spans[v.ID].until)
		}
	}
}

// accords reports whether a hold is for a scope; one of before clouds and classes
// were kept names neither.
func accords(h ledger.Hold, s bridge.Scope) bool {
	return h.Scope() == s || h.Scope() == bridge.Scope{Account: s.Account}
}

// slot is a purse and a quarter hour, zero for holds.
type slot struct {
	ledger.Purse
	quarter int64
}

func tally(ctx context.Context, q asker, query string) (map[slot]int64, error) {
	type row struct {
		slot
		micro int64
	}
	all, err := rows(ctx, q, func(r *sql.Rows) (v row, err error) {
		err = r.Scan(&v.Account, &v.Cloud, &v.GPU, &v.Currency, &v.quarter, &v.micro)
		return v, err
	}, query)
	out := make(map[slot]int64, len(all))
	for _, v := range all {
		out[v.slot] = v.micro
	}
	return out, err
}

func (r *LedgerReport) differences(what string, stored, replayed map[slot]int64) {
	for k, micro := range stored {
		if replayed[k] != micro {
			r.fault("%s of %s is stored as %d, the ledger gives %d", what, k, micro, replayed[k])
		}
	}
	for k, micro := range replayed {
		if _, ok := stored[k]; !ok && micro != 0 {
			r.fault("%s of %s is not stored, the ledger gives %d", what, k, micro)
		}
	}
}

// String names the scope, and the quarter hour by its start in UTC.
func (k slot) String() string {
	if k.quarter == 0 {
		return k.Scope.String()
	}
	return k.Scope.String() + " in the quarter hour of " + bridge.QuarterStart(k.quarter).Format(time.RFC3339)
}

// roots sums the widest accounts by currency.
func roots(all map[slot]int64) []bridge.Money {
	sums := map[bridge.Currency]int64{}
	for k, micro := range all {
		if !strings.Contains(string(k.Account), "/") {
			sums[k.Currency] += micro
		}
	}
	var out []bridge.Money
	for _, c := range slices.Sorted(maps.Keys(sums)) {
		out = append(out, bridge.Money{Micro: sums[c], Currency: c})
	}
	return out
}

// Integrity asks the database to check its whole file; ErrCorrupt with its
// first findings.
func (s *Store) Integrity(ctx context.Context) error {
	found, err := rows(ctx, s.reads, func(r *sql.Rows) (v string, err error) {
		err = r.Scan(&v)
		return v, err
	}, `pragma integrity_check(10)`)
	if err == nil && !slices.Equal(found, []string{"ok"}) {
		err = fault(ErrCorrupt, fmt.Errorf("%s", strings.Join(found, "; ")))
	}
	if err != nil {
		return fmt.Errorf("check store file: %w", explain(err))
	}
	return nil
}
