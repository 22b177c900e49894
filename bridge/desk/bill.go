package desk

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/bill"
)

// BillReader is the part of a store that bills are compared with.
type BillReader interface {
	StoreID() string
	// RentalsBetween are rentals that had machines or an open hold in [from, to).
	RentalsBetween(ctx context.Context, from, to time.Time) ([]bridge.Rental, error)
	// Corrections are those recorded in [from, to).
	Corrections(ctx context.Context, from, to time.Time) ([]bridge.Correction, error)
	// BillLines are the lines of a cloud's bills whose time overlaps [from, to).
	BillLines(ctx context.Context, cloud string, from, to time.Time) ([]bridge.BillLine, error)
}

// BillWriter is the part of a store that an import changes.
type BillWriter interface {
	// SaveBill stores lines, all or none; a key that is there with another content is an error.
	SaveBill(ctx context.Context, lines []bridge.BillLine) (added, known int, err error)
	// Correct records corrections, all or none; it returns how many were new.
	Correct(ctx context.Context, cs []bridge.Correction, news ...bridge.News) (int, error)
}

// BillRequest is a bill that was read, or the stored lines of a month where it
// has none.
type BillRequest struct {
	Cloud string      `json:"cloud"`
	Lines []bill.Line `json:"lines,omitempty"`
	From  time.Time   `json:"from,omitzero"` // the time the bill speaks of
	To    time.Time   `json:"to,omitzero"`
	Month string      `json:"month,omitempty"` // 2026-11, in the zone of the budgets
	// Tolerance is what counts as rounding, in micro-units; zero: a cent.
	Tolerance int64 `json:"tolerance,omitempty"`
}

// BillAnswer is a bill next to the books. Of a check, Added and Corrected are
// what an import would store.
type BillAnswer struct {
	bill.Statement
	Done      bool `json:"done"`  // stored and corrected
	Added     int  `json:"added"` // lines that were not stored before
	Known     int  `json:"known"`
	Corrected int  `json:"corrected"` // corrections that were new
}

// CheckBill compares a bill with the books and changes nothing.
func (d *Desk) CheckBill(ctx context.Context, p Person, q BillRequest) (BillAnswer, error) {
	if err := p.need(SeeAll); err != nil {
		return BillAnswer{}, err
	}
	w, err := d.openBill(ctx, p, &q)
	if err != nil {
		return BillAnswer{}, err
	}
	a := BillAnswer{Statement: *w.statement, Added: len(w.fresh), Known: w.known}
	a.Corrected = len(a.Corrections())
	return a, nil
}

// ImportBill stores a bill's lines and corrects the rentals that are settled.
// Without lines it corrects by those that are stored. What was done before is
// done once.
func (d *Desk) ImportBill(ctx context.Context, p Person, q BillRequest) (BillAnswer, error) {
	if err := p.need(SettleBills); err != nil {
		return BillAnswer{}, err
	}
	writer, ok := d.Writer.(BillWriter)
	if !ok {
		return BillAnswer{}, wrong(Unavailable, "systemctl start spillway", "the daemon is not running, so nothing can be changed")
	}
	d.settling.Lock()
	defer d.settling.Unlock()
	w, err := d.openBill(ctx, p, &q)
	if err != nil {
		return BillAnswer{}, err
	}
	a := BillAnswer{Statement: *w.statement, Done: true, Known: w.known}
	if len(w.fresh) > 0 {
		var again int
		if a.Added, again, err = writer.SaveBill(ctx, w.fresh); err != nil {
			return BillAnswer{}, unstored(err)
		}
		a.Known += again
	}
	cs := a.Corrections()
	if len(cs) == 0 {
		return a, nil
	}
	var news []bridge.News
	for _, list := range [][]bill.Case{a.Matched, a.Differing} {
		for i := range list {
			if c := &list[i]; len(c.Corrections) > 0 {
				news = append(news, c.News(q.Cloud, w.clusters[c.Rental], p.Name, d.Now()))
			}
		}
	}
	if a.Corrected, err = writer.Correct(ctx, cs, news...); err != nil {
		return BillAnswer{}, unstored(err)
	}
	return a, nil
}

// billWork is a bill being compared.
type billWork struct {
	statement *bill.Statement
	fresh     []bridge.BillLine // not stored yet
	known     int
	clusters  map[bridge.RentalID]string
}

