package bill

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"spillway.sh/spillway/bridge"
)

// matcher gives lines to rentals.
type matcher struct {
	books    *Books
	byID     map[bridge.RentalID]*bridge.Rental
	machines map[string]owner
	prior    map[bridge.RentalID][]bridge.Correction
	lines    map[bridge.RentalID][]Line
	faults   *Faults
	out      *Statement
}

type owner struct {
	rental  *bridge.Rental
	machine *bridge.Machine
}

// Match compares lines of one cloud's bills with its books. *Faults where a
// currency has no exchange rate, or the lines do not add up.
func Match(lines []Line, b Books) (*Statement, error) {
	if b.Zone == nil {
		b.Zone = time.UTC
	}
	m := &matcher{
		books: &b, byID: map[bridge.RentalID]*bridge.Rental{}, machines: map[string]owner{}, prior: map[bridge.RentalID][]bridge.Correction{},
		lines: map[bridge.RentalID][]Line{}, faults: &Faults{},
		out: &Statement{
			Cloud: b.Cloud, From: b.From, To: b.To, Currency: b.Currency,
			Matched: []Case{}, Differing: []Case{}, Waiting: []Case{}, Missing: []Case{}, Stray: []StrayLine{}, NotOurs: []Sum{},
		},
	}
	m.index()
	for i := range lines {
		m.give(&lines[i])
	}
	if err := m.judge(); err != nil {
		return nil, err
	}
	if err := m.faults.err(); err != nil {
		return nil, err
	}
	return m.out, m.out.add()
}

// index knows rentals by id and by machine.
func (m *matcher) index() {
	for i := range m.books.Rentals {
		r := &m.books.Rentals[i]
		m.byID[r.ID] = r
		if r.Pool.Cloud != m.books.Cloud {
			continue
		}
		for j := range r.Machines {
			if id := r.Machines[j].ID; id != "" {
				m.machines[id] = owner{r, &r.Machines[j]}
			}
		}
	}
	for _, c := range m.books.Prior {
		m.prior[c.Rental] = append(m.prior[c.Rental], c)
	}
}

// ownerOf finds whose machine a line names. Some exports put the account and
// region before its id.
func (m *matcher) ownerOf(l *Line) (owner, bool) {
	o, ok := m.machines[l.Machine]
	if !ok {
		o, ok = m.machines[l.Machine[strings.LastIndexAny(l.Machine, "/:")+1:]]
	}
	return o, ok && l.Machine != ""
}

// tagOf is the rental that a line's tags name, if our store made it.
func (m *matcher) tagOf(l *Line) bridge.RentalID {
	if l.Store != "" && m.books.Store != "" && l.Store != m.books.Store {
		return ""
	}
	return l.Rental
}

// give puts a line to its rental, or among the strays.
func (m *matcher) give(l *Line) {
	o, byMachine := m.ownerOf(l)
	tag := m.tagOf(l)
	if id, err := bridge.ParseRentalID(string(tag)); err == nil {
		tag = id
	}
	r, byTag := m.byID[tag]
	stray := func(why Stray) {
		s := StrayLine{Line: *l, Why: why}
		if byMachine {
			s.Other = o.rental.ID
		}
		m.out.Stray = append(m.out.Stray, s)
	}
	switch {
	case tag != "" && byMachine && (!byTag || r.ID != o.rental.ID):
		stray(StrayDisagree)
		return
	case tag != "" && !byTag:
		stray(StrayUnknown)
		return
	case tag == "" && !byMachine:
		m.foreign(l)
		return
	case tag == "":
		r = o.rental
	}
	switch {
	case r.Pool.Cloud != m.books.Cloud:
		stray(StrayCloud)
	case life(r, m.books.Now).empty():
		stray(StrayNeverMade)
	default:
		m.lines[r.ID] = append(m.lines[r.ID], *l)
		m.out.Lines++
	}
}

// Ours are the lines that name one of the rentals' machines, or carry our tag:
// those that books keep.
func Ours(lines []Line, cloud, store string, rentals []bridge.Rental) []bridge.BillLine {
	m := &matcher{books: &Books{Cloud: cloud, Store: store, Rentals: rentals}, byID: map[bridge.RentalID]*bridge.Rental{}, machines: map[string]owner{}}
	m.index()
	var out []bridge.BillLine
	for i := range lines {
		if _, known := m.ownerOf(&lines[i]); known || m.tagOf(&lines[i]) != "" {
			out = append(out, lines[i].BillLine)
		}
	}
	return out
}

