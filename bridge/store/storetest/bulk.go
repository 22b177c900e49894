package storetest

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/ledger"
)

// bulk writes rows of a store in one transaction, without a sync. Its caller
// answers for what they add up to; the ledger check tells.
type bulk struct {
	db    *sql.DB
	tx    *sql.Tx
	ctx   context.Context //nolint:containedctx // of the one transaction that it is
	stmts map[string]*sql.Stmt
	head  ledger.Head
	sheet ledger.Sheet
	after []string // what makes the indexes again
}

func begin(ctx context.Context, dir string) (*bulk, error) {
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "spillway.db")+"?_pragma=journal_mode(off)&_pragma=synchronous(off)&_pragma=cache_size(-100000)&_pragma=locking_mode(exclusive)")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	b := &bulk{db: db, ctx: ctx, stmts: map[string]*sql.Stmt{}}
	if b.tx, err = db.BeginTx(ctx, nil); err == nil {
		err = b.dropIndexes()
	}
	if err != nil {
		b.rollback()
		return nil, err
	}
	return b, nil
}

// dropIndexes takes the indexes away until all rows are there: they are made
// faster from all of them at once.
func (b *bulk) dropIndexes() error {
	r, err := b.tx.QueryContext(b.ctx, `select name, sql from sqlite_schema where type = 'index' and sql is not null`)
	if err != nil {
		return err
	}
	var drop []string
	for r.Next() {
		var name, again string
		if err := r.Scan(&name, &again); err != nil {
			return errors.Join(err, r.Close())
		}
		drop, b.after = append(drop, "drop index "+name), append(b.after, again)
	}
	if err := errors.Join(r.Err(), r.Close()); err != nil {
		return err
	}
	return b.each(drop)
}

func (b *bulk) each(statements []string) error {
	for _, s := range statements {
		if _, err := b.tx.ExecContext(b.ctx, s); err != nil {
			return err
		}
	}
	return nil
}

func (b *bulk) rollback() {
	if b.tx != nil {
		_ = b.tx.Rollback()
	}
	_ = b.db.Close()
}

func (b *bulk) commit() error {
	if err := b.each(b.after); err != nil {
		return err
	}
	err := b.tx.Commit()
	b.tx = nil
	return err
}

func (b *bulk) run(query string, args ...any) error {
	s := b.stmts[query]
	if s == nil {
		var err error
		if s, err = b.tx.PrepareContext(b.ctx, query); err != nil {
			return err
		}
		b.stmts[query] = s
	}
	_, err := s.ExecContext(b.ctx, args...)
	return err
}

// append seals entries and writes them with their lines.
func (b *bulk) append(txs []ledger.Transaction) error {
	for i := range txs {
		t := &txs[i]
		b.head = t.Seal(b.head)
		if err := b.sheet.Apply(t); err != nil {
			return err
		}
		used := int64(0)
		if !t.Used.IsZero() {
			used = t.Used.UnixNano()
		}
		if err := b.run(`insert into ledger (seq, at, period, kind, cluster, rental, account, micro, currency, who, memo, prev, hash, cloud, gpu, used, key, fx)
			values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			t.Seq, t.At.UnixNano(), t.Period, t.Kind, t.Cluster, t.Rental, t.Account, t.Amount.Micro, t.Amount.Currency, t.Who, t.Memo, t.Prev, t.Hash,
			t.Cloud, t.GPU, used, t.Key, t.FX); err != nil {
			return err
		}
		for n, l := range t.Lines {
			if err := b.run(`insert into lines (seq, n, account, book, micro, currency) values (?, ?, ?, ?, ?, ?)`,
				t.Seq, n, l.Account, l.Book, l.Amount.Micro, l.Amount.Currency); err != nil {
				return err
			}
		}
	}
	return nil
}

// rental writes what a rental came to, and its news. Its entries are there by
// then; nothing checks on this connection what they refer to.
func (b *bulk) rental(r *bridge.Rental, h *ledger.Hold) error {
	body, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if err := b.run(`insert into rentals (id, version, state, ended, cluster, account, key, changed, body, held_from, held_until) values (?, ?, ?, 1, ?, ?, '', ?, ?, ?, ?)`,
		r.ID, r.Version, r.State, r.Cluster, r.Account, r.Since.UnixNano(), string(body), r.Created.UnixNano(), r.Since.UnixNano()); err != nil {
		return err
	}
	if err := b.run(`insert into holds (rental, cluster, account, currency, total, posted, closed, cloud, gpu, fx) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		h.Rental, h.Cluster, h.Account, h.Total.Currency, h.Total.Micro, h.Posted.Micro, h.Closed, h.Cloud, h.GPU, h.FX); err != nil {
		return err
	}
	m, job := &r.Machines[0], r.Jobs[0]
	submitted := r.Created.Add(-10 * time.Minute)
	for _, n := range []bridge.News{
		{At: r.Created, Kind: bridge.NewsReserved, Cost: r.Hold},
		{At: m.Joined, Kind: bridge.NewsStarted, Job: job, Who: r.Requester, Submitted: submitted, Estimate: m.Joined.Add(3 * time.Hour), GPUs: r.Shape.GPUs, Took: time.Minute},
		{At: m.Stopped, Kind: bridge.NewsFinished, Job: job},
		{At: r.Since, Kind: bridge.NewsSettled},
	} {
		n.Cluster, n.Rental, n.Pool = r.Cluster, r.ID, &r.Pool
		if body, err = json.Marshal(n); err != nil {
			return err
		}
		if err := b.run(`insert into news (at, kind, rental, job, body) values (?, ?, ?, ?, ?)`, n.At.UnixNano(), n.Kind, n.Rental, n.Job, string(body)); err != nil {
			return err
		}
	}
	return nil
}

// sums writes what the ledger adds up to, and what GPUs did in each hour.
func (b *bulk) sums(start, until time.Time) error {
	all := maps.Collect(b.sheet.Purses())
	for _, p := range slices.SortedFunc(maps.Keys(all), func(a, b ledger.Purse) int {
		return cmp.Or(cmp.Compare(a.Account, b.Account), cmp.Compare(a.Cloud, b.Cloud), cmp.Compare(a.GPU, b.GPU))
	}) {
		sums := all[p]
		if err := b.run(`insert into held (account, currency, cloud, gpu, micro) values (?, ?, ?, ?, ?)`, p.Account, p.Currency, p.Cloud, p.GPU, sums.Held); err != nil {
			return err
		}
		for _, q := range sums.Posted {
			if err := b.run(`insert into posted (account, currency, quarter, cloud, gpu, micro) values (?, ?, ?, ?, ?, ?)`,
				p.Account, p.Currency, q.Number, p.Cloud, p.GPU, q.Micro); err != nil {
				return err
			}
		}
	}
	for hour := start.Truncate(time.Hour); hour.Before(until); hour = hour.Add(time.Hour) {
		busy := int64(64 * (1 + math.Sin(float64(hour.Unix())/13_751)) * 1800) // by day and by night
		for _, class := range classes {
			if err := b.run(`insert into usage (hour, cluster, gpu, seconds, owned, owned_busy, rented, rented_busy, waiting, measured, useful)
				values (?, 'main', ?, 3600, ?, ?, ?, ?, ?, ?, ?)`, hour.UnixNano(), class.name, 64*3600, busy, busy/4, busy/5, busy/2, busy/5, busy/7); err != nil {
				return err
			}
		}
	}
	return b.run(`update meta set rentals = (select count(*) from rentals), ledger_seq = ?, ledger_hash = ?`, b.head.Seq, b.head.Hash)
}
