package bill

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"spillway.sh/spillway/bridge"
)

// charges are a rental's lines in the currency of the books.
type charges struct {
	usage, tax, extra, back int64 // of machines, tax, other things, credits and refunds
	all                     int64 // without signs
	days                    []int64
	backs                   []Line // credits and refunds, converted
	aligned                 bool   // every usage line covers whole hours: its ends say nothing of the machine's
	first, last             time.Time
	fx                      []string
}

// compare makes the case of one rental; nil where a fault was found.
func (m *matcher) compare(r *bridge.Rental, lines []Line) (*Case, error) {
	s := life(r, m.books.Now)
	c := m.blank(r, s)
	starts := days(s, m.books.Zone)
	ch, ok := m.charge(r, lines, starts, c.Was.Currency)
	if !ok {
		return nil, nil //nolint:nilnil // The fault says why.
	}
	c.Lines, c.From, c.To, c.FX = len(lines), ch.first, ch.last, ch.fx
	for i := range lines {
		if !slices.Contains(c.Invoices, lines[i].Invoice) {
			c.Invoices = append(c.Invoices, lines[i].Invoice)
		}
	}
	slices.Sort(c.Invoices)
	c.Billed.Micro = ch.usage + ch.tax + ch.extra + ch.back
	c.Difference.Micro = c.Billed.Micro - c.Was.Micro
	switch {
	case r.State != bridge.StateSettled:
		c.Why = GuessOpen
		return &c, nil
	case !m.covered(r, lines):
		c.Why = GuessPart
		return &c, nil
	}
	made, err := m.corrections(r, lines, ch, starts, &c)
	if err != nil {
		return nil, err
	}
	c.Corrections = made
	if c.Why == "" {
		c.Why = m.guess(r, &c, ch)
	}
	return &c, nil
}

// charge converts the lines of a rental and gives them to its days.
func (m *matcher) charge(r *bridge.Rental, lines []Line, starts []time.Time, currency bridge.Currency) (*charges, bool) {
	out := &charges{days: make([]int64, len(starts)), aligned: true}
	whole, ok := life(r, m.books.Now), true
	for i := range lines {
		l := lines[i]
		if !m.convert(&l, currency, out) {
			ok = false
			continue
		}
		if out.first.IsZero() || l.From.Before(out.first) {
			out.first = l.From
		}
		if l.To.After(out.last) {
			out.last = l.To
		}
		o, machine := m.ownerOf(&l)
		bounds := whole
		if machine {
			bounds = run(o.machine, m.books.Now)
		}
		if out.put(&l, machine) {
			spread(out.days, starts, l.Amount.Micro, within(span{l.From, l.To}, bounds))
		}
	}
	return out, ok
}

// convert brings a line into the currency of the books. It notes what makes that
// impossible.
func (m *matcher) convert(l *Line, currency bridge.Currency, out *charges) bool {
	if l.Amount.Currency != currency {
		converted, rate, err := m.books.Exchange(l.Amount, currency, l.To)
		if err != nil {
			m.faults.add(Fault{Line: l.Row, Kind: FaultRate, Got: string(l.Amount.Currency), Want: err.Error()})
			return false
		}
		l.Amount = converted
		if !slices.Contains(out.fx, rate) {
			out.fx = append(out.fx, rate)
		}
	}
	if out.all += abs(l.Amount.Micro); out.all > mostSum {
		m.faults.add(Fault{Line: l.Row, Kind: FaultAmount, Got: l.Amount.String()})
		return false
	}
	return true
}

// put sorts a line; false for what comes back, which is corrected by itself.
func (c *charges) put(l *Line, machine bool) bool {
	switch {
	case l.Kind == KindCredit || l.Kind == KindRefund:
		c.back += l.Amount.Micro
		c.backs = append(c.backs, *l)
		return false
	case l.Kind == KindTax:
		c.tax += l.Amount.Micro
	case l.Kind == KindUsage && (machine || l.Machine == ""):
		c.usage += l.Amount.Micro
		c.aligned = c.aligned && l.From.Truncate(time.Hour).Equal(l.From) && l.To.Truncate(time.Hour).Equal(l.To)
	default:
		c.extra += l.Amount.Micro
	}
	return true
}

// mostSum is what the lines of one rental may come to, so that no sum overflows.
const mostSum = 1 << 60

// slack is what the ends of a machine's lines and of its own time may be apart,
// and the bill count as whole.
const slack = time.Hour

// covered reports whether usage lines reach from the start to the stop of every
// machine. A rental that is billed in part would seem cheaper than it was.
func (m *matcher) covered(r *bridge.Rental, lines []Line) bool {
	of := map[string]span{}
	for i := range lines {
		l := &lines[i]
		if l.Kind != KindUsage {
			continue
		}
		id := ""
		if o, ok := m.ownerOf(l); ok {
			id = o.machine.ID
		} else if l.Machine != "" {
			continue // a disk or an address
		}
		s, seen := of[id]
		if !seen || l.From.Before(s.from) {
			s.from = l.From
		}
		if !seen || l.To.After(s.to) {
			s.to = l.To
		}
		of[id] = s
	}
	for i := range r.Machines {
		s := run(&r.Machines[i], m.books.Now)
		if s.empty() {
			continue
		}
		billed, ok := of[r.Machines[i].ID]
		if !ok {
			billed, ok = of[""]
		}
		if !ok || billed.from.After(s.from.Add(slack)) || billed.to.Before(s.to.Add(-slack)) {
			return false
		}
	}
	return true
}

