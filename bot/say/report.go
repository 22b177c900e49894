package say

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/slack-go/slack"

	"spillway.sh/spillway/bot/card"
	"spillway.sh/spillway/bot/talk"
	"spillway.sh/spillway/bot/words"
	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/desk"
	"spillway.sh/spillway/bridge/report"
	"spillway.sh/spillway/bridge/report/chart"
)

// weekly is the weekly report in the channel.
func (c *Counter) weekly(ctx context.Context, n *bridge.News) ([]talk.Effect, error) {
	r, err := c.Desk.Week(ctx, self, desk.WeekRequest{Week: n.Text})
	if err != nil {
		return nil, err
	}
	return c.reported(&r, talk.Effect{Key: "report/" + r.Week, Channel: c.Channel}, c.channelPen())
}

// reported is a report where at says: a first message, its parts in the thread,
// and a file of figures for each part.
func (c *Counter) reported(r *report.Report, at talk.Effect, pen card.Pen) ([]talk.Effect, error) {
	here := typedHere(r)
	at.Lane = talk.Reports
	first := at
	first.Surface, first.Message = talk.Card, pen.Report(here)
	if slices.ContainsFunc(first.Message.Blocks, func(b slack.Block) bool { return b.BlockType() == slack.MBTDataVisualization }) {
		first.Files = picture(r, pen.Lang)
	}
	out := []talk.Effect{first}
	for i, m := range pen.ReportParts(here) {
		part := at
		part.Surface, part.Message, part.Once = talk.Thread, m, fmt.Sprintf("%s/%d", at.Key, i)
		out = append(out, part)
	}
	files, err := tables(r)
	if err != nil {
		return nil, err
	}
	up := at
	up.Surface, up.Files, up.Once = talk.Upload, files, at.Key+"/files"
	up.Message = talk.Message{Text: textsOf(pen.Lang).ReportFiles}
	return append(out, up), nil
}

// typedHere is a report whose commands can be typed here, where there are such.
func typedHere(r *report.Report) *report.Report {
	out := *r
	out.Advice = slices.Clone(r.Advice)
	for i := range out.Advice {
		if here := slashed(out.Advice[i].Command); here != "" {
			out.Advice[i].Command = here
		}
	}
	out.Waste.Lines = slices.Clone(r.Waste.Lines)
	for i := range out.Waste.Lines {
		if here := slashed(out.Waste.Lines[i].Command); here != "" {
			out.Waste.Lines[i].Command = here
		}
	}
	return &out
}

// picture is the chart of the first message for workspaces that draw none. A
// report goes out without it rather than not at all.
func picture(r *report.Report, l desk.Lang) []talk.File {
	g := langOfReports(l)
	if !slices.Contains(chart.Kinds(r), chart.Spend) {
		return nil
	}
	png, alt, err := chart.PNG(chart.Spend, r, g, chart.Light)
	if err != nil {
		slog.Warn("the chart of a report could not be drawn", "week", r.Week, "error", err)
		return nil
	}
	return []talk.File{{Name: "spend-" + r.Week + ".png", Title: r.Title(g), Alt: alt, Bytes: png}}
}

// tables are the figures of each part as a file.
func tables(r *report.Report) ([]talk.File, error) {
	var out []talk.File
	for _, p := range report.Parts() {
		var b bytes.Buffer
		if err := r.CSV(&b, p); err != nil {
			return nil, fmt.Errorf("write figures: %w", err)
		}
		if bytes.Count(b.Bytes(), []byte("\n")) < 2 {
			continue // only its head
		}
		name := r.Week + "-" + string(p) + ".csv"
		out = append(out, talk.File{Name: name, Title: name, Bytes: b.Bytes()})
	}
	return out, nil
}

// report is what a project spends, day by day, or the weekly report, where a
// week is meant.
func (t *turn) report(ctx context.Context, r *words.Request) ([]talk.Effect, error) {
	q, weekly := desk.WeekRequest{}, false
	for _, w := range r.Words {
		switch w = strings.ToLower(strings.TrimLeft(w, "-@")); {
		case w == "week" || w == "weekly" || w == "周":
			weekly = true
		case w == "last" || w == "this":
			q.Week = w
		case weekName.MatchString(w):
			q.Week, weekly = strings.ToUpper(w), true
		case w != "project" && w != "for" && w != "of":
			q.Project = w
		}
	}
	if !weekly {
		return t.spend(ctx, r)
	}
	a, err := t.Desk.Week(ctx, t.who.Person, q)
	if err != nil {
		return nil, err
	}
	// In their own messages, where files and a thread can be.
	out, err := t.reported(&a, talk.Effect{Key: "report/" + a.Week + "/" + t.in.Key, User: t.who.Slack}, t.pen)
	if err != nil {
		return nil, err
	}
	return append(t.reply(a.Sentence(langOfReports(t.who.Lang))+t.words.Gap+t.words.ReportSent), out...), nil
}

// weekName is the name of a week, as 2026-W48.
var weekName = regexp.MustCompile(`^\d{4}-w\d{2}$`)

func langOfReports(l desk.Lang) report.Lang {
	if l == desk.Chinese {
		return report.Chinese
	}
	return report.English
}

// daily is the daily line, about the day that the news name.
func (c *Counter) daily(ctx context.Context, n *bridge.News) ([]talk.Effect, error) {
	d := card.Day{}
	r, err := c.Desk.Week(ctx, self, desk.WeekRequest{Week: "this"})
	switch {
	case err == nil:
		d.Known, d.Forecast = true, r.Spend.Forecast
		if d.Spent, err = c.spentOn(ctx, n.Text, &r); err != nil {
			return nil, err
		}
	case desk.AsError(err).Kind == desk.Internal:
		return nil, err
	}
	rs, err := c.Desk.Rentals(ctx, self, desk.RentalsRequest{})
	if err != nil {
		return nil, err
	}
	for i := range rs.Rentals {
		if s := rs.Rentals[i].State; s.Held() {
			d.Running = append(d.Running, rs.Rentals[i])
		}
	}
	spend, err := c.Desk.Spend(ctx, self, desk.SpendRequest{})
	if err != nil {
		return nil, err
	}
	d.Budgets = spend.Accounts
	return []talk.Effect{{Surface: talk.Card, Lane: talk.Reports, Key: "daily/" + n.Text, Channel: c.Channel, Message: c.channelPen().Daily(&d)}}, nil
}

// spentOn is what a day cost; nil where no report has it.
func (c *Counter) spentOn(ctx context.Context, date string, this *report.Report) (*report.SpendDay, error) {
	zone, err := time.LoadLocation(this.Zone)
	if err != nil {
		return nil, fmt.Errorf("read zone of the report: %w", err)
	}
	day, err := time.ParseInLocation(time.DateOnly, date, zone)
	if err != nil {
		return nil, nil //nolint:nilerr,nilnil // It names no day.
	}
	r := *this
	if week := report.WeekOf(day.Add(12*time.Hour), zone); week.Name != r.Week {
		if r, err = c.Desk.Week(ctx, self, desk.WeekRequest{Week: week.Name}); err != nil {
			return nil, err
		}
	}
	for i := range r.Spend.Days {
		if r.Spend.Days[i].Date == date {
			return &r.Spend.Days[i], nil
		}
	}
	return nil, nil //nolint:nilnil // The report does not have that day.
}
