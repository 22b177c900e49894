package card

import (
	"slices"
	"strconv"
	"strings"

	"github.com/slack-go/slack"

	"spillway.sh/spillway/bot/talk"
	"spillway.sh/spillway/bridge/desk"
	"spillway.sh/spillway/bridge/report"
)

// lang is the reader's language in the words of reports.
func (p Pen) lang() report.Lang {
	if p.Lang == desk.Chinese {
		return report.Chinese
	}
	return report.English
}

// keyFigures are the figures of the first message, by the table they stand in.
var keyFigures = []struct{ table, row string }{
	{"spend", "elastic"},
	{"spend", "kept"},
	{"spend", "elastic-share"},
	{"spend", "last-week"},
	{"spend", "forecast-likely"},
	{"use", "utilisation"},
	{"use", "per-useful"},
	{"use", "unused"},
	{"wait", "saved"},
	{"spot", "spot-saving"},
}

// daysTable is the table that the first message shows, as a chart too.
const daysTable = "spend-days"

// Report is the first message of a weekly report: its sentence, the figures that
// count, what was spent each day, and what to do. Its numbers are those of the
// report's sections, as they stand there.
func (p Pen) Report(r *report.Report) talk.Message {
	w := p.words()
	sections := r.Sections(p.lang())
	sentence := escape(r.Sentence(p.lang()))
	m := talk.Message{Text: sentence, Blocks: []slack.Block{header(r.Title(p.lang())), section("*" + sentence + "*"), small(escape(r.Span(p.lang())))}}
	var pairs []string
	for _, k := range keyFigures {
		if row, c := figureOf(sections, k.table, k.row); row != nil && c.Value != "" {
			name := row.Name
			if k.table == string(report.PartSpot) {
				name = put(w.ReportOf, "part", titleOf(sections, report.PartSpot), "figure", name)
			}
			pairs = append(pairs, escape(name), escape(c.String()))
		}
	}
	if len(pairs) > 0 {
		m.Blocks = append(m.Blocks, fields(pairs...))
	}
	if t := tableOf(sections, daysTable); t != nil {
		if c := p.daysChart(t, r); c != nil {
			m.Blocks = append(m.Blocks, c)
		}
		m.Blocks = append(m.Blocks, p.table(t))
	}
	for i := range r.Advice {
		m.Blocks = append(m.Blocks, p.advice(i, &r.Advice[i]))
	}
	m.Blocks = append(m.Blocks, small(w.ReportThread))
	return Fit(m)
}

// ReportParts are the messages of the report's thread: its parts, a table in
// each message, for Slack draws no more than one.
func (p Pen) ReportParts(r *report.Report) []talk.Message {
	var out []talk.Message
	for _, s := range r.Sections(p.lang()) {
		tables := slices.DeleteFunc(slices.Clone(s.Tables), func(t report.Table) bool { return t.ID == daysTable })
		title := "*" + strconv.Itoa(s.Number) + ". " + escape(s.Title) + "*"
		lines := []string{title}
		for _, l := range s.Lines {
			lines = append(lines, escape(l))
		}
		if s.Part == report.PartAdvice || len(tables) == 0 && len(s.Lines) == 0 && len(s.Notes) == 0 {
			continue // what to do is said in the first message
		}
		first := len(out)
		m := talk.Message{Text: title, Blocks: []slack.Block{section(strings.Join(lines, "\n"))}}
		for i := range tables {
			if i > 0 {
				out = append(out, m)
				m = talk.Message{Text: title, Blocks: []slack.Block{section(title)}}
			}
			if t := &tables[i]; t.Title != "" {
				m.Blocks = append(m.Blocks, small("_"+escape(t.Title)+"_"))
			}
			m.Blocks = append(m.Blocks, p.table(&tables[i]))
		}
		for _, n := range s.Notes {
			m.Blocks = append(m.Blocks, small(escape(n)))
		}
		if s.Part == report.PartWaste {
			m.Blocks = append(m.Blocks, p.wasted(r)...)
		}
		out = append(out, m)
		for i := first; i < len(out); i++ {
			out[i] = Fit(out[i])
		}
	}
	return out
}

func tableOf(sections []report.Section, id string) *report.Table {
	for i := range sections {
		for j := range sections[i].Tables {
			if t := &sections[i].Tables[j]; t.ID == id {
				return t
			}
		}
	}
	return nil
}

func titleOf(sections []report.Section, p report.Part) string {
	for i := range sections {
		if sections[i].Part == p {
			return sections[i].Title
		}
	}
	return ""
}

func figureOf(sections []report.Section, table, row string) (*report.Row, report.Cell) {
	t := tableOf(sections, table)
	if t == nil {
		return nil, report.Cell{}
	}
	for i := range t.Rows {
		if r := &t.Rows[i]; r.ID == row && len(r.Cells) > 0 {
			return r, r.Cells[0]
		}
	}
	return nil, report.Cell{}
}

