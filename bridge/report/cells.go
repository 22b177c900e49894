package report

import (
	"strconv"

	"spillway.sh/spillway/bridge"
)

// amount shows money of whole cents.
func amount(m bridge.Money) Cell {
	sign, micro := "", m.Micro
	if micro < 0 {
		sign, micro = "-", -micro
	}
	cents := micro / cent
	frac := strconv.FormatInt(cents%100, 10)
	if len(frac) < 2 {
		frac = "0" + frac
	}
	return Cell{sign + strconv.FormatInt(cents/100, 10) + "." + frac, string(m.Currency)}
}

func maybe[T any](v *T, show func(T) Cell) Cell {
	if v == nil {
		return Cell{}
	}
	return show(*v)
}

func share(pm int) Cell   { return Cell{Percent(pm), "%"} }
func hours(h Hours) Cell  { return Cell{h.String(), "h"} }
func count(n int) Cell    { return Cell{strconv.Itoa(n), ""} }
func words(s string) Cell { return Cell{s, ""} }

// mean shows an average in tenths.
func mean(h Hours) Cell { return Cell{h.String(), ""} }

// times shows a ratio per mille as 1.234.
func times(pm int) Cell {
	frac := strconv.Itoa(1000 + pm%1000)[1:]
	return Cell{strconv.Itoa(pm/1000) + "." + frac, ""}
}

// minutes shows a span in minutes with one decimal.
func minutes(s Span) Cell { return Cell{Hours(ratio(int64(s), 1, 6)).String(), "min"} }

// figures are single numbers under each other: a table of one column.
type figures struct {
	lang Lang
	rows []Row
}

func (f *figures) add(id string, c Cell) {
	f.rows = append(f.rows, Row{ID: id, Name: f.lang.say("f." + id), Cells: []Cell{c}})
}

func (f *figures) table(id string) Table {
	return Table{ID: id, Head: f.lang.say("figure"), Columns: []Column{{ID: "value", Name: f.lang.say("value")}}, Rows: f.rows}
}

// columns names columns; those with a leading ' hold words.
func (g Lang) columns(ids ...string) []Column {
	out := make([]Column, 0, len(ids))
	for _, id := range ids {
		c := Column{ID: id}
		if id[0] == '\'' {
			c.ID, c.Text = id[1:], true
		}
		c.Name = g.say("c." + c.ID)
		out = append(out, c)
	}
	return out
}

// titled is a table with a title, of its id.
func (g Lang) titled(id, head string, columns ...string) Table {
	return Table{ID: id, Title: g.say("t." + id), Head: g.say("c." + head), Columns: g.columns(columns...)}
}

// total is the row the others add up to.
func (g Lang) total(cells ...Cell) Row {
	return Row{ID: "total", Name: g.say("total"), Cells: cells, Total: true}
}
