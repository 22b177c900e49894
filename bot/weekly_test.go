package bot_test

import (
	"context"
	"encoding/csv"
	"slices"
	"strings"
	"testing"

	"spillway.sh/spillway/bot/say"
	"spillway.sh/spillway/bot/slackd"
	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/desk"
	"spillway.sh/spillway/bridge/report"
	"spillway.sh/spillway/bridge/report/reporttest"
)

// weekDesk has one made-up week, and nothing else.
type weekDesk struct{ say.Desk }

func (weekDesk) Week(context.Context, desk.Person, desk.WeekRequest) (report.Report, error) {
	return reporttest.Report(), nil
}

// The whole report of a week goes through Slack's own limits, in both languages:
// nothing of it is refused, its parts and files are in one thread, and where no
// charts are drawn there is a picture that Slack takes.
func TestTheWeeklyReportArrivesWhole(t *testing.T) {
	for name, c := range map[string]struct {
		lang    desk.Lang
		without []string
		files   int
	}{
		"English":                {desk.English, nil, 10},
		"Chinese, without chart": {desk.Chinese, []string{"data_visualization"}, 11},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, slackd.Options{})
			if err := r.Without(t.Context(), c.without...); err != nil {
				t.Fatal(err)
			}
			r.options.Teller = say.New(say.Options{Desk: weekDesk{}, Key: []byte("a key of the tests"), Channel: burst, Lang: c.lang})
			r.begin()
			if err := r.store.Tell(t.Context(), bridge.News{Kind: bridge.NewsWeekly, Text: "2026-W48"}); err != nil {
				t.Fatal(err)
			}
			r.until("all files are there", func() bool { return len(files(r.channel(mei))) == c.files })
			r.delivered()
			ms := r.channel(mei)
			if n := r.figure("spillway_slack_dropped_total"); int(n) != len(c.without) {
				t.Errorf("%v things are dropped:\n%s", n, r.log)
			}
			tables := 0
			for _, m := range ms[1:] {
				if m.ThreadTS != ms[0].TS {
					t.Errorf("%q is not in the thread", m.Text)
				}
				tables += strings.Count(string(m.Blocks), `"type":"table"`)
			}
			if tables < 15 {
				t.Errorf("%d tables in %d messages", tables, len(ms))
			}
			if chart := strings.Contains(string(ms[0].Blocks), "data_visualization"); chart != (c.without == nil) {
				t.Errorf("a chart is shown: %t", chart)
			}
			r.sound(ms)
		})
	}
}

// sound wants files that can be read: tables with a head, pictures with words.
func (r *rig) sound(ms []*slackd.Message) {
	r.t.Helper()
	for _, m := range ms {
		for _, f := range m.Files {
			var b strings.Builder
			if err := r.api().GetFile(f.URL, &b); err != nil || b.Len() != f.Size {
				r.t.Fatalf("%s: %d bytes of %d, %v", f.Name, b.Len(), f.Size, err)
			}
			if f.Mimetype == "image/png" {
				if !strings.HasPrefix(b.String(), "\x89PNG") || !strings.Contains(f.AltText, "2026-11-25") {
					r.t.Errorf("%s is described as %q", f.Name, f.AltText)
				}
				continue
			}
			lines, err := csv.NewReader(strings.NewReader(b.String())).ReadAll()
			if err != nil || len(lines) < 2 || !slices.Equal(lines[0], []string{"part", "row", "column", "value", "unit"}) {
				r.t.Errorf("%s: %v, %v", f.Name, lines, err)
			}
		}
	}
}