// commandColumn is left out here: what it says is a button, or stands with what
// to do.
const commandColumn = "command"

// wrapFrom is how long a text is that may be broken into lines.
const wrapFrom = 24

// table is a report's table as Slack draws it, numbers to the right.
func (p Pen) table(t *report.Table) slack.Block {
	heads, settings := []string{t.Head}, []slack.ColumnSetting{{Align: slack.ColumnAlignmentLeft}}
	lines := make([][]string, len(t.Rows))
	for i := range t.Rows {
		lines[i] = append(lines[i], t.Rows[i].Name)
		settings[0].IsWrapped = settings[0].IsWrapped || length(t.Rows[i].Name) > wrapFrom
	}
	for k, c := range t.Columns {
		if c.ID == commandColumn {
			continue
		}
		heads = append(heads, c.Name)
		setting := slack.ColumnSetting{Align: slack.ColumnAlignmentRight}
		if c.Text {
			setting.Align = slack.ColumnAlignmentLeft
		}
		for i := range t.Rows {
			text := t.Rows[i].Cells[k].String()
			lines[i] = append(lines[i], text)
			setting.IsWrapped = setting.IsWrapped || c.Text && length(text) > wrapFrom
		}
		settings = append(settings, setting)
	}
	out := slack.NewTableBlock("")
	out.AddRow(cells(heads...)...)
	for _, l := range lines {
		out.AddRow(cells(l...)...)
	}
	return out.WithColumnSettings(settings...)
}

// daysChart draws the table of days, a group of bars for each; nil where there
// is nothing to draw.
func (p Pen) daysChart(t *report.Table, r *report.Report) slack.Block {
	var names []string
	series := make([][]slack.DataVisualizationDataPoint, len(t.Columns))
	for i := range t.Rows {
		row := &t.Rows[i]
		if row.Total || len(names) == maxPoints {
			continue
		}
		name := clip(row.Name[max(0, len(row.Name)-len("11-30")):], maxChartLabel)
		names = append(names, name)
		for k, c := range row.Cells[:min(len(row.Cells), len(series))] {
			v, err := strconv.ParseFloat(c.Value, 64)
			if err != nil {
				v = 0 // absent
			}
			series[k] = append(series[k], slack.NewDataVisualizationDataPoint(name, max(0, v)))
		}
	}
	var shown []slack.DataVisualizationDataSeries
	for k, c := range t.Columns {
		spent := slices.ContainsFunc(series[k], func(d slack.DataVisualizationDataPoint) bool { return d.Value > 0 })
		if c.ID != "sum" && spent && len(shown) < maxSeries {
			shown = append(shown, slack.NewDataVisualizationDataSeries(clip(c.Name, maxChartLabel), series[k]...))
		}
	}
	if len(shown) == 0 {
		return nil
	}
	currency := string(r.Currency)
	return slack.NewDataVisualizationBlock(clip(put(p.words().ReportChart, "currency", currency), maxChartTitle),
		slack.NewDataVisualizationBarChart(slack.NewDataVisualizationAxisConfig(names...).WithYLabel(currency), shown...))
}

// advice is one thing to do, with a button where one press does it.
func (p Pen) advice(i int, a *report.Advice) slack.Block {
	w := p.words()
	text := put(w.ReportAdvice, "n", strconv.Itoa(i+1), "text", escape(a.Text(p.lang())), "saves", a.Saves.Floor(), "command", "`"+escape(a.Command)+"`")
	if id := a.Facts["rental"]; a.Code == report.AdviseRelease && id != "" {
		return p.line(blockID("advice:"+id, 0), text, p.releaseOf(id))
	}
	return section(text)
}

// wasted are buttons to give back what costs money for nothing right now.
func (p Pen) wasted(r *report.Report) []slack.Block {
	const most = 5
	var out []slack.Block
	for i := range r.Waste.Lines {
		l := &r.Waste.Lines[i]
		id := string(l.Rental)
		if !l.Running || id == "" || len(out) == most || len(p.Key) == 0 {
			continue
		}
		out = append(out, p.line(blockID("waste:"+id, 0), "*"+id+"* · "+p.who(l.Owner)+" · "+amount(l.Cost), p.releaseOf(id)))
	}
	return out
}

// releaseOf gives back a rental of which only the id is at hand.
func (p Pen) releaseOf(id string) *slack.ButtonBlockElement {
	w := p.words()
	return confirm(p.button(Release, id, 0, w.ReleaseB, slack.StyleDanger), w, put(w.ReleaseTitle, "rental", id), put(w.ReleaseNowBody, "what", id), w.ReleaseNow)
}
