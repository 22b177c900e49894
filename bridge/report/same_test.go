package report_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"spillway.sh/spillway/bridge/report"
	"spillway.sh/spillway/bridge/report/reporttest"
)

// figures are the numbers of a CSV by table, row and column.
func figures(t *testing.T, r *report.Report) map[string]string {
	t.Helper()
	var b bytes.Buffer
	if err := r.CSV(&b, ""); err != nil {
		t.Fatal(err)
	}
	recs, err := csv.NewReader(&b).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, rec := range recs[1:] {
		key := strings.Join(rec[:3], "|")
		if _, twice := out[key]; twice {
			t.Errorf("%s is there twice", key)
		}
		out[key] = strings.TrimSpace(rec[3] + " " + rec[4])
	}
	return out
}

// mdTables are the rows of all tables of a Markdown text, cells as text.
func mdTables(text string) (tables [][][]string) {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "| ") {
			continue
		}
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		if cells[0] == "---" {
			tables = append(tables, nil)
		} else if len(tables) > 0 {
			last := &tables[len(tables)-1]
			*last = append(*last, cells)
		}
	}
	return tables
}

// Whatever form it has, a figure is the same: those of the Markdown in both
// languages are read back and looked for in the CSV, and the JSON makes the same
// CSV.
func TestTheSameNumbersEverywhere(t *testing.T) {
	r := reporttest.Report()
	want := figures(t, &r)
	for _, g := range []report.Lang{report.English, report.Chinese} {
		var md bytes.Buffer
		if err := r.Markdown(&md, g); err != nil {
			t.Fatal(err)
		}
		tables := mdTables(md.String())
		n, seen := 0, 0
		for _, s := range r.Sections(g) {
			for _, table := range s.Tables {
				if table.Detail {
					continue
				}
				for i, row := range table.Rows {
					for k, c := range table.Columns {
						got := strings.NewReplacer(`\`, "", "`", "").Replace(tables[n][i][k+1])
						key := strings.Join([]string{table.ID, row.ID, c.ID}, "|")
						switch {
						case got == "–":
							if v, ok := want[key]; ok {
								t.Errorf("%s: %s is absent, and %s in the CSV", g, key, v)
							}
						case c.Text || want[key] == "" || strings.ContainsAny(want[key], "abcdefghijklmnopqrstuvwxyz"):
							if g == report.English && got != want[key] && row.Cells[k].Unit == "" {
								t.Errorf("%s: %s is %q, and %q in the CSV", g, key, got, want[key])
							}
						case got != want[key]:
							t.Errorf("%s: %s is %q, and %q in the CSV", g, key, got, want[key])
						default:
							seen++
						}
					}
				}
				n++
			}
		}
		if n != len(tables) || seen < 200 {
			t.Errorf("%s: %d tables of %d, %d figures compared", g, len(tables), n, seen)
		}
	}
	text, err := json.Marshal(&r)
	if err != nil {
		t.Fatal(err)
	}
	var back report.Report
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, figures(t, &back)); diff != "" {
		t.Errorf("CSV of what the JSON says (-want +got):\n%s", diff)
	}
}
