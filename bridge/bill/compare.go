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
		if l.Amount.Currency != currency {
			converted, rate, err := m.books.Exchange(l.Amount, currency, l.To)
			if err != nil {
				m.faults.add(Fault{Line: l.Row, Kind: FaultRate, Got: string(l.Amount.Currency), Want: err.Error()})
				ok = false
				continue
			}
			l.Amount = converted
			if !slices.Contains(out.fx, rate) {
				out.fx = append(out.fx, rate)
			}
		}
		if out.first.IsZero() || l.From.Before(out.first) {
			out.first = l.From
		}
		if l.To.After(out.last) {
			out.last = l.To
		}
		o, machine := m.ownerOf(&l)
		if out.all += abs(l.Amount.Micro); out.all > mostSum {
			m.faults.add(Fault{Line: l.Row, Kind: FaultAmount, Got: l.Amount.String()})
			return nil, false
		}
		bounds := whole
		if machine {
			bounds = run(o.machine, m.books.Now)
		}
		switch {
		case l.Kind == KindCredit || l.Kind == KindRefund:
			out.back += l.Amount.Micro
			out.backs = append(out.backs, l)
			continue
		case l.Kind == KindTax:
			out.tax += l.Amount.Micro
		case l.Kind == KindUsage && (machine || l.Machine == ""):
			out.usage += l.Amount.Micro
			out.aligned = out.aligned && l.From.Truncate(time.Hour).Equal(l.From) && l.To.Truncate(time.Hour).Equal(l.To)
		default:
			out.extra += l.Amount.Micro
		}
		spread(out.days, starts, l.Amount.Micro, within(span{l.From, l.To}, bounds))
	}
	return out, ok
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

// corrections bring a closed rental to what was billed: one for each day that
// differs, one for each credit or refund.
func (m *matcher) corrections(r *bridge.Rental, lines []Line, ch *charges, starts []time.Time, c *Case) ([]bridge.Correction, error) {
	var out []bridge.Correction
	was, err := metered(r, starts, m.books.Now)
	if err != nil {
		return nil, err
	}
	rest := c.Was.Micro // of usage, less what is put to days
	set, known, done := digest(lines), map[string]bool{}, false
	for _, p := range m.prior[r.ID] {
		known[p.Key] = true
		done = done || strings.HasPrefix(p.Key, m.keyOf(r, set, ""))
		if !strings.HasPrefix(p.Key, m.keysOf(r)) {
			rest -= p.Amount.Micro // of a credit or refund, or made by hand
			continue
		}
		was[dayOf(starts, p.Used)] += p.Amount.Micro
	}
	usage := rest
	for _, w := range was {
		rest -= w
	}
	was[len(was)-1] += rest
	add := func(key string, kind bridge.CorrectionKind, micro int64, used time.Time, memo string) {
		out = append(out, bridge.Correction{
			Key: key, Rental: r.ID, Kind: kind, Amount: bridge.Money{Micro: micro, Currency: c.Was.Currency}, Used: used,
			Who: m.books.Who, Memo: memo, FX: strings.Join(c.FX, "; "),
		})
	}
	bills := "bill " + strings.Join(c.Invoices, ", ") + " of " + m.books.Cloud
	difference := ch.usage + ch.tax + ch.extra - usage
	switch {
	case done:
		c.Why = GuessDone
	case abs(difference) > m.books.Tolerance:
		for d := range starts {
			if by := ch.days[d] - was[d]; by != 0 {
				add(m.keyOf(r, set, starts[d].In(m.books.Zone).Format(time.DateOnly)), bridge.ByBill, by, starts[d], bills)
			}
		}
	}
	for i := range ch.backs {
		l := &ch.backs[i]
		key := fmt.Sprintf("bill/%s/line/%s", m.books.Cloud, l.Key)
		if known[key] || l.Amount.Micro == 0 {
			continue
		}
		kind := bridge.ByCredit
		switch {
		case l.Amount.Micro > 0: // what a provider took too little of
			kind = bridge.ByBill
		case l.Kind == KindRefund:
			kind = bridge.ByRefund
		}
		add(key, kind, l.Amount.Micro, within(span{l.From, l.To}, life(r, m.books.Now)).from, bills)
	}
	left := c.Was.Micro
	for i := range out {
		left += out[i].Amount.Micro
	}
	if left < 0 {
		c.Why = GuessBelow
		return nil, nil
	}
	// What is added comes first: books never go below nothing on the way.
	slices.SortStableFunc(out, func(a, b bridge.Correction) int { return cmp.Compare(b.Amount.Micro, a.Amount.Micro) })
	return out, nil
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
