package honest

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/report"
	"spillway.sh/spillway/bridge/report/page"
)

const (
	week         = "../../../bridge/report/chart/testdata/week.json"
	weekPictures = "../../../bridge/report/page/testdata/pictures"
)

// paged is what report.mjs says.
type paged struct {
	Pages        int      `json:"pages"`
	Strict       bool     `json:"strict"`
	Wrong        []string `json:"wrong"`
	Photographed []string `json:"photographed"`
}

// drawReport draws a report's page in Chromium; fresh pictures are in the folder
// it returns.
func drawReport(t *testing.T, r *report.Report, mode ...string) (paged, string) {
	t.Helper()
	pages, fresh := t.TempDir(), t.TempDir()
	if shots := os.Getenv("SHOTS"); shots != "" {
		fresh = shots
	}
	for _, g := range []report.Lang{report.English, report.Chinese} {
		var b bytes.Buffer
		if err := page.Write(&b, r, g); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(pages, string(g)+".html"), b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	kept, err := filepath.Abs(weekPictures)
	if err != nil {
		t.Fatal(err)
	}
	args := append([]string{"report.mjs", pages, kept, fresh}, mode...)
	out := runIn(t, workshop(t), nil, 8*time.Minute, node(t), args...)
	var p paged
	if err := json.Unmarshal([]byte(out), &p); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	return p, fresh
}

func readWeek(t *testing.T) *report.Report {
	t.Helper()
	text, err := os.ReadFile(week)
	if err != nil {
		t.Fatal(err)
	}
	var r report.Report
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	return &r
}

// Everything fits on wide and narrow screens and on paper, in both languages,
// light and dark, every character has a glyph, nothing is loaded; and it looks
// as it did when somebody looked at it.
func TestPicturesOfTheReport(t *testing.T) {
	if *update {
		p, fresh := drawReport(t, readWeek(t), "update")
		if len(p.Wrong) > 0 {
			t.Fatalf("%s", strings.Join(p.Wrong, "\n"))
		}
		if err := os.RemoveAll(weekPictures); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(weekPictures, 0o755); err != nil {
			t.Fatal(err)
		}
		for _, name := range append(p.Photographed, "pictures.json") {
			if !strings.HasSuffix(name, ".json") {
				name += ".png"
			}
			text, err := os.ReadFile(filepath.Join(fresh, name))
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(weekPictures, name), text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		return // the next run without -update compares
	}
	p, _ := drawReport(t, readWeek(t))
	for _, w := range p.Wrong {
		t.Errorf("%s", w)
	}
	if p.Pages != 8 {
		t.Errorf("%d pages were drawn, want 8", p.Pages)
	}
	if !p.Strict {
		t.Log("another browser or other fonts than those of the kept pictures: words and what fits were compared, pixels were not")
	}
	if t.Failed() {
		t.Log("look at the pages, then `make pictures` keeps them")
	}
}

// A comparison that never fails keeps nothing.
func TestPicturesOfTheReportNoticeAnotherFigure(t *testing.T) {
	r := readWeek(t)
	r.Spend.Days[2].Spot.Micro += 60 * bridge.Micro
	p, _ := drawReport(t, r, "en-light-1200")
	if len(p.Wrong) == 0 || !strings.Contains(strings.Join(p.Wrong, " "), "says something else") {
		t.Errorf("another figure, and the complaints are %q", p.Wrong)
	}
}

// What does not fit is found: names of a hundred characters without a break.
func TestTheReportFitsWithHostileNames(t *testing.T) {
	r := readWeek(t)
	long := strings.Repeat("a-name_that.never/ends", 8)
	r.Top.Projects[0].Name, r.Top.Users[0].Name, r.Top.Jobs[0].Name = long, strings.Repeat("无", 90), strings.Repeat("W", 120)
	r.Waste.Lines[0].Owner, r.Waste.Lines[0].Command = strings.Repeat("M", 80), "spillway release "+long
	r.Spend.Capacity[0].Name = long
	p, _ := drawReport(t, r, "en-dark-360")
	for _, w := range p.Wrong {
		if !strings.Contains(w, "says something else") && !strings.Contains(w, " is ") && !strings.Contains(w, "looks different") {
			t.Error(w)
		}
	}
}
