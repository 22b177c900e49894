package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"spillway.sh/spillway/bridge"
)

// ChargesBetween returns what settled rentals cost in [from, to), by when it
// arose, one for each rental, kind and exchange rate, in the order of rentals.
// Together they are what was posted then, but for rentals that are not settled.
func (s *Store) ChargesBetween(ctx context.Context, from, to time.Time) ([]bridge.Charge, error) {
	// Meters run only while a hold is open; a correction may arise at any time.
	out, err := rows(ctx, s.reads, scanCharge, `
		with meant (id) as (
			select id from rentals where held_until > 0 and held_until >= ?1 and held_from < ?2
			union select rental from ledger where key <> '' and used >= ?1 and used < ?2)
		select l.rental, n.account, l.cloud, l.gpu, l.kind, n.currency, l.fx, sum(n.micro),
			min(iif(l.used > 0, l.used, l.at)), max(iif(l.used > 0, l.used, l.at))
		from meant
		join holds h on h.rental = meant.id and h.closed = 1
		join ledger l on l.rental = meant.id
		join lines n on n.seq = l.seq and n.book = 'posted'
		where iif(l.used > 0, l.used, l.at) >= ?1 and iif(l.used > 0, l.used, l.at) < ?2
		group by l.rental, n.account, l.cloud, l.gpu, l.kind, n.currency, l.fx
		order by min(l.seq)`, from.UnixNano(), to.UnixNano())
	if err != nil {
		return nil, fmt.Errorf("read charges of %s to %s: %w", from.UTC(), to.UTC(), explain(err))
	}
	return out, nil
}

func scanCharge(r *sql.Rows) (c bridge.Charge, err error) {
	var first, last int64
	err = r.Scan(&c.Rental, &c.Account, &c.Cloud, &c.GPU, &c.Kind, &c.Amount.Currency, &c.FX, &c.Amount.Micro, &first, &last)
	c.First, c.Last = time.Unix(0, first).UTC(), time.Unix(0, last).UTC()
	return c, err
}
