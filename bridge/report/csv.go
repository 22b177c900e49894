package report

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
)

// CSV writes one part as part,row,column,value,unit: a line a figure, absent
// ones left out, with names that are the same in every language. An empty part
// is all of them.
func (r *Report) CSV(w io.Writer, p Part) error {
	out := csv.NewWriter(w)
	write := func(rec ...string) {
		_ = out.Write(rec) // the writer keeps the error
	}
	write("part", "row", "column", "value", "unit")
	if p == "" {
		write("report", "week", "value", r.Week, "")
		write("report", "from", "value", r.From.Format(time.RFC3339), "")
		write("report", "to", "value", r.To.Format(time.RFC3339), "")
		write("report", "zone", "value", r.Zone, "")
		write("report", "open", "value", strconv.FormatBool(r.Open), "")
	}
	for _, s := range r.Sections(English) {
		if p != "" && s.Part != p {
			continue
		}
		for i := range s.Tables {
			t := &s.Tables[i]
			for _, row := range t.Rows {
				for k, c := range row.Cells {
					if c.Value != "" {
						write(t.ID, inert(row.ID), t.Columns[k].ID, inert(c.Value), c.Unit)
					}
				}
			}
		}
	}
	out.Flush()
	if err := out.Error(); err != nil {
		return fmt.Errorf("write report %s: %w", r.Week, err)
	}
	return nil
}

// inert keeps a name from being taken for a formula by a spreadsheet. Numbers
// stay numbers.
func inert(s string) string {
	if s == "" || !strings.ContainsRune("=+-@\t\r", rune(s[0])) {
		return s
	}
	if _, err := strconv.ParseFloat(s, 64); err == nil {
		return s
	}
	return "'" + s
}

// JSON writes the report with the keys of its fields.
func (r *Report) JSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(r); err != nil {
		return fmt.Errorf("write report %s: %w", r.Week, err)
	}
	return nil
}

// ParsePart finds a part by its name.
func ParsePart(s string) (Part, error) {
	if !slices.Contains(Parts(), Part(s)) {
		return "", fmt.Errorf("%q is no part of a report; parts are %v", s, Parts())
	}
	return Part(s), nil
}
