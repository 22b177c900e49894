package store

import (
	"errors"
	"strconv"
	"strings"
	"testing"

	"spillway.sh/spillway/bridge/sim/bulk"
)

// FuzzPacked holds that rows which come as one text are taken only where they
// count up, and then are as many transactions as there are rows.
func FuzzPacked(f *testing.F) {
	head := strings.Repeat("1"+fieldEnd, ledgerFields-1) + "x"
	line := strings.Join([]string{"1", "org", "held", "5", "USD"}, fieldEnd)
	for _, s := range []string{head, head + rowEnd + head, "", fieldEnd, rowEnd} {
		f.Add(s, line, 1)
		f.Add(s, line+rowEnd+line, 2)
	}
	f.Fuzz(func(t *testing.T, heads, lines string, n int) {
		h, l := packed{n: n, text: heads}, packed{n: strings.Count(lines, rowEnd) + 1, text: lines}
		if !h.clean(ledgerFields) || !l.clean(lineFields) {
			return
		}
		count := 0
		for tx := range unpack(h, l) {
			if count++; strings.ContainsAny(tx.Memo+tx.Hash+string(tx.Account), fieldEnd+rowEnd) {
				t.Errorf("a transaction runs over: %+v", tx)
			}
		}
		if count != n {
			t.Errorf("%d transactions of %d rows", count, n)
		}
	})
}

// FuzzRental holds that a row that is no rental is a damaged store, not a rental.
func FuzzRental(f *testing.F) {
	for _, s := range []string{`{"id":"r-0011"}`, `{"id":5}`, `null`, "", `{"machines":[null]}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, body string) {
		if r, err := decodeRental(body); err != nil && (r != nil || !errors.Is(err, ErrCorrupt)) {
			t.Errorf("%q gives %v and %v", body, r, err)
		}
	})
}

func TestALargeLedgerIsUnpackedInTime(t *testing.T) {
	row := strings.Repeat("1"+fieldEnd, ledgerFields-1) + "x" + rowEnd
	text := strings.TrimSuffix(strings.Repeat(row, bulk.Size/len(row)), rowEnd)
	h := packed{n: bulk.Size / len(row), text: text}
	bulk.Read(t, strconv.Itoa(h.n)+" rows", func() {
		n := 0
		for range unpack(h, packed{}) {
			n++
		}
		if !h.clean(ledgerFields) || n != h.n {
			t.Errorf("%d of %d", n, h.n)
		}
	})
}
