package bill

import (
	"strings"
	"time"

	"spillway.sh/spillway/bridge"
)

// cellReader reads the cells of one line and notes what is wrong with them.
type cellReader struct {
	sheet *sheet
	cells []string
	line  int
	store string
	bad   bool
}

// get is a cell, or nothing where the file has no such column.
func (c *cellReader) get(f Field) string {
	if i, ok := c.sheet.layout.at[f]; ok {
		return c.cells[i]
	}
	return ""
}

func (c *cellReader) wrong(f Field, kind FaultKind, got, want string) {
	c.bad = true
	x := Fault{Line: c.line, Kind: kind, Got: got, Want: want}
	if i, ok := c.sheet.layout.at[f]; ok {
		x.Column, x.Name = i+1, c.sheet.layout.header[i]
	}
	if x.Got == "" && (kind == FaultAmount || kind == FaultTime || kind == FaultCurrency) {
		x.Kind = FaultEmpty
	}
	c.sheet.faults.add(x)
}

// whole reads the line.
func (c *cellReader) whole() bridge.BillLine {
	o := &c.sheet.o
	l := bridge.BillLine{Cloud: o.Cloud, Machine: c.get(FieldMachine), Text: cut(c.get(FieldText)), Kind: c.kind()}
	if l.Machine == "-" {
		l.Machine = ""
	}
	l.Rental = c.rental()
	l.From, l.To = c.period()
	l.Amount = c.amount(l.Kind)
	l.Invoice = c.invoice(l.From)
	l.Key = c.get(FieldKey)
	if _, given := c.sheet.layout.at[FieldKey]; !given {
		l.Key = identity(c.cells, c.sheet.layout.key)
	} else if l.Key == "" {
		c.wrong(FieldKey, FaultEmpty, "", "")
	}
	return l
}

// cut keeps a text to what a line of the books may hold.
func cut(s string) string {
	const most = 200
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}

// kind is the kind of charge; without a column for it, usage.
func (c *cellReader) kind() string {
	if _, given := c.sheet.layout.at[FieldKind]; !given {
		return KindUsage
	}
	word := c.get(FieldKind)
	k, ok := kinds[strings.ToLower(word)]
	if !ok {
		c.wrong(FieldKind, FaultKindWord, word, knownKinds())
	}
	// What FOCUS calls a correction changes a charge of an earlier bill.
	if i := c.sheet.layout.class; i >= 0 && strings.EqualFold(c.cells[i], "correction") && k == KindUsage {
		return KindRefund
	}
	return k
}

// rental is what the tags, or the rental's own column, say.
func (c *cellReader) rental() bridge.RentalID {
	tags, err := readTags(c.get(FieldTags))
	if err != nil {
		c.wrong(FieldTags, FaultTags, err.Error(), "")
	}
	c.store = cut(tags[bridge.TagStore])
	id := c.get(FieldRental)
	if id == "" {
		id = tags[bridge.TagRental]
	}
	return bridge.RentalID(cut(id))
}

func (c *cellReader) period() (from, to time.Time) {
	o := &c.sheet.o
	_, hasFrom := c.sheet.layout.at[FieldFrom]
	_, hasTo := c.sheet.layout.at[FieldTo]
	at := FieldMonth
	if hasFrom && hasTo {
		at = FieldTo
		var ok bool
		if from, ok = readTime(c.get(FieldFrom), o.Zone); !ok {
			c.wrong(FieldFrom, FaultTime, c.get(FieldFrom), wantTime)
		}
		if to, ok = readTime(c.get(FieldTo), o.Zone); !ok {
			c.wrong(FieldTo, FaultTime, c.get(FieldTo), wantTime)
		}
	} else {
		var ok bool
		if from, to, ok = readMonth(c.get(FieldMonth), o.Zone); !ok {
			c.wrong(FieldMonth, FaultTime, c.get(FieldMonth), "2026-11 or 202611")
		}
	}
	const ahead = time.Hour // clocks, and hours that have just begun
	switch {
	case c.bad:
	case !from.Before(to):
		c.wrong(at, FaultReversed, to.Format(time.RFC3339), from.Format(time.RFC3339))
	case to.After(o.Now.Add(ahead)):
		c.wrong(at, FaultFuture, to.Format(time.RFC3339), "")
	}
	return from, to
}

func (c *cellReader) amount(kind string) bridge.Money {
	text := c.get(FieldAmount)
	micro, ok := ParseAmount(text)
	if !ok {
		c.wrong(FieldAmount, FaultAmount, text, "")
	}
	if ok && micro < 0 && (kind == KindUsage || kind == KindOther) {
		c.wrong(FieldAmount, FaultNegative, text, "")
	}
	cur := c.sheet.o.Currency
	if _, given := c.sheet.layout.at[FieldCurrency]; given || cur == "" {
		word := c.get(FieldCurrency)
		if cur, ok = readCurrency(word); !ok {
			c.wrong(FieldCurrency, FaultCurrency, word, "")
		}
	}
	return bridge.Money{Micro: micro, Currency: cur}
}

// invoice is the number of the invoice; where none is given, the payer's month.
func (c *cellReader) invoice(from time.Time) string {
	l, o := c.sheet.layout, &c.sheet.o
	if n := c.get(FieldInvoice); n != "" {
		return cut(n)
	}
	if o.Invoice != "" {
		return o.Invoice
	}
	month := from.In(o.Zone)
	if l.period >= 0 {
		if t, ok := readTime(c.cells[l.period], o.Zone); ok {
			month = t
		}
	}
	name := month.Format("2006-01")
	if l.payer >= 0 && c.cells[l.payer] != "" {
		name = cut(c.cells[l.payer]) + "/" + name
	}
	return name
}
