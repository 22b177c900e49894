package store

import (
	"context"
	"database/sql"
	"fmt"
	"iter"
	"math"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/ledger"
)

// record appends the transactions of a hold's step and stores the hold.
func (w *writing) record(ctx context.Context, h ledger.Hold, txs []ledger.Transaction) error {
	if len(txs) == 0 {
		return nil
	}
	if err := w.append(ctx, txs); err != nil {
		return err
	}
	_, err := w.ExecContext(ctx, `insert into holds (rental, cluster, account, currency, total, posted, closed, cloud, gpu, fx) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		on conflict (rental) do update set total = excluded.total, posted = excluded.posted, closed = excluded.closed`,
		h.Rental, h.Cluster, h.Account, h.Total.Currency, h.Total.Micro, h.Posted.Micro, h.Closed, h.Cloud, h.GPU, h.FX)
	if err != nil {
		return err
	}
	switch last := txs[len(txs)-1]; last.Kind {
	case ledger.KindHold:
		_, err = w.ExecContext(ctx, `update rentals set held_from = ? where id = ?`, last.At.UnixNano(), h.Rental)
	case ledger.KindSettle, ledger.KindVoid:
		_, err = w.ExecContext(ctx, `update rentals set held_until = ? where id = ?`, last.At.UnixNano(), h.Rental)
	default:
	}
	return err
}

// append seals transactions and writes them with the sums they change.
func (w *writing) append(ctx context.Context, txs []ledger.Transaction) error {
	for i := range txs {
		t := &txs[i]
		if err := t.Balanced(); err != nil { // I9
			return err
		}
		w.head = t.Seal(w.head)
		_, err := w.ExecContext(ctx, `insert into ledger (seq, at, period, kind, cluster, rental, account, micro, currency, who, memo, prev, hash, cloud, gpu, used, key, fx)
			values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			t.Seq, t.At.UnixNano(), t.Period, t.Kind, t.Cluster, t.Rental, t.Account, t.Amount.Micro, t.Amount.Currency, t.Who, t.Memo, t.Prev, t.Hash,
			t.Cloud, t.GPU, nanos(t.Used), t.Key, t.FX)
		if err != nil {
			return err
		}
		for n, l := range t.Lines {
			if err := w.line(ctx, t, n, l); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *writing) line(ctx context.Context, t *ledger.Transaction, n int, l ledger.Line) error {
	_, err := w.ExecContext(ctx, `insert into lines (seq, n, account, book, micro, currency) values (?, ?, ?, ?, ?, ?)`,
		t.Seq, n, l.Account, l.Book, l.Amount.Micro, l.Amount.Currency)
	if err != nil {
		return err
	}
	for _, a := range l.Account.Ancestors() {
		switch l.Book {
		case ledger.Held:
			_, err = w.ExecContext(ctx, `insert into held (account, currency, cloud, gpu, micro) values (?, ?, ?, ?, ?)
				on conflict do update set micro = micro + excluded.micro`, a, l.Amount.Currency, t.Cloud, t.GPU, l.Amount.Micro)
		case ledger.Posted:
			_, err = w.ExecContext(ctx, `insert into posted (account, currency, quarter, cloud, gpu, micro) values (?, ?, ?, ?, ?, ?)
				on conflict do update set micro = micro + excluded.micro`, a, l.Amount.Currency, bridge.Quarter(t.Arose()), t.Cloud, t.GPU, l.Amount.Micro)
		case ledger.Room, ledger.Overage: // limits are policy, not balances
		}
		if err != nil {
			return fmt.Errorf("add to %s of %s: %w", l.Book, a, err)
		}
	}
	return nil
}

// stored is the time that nanos gives.
func stored(at int64) time.Time {
	if at == 0 {
		return time.Time{}
	}
	return time.Unix(0, at).UTC()
}

const holdColumns = `select rental, cluster, account, currency, total, posted, closed, cloud, gpu, fx from holds`

func holdOf(ctx context.Context, q asker, id bridge.RentalID) (ledger.Hold, error) {
	return scanHold(q.QueryRowContext(ctx, holdColumns+` where rental = ?`, id).Scan)
}

func scanHold(scan func(...any) error) (h ledger.Hold, err error) {
	err = scan(&h.Rental, &h.Cluster, &h.Account, &h.Total.Currency, &h.Total.Micro, &h.Posted.Micro, &h.Closed, &h.Cloud, &h.GPU, &h.FX)
	h.Posted.Currency = h.Total.Currency
	return h, err
}

// Ledger returns up to limit transactions after a sequence number, in order.
func (s *Store) Ledger(ctx context.Context, afterSeq int64, limit int) ([]ledger.Transaction, error) {
	var out []ledger.Transaction
	err := s.read(ctx, func(tx prepared) (err error) {
		for t := range transactions(ctx, tx, afterSeq, math.MaxInt64, limit, &err) {
			out = append(out, t)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read ledger: %w", err)
	}
	return out, nil
}

// transactions reads a part of the ledger row by row; a negative limit is none.
// *fault is set when reading ends early.
func transactions(ctx context.Context, q asker, afterSeq, untilSeq int64, limit int, fault *error) iter.Seq[ledger.Transaction] {
	return func(yield func(ledger.Transaction) bool) {
		r, err := q.QueryContext(ctx, `select t.seq, t.at, t.period, t.kind, t.cluster, t.rental, t.account, t.micro, t.currency, t.who, t.memo, t.prev, t.hash,
			t.cloud, t.gpu, t.used, t.key, t.fx, l.account, l.book, l.micro, l.currency
			from (select * from ledger where seq > ? and seq <= ? order by seq limit ?) t left join lines l on l.seq = t.seq order by t.seq, l.n`, afterSeq, untilSeq, limit)
		if err != nil {
			*fault = err
			return
		}
		defer func() { _ = r.Close() }()
		var t ledger.Transaction // being put together
		for r.Next() {
			u, line, err := scanTransaction(r)
			if err != nil {
				*fault = err
				return
			}
			if u.Seq != t.Seq {
				if t.Seq != 0 && !yield(t) {
					return
				}
				t = u
			}
			if line != nil {
				t.Lines = append(t.Lines, *line)
			}
		}
		if *fault = r.Err(); *fault == nil && t.Seq != 0 {
			yield(t)
		}
	}
}

func scanTransaction(r *sql.Rows) (t ledger.Transaction, line *ledger.Line, err error) {
	var at, used int64
	var account, book, currency sql.NullString
	var micro sql.NullInt64
	err = r.Scan(&t.Seq, &at, &t.Period, &t.Kind, &t.Cluster, &t.Rental, &t.Account, &t.Amount.Micro, &t.Amount.Currency, &t.Who, &t.Memo, &t.Prev, &t.Hash,
		&t.Cloud, &t.GPU, &used, &t.Key, &t.FX, &account, &book, &micro, &currency)
	t.At, t.Used = time.Unix(0, at).UTC(), stored(used)
	if book.Valid {
		line = &ledger.Line{
			Account: bridge.Account(account.String), Book: ledger.Book(book.String),
			Amount: bridge.Money{Micro: micro.Int64, Currency: bridge.Currency(currency.String)},
		}
	}
	return t, line, err
}
