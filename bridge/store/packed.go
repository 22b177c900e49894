package store

import (
	"context"
	"database/sql"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/ledger"
)

// A database hands out one long text several times faster than its parts, so
// the check of the ledger reads many rows as one: fields and rows end with
// control characters. A batch whose own texts hold one of them does not count
// up, and is read row by row instead.
const (
	fieldEnd = "\x1f"
	rowEnd   = "\x1e"
	batch    = 4096 // transactions read at once
)

const (
	packedLedger = `select count(*), coalesce(group_concat(concat_ws(char(31),
		seq, at, period, kind, cluster, rental, account, micro, currency, who, memo, prev, hash, cloud, gpu, used, key, fx), char(30)), '')
		from ledger where seq > ? and seq <= ?`
	ledgerFields = 18
	packedLines  = `select count(*), coalesce(group_concat(concat_ws(char(31), seq, account, book, micro, currency), char(30)), '')
		from lines where seq > ? and seq <= ?`
	lineFields   = 5
	packedPosted = `select account, currency, count(*), group_concat(concat_ws(char(31), quarter, cloud, gpu, micro), char(30))
		from posted group by account, currency`
	postedFields = 4
)

// packed are rows as one text.
type packed struct {
	n    int
	text string
	err  error
}

// clean reports whether the text has n rows of so many fields and nothing else.
func (p *packed) clean(fields int) bool {
	if p.n == 0 {
		return p.text == ""
	}
	n := 0
	for row := range strings.SplitSeq(p.text, rowEnd) {
		if n++; strings.Count(row, fieldEnd) != fields-1 {
			return false
		}
	}
	return n == p.n
}

// rows takes the text apart.
func (p *packed) rows() iter.Seq[fields] {
	return func(yield func(fields) bool) {
		if p.n == 0 {
			return
		}
		for row := range strings.SplitSeq(p.text, rowEnd) {
			if !yield(fields{row}) {
				return
			}
		}
	}
}

// fields takes a row apart, one field after the other.
type fields struct{ rest string }

func (f *fields) text() string {
	s, rest, _ := strings.Cut(f.rest, fieldEnd)
	f.rest = rest
	return s
}

// number is zero for what is none: a column of numbers has no other.
func (f *fields) number() int64 {
	n, _ := strconv.ParseInt(f.text(), 10, 64)
	return n
}

// chainOf reads the ledger up to a transaction, with its lines. *fault is set
// when reading ends early.
func chainOf(ctx context.Context, db *sql.DB, until int64, fault *error) iter.Seq[ledger.Transaction] {
	return func(yield func(ledger.Transaction) bool) {
		ctx, stop := context.WithCancel(ctx)
		heads, lines := read(ctx, db, packedLedger, until), read(ctx, db, packedLines, until)
		defer func() { // both readers have ended when this one has
			stop()
			for range heads {
			}
			for range lines {
			}
		}()
		for from := int64(0); from < until; from += batch {
			h, l := <-heads, <-lines
			for _, p := range []packed{h, l} {
				if p.err != nil {
					*fault = p.err
					return
				}
			}
			part := transactions(ctx, db, from, from+batch, -1, fault)
			if h.clean(ledgerFields) && l.clean(lineFields) {
				part = unpack(h, l)
			}
			for t := range part {
				if !yield(t) {
					return
				}
			}
			if *fault != nil {
				return
			}
		}
	}
}

// read fetches batches ahead of who needs them, until there are no more or ctx
// ends.
func read(ctx context.Context, db *sql.DB, query string, until int64) <-chan packed {
	out := make(chan packed, 2)
	go func() {
		defer close(out)
		for from := int64(0); from < until; from += batch {
			var p packed
			p.err = db.QueryRowContext(ctx, query, from, min(from+batch, until)).Scan(&p.n, &p.text)
			select {
			case out <- p:
			case <-ctx.Done():
				return
			}
			if p.err != nil {
				return
			}
		}
	}()
	return out
}

