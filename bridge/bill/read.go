package bill

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"spillway.sh/spillway/bridge"
)

// Options say how a file is to be read.
type Options struct {
	Cloud string
	Now   time.Time
	// Columns of a plain file; nil: FOCUS.
	Columns  Columns
	Currency bridge.Currency // of a file without a column for it
	Zone     *time.Location  // of times without one; nil: UTC
	Invoice  string          // of a file without a column for it
	Encoding Encoding        // empty: Auto
	// Most is how many lines that name a machine or a rental are read; zero: MostLines.
	Most int
	// Progress is told now and then how many lines were read.
	Progress func(lines int)
}

// MostLines is how many lines of one file may name a machine or a rental.
const MostLines = 100_000

// every so many lines Progress is told.
const progressEvery = 10_000

// Line is one line of a file.
type Line struct {
	bridge.BillLine
	Row   int    `json:"row,omitempty"`   // line of the file; zero: from the store
	Store string `json:"store,omitempty"` // that the machine was rented by, as its tag says
}

// Sum is what several lines come to.
type Sum struct {
	Kind   string       `json:"kind"`
	Lines  int          `json:"lines"`
	Amount bridge.Money `json:"amount"`
}

// File is what a file says.
type File struct {
	Lines    []Line   `json:"lines"`
	Rows     int      `json:"rows"`  // read, the header not counted
	Loose    []Sum    `json:"loose"` // of lines that name neither machine nor rental, by kind
	Encoding Encoding `json:"encoding"`
	FOCUS    bool     `json:"focus"`
	// From and To are the time that its lines are of.
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
}

// sheet is a file being read.
type sheet struct {
	o      Options
	in     *csv.Reader
	layout *layout
	out    *File
	faults *Faults
	seen   map[string]int // line of the file by key
	loose  map[Sum]int    // place in out.Loose by kind and currency
}

// Read reads a whole file, or says with *Faults all that is wrong with it, up
// to a bound. Nothing of a faulty file may be used.
func Read(r io.Reader, o Options) (*File, error) {
	if o.Zone == nil {
		o.Zone = time.UTC
	}
	if o.Most == 0 {
		o.Most = MostLines
	}
	in, found, err := text(r, o.Encoding)
	if err != nil {
		return nil, err
	}
	s := &sheet{o: o, in: csv.NewReader(in), out: &File{Encoding: found, Lines: []Line{}, Loose: []Sum{}}, faults: &Faults{}, seen: map[string]int{}, loose: map[Sum]int{}}
	s.in.FieldsPerRecord, s.in.ReuseRecord, s.in.TrimLeadingSpace = -1, true, true
	if err := s.read(); err != nil {
		return nil, err
	}
	if err := s.faults.err(); err != nil {
		return nil, err
	}
	return s.out, nil
}

func (s *sheet) read() error {
	for n := 0; ; n++ {
		cells, err := s.in.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if pe, ok := errors.AsType[*csv.ParseError](err); ok {
			s.faults.add(Fault{Line: pe.Line, Kind: FaultMalformed, Got: pe.Err.Error()})
			if s.layout == nil || s.faults.More {
				return nil
			}
			continue
		}
		if err != nil {
			return fmt.Errorf("read bill: %w", err)
		}
		if s.layout == nil {
			if s.header(cells); len(s.faults.List) > 0 {
				return nil
			}
			continue
		}
		s.out.Rows++
		if s.o.Progress != nil && s.out.Rows%progressEvery == 0 {
			s.o.Progress(s.out.Rows)
		}
		if s.row(cells); s.faults.More {
			return nil
		}
		if len(s.out.Lines) > s.o.Most {
			s.faults.add(Fault{Kind: FaultMost, Want: fmt.Sprintf("%d lines of machines", s.o.Most)})
			return nil
		}
	}
	if s.layout == nil || s.out.Rows == 0 {
		s.faults.add(Fault{Kind: FaultNothing})
	}
	return nil
}

// header finds the columns.
func (s *sheet) header(cells []string) {
	header := make([]string, len(cells))
	for i, c := range cells {
		if header[i] = clean(c); garbled(c) {
			s.faults.add(Fault{Line: 1, Column: i + 1, Kind: FaultEncoding, Want: string(s.out.Encoding)})
			return
		}
	}
	s.layout = arrange(header, s.o.Columns, s.faults)
	s.out.FOCUS = s.layout.focus
}

// clean takes off what exports put around a cell so that spreadsheets leave it
// alone.
func clean(cell string) string { return strings.Trim(cell, " \t\u00a0`") }

// row reads one line.
func (s *sheet) row(cells []string) {
	at, _ := s.in.FieldPos(0)
	if len(cells) != len(s.layout.header) {
		s.faults.add(Fault{Line: at, Kind: FaultMalformed, Got: fmt.Sprintf("%d cells under %d headings", len(cells), len(s.layout.header))})
		return
	}
	for i := range cells {
		if garbled(cells[i]) {
			s.faults.add(Fault{Line: at, Column: i + 1, Name: s.layout.header[i], Kind: FaultEncoding, Want: string(s.out.Encoding)})
			return
		}
		if cells[i] = clean(cells[i]); strings.EqualFold(cells[i], "null") {
			cells[i] = ""
		}
	}
	c := &cellReader{sheet: s, cells: cells, line: at}
	l := c.whole()
	if c.bad {
		return
	}
	if first, twice := s.seen[l.Key]; twice {
		s.faults.add(Fault{Line: at, Kind: FaultDuplicate, Want: strconv.Itoa(first)})
		return
	}
	s.seen[l.Key] = at
	if s.out.From.IsZero() || l.From.Before(s.out.From) {
		s.out.From = l.From
	}
	if l.To.After(s.out.To) {
		s.out.To = l.To
	}
	if l.Machine == "" && l.Rental == "" {
		s.addLoose(l, at)
		return
	}
	s.out.Lines = append(s.out.Lines, Line{l, at, c.store})
}

// addLoose sums a line that can be nobody's.
func (s *sheet) addLoose(l bridge.BillLine, at int) {
	key := Sum{Kind: l.Kind, Amount: bridge.Money{Currency: l.Amount.Currency}}
	i, known := s.loose[key]
	if !known {
		i = len(s.out.Loose)
		s.loose[key] = i
		s.out.Loose = append(s.out.Loose, key)
	}
	sum, err := s.out.Loose[i].Amount.Add(l.Amount)
	if err != nil {
		s.faults.add(Fault{Line: at, Kind: FaultAmount, Got: l.Amount.String()})
		return
	}
	s.out.Loose[i].Amount = sum
	s.out.Loose[i].Lines++
}
