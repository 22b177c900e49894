package page

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"regexp"

	"github.com/samber/lo"

	"spillway.sh/spillway/bridge/report"
	"spillway.sh/spillway/bridge/report/chart"
)

var (
	//go:embed page.css
	style string
	//go:embed page.tmpl
	layout string

	tmpl = template.Must(template.New("page").Parse(layout))
)

// Write writes a report in a language.
func Write(w io.Writer, r *report.Report, g report.Lang) error {
	p, err := pageOf(r, g)
	if err != nil {
		return fmt.Errorf("write page of %s: %w", r.Week, err)
	}
	if err := tmpl.Execute(w, p); err != nil {
		return fmt.Errorf("write page of %s: %w", r.Week, err)
	}
	return nil
}

// page is what the template shows.
type page struct {
	Lang, Title, Span, Sentence string
	Colon                       string
	Style                       template.CSS
	Cards                       []card
	Sections                    []section
}

// section is a part of the report with its charts.
type section struct {
	report.Section
	Charts []figure
	// Figures is the part's table of single figures, Beside what has room at its
	// side, Tables the others.
	Figures *table
	Beside  []table
	Tables  []table
}

// place puts the tables where they have room.
func (s *section) place(tables []report.Table) {
	for i := range tables {
		t := tableOf(&tables[i])
		switch {
		case tables[i].ID == string(s.Part) && t.Title == "" && len(tables) > 1:
			s.Figures = &t
		case s.Figures != nil && len(t.Columns) <= sideBySide:
			s.Beside = append(s.Beside, t)
		default:
			s.Tables = append(s.Tables, t)
		}
	}
}

// figure is a chart twice: which one is seen is by the width of the screen.
type figure struct {
	Kind         chart.Kind
	Wide, Narrow template.HTML
}

// shownIn says which part a chart belongs to.
var shownIn = map[report.Part][]chart.Kind{
	report.PartSpend: {chart.Spend, chart.Month},
	report.PartMix:   {chart.Demand},
	report.PartTop:   {chart.Top},
}

func pageOf(r *report.Report, g report.Lang) (*page, error) {
	p := &page{
		Lang: tagOf(g), Title: r.Title(g), Span: r.Span(g), Sentence: tied(r.Sentence(g), 0), Colon: ": ",
		Style: template.CSS(":root{" + chart.Variables(chart.Light) + "}" + //nolint:gosec // constants of the program
			"@media screen and (prefers-color-scheme:dark){:root{" + chart.Variables(chart.Dark) + "}}" + style),
	}
	if g == report.Chinese {
		p.Colon = "："
	}
	known := map[chart.Kind]bool{}
	for _, k := range chart.Kinds(r) {
		known[k] = true
	}
	parts := r.Sections(g)
	for i := range parts {
		s := section{Section: parts[i]}
		s.place(parts[i].Tables)
		s.Lines, s.Notes = lo.Map(s.Lines, tied), lo.Map(s.Notes, tied)
		for _, k := range shownIn[s.Part] {
			if !known[k] {
				continue
			}
			f, err := figureOf(k, r, g)
			if err != nil {
				return nil, err
			}
			s.Charts = append(s.Charts, f)
		}
		p.Sections = append(p.Sections, s)
	}
	p.Cards = cardsOf(parts)
	return p, nil
}

func figureOf(k chart.Kind, r *report.Report, g report.Lang) (figure, error) {
	wide, err := chart.SVG(k, r, g, chart.Wide, "wide")
	if err != nil {
		return figure{}, err
	}
	narrow, err := chart.SVG(k, r, g, chart.Narrow, "narrow")
	if err != nil {
		return figure{}, err
	}
	return figure{k, template.HTML(wide), template.HTML(narrow)}, nil //nolint:gosec // drawn by chart, which escapes names
}

// tagOf is a language as browsers choose fonts by it.
func tagOf(g report.Lang) string {
	if g == report.Chinese {
		return "zh-CN"
	}
	return "en"
}

var figureAndUnit = regexp.MustCompile(`(\d) (%|[A-Z]{3}\b)`)

// tied keeps figures and their units in one line.
func tied(text string, _ int) string {
	return figureAndUnit.ReplaceAllString(text, "$1\u00a0$2")
}
