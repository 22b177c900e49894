package bill

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/sim/bulk"
)

// FuzzRead holds that no file ends the bridge, and that every line of one that
// is taken can be booked: an amount in a currency, a time that is over, and a
// key of its own.
func FuzzRead(f *testing.F) {
	plain := Columns{FieldMachine: "id", FieldAmount: "cost", FieldMonth: "month"}
	row := focusRow("1.5", "Usage", "", "2026-11-30T08:00:00Z", "2026-11-30T09:00:00Z", "i-1", tagged)
	for _, text := range []string{
		focusHeader + row, focusHeader + row + row, focusHeader, focusHeader + "\"", "id,cost,month\ni-1,2.50,2026-11\ni-1,-9223372036854.775808,2026-11\n",
		"\xff\xfei\x00d\x00", "\x1f\x8b\x08\x00", "id,cost,month\n\"a\nb\",1e308,2026-11\n", "id,cost,month\ni-1,1E-400,9999-12\n",
	} {
		f.Add([]byte(text), true)
		f.Add([]byte(text), false)
	}
	f.Fuzz(func(t *testing.T, text []byte, focus bool) {
		o := Options{Cloud: "north", Now: now}
		if !focus {
			o.Columns, o.Currency = plain, "EUR"
		}
		file, err := Read(bytes.NewReader(text), o)
		if err != nil {
			if file != nil {
				t.Errorf("%d lines beside %v", len(file.Lines), err)
			}
			return
		}
		keys := map[string]bool{}
		for _, l := range file.Lines {
			if len(l.Amount.Currency) != 3 || l.To.Before(l.From) || l.Key == "" || keys[l.Key] || l.Machine == "" && l.Rental == "" {
				t.Errorf("line %d is %+v", l.Row, l.BillLine)
			}
			keys[l.Key] = true
			if _, err := (bridge.Money{Micro: 1, Currency: l.Amount.Currency}).Add(l.Amount); err != nil && !errors.Is(err, bridge.ErrOverflow) {
				t.Error(err)
			}
		}
	})
}

func TestALargeBillIsReadInTime(t *testing.T) {
	for name, text := range map[string][]byte{
		"lines of nobody": append([]byte(focusHeader), bulk.Of(focusRow("1.5", "Usage", "", "2026-11-30T08:00:00Z", "2026-11-30T09:00:00Z", "", ""))...),
		"one field":       bulk.Of("x"),
		"quotes":          bulk.Of(`""`),
		"lines of faults": append([]byte(focusHeader), bulk.Of("a,b\n")...),
	} {
		bulk.Read(t, name, func() {
			if _, err := Read(bytes.NewReader(text), Options{Cloud: "north", Now: time.Now()}); err == nil {
				t.Errorf("%s are a bill", name)
			}
		})
	}
}