// billBack is how far before a bill rentals are looked for whose credits it may
// hold.
const billBack = 3

func (d *Desk) openBill(ctx context.Context, p Person, q *BillRequest) (*billWork, error) {
	store, ok := d.Reader.(BillReader)
	if !ok {
		return nil, wrong(Unavailable, "spillway status", "this store keeps no bills")
	}
	if err := d.billTime(q); err != nil {
		return nil, err
	}
	rentals, err := d.billRentals(ctx, store, q)
	if err != nil {
		return nil, err
	}
	w := &billWork{clusters: map[bridge.RentalID]string{}}
	first := q.From
	for i := range rentals {
		w.clusters[rentals[i].ID] = rentals[i].Cluster
		if c := rentals[i].Created; c.Before(first) {
			first = c
		}
	}
	now := d.Now()
	first, last := first.AddDate(0, 0, -1), now
	if q.To.After(last) {
		last = q.To
	}
	stored, err := store.BillLines(ctx, q.Cloud, first, last)
	if err != nil {
		return nil, unreadable(err)
	}
	prior, err := store.Corrections(ctx, first, now.Add(time.Hour))
	if err != nil {
		return nil, unreadable(err)
	}
	lines, err := w.join(q, store.StoreID(), stored, rentals)
	if err != nil {
		return nil, err
	}
	w.statement, err = bill.Match(lines, bill.Books{
		Cloud: q.Cloud, Store: store.StoreID(), Rentals: rentals, Prior: prior, Tolerance: q.Tolerance, Currency: d.booksCurrency(), Exchange: d.convert,
		Zone: d.booksZone(), Now: now, Who: p.Name, From: q.From, To: q.To,
	})
	if err != nil {
		return nil, unbillable(err)
	}
	return w, nil
}

// unbillable says why lines cannot be compared.
func unbillable(err error) error {
	e := wrong(BadRequest, "spillway check-config", "the bill cannot be compared: %s", err)
	e.Err = err
	return e
}

// billTime fills in what a request leaves out and refuses what it cannot be.
func (d *Desk) billTime(q *BillRequest) error {
	if q.Tolerance == 0 {
		q.Tolerance = bill.Tolerance
	}
	switch {
	case q.Cloud == "":
		return wrong(BadRequest, "spillway bill show --cloud north", "the bill of which cloud? Its name is missing")
	case q.Tolerance < 0:
		return wrong(BadRequest, "--tolerance 0.01", "a tolerance below zero means nothing")
	case len(d.CloudNames) > 0 && !slices.Contains(d.CloudNames, q.Cloud):
		return wrong(NotFound, "spillway bill show --cloud "+d.CloudNames[0], "no cloud is called %q; there are %s", q.Cloud, strings.Join(d.CloudNames, ", "))
	case len(q.Lines) > bill.MostLines:
		return wrong(BadRequest, "spillway bill check FILE --cloud "+q.Cloud, "more than %d lines of machines are not read", bill.MostLines)
	}
	thisMonth := "--month " + d.Now().In(d.booksZone()).Format("2006-01")
	if q.Month != "" {
		t, err := time.ParseInLocation("2006-01", q.Month, d.booksZone())
		if err != nil {
			return wrong(BadRequest, thisMonth, "%q is no month", q.Month)
		}
		q.From, q.To = t.UTC(), t.AddDate(0, 1, 0).UTC()
	}
	if err := d.lineTimes(q); err != nil {
		return err
	}
	if q.From.IsZero() || q.To.IsZero() {
		return wrong(BadRequest, thisMonth, "of which month? There are no lines that would tell")
	}
	return nil
}

// lineTimes widens the time of a bill to that of its lines, and refuses lines
// that no file gives.
func (d *Desk) lineTimes(q *BillRequest) error {
	for i := range q.Lines {
		l := &q.Lines[i]
		if l.Cloud = q.Cloud; l.Key == "" || !l.From.Before(l.To) || l.To.After(d.Now().Add(2*time.Hour)) {
			return wrong(BadRequest, "spillway bill check FILE --cloud "+q.Cloud, "line %d of the bill has no key, or a time that cannot be", l.Row)
		}
		if q.From.IsZero() || l.From.Before(q.From) {
			q.From = l.From
		}
		if l.To.After(q.To) {
			q.To = l.To
		}
	}
	return nil
}

