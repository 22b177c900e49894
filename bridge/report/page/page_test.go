package page

import (
	"bytes"
	"encoding/json"
	"html"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"spillway.sh/spillway/bridge/report"
	"spillway.sh/spillway/bridge/report/reporttest"
)

// sample is a report with everything in it.
func sample(t testing.TB) *report.Report {
	t.Helper()
	text, err := os.ReadFile("../chart/testdata/week.json")
	if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	var r report.Report
	if err := d.Decode(&r); err != nil {
		t.Fatal(err)
	}
	return &r
}

func written(t testing.TB, r *report.Report, g report.Lang) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, r, g); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

var tag = regexp.MustCompile(`<[^>]*>`)

// words are what a person reads of a page.
func words(page string) string {
	_, body, _ := strings.Cut(page, "<body>")
	return strings.Join(strings.Fields(html.UnescapeString(tag.ReplaceAllString(body, " "))), " ")
}

func TestAPageHasTheTenPartsInOrderWithEveryFigure(t *testing.T) {
	for _, r := range []*report.Report{sample(t), computed()} {
		hasTheTenParts(t, r)
	}
}

// computed is a report as it is made.
func computed() *report.Report {
	r := reporttest.Report()
	return &r
}

func hasTheTenParts(t *testing.T, r *report.Report) {
	t.Helper()
	for _, g := range []report.Lang{report.English, report.Chinese} {
		page := written(t, r, g)
		read := words(page)
		if !strings.HasPrefix(read, r.Span(g)+" "+r.Title(g)+" "+r.Sentence(g)) {
			t.Errorf("%s: the page begins %q", g, read[:min(200, len(read))])
		}
		at := 0
		for _, s := range r.Sections(g) {
			i := strings.Index(page[at:], `<section id="`+string(s.Part)+`">`)
			if i < 0 {
				t.Fatalf("%s: part %s is not there, or not in order", g, s.Part)
			}
			at += i
			part, _, _ := strings.Cut(page[at:], "</section>")
			for _, table := range s.Tables {
				for _, row := range table.Rows {
					for _, c := range row.Cells {
						if c.Value != "" && !strings.Contains(part, ">"+html.EscapeString(c.Value)+"<") {
							t.Errorf("%s: %s, %s, %s: %q is not on the page", g, s.Part, table.ID, row.ID, c.Value)
						}
					}
				}
			}
			for _, n := range append(slices.Clone(s.Notes), s.Lines...) {
				if !strings.Contains(words("<body>"+part), n) {
					t.Errorf("%s: %s does not say %q", g, s.Part, n)
				}
			}
		}
	}
}

func TestAPageSaysItsLanguage(t *testing.T) {
	for g, want := range map[report.Lang]string{report.English: `<html lang="en">`, report.Chinese: `<html lang="zh-CN">`} {
		if page := written(t, sample(t), g); !strings.Contains(page, want) {
			t.Errorf("%s: no %s", g, want)
		}
	}
}

// Whoever opens a page tells nobody, and needs nobody.
func TestAPageLoadsNothingAndRunsNothing(t *testing.T) {
	page := written(t, sample(t), report.English)
	for _, never := range []string{"<script", "javascript:", "src=", "@import", "url(", "<link", "<iframe", " on"} {
		for _, found := range tag.FindAllString(page, -1) {
			if strings.Contains(strings.ToLower(found), never) && !strings.Contains(found, "<style") {
				t.Errorf("%q in %s", never, found)
			}
		}
	}
	if strings.Contains(style, "url(") || strings.Contains(style, "@import") {
		t.Error("the style loads something")
	}
	for _, address := range regexp.MustCompile(`https?://[^" ]*`).FindAllString(page, -1) {
		if address != "http://www.w3.org/2000/svg" && address != "http://www.w3.org/1999/xlink" {
			t.Errorf("%s in the page", address)
		}
	}
}

