package report

// Lang is the language a report is shown in.
type Lang string

// The languages.
const (
	English Lang = "en"
	Chinese Lang = "zh"
)

// Section is one part of a report, ready to be shown in one language. Whatever
// shows a report shows sections, so that its numbers are the same everywhere.
type Section struct {
	Part   Part
	Number int // from 1
	Title  string
	Lines  []string // sentences, before the tables
	Tables []Table
	Notes  []string
}

// Table is one table of a section. Its ID and those of its columns are the same
// in every language.
type Table struct {
	ID      string
	Title   string   // empty: the section's is enough
	Head    string   // over the names of the rows
	Columns []Column // of the cells
	Rows    []Row
	// Detail is what a chart is drawn from; forms for reading may leave it out.
	Detail bool
}

// Column is one column of a table.
type Column struct {
	ID   string
	Name string
	Text bool // it holds words, not numbers
}

// Row is one row of a table.
type Row struct {
	ID    string // the same in every language
	Name  string
	Cells []Cell // one for each column
	Total bool   // the rows above it add up to it
}

// Cell is a figure: a plain decimal number and its unit, or words without one.
type Cell struct {
	Value string // empty: absent
	Unit  string // USD, %, h, s, min, GPU; empty: a count, or words
}

// String prints the cell as people read it: 4812.00 USD, 23.4 %; absent: –.
func (c Cell) String() string {
	switch {
	case c.Value == "":
		return "–"
	case c.Unit == "":
		return c.Value
	}
	return c.Value + " " + c.Unit
}
