package say

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/slack-go/slack"

	"spillway.sh/spillway/bot/talk"
	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/desk"
	"spillway.sh/spillway/bridge/report"
)

// drawn is a chart in words.
func drawn(b *slack.DataVisualizationBlock) []string {
	out := []string{"chart " + b.Title}
	bars, ok := b.Chart.(*slack.DataVisualizationBarChart)
	if !ok {
		return append(out, fmt.Sprintf("chart of %T", b.Chart))
	}
	for _, s := range bars.Series {
		line := "chart " + s.Name
		for _, d := range s.Data {
			line += fmt.Sprintf(" %s=%.2f", d.Label, d.Value)
		}
		out = append(out, line)
	}
	return out
}

// figuresIn are the cells of all tables of some messages.
func figuresIn(effects []talk.Effect) []string {
	var out []string
	for i := range effects {
		for _, b := range effects[i].Message.Blocks {
			if t, ok := b.(*slack.TableBlock); ok {
				for _, row := range t.Rows {
					for _, c := range row {
						out = append(out, c.(*slack.TableRawTextCell).Text)
					}
				}
			}
		}
	}
	return out
}

// Every figure of the report as the command line has it is in Slack's tables,
// as often, and to the last digit.
func TestSlackHasTheNumbersOfTheCommandLine(t *testing.T) {
	w := newWorld(t)
	out, err := w.counter.Tell(t.Context(), []bridge.News{{ID: 1, At: w.now, Kind: bridge.NewsWeekly, Text: "2026-W47"}})
	if err != nil {
		t.Fatal(err)
	}
	check(t, out)
	r, err := w.desk.Week(t.Context(), self, desk.WeekRequest{Week: "2026-W47"})
	if err != nil {
		t.Fatal(err)
	}
	shown := figuresIn(out)
	figures := 0
	for _, p := range report.Parts() {
		var b bytes.Buffer
		if err := r.CSV(&b, p); err != nil {
			t.Fatal(err)
		}
		lines, err := csv.NewReader(&b).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range lines[1:] {
			figures++
			text := strings.TrimSpace(l[3] + " " + l[4])
			i := slices.Index(shown, text)
			if i < 0 && p != report.PartAdvice { // what to do is said in sentences
				t.Errorf("%s %s %s: %q is not shown", l[0], l[1], l[2], text)
				continue
			}
			shown = slices.Delete(shown, i, i+1)
		}
	}
	if figures < 60 {
		t.Errorf("only %d figures", figures)
	}
}

// outlined writes what a message of a report is made of; its words and numbers
// are the report's.
func outlined(b *strings.Builder, e *talk.Effect) {
	for _, block := range e.Message.Blocks {
		switch x := block.(type) {
		case *slack.HeaderBlock:
			fmt.Fprintf(b, "  # %s\n", x.Text.Text)
		case *slack.DataVisualizationBlock:
			for _, line := range drawn(x) {
				fmt.Fprintf(b, "  %s\n", line)
			}
		case *slack.TableBlock:
			fmt.Fprintf(b, "  table %d × %d\n", len(x.Rows), len(x.Rows[0]))
		default:
			fmt.Fprintf(b, "  %s\n", block.BlockType())
		}
	}
	for _, f := range e.Files {
		fmt.Fprintf(b, "  + %s, described: %t\n", f.Name, f.Alt != "")
	}
}
