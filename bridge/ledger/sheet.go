package ledger

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"spillway.sh/spillway/bridge"
)

// Purse is one account in one currency.
type Purse struct {
	Account  bridge.Account
	Currency bridge.Currency
}

// Sheet is what a ledger adds up to: the balances that reading all its
// transactions gives. The zero value is an empty ledger.
type Sheet struct {
	Holds   map[bridge.RentalID]Hold
	Held    map[Purse]int64           // open holds, every prefix of an account included
	Posted  map[Purse]map[int64]int64 // by quarter hour, prefixes included
	Overage map[bridge.RentalID]int64 // allowed, all budgets of a rental together
	Total   map[bridge.Currency]int64 // of all lines: zero, or the ledger is wrong
}

// Apply adds one transaction. It fails when the transaction is not a step that
// a hold in this state can take, or its lines are not those of that step.
func (s *Sheet) Apply(t *Transaction) error {
	s.init()
	if err := t.Balanced(); err != nil {
		return err
	}
	if t.Kind == KindOverage {
		s.Overage[t.Rental] += t.Amount.Micro
	} else {
		from, known := s.Holds[t.Rental]
		to, err := replay(from, known, t)
		if err != nil {
			return fmt.Errorf("apply transaction %d: %w", t.Seq, err)
		}
		if !slices.Equal(lines(from, to), t.Lines) {
			return fmt.Errorf("apply transaction %d: its lines are not those of a %s", t.Seq, t.Kind)
		}
		s.Holds[t.Rental] = to
	}
	for _, l := range t.Lines {
		s.Total[l.Amount.Currency] += l.Amount.Micro
		for _, a := range l.Account.Ancestors() {
			s.add(Purse{a, l.Amount.Currency}, l, t.At)
		}
	}
	return nil
}

func (s *Sheet) init() {
	if s.Holds != nil {
		return
	}
	s.Holds, s.Held, s.Posted = map[bridge.RentalID]Hold{}, map[Purse]int64{}, map[Purse]map[int64]int64{}
	s.Overage, s.Total = map[bridge.RentalID]int64{}, map[bridge.Currency]int64{}
}

func (s *Sheet) add(p Purse, l Line, at time.Time) {
	switch l.Book {
	case Held:
		s.Held[p] += l.Amount.Micro
	case Posted:
		if s.Posted[p] == nil {
			s.Posted[p] = map[int64]int64{}
		}
		s.Posted[p][Quarter(at)] += l.Amount.Micro
	case Room, Overage:
	}
}

// replay takes one recorded step on a hold.
func replay(h Hold, known bool, t *Transaction) (Hold, error) {
	switch {
	case known == (t.Kind == KindHold):
		return h, fmt.Errorf("%s of %s, whose hold is there: %t", t.Kind, t.Rental, known)
	case h.Closed:
		return h, fmt.Errorf("%s of %s: %w", t.Kind, t.Rental, ErrClosed)
	}
	var err error
	switch t.Kind {
	case KindHold:
		h = Hold{Rental: t.Rental, Cluster: t.Cluster, Account: t.Account, Total: t.Amount}
		h.Posted.Currency = t.Amount.Currency
	case KindExtend:
		h.Total, err = h.Total.Add(t.Amount)
	case KindPost, KindAdjust:
		h.Posted, err = h.Posted.Add(t.Amount)
	case KindSettle, KindVoid:
		h.Closed = true
	case KindOverage:
	}
	return h, err
}

// Balance returns what a budget's account may still spend in the period that
// contains now.
func (s *Sheet) Balance(b *bridge.Budget, now time.Time) bridge.Balance {
	start, end := Span(now, b.Every, b.Zone)
	p := Purse{b.Account, b.Limit.Currency}
	out := bridge.Balance{
		Account: b.Account, Period: PeriodOf(now, b.Every, b.Zone), Limit: b.Limit, Hard: b.Hard,
		Held:   bridge.Money{Micro: s.Held[p], Currency: b.Limit.Currency},
		Posted: bridge.Money{Currency: b.Limit.Currency},
	}
	for q, micro := range s.Posted[p] {
		if Quarter(start) <= q && q < Quarter(end) {
			out.Posted.Micro += micro
		}
	}
	return out
}

// Open returns the rentals with an open hold, in order.
func (s *Sheet) Open() []bridge.RentalID {
	var open []bridge.RentalID
	for _, id := range slices.Sorted(maps.Keys(s.Holds)) {
		if !s.Holds[id].Closed {
			open = append(open, id)
		}
	}
	return open
}
