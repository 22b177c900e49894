package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"spillway.sh/spillway/bridge"
)

// ChargesBetween returns what settled rentals cost in [from, to), by when it
// arose: what was metered, one for each rental, and each kind of correction.
// Together they are what was posted then, but for rentals that are not settled.
func (s *Store) ChargesBetween(ctx context.Context, from, to time.Time) ([]bridge.Charge, error) {
	// What a rental whose whole life is in the time was metered at is what its hold
	// came to; only of the others, entries have to be read. The order of the joins
	// and the indexes are given, for a year's ledger is long and little of it is meant.
	out, err := rows(ctx, s.reads, scanCharge, `
		with corrected (rental, micro) as (select rental, sum(micro) from ledger indexed by ledger_key where key <> '' group by rental)
		select * from (
			select h.rental, h.account, h.cloud, h.gpu, 'post', h.currency, h.fx, h.posted - coalesce(c.micro, 0) as micro, r.held_from, r.held_until
			from rentals r indexed by rentals_ended
			cross join holds h on h.rental = r.id and h.closed = 1
			left join corrected c on c.rental = r.id
			where r.held_until > 0 and r.held_until >= ?1 and r.held_until < ?2 and r.held_from >= ?1
			union all
			select l.rental, n.account, l.cloud, l.gpu, 'post', n.currency, l.fx, sum(n.micro), min(l.at), max(l.at)
			from rentals r indexed by rentals_ended
			cross join holds h on h.rental = r.id and h.closed = 1
			cross join ledger l on l.rental = r.id and l.kind in ('post', 'adjust')
			cross join lines n on n.seq = l.seq and n.book = 'posted'
			where r.held_until > 0 and r.held_until >= ?1 and r.held_from < ?2 and not (r.held_until < ?2 and r.held_from >= ?1)
				and l.at >= ?1 and l.at < ?2
			group by l.rental, n.account, l.cloud, l.gpu, n.currency, l.fx
			union all
			select rental, account, cloud, gpu, kind, currency, fx, sum(micro), min(used), max(used)
			from ledger indexed by ledger_key where key <> '' and used >= ?1 and used < ?2
			group by rental, account, cloud, gpu, kind, currency, fx)
		where micro <> 0
		order by 1, 5 <> 'post', 5, 7`, from.UnixNano(), to.UnixNano())
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