// stood is what the books say of a rental before a bill: the usage of each day,
// and which corrections there are.
type stood struct {
	days  []int64
	usage int64 // of all days
	known map[string]bool
	done  bool // these very lines were settled
}

// stands reads the books of a rental. What metering and its corrections do not
// explain counts on the last day.
func (m *matcher) stands(r *bridge.Rental, set string, starts []time.Time, was bridge.Money) (*stood, error) {
	days, err := metered(r, starts, m.books.Now)
	if err != nil {
		return nil, err
	}
	s := &stood{days: days, usage: was.Micro, known: map[string]bool{}}
	for _, p := range m.prior[r.ID] {
		s.known[p.Key] = true
		s.done = s.done || strings.HasPrefix(p.Key, m.keyOf(r, set, ""))
		if strings.HasPrefix(p.Key, m.keysOf(r)) {
			days[dayOf(starts, p.Used)] += p.Amount.Micro
		} else { // of a credit or refund, or made by hand
			s.usage -= p.Amount.Micro
		}
	}
	rest := s.usage
	for _, d := range days {
		rest -= d
	}
	days[len(days)-1] += rest
	return s, nil
}

// corrections bring a closed rental to what was billed: one for each day that
// differs, one for each credit or refund.
func (m *matcher) corrections(r *bridge.Rental, lines []Line, ch *charges, starts []time.Time, c *Case) ([]bridge.Correction, error) {
	set := digest(lines)
	was, err := m.stands(r, set, starts, c.Was)
	if err != nil {
		return nil, err
	}
	var out []bridge.Correction
	left := c.Was.Micro
	add := func(key string, kind bridge.CorrectionKind, micro int64, used time.Time) {
		left += micro
		out = append(out, bridge.Correction{
			Key: key, Rental: r.ID, Kind: kind, Amount: bridge.Money{Micro: micro, Currency: c.Was.Currency}, Used: used,
			Who: m.books.Who, Memo: "bill " + strings.Join(c.Invoices, ", ") + " of " + m.books.Cloud, FX: strings.Join(c.FX, "; "),
		})
	}
	switch {
	case was.done:
		c.Why = GuessDone
	case abs(ch.usage+ch.tax+ch.extra-was.usage) > m.books.Tolerance:
		for d := range starts {
			if by := ch.days[d] - was.days[d]; by != 0 {
				add(m.keyOf(r, set, starts[d].In(m.books.Zone).Format(time.DateOnly)), bridge.ByBill, by, starts[d])
			}
		}
	}
	for i := range ch.backs {
		l := &ch.backs[i]
		key := fmt.Sprintf("bill/%s/line/%s", m.books.Cloud, l.Key)
		if !was.known[key] && l.Amount.Micro != 0 {
			add(key, backKind(l), l.Amount.Micro, within(span{l.From, l.To}, life(r, m.books.Now)).from)
		}
	}
	if left < 0 {
		c.Why = GuessBelow
		return nil, nil
	}
	// What is added comes first: books never go below nothing on the way.
	slices.SortStableFunc(out, func(a, b bridge.Correction) int { return cmp.Compare(b.Amount.Micro, a.Amount.Micro) })
	return out, nil
}

// backKind is the kind of a credit's or refund's correction. One above zero is
// what a provider took too little of.
func backKind(l *Line) bridge.CorrectionKind {
	switch {
	case l.Amount.Micro > 0:
		return bridge.ByBill
	case l.Kind == KindRefund:
		return bridge.ByRefund
	}
	return bridge.ByCredit
}

// keyOf names a correction of one day by all lines it is made from: the same
// bill, however often it is read, makes the same corrections.
func (m *matcher) keyOf(r *bridge.Rental, set, day string) string {
	return m.keysOf(r) + set + "/" + day
}

// keysOf is what all such names of a rental begin with. Credits have their own
// line's name.
func (m *matcher) keysOf(r *bridge.Rental) string {
	return fmt.Sprintf("bill/%s/rental/%s/", m.books.Cloud, r.ID)
}

// digest names a set of lines that are no credits or refunds, in any order.
func digest(lines []Line) string {
	var keys []string
	for i := range lines {
		if k := lines[i].Kind; k != KindCredit && k != KindRefund {
			keys = append(keys, lines[i].Key)
		}
	}
	slices.Sort(keys)
	h := sha256.New()
	for _, k := range keys {
		_, _ = fmt.Fprintf(h, "%d:%s", len(k), k) // never fails
	}
	const length = 20
	return hex.EncodeToString(h.Sum(nil))[:length]
}
