package report

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// zoneOf is the zone of a report, by its name.
func zoneOf(name string) (*time.Location, error) {
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("zone %s: %w", name, err)
	}
	return zone, nil
}

// Markdown writes the report as Markdown, without what only charts need.
func (r *Report) Markdown(w io.Writer, g Lang) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n%s\n\n**%s**\n", r.Title(g), r.Span(g), escape(r.Sentence(g)))
	for _, s := range r.Sections(g) {
		fmt.Fprintf(&b, "\n## %d. %s\n", s.Number, s.Title)
		for _, line := range s.Lines {
			fmt.Fprintf(&b, "\n%s\n", escape(line))
		}
		for i := range s.Tables {
			if !s.Tables[i].Detail {
				s.Tables[i].markdown(&b)
			}
		}
		for i, n := range s.Notes {
			if i == 0 {
				b.WriteByte('\n')
			}
			fmt.Fprintf(&b, "- %s\n", escape(n))
		}
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("write report %s: %w", r.Week, err)
	}
	return nil
}

func (t *Table) markdown(b *strings.Builder) {
	if t.Title != "" {
		fmt.Fprintf(b, "\n### %s\n", t.Title)
	}
	b.WriteString("\n| " + escape(t.Head) + " |")
	for _, c := range t.Columns {
		b.WriteString(" " + escape(c.Name) + " |")
	}
	b.WriteString("\n| --- |")
	for _, c := range t.Columns {
		if c.Text {
			b.WriteString(" --- |")
		} else {
			b.WriteString(" ---: |")
		}
	}
	b.WriteByte('\n')
	for _, row := range t.Rows {
		mark := ""
		if row.Total {
			mark = "**"
		}
		fmt.Fprintf(b, "| %s%s%s |", mark, escape(row.Name), mark)
		for i, c := range row.Cells {
			text := escape(c.String())
			if t.Columns[i].ID == "command" && c.Value != "" {
				text = "`" + strings.ReplaceAll(c.Value, "`", "'") + "`"
			}
			fmt.Fprintf(b, " %s |", text)
		}
		b.WriteByte('\n')
	}
}

// escape keeps names that people chose from being markup.
func escape(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch r {
		case '|', '*', '_', '`', '<', '>', '[', ']', '\\', '#':
			b.WriteByte('\\')
		case '\n', '\r', '\t':
			r = ' '
		}
		b.WriteRune(r)
	}
	return b.String()
}