func TestNoTwoThingsOfAPageHaveOneName(t *testing.T) {
	seen := map[string]bool{}
	page := written(t, sample(t), report.Chinese)
	for _, m := range regexp.MustCompile(` id="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		if seen[m[1]] {
			t.Errorf("%s twice", m[1])
		}
		seen[m[1]] = true
	}
	for _, m := range regexp.MustCompile(`aria-labelledby="([^" ]*) ([^" ]*)"`).FindAllStringSubmatch(page, -1) {
		if !seen[m[1]] || !seen[m[2]] {
			t.Errorf("a picture is described by %s and %s, which are not there", m[1], m[2])
		}
	}
}

// Names are other people's: whatever they are, they are shown and do nothing.
func TestHostileNamesAreShownAndDoNothing(t *testing.T) {
	for _, name := range []string{
		`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `</title></svg><script>alert(1)</script>`, `--></style><script>`,
		`]]><script>alert(1)</script>`, `&lt;b&gt;`, `{{.Style}}`, `' onmouseover='alert(1)`, `javascript:alert(1)`, "a\x00b\u202e\ufeff\ufffe", "rgb(0,114,178) white",
	} {
		r := sample(t)
		r.Account = ""
		r.Top.Projects[0].Name, r.Top.Users[0].Name, r.Top.Jobs[0].Name = name, name, name
		r.Waste.Lines[0].Owner, r.Waste.Lines[0].Command, r.Waste.Lines[0].Machine = name, name, name
		r.Mix.Classes[0].GPU, r.Spend.Capacity[0].Name, r.Headline.Reserve.GPU = name, name, name
		r.Use.Classes[0].GPU = name
		for k := range r.Advice[0].Facts {
			r.Advice[0].Facts[k] = name
		}
		page := written(t, r, report.English)
		plain := written(t, sample(t), report.English)
		// As many elements as with plain names, and none with an attribute more.
		got, want := elements(page), elements(plain)
		for _, e := range got {
			if !slices.Contains(want, e) {
				t.Errorf("%q makes an element %s", name, e)
			}
		}
		if strings.ContainsAny(name, "<>") && strings.Contains(page, name) {
			t.Errorf("%q is on the page as it is", name)
		}
		if name == `&lt;b&gt;` && !strings.Contains(page, "&amp;lt;b&amp;gt;") {
			t.Errorf("%q is not shown as it is written", name)
		}
	}
}

var opening = regexp.MustCompile(`<[a-zA-Z!/][^>]*>`)

// elements are the tags of a page with the names of their attributes.
func elements(page string) []string {
	value := regexp.MustCompile(`="[^"]*"|='[^']*'`)
	var out []string
	for _, e := range opening.FindAllString(page, -1) {
		if e = value.ReplaceAllString(e, "="); !slices.Contains(out, e) {
			out = append(out, e)
		}
	}
	return out
}

func TestAnEmptyWeekIsAPageToo(t *testing.T) {
	r := &report.Report{Week: "2026-W47", Zone: "UTC", Currency: "USD"}
	for _, g := range []report.Lang{report.English, report.Chinese} {
		page := written(t, r, g)
		if strings.Contains(page, "<svg") {
			t.Errorf("%s: a chart of nothing", g)
		}
		if n := strings.Count(page, "<section "); n != len(report.Parts()) {
			t.Errorf("%s: %d parts", g, n)
		}
	}
}

func TestAPageIsTheSameTwice(t *testing.T) {
	first := written(t, sample(t), report.Chinese)
	if second := written(t, sample(t), report.Chinese); first != second {
		t.Error("two pages of one report differ")
	}
}

func TestUnitsOfAColumnAreInItsHead(t *testing.T) {
	in := report.Table{
		ID: "x", Head: "name", Columns: []report.Column{{ID: "cost", Name: "cost"}, {ID: "figure", Name: "figure"}, {ID: "who", Name: "who", Text: true}},
		Rows: []report.Row{
			{Name: "a", Cells: []report.Cell{{Value: "1.00", Unit: "USD"}, {Value: "2.0", Unit: "h"}, {Value: "ana"}}},
			{Name: "b", Cells: []report.Cell{{}, {Value: "3", Unit: ""}, {}}},
			{Name: "all", Total: true, Cells: []report.Cell{{Value: "1.00", Unit: "USD"}, {}, {}}},
		},
	}
	out := tableOf(&in)
	if out.Columns[0].Unit != "USD" || out.Columns[0].Own || out.Rows[0].Cells[0].Unit != "" {
		t.Errorf("a column of one unit: %+v, %+v", out.Columns[0], out.Rows[0].Cells[0])
	}
	if out.Columns[1].Unit != "" || !out.Columns[1].Own || out.Rows[0].Cells[1].Unit != "h" {
		t.Errorf("a column of two units: %+v, %+v", out.Columns[1], out.Rows[0].Cells[1])
	}
	if out.Rows[1].Cells[0].Value != "–" || out.Rows[2].Cells[1].Value != "" {
		t.Errorf("absent figures: %+v, %+v", out.Rows[1].Cells[0], out.Rows[2].Cells[1])
	}
}

func BenchmarkWrite(b *testing.B) {
	r := sample(b)
	for b.Loop() {
		var out bytes.Buffer
		if err := Write(&out, r, report.Chinese); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(out.Len()), "bytes")
	}
}
