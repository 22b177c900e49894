package policies

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/config/strict"
)

// exchange are the exchange rates of a file, written in it or in a table beside it.
type exchange struct {
	maxAge time.Duration
	list   []bridge.Exchange
	table  *rateTable
}

// How old a rate may be unless the file says otherwise: over a weekend and a
// holiday, and no longer.
const (
	exchangeAge    = 7 * 24 * time.Hour
	maxExchangeAge = 366 * 24 * time.Hour
)

// Rates are the exchange rates of now. The table is read again when it changes;
// while it cannot be, the last good rates stay until they are too old, and the
// error says what is wrong.
func (f *File) Rates(time.Time) (bridge.Rates, error) {
	out := bridge.Rates{List: slices.Clone(f.exchange.list), MaxAge: f.exchange.maxAge}
	if f.exchange.table == nil {
		return out, nil
	}
	more, err := f.exchange.table.read()
	out.List = append(out.List, more...)
	return out, err
}

func (r *reader) readExchange(n strict.Node) {
	x := &r.file.exchange
	var table strict.Node
	n.Object(
		strict.May("max_age", "max_age: 7d", strict.Span(&x.maxAge, time.Hour, maxExchangeAge)),
		strict.May("file", "file: rates.csv", func(n strict.Node) { table = n }),
		strict.May("rates", `rates: [{from: CNY, rate: "0.139512", source: central parity, date: 2026-11-28}]`, strict.Each(r.readRate)),
	)
	if !table.Given() {
		if len(x.list) == 0 && n.Line() > 0 {
			if _, given := n.Get("rates"); !given {
				n.With(`exchange: {file: rates.csv}`).Refuse("no rate and no file of rates: offers in other currencies are not bought")
			}
		}
		return
	}
	var path string
	strict.Text(&path)(table)
	if path == "" {
		return
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(r.file.name), path)
	}
	x.table = &rateTable{path: path}
	if _, err := x.table.read(); err != nil {
		table.Fault(err.Error())
	}
}

func (r *reader) readRate(e strict.Node) {
	x := bridge.Exchange{To: r.file.currency}
	if !e.Object(
		strict.Need("from", "from: CNY", strict.Text(&x.From, isoCurrency)),
		strict.May("to", "to: "+r.code(), strict.Text(&x.To, isoCurrency)),
		strict.Need("rate", `rate: "0.139512"`, scalar(func(s string) (wrong string) { x.Micro, wrong = exchangeRate(s); return wrong })),
		strict.Need("source", "source: central parity", strict.Text(&x.Source, source)),
		strict.Need("date", "date: 2026-11-28", scalar(func(s string) (wrong string) { x.Date, wrong = day(s); return wrong })),
	) {
		return
	}
	if wrong := sensible(&x); wrong != "" && x.From != "" {
		e.With(`{from: CNY, rate: "0.139512", source: central parity, date: 2026-11-28}`).Refuse(wrong)
		return
	}
	list := &r.file.exchange.list
	if slices.ContainsFunc(*list, func(y bridge.Exchange) bool { return sameRate(&x, &y) }) {
		e.With("date: 2026-11-29").Refuse(fmt.Sprintf("a second rate from %s to %s of %s: keep one", x.From, x.To, x.Date.Format(time.DateOnly)))
		return
	}
	*list = append(*list, x)
}

// sameRate reports whether two rates are for the same currencies and day.
func sameRate(a, b *bridge.Exchange) bool {
	return a.From == b.From && a.To == b.To && a.Date.Equal(b.Date)
}

// sensible says what is wrong with a rate as a whole.
func sensible(x *bridge.Exchange) string {
	if x.From == x.To {
		return fmt.Sprintf("from %s to itself: a currency needs no rate for its own", x.From)
	}
	return ""
}

// scalar reads a value whatever YAML takes it for.
func scalar(set func(string) string) func(strict.Node) {
	return func(n strict.Node) {
		s, ok := n.Scalar()
		if !ok {
			n.Fault("want a single value")
			return
		}
		if wrong := set(strings.TrimSpace(s)); wrong != "" {
			n.Fault(wrong)
		}
	}
}

var decimalText = regexp.MustCompile(`^-?[0-9]{1,12}(\.[0-9]+)?$`)

// exchangeRate reads how much of one currency one unit of another is worth.
func exchangeRate(s string) (micro int64, wrong string) {
	if !decimalText.MatchString(s) {
		return 0, "not a rate: want a plain decimal number such as 0.139512"
	}
	d, err := decimal.NewFromString(s)
	if err != nil {
		return 0, "not a rate"
	}
	d = d.Shift(6)
	switch {
	case !d.IsPositive():
		return 0, "a rate must be more than nothing"
	case !d.IsInteger():
		return 0, "finer than a millionth, which is the smallest unit counted"
	case d.GreaterThan(decimal.NewFromInt(1_000_000 * bridge.Micro)):
		return 0, "no currency is worth that much of another"
	}
	return d.IntPart(), ""
}

func day(s string) (time.Time, string) {
	t, err := time.Parse(time.DateOnly, s)
	if err != nil {
		return time.Time{}, "not a day: want year-month-day, such as 2026-11-28"
	}
	return t, ""
}

// source is kept on each entry of the books, and as a tag of each machine.
func source(s string) string {
	if len(s) > 100 || strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }) || strings.TrimSpace(s) != s {
		return "want a few words on one line, at most 100 bytes"
	}
	return ""
}
