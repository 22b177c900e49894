package ledger

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"spillway.sh/spillway/bridge"
)

// Purse is what one account spends on one cloud and class of GPU in one
// currency; what was held before those were kept has neither.
type Purse struct {
	bridge.Scope
	Currency bridge.Currency
}

// Sums are those of one purse and of all accounts below its own.
type Sums struct {
	Held   int64        // open holds
	Posted []QuarterSum // in order
}

// QuarterSum is what was posted in one quarter hour.
type QuarterSum struct{ Number, Micro int64 }

// Sheet is what a ledger adds up to: the balances that reading all its
// transactions gives. The zero value is an empty ledger.
type Sheet struct {
	Holds   map[bridge.RentalID]Hold
	Overage map[bridge.RentalID]int64 // allowed, all budgets of a rental together
	Total   map[bridge.Currency]int64 // of all lines: zero, or the ledger is wrong

	sums  map[Purse]*Sums
	above map[Purse][]*Sums // of a purse and of those above it
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
		if want, n := lines(from, to); !slices.Equal(want[:n], t.Lines) {
			return fmt.Errorf("apply transaction %d: its lines are not those of a %s", t.Seq, t.Kind)
		}
		s.Holds[to.Rental] = to
	}
	for i := range t.Lines {
		l := &t.Lines[i]
		s.Total[l.Amount.Currency] += l.Amount.Micro
		if l.Book != Held && l.Book != Posted {
			continue
		}
		for _, sums := range s.chain(Purse{bridge.Scope{Account: l.Account, Cloud: t.Cloud, GPU: t.GPU}, l.Amount.Currency}) {
			if l.Book == Held {
				sums.Held += l.Amount.Micro
			} else {
				sums.post(bridge.Quarter(t.Arose()), l.Amount.Micro)
			}
		}
	}
	return nil
}

func (s *Sheet) init() {
	if s.Holds == nil {
		s.Holds, s.Overage, s.Total = map[bridge.RentalID]Hold{}, map[bridge.RentalID]int64{}, map[bridge.Currency]int64{}
		s.sums, s.above = map[Purse]*Sums{}, map[Purse][]*Sums{}
	}
}

// chain returns the sums of a purse and of those above it.
func (s *Sheet) chain(p Purse) []*Sums {
	if out, ok := s.above[p]; ok {
		return out
	}
	p.Account, p.Cloud, p.GPU = bridge.Account(strings.Clone(string(p.Account))), strings.Clone(p.Cloud), strings.Clone(p.GPU)
	p.Currency = bridge.Currency(strings.Clone(string(p.Currency)))
	var out []*Sums
	for _, a := range p.Account.Ancestors() {
		q := p
		q.Account = a
		if s.sums[q] == nil {
			s.sums[q] = &Sums{}
		}
		out = append(out, s.sums[q])
	}
	s.above[p] = out
	return out
}

// post adds to a quarter hour, mostly the last one.
func (s *Sums) post(quarter, micro int64) {
	i := len(s.Posted)
	for i > 0 && s.Posted[i-1].Number > quarter { // a bill that came late
		i--
	}
	if i > 0 && s.Posted[i-1].Number == quarter {
		s.Posted[i-1].Micro += micro
		return
	}
	s.Posted = slices.Insert(s.Posted, i, QuarterSum{quarter, micro})
}

// replay takes one recorded step on a hold.
func replay(h Hold, known bool, t *Transaction) (Hold, error) {
	err := fits(&h, known, t)
	if err != nil {
		return h, err
	}
	switch t.Kind {
	case KindHold:
		h = Hold{Rental: t.Rental, Cluster: t.Cluster, Account: t.Account, Cloud: t.Cloud, GPU: t.GPU, FX: t.FX, Total: t.Amount}
		h.Posted.Currency = t.Amount.Currency
	case KindExtend:
		h.Total, err = h.Total.Add(t.Amount)
	case KindPost, KindAdjust, KindBill, KindCredit, KindRefund:
		h.Posted, err = h.Posted.Add(t.Amount)
	case KindSettle, KindVoid:
		h.Closed = true
	case KindOverage:
	}
	if err == nil && h.Posted.Micro < 0 {
		err = fmt.Errorf("%s of %s leaves a cost of %d: %w", t.Kind, t.Rental, h.Posted.Micro, ErrTooMuch)
	}
	return h, err
}

// fits refuses a step that a hold in this state cannot take.
func fits(h *Hold, known bool, t *Transaction) error {
	corrects := t.Kind.Corrects()
	switch {
	case known == (t.Kind == KindHold):
		return fmt.Errorf("%s of %s, whose hold is there: %t", t.Kind, t.Rental, known)
	case h.Closed && !corrects:
		return fmt.Errorf("%s of %s: %w", t.Kind, t.Rental, ErrClosed)
	case !h.Closed && corrects:
		return fmt.Errorf("%s of %s: %w", t.Kind, t.Rental, ErrOpen)
	case corrects == (t.Key == "" || t.Used.IsZero()):
		return fmt.Errorf("%s of %s with key %q, used at %s: %w", t.Kind, t.Rental, t.Key, t.Used, ErrCorrection)
	case known && t.Scope() != h.Scope():
		return fmt.Errorf("%s of %s for %s, its hold is for %s", t.Kind, t.Rental, t.Scope(), h.Scope())
	}
	return nil
}

// Purses are all that something was held or posted in, those above it included.
func (s *Sheet) Purses() iter.Seq2[Purse, *Sums] { return maps.All(s.sums) }

// Balance returns what a budget may still spend in the period that contains now.
func (s *Sheet) Balance(b *bridge.Budget, now time.Time) bridge.Balance {
	start, end := bridge.Span(now, b.Every, b.Zone)
	out := bridge.Balance{
		Account: b.Account, Cloud: b.Cloud, GPU: b.GPU, Period: bridge.PeriodOf(now, b.Every, b.Zone), Limit: b.Limit, Hard: b.Hard,
		Held:   bridge.Money{Currency: b.Limit.Currency},
		Posted: bridge.Money{Currency: b.Limit.Currency},
	}
	for p, sums := range s.sums {
		if p.Account != b.Account || p.Currency != b.Limit.Currency || !b.Scope().Covers(p.Scope) {
			continue
		}
		out.Held.Micro += sums.Held
		for _, q := range sums.Posted {
			if bridge.Quarter(start) <= q.Number && q.Number < bridge.Quarter(end) {
				out.Posted.Micro += q.Micro
			}
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
