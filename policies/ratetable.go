package policies

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"spillway.sh/spillway/bridge"
)

// rateTable is a file of exchange rates with the columns from, to, rate, source
// and date. It is looked at each time and read when it changed.
type rateTable struct {
	path string

	mu   sync.Mutex
	seen os.FileInfo
	list []bridge.Exchange
	err  error
}

// tableSize is the largest table that is read.
const tableSize = 1 << 20

// read returns the rates, and what is wrong with the file: then they are those
// of the last time that nothing was.
func (t *rateTable) read() ([]bridge.Exchange, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	info, err := os.Stat(t.path)
	if err != nil {
		t.seen = nil
		return t.list, fmt.Errorf("exchange rates: %w", err)
	}
	if t.seen != nil && os.SameFile(info, t.seen) && info.ModTime().Equal(t.seen.ModTime()) && info.Size() == t.seen.Size() {
		return t.list, t.err
	}
	list, err := loadTable(t.path)
	t.seen, t.err = info, err
	if err == nil {
		t.list = list
	}
	return t.list, err
}

func loadTable(path string) ([]bridge.Exchange, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("exchange rates: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(f, tableSize+1))
	switch err = errors.Join(err, f.Close()); {
	case err != nil:
		return nil, fmt.Errorf("exchange rates: %w", err)
	case len(text) > tableSize:
		return nil, fmt.Errorf("exchange rates: %s is longer than %d bytes", filepath.Base(path), tableSize)
	}
	list, err := parseTable(text)
	if err != nil {
		return nil, fmt.Errorf("exchange rates: %s: %w", filepath.Base(path), err)
	}
	return list, nil
}

var rateColumns = []string{"from", "to", "rate", "source", "date"}

// parseTable reads the text of a table. Its first line names the columns, in any
// order; a line that begins with # is a remark.
func parseTable(text []byte) ([]bridge.Exchange, error) {
	r := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(text, []byte("\ufeff"))))
	r.Comment, r.TrimLeadingSpace, r.FieldsPerRecord, r.ReuseRecord = '#', true, len(rateColumns), true
	head, err := r.Read()
	if err != nil {
		return nil, fmt.Errorf("want a first line %s: %w", strings.Join(rateColumns, ","), err)
	}
	at := map[string]int{}
	for i, name := range head {
		at[strings.ToLower(strings.TrimSpace(name))] = i
	}
	for _, name := range rateColumns {
		if _, ok := at[name]; !ok {
			return nil, fmt.Errorf("line 1: no column %s: want %s", name, strings.Join(rateColumns, ","))
		}
	}
	var out []bridge.Exchange
	for {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err // it has the line
		}
		line, _ := r.FieldPos(0)
		x, wrong := rateOf(func(name string) string { return strings.TrimSpace(row[at[name]]) })
		if wrong == "" && slices.ContainsFunc(out, func(y bridge.Exchange) bool { return sameRate(&x, &y) }) {
			wrong = fmt.Sprintf("a second rate from %s to %s of %s", x.From, x.To, x.Date.Format(time.DateOnly))
		}
		if wrong != "" {
			return nil, fmt.Errorf("line %d: %s", line, wrong)
		}
		out = append(out, x)
	}
	if len(out) == 0 {
		return nil, errors.New("no rate in it")
	}
	return out, nil
}

func rateOf(field func(string) string) (x bridge.Exchange, wrong string) {
	said := func(name, w string) {
		if w != "" && wrong == "" {
			wrong = fmt.Sprintf("%s %q: %s", name, field(name), w)
		}
	}
	x.From, x.To, x.Source = bridge.Currency(field("from")), bridge.Currency(field("to")), field("source")
	var w string
	x.Micro, w = exchangeRate(field("rate"))
	said("rate", w)
	x.Date, w = day(field("date"))
	said("date", w)
	said("from", isoCurrency(field("from")))
	said("to", isoCurrency(field("to")))
	said("source", source(field("source")))
	if wrong == "" {
		wrong = sensible(&x)
	}
	return x, wrong
}