// billRentals are all rentals that lines may be of.
func (d *Desk) billRentals(ctx context.Context, store BillReader, q *BillRequest) ([]bridge.Rental, error) {
	rentals, err := store.RentalsBetween(ctx, q.From.AddDate(0, -billBack, 0), q.To)
	if err != nil {
		return nil, unreadable(err)
	}
	seen := map[bridge.RentalID]bool{}
	for i := range rentals {
		seen[rentals[i].ID] = true
	}
	for i := range q.Lines {
		id, err := bridge.ParseRentalID(string(q.Lines[i].Rental))
		if err != nil || seen[id] {
			continue
		}
		seen[id] = true
		r, err := d.Reader.Rental(ctx, id)
		if errors.Is(err, ErrNoRental) {
			continue
		}
		if err != nil {
			return nil, unreadable(err)
		}
		rentals = append(rentals, r)
	}
	return rentals, nil
}

// join puts a bill's lines to those that are stored. A line that is stored with
// another content is refused, and with it the whole bill.
func (w *billWork) join(q *BillRequest, store string, stored []bridge.BillLine, rentals []bridge.Rental) ([]bill.Line, error) {
	byKey := make(map[string]*bridge.BillLine, len(stored))
	for i := range stored {
		byKey[stored[i].Key] = &stored[i]
	}
	var out []bill.Line
	given := map[string]bool{}
	for i := range q.Lines {
		l := &q.Lines[i]
		if given[l.Key] {
			return nil, wrong(BadRequest, "spillway bill check FILE --cloud "+q.Cloud, "line %d of the bill is there twice", l.Row)
		}
		given[l.Key] = true
		out = append(out, *l)
		if old := byKey[l.Key]; old != nil {
			if w.known++; !sameLine(old, &l.BillLine) {
				return nil, wrong(Conflict, "spillway bill show --cloud "+q.Cloud+" --month "+old.From.Format("2006-01"),
					"line %d of the bill was imported before, in invoice %s, as %s; now it is %s in invoice %s", l.Row, old.Invoice, exactly(old.Amount), exactly(l.Amount), l.Invoice)
			}
		}
	}
	for _, l := range bill.Ours(q.Lines, q.Cloud, store, rentals) {
		if byKey[l.Key] == nil {
			w.fresh = append(w.fresh, l)
		}
	}
	for i := range stored {
		if !given[stored[i].Key] {
			out = append(out, bill.Line{BillLine: stored[i]})
		}
	}
	return out, nil
}

// exactly prints an amount to the micro-unit, where two are told apart.
func exactly(m bridge.Money) string {
	sign, abs := "", uint64(m.Micro)
	if m.Micro < 0 {
		sign, abs = "-", -uint64(m.Micro)
	}
	return fmt.Sprintf("%s%d.%06d %s", sign, abs/bridge.Micro, abs%bridge.Micro, m.Currency)
}

func sameLine(a, b *bridge.BillLine) bool {
	x, y := *a, *b
	x.From, x.To, y.From, y.To = time.Time{}, time.Time{}, time.Time{}, time.Time{}
	return x == y && a.From.Equal(b.From) && a.To.Equal(b.To)
}

// booksCurrency is the one the books are kept in.
func (d *Desk) booksCurrency() bridge.Currency {
	if bs := d.Rules.Budgets(); len(bs) > 0 {
		return bs[0].Limit.Currency
	}
	return ""
}

// booksZone is that of the budgets.
func (d *Desk) booksZone() *time.Location {
	if bs := d.Rules.Budgets(); len(bs) > 0 && bs[0].Zone != nil {
		return bs[0].Zone
	}
	return time.UTC
}

// convert brings an amount of a bill into the currency of the books.
func (d *Desk) convert(m bridge.Money, to bridge.Currency, at time.Time) (bridge.Money, string, error) {
	if d.Exchange == nil {
		return bridge.Money{}, "", fmt.Errorf("policy has no exchange rate from %s to %s", m.Currency, to)
	}
	x, err := d.Exchange(m.Currency, to, at)
	if err != nil {
		return bridge.Money{}, "", err
	}
	out, err := x.Convert(m, bridge.RoundHalfEven)
	return out, x.String(), err
}
