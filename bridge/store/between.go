package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/ledger"
)

// ErrQuarter refuses a time that is not the first instant of a quarter hour:
// what was posted is not known more finely.
var ErrQuarter = errors.New("not on a quarter hour")

// RentalsBetween returns rentals that had machines or an open hold at some time
// in [from, to), oldest first, ended ones too.
func (s *Store) RentalsBetween(ctx context.Context, from, to time.Time) ([]bridge.Rental, error) {
	// Machines are there only while their hold is open.
	out, err := rows(ctx, s.reads, scanRental, `select body from rentals where num in (
			select num from rentals where held_until > 0 and held_until > ?1 and held_from < ?2
			union all select num from rentals where held_from > 0 and held_until = 0 and held_from < ?2)
		order by num`, from.UnixNano(), to.UnixNano())
	if err != nil {
		return nil, fmt.Errorf("read rentals of %s to %s: %w", from.UTC(), to.UTC(), explain(err))
	}
	return out, nil
}

// PostedBetween returns what was posted in [from, to), both on quarter hours, by
// full account, cloud, class and currency. What came to nothing is left out.
func (s *Store) PostedBetween(ctx context.Context, from, to time.Time) ([]bridge.PostedSum, error) {
	for _, t := range []time.Time{from, to} {
		if !bridge.QuarterStart(bridge.Quarter(t)).Equal(t) {
			return nil, fmt.Errorf("read what was posted until %s: %w", t.UTC(), ErrQuarter)
		}
	}
	type row struct {
		ledger.Purse
		micro int64
	}
	all, err := rows(ctx, s.reads, func(r *sql.Rows) (v row, err error) {
		err = r.Scan(&v.Account, &v.Cloud, &v.GPU, &v.Currency, &v.micro)
		return v, err
	}, `select account, cloud, gpu, currency, sum(micro) from posted where quarter >= ? and quarter < ? group by 1, 2, 3, 4`,
		bridge.Quarter(from), bridge.Quarter(to))
	if err != nil {
		return nil, fmt.Errorf("read what was posted: %w", explain(err))
	}
	own := make(map[ledger.Purse]int64, len(all))
	for _, v := range all { // a row has what is below its account in it too
		own[v.Purse] += v.micro
		if i := strings.LastIndexByte(string(v.Account), '/'); i > 0 {
			above := v.Purse
			above.Account = v.Account[:i]
			own[above] -= v.micro
		}
	}
	return postedSums(own), nil
}

func postedSums(own map[ledger.Purse]int64) []bridge.PostedSum {
	var out []bridge.PostedSum
	for _, p := range slices.SortedFunc(maps.Keys(own), comparePurses) {
		if micro := own[p]; micro != 0 {
			out = append(out, bridge.PostedSum{Scope: p.Scope, Amount: bridge.Money{Micro: micro, Currency: p.Currency}})
		}
	}
	return out
}

func comparePurses(a, b ledger.Purse) int {
	return slices.Compare([]string{string(a.Account), a.Cloud, a.GPU, string(a.Currency)}, []string{string(b.Account), b.Cloud, b.GPU, string(b.Currency)})
}

// NewsBetween returns news of some kinds, none meaning all, that happened in
// [from, to), oldest first.
func (s *Store) NewsBetween(ctx context.Context, from, to time.Time, kinds ...bridge.NewsKind) ([]bridge.News, error) {
	where, args := "at >= ? and at < ?", []any{from.UnixNano(), to.UnixNano()}
	if len(kinds) > 0 {
		where += " and kind in (?" + strings.Repeat(", ?", len(kinds)-1) + ")"
		for _, k := range kinds {
			args = append(args, k)
		}
	}
	out, err := rows(ctx, s.reads, scanNews, `select id, body from news where `+where+` order by at, id`, args...)
	if err != nil {
		return nil, fmt.Errorf("read news of %s to %s: %w", from.UTC(), to.UTC(), explain(err))
	}
	return out, nil
}