// foreign sums a line of a machine that is not ours.
func (m *matcher) foreign(l *Line) {
	i := slices.IndexFunc(m.out.NotOurs, func(s Sum) bool { return s.Kind == l.Kind && s.Amount.Currency == l.Amount.Currency })
	if i < 0 {
		i = len(m.out.NotOurs)
		m.out.NotOurs = append(m.out.NotOurs, Sum{Kind: l.Kind, Amount: bridge.Money{Currency: l.Amount.Currency}})
	}
	s := &m.out.NotOurs[i]
	sum, err := s.Amount.Add(l.Amount)
	if err != nil {
		m.faults.add(Fault{Line: l.Row, Kind: FaultAmount, Got: l.Amount.String()})
		return
	}
	s.Amount = sum
	s.Lines++
}

// judge makes the case of each rental, oldest first.
func (m *matcher) judge() error {
	for i := range m.books.Rentals {
		r := &m.books.Rentals[i]
		s := life(r, m.books.Now)
		if r.Pool.Cloud != m.books.Cloud || s.empty() {
			continue
		}
		lines := m.lines[r.ID]
		if len(lines) == 0 {
			if s.from.Before(m.books.To) && s.to.After(m.books.From) {
				c := m.blank(r, s)
				c.Why = GuessNoLine
				m.out.Missing = append(m.out.Missing, c)
			}
			continue
		}
		c, err := m.compare(r, lines)
		if err != nil {
			return fmt.Errorf("compare the bill of %s: %w", r.ID, err)
		}
		if c != nil {
			m.file(*c)
		}
	}
	slices.SortStableFunc(m.out.Differing, func(a, b Case) int { return cmp.Compare(abs(b.Difference.Micro), abs(a.Difference.Micro)) })
	return nil
}

func abs(n int64) int64 { return max(n, -n) }

// blank is the case of a rental without lines.
func (m *matcher) blank(r *bridge.Rental, s span) Case {
	was := r.Cost
	was.Currency = cmp.Or(was.Currency, m.books.Currency)
	c := Case{Rental: r.ID, Account: r.Account, State: r.State, From: s.from, To: s.to, Was: was, Metered: was}
	for _, p := range m.prior[r.ID] {
		c.Metered.Micro -= p.Amount.Micro
	}
	for i := range r.Machines {
		if !run(&r.Machines[i], m.books.Now).empty() {
			c.Machines++
		}
	}
	c.Billed, c.Difference = bridge.Money{Currency: was.Currency}, bridge.Money{Currency: was.Currency}
	return c
}

// file puts a case where it belongs.
func (m *matcher) file(c Case) {
	switch {
	case c.Why == GuessOpen || c.Why == GuessPart || c.Why == GuessBelow:
		m.out.Waiting = append(m.out.Waiting, c)
	case len(c.Corrections) == 0:
		m.out.Matched = append(m.out.Matched, c)
	default:
		m.out.Differing = append(m.out.Differing, c)
	}
}

// add sums up.
func (s *Statement) add() error {
	zero := bridge.Money{Currency: s.Currency}
	s.Metered, s.Was, s.Billed, s.Change = zero, zero, zero, zero
	for _, list := range [][]Case{s.Matched, s.Differing} {
		for i := range list {
			c := &list[i]
			if c.Was.Currency != s.Currency {
				continue // of before the books' currency was changed; its own figures stand
			}
			for _, x := range []struct {
				to *bridge.Money
				by bridge.Money
			}{{&s.Metered, c.Metered}, {&s.Was, c.Was}, {&s.Billed, c.Billed}} {
				sum, err := x.to.Add(x.by)
				if err != nil {
					return fmt.Errorf("add up the bill of %s: %w", s.Cloud, err)
				}
				*x.to = sum
			}
			for _, k := range c.Corrections {
				sum, err := s.Change.Add(k.Amount)
				if err != nil {
					return fmt.Errorf("add up the corrections of %s: %w", s.Cloud, err)
				}
				s.Change = sum
			}
		}
	}
	return nil
}