// unpack puts transactions and their lines together.
func unpack(heads, lines packed) iter.Seq[ledger.Transaction] {
	return func(yield func(ledger.Transaction) bool) {
		all, of := unpackLines(lines)
		for row := range heads.rows() {
			t := unpackHead(&row)
			for len(of) > 0 && of[0] < t.Seq {
				of, all = of[1:], all[1:] // of a transaction that is not there
			}
			n := 0
			for n < len(of) && of[n] == t.Seq {
				n++
			}
			t.Lines = all[:n:n]
			of, all = of[n:], all[n:]
			if !yield(t) {
				return
			}
		}
	}
}

func unpackHead(f *fields) (t ledger.Transaction) {
	t.Seq, t.At = f.number(), time.Unix(0, f.number()).UTC()
	t.Period, t.Kind, t.Cluster, t.Rental, t.Account = f.text(), ledger.Kind(f.text()), f.text(), bridge.RentalID(f.text()), bridge.Account(f.text())
	t.Amount = bridge.Money{Micro: f.number(), Currency: bridge.Currency(f.text())}
	t.Who, t.Memo, t.Prev, t.Hash, t.Cloud, t.GPU = f.text(), f.text(), f.text(), f.text(), f.text(), f.text()
	t.Used, t.Key, t.FX = stored(f.number()), f.text(), f.text()
	if t.Kind == ledger.KindHold { // what a hold keeps must not keep the whole batch
		t.Cluster, t.Rental, t.Account = strings.Clone(t.Cluster), bridge.RentalID(strings.Clone(string(t.Rental))), bridge.Account(strings.Clone(string(t.Account)))
		t.Cloud, t.GPU, t.FX, t.Amount.Currency = strings.Clone(t.Cloud), strings.Clone(t.GPU), strings.Clone(t.FX), bridge.Currency(strings.Clone(string(t.Amount.Currency)))
	}
	return t
}

// unpackLines returns lines and the transaction of each.
func unpackLines(p packed) (all []ledger.Line, of []int64) {
	all, of = make([]ledger.Line, 0, p.n), make([]int64, 0, p.n)
	for f := range p.rows() {
		of = append(of, f.number())
		l := ledger.Line{Account: bridge.Account(f.text()), Book: ledger.Book(f.text())}
		l.Amount = bridge.Money{Micro: f.number(), Currency: bridge.Currency(f.text())}
		all = append(all, l)
	}
	return all, of
}

// packedPosts is what one account posted in one currency.
type packedPosts struct {
	account  bridge.Account
	currency bridge.Currency
	packed
}

func readPosted(ctx context.Context, q asker) ([]packedPosts, error) {
	out, err := rows(ctx, q, func(r *sql.Rows) (p packedPosts, err error) {
		err = r.Scan(&p.account, &p.currency, &p.n, &p.text)
		return p, err
	}, packedPosted)
	if err != nil {
		return nil, fmt.Errorf("read what was posted: %w", err)
	}
	return out, nil
}

// samePosts reports whether what is stored is, row by row, what the ledger gives.
func samePosts(stored []packedPosts, sheet *ledger.Sheet) bool {
	rest := map[ledger.Purse][]ledger.QuarterSum{} // not seen yet
	for p, sums := range sheet.Purses() {
		if len(sums.Posted) > 0 {
			rest[p] = sums.Posted
		}
	}
	for i := range stored {
		s := &stored[i]
		if !s.clean(postedFields) {
			return false
		}
		for f := range s.rows() {
			quarter := f.number()
			p := ledger.Purse{Scope: bridge.Scope{Account: s.account, Cloud: f.text(), GPU: f.text()}, Currency: s.currency}
			list := rest[p]
			if len(list) == 0 || list[0] != (ledger.QuarterSum{Number: quarter, Micro: f.number()}) {
				return false
			}
			rest[p] = list[1:]
		}
	}
	for _, list := range rest {
		if len(list) > 0 {
			return false
		}
	}
	return true
}
