package page

import (
	"spillway.sh/spillway/bridge/report"
)

// folded is from how many rows on a table is shown only when asked for.
const folded = 16

// sideBySide is how many columns a table may have beside another.
const sideBySide = 5

// broad is from how many columns on a table stands alone in its line.
const broad = 4

// table is a table whose units are in the heads of its columns where all cells
// of one have the same.
type table struct {
	report.Table
	Columns       []column
	Rows          []row
	Folded, Broad bool
}

type column struct {
	report.Column
	Unit string // of all its cells; empty: they have their own, or none
	Own  bool   // its cells have units of their own
}

type row struct {
	report.Row
	Cells []cell
}

// cell is a figure and its unit, or what stands for a figure that is absent.
type cell struct {
	Value, Unit        string
	Text, Absent, Code bool
	Own                bool // the unit has a place of its own beside it
	ID                 string
}

func tableOf(t *report.Table) table {
	out := table{Table: *t, Folded: len(t.Rows) >= folded && t.Title != "", Broad: len(t.Columns) >= broad}
	for i := range t.Columns {
		out.Columns = append(out.Columns, columnOf(t, i))
	}
	for i := range t.Rows {
		r := row{Row: t.Rows[i]}
		for k, x := range t.Rows[i].Cells {
			col := out.Columns[k]
			c := cell{Value: x.Value, Text: col.Text, Absent: x.Value == "", Code: col.ID == "command" && x.Value != "", Own: col.Own, ID: col.ID}
			if col.Own {
				c.Unit = x.Unit
			}
			if c.Absent && !r.Total {
				c.Value = x.String()
			}
			r.Cells = append(r.Cells, c)
		}
		out.Rows = append(out.Rows, r)
	}
	return out
}

// columnOf works out where the units of a column are to be.
func columnOf(t *report.Table, i int) column {
	col := column{Column: t.Columns[i]}
	if col.Text {
		return col
	}
	units := map[string]bool{}
	for k := range t.Rows {
		if x := t.Rows[k].Cells[i]; x.Value != "" {
			units[x.Unit] = true
			col.Unit = x.Unit
		}
	}
	if col.Own = len(units) > 1; col.Own {
		col.Unit = ""
	}
	return col
}
