package main

import (
	"bytes"
	"fmt"
	"io"
	"os"

	"spillway.sh/spillway/bridge/desk"
	"spillway.sh/spillway/bridge/report"
	html "spillway.sh/spillway/bridge/report/page"
)

// weekFlags are those of the weekly report and of the chargeback.
type weekFlags struct {
	Week       string `help:"The weekly report of a week: 2026-W48, last or this." placeholder:"WEEK" xor:"what"`
	Chargeback bool   `help:"What settled rentals cost in a month, with FOCUS columns." xor:"what"`
	Month      string `help:"The month of a chargeback, as 2026-11 (default: the last whole one)." placeholder:"MONTH"`
	Format     string `help:"Form of it: md, json, csv or html (default: md; csv for a chargeback)." enum:",md,json,csv,html" default:""`
	Part       string `help:"Only this part, as CSV: spend, use, wait, mix, spot, top, waste, approvals, guard, advice." placeholder:"PART"`
	Out        string `help:"Write it to a file." type:"path" placeholder:"FILE"`
	Charts     string `help:"Also write its charts into a folder, as PNG." type:"path" placeholder:"FOLDER"`
}

// weekly prints the weekly report or the chargeback; false if neither was asked for.
func (c *weekFlags) weekly(a *app, words []string, asJSON bool) (bool, error) {
	switch {
	case c.Week == "" && !c.Chargeback:
		if c.Format+c.Part+c.Out+c.Month+c.Charts != "" {
			return false, misused("--format, --part, --out and --charts are of the weekly report, --month of a chargeback", "spillway report --week last --format html --out week.html")
		}
		return false, nil
	case len(words) > 1:
		return false, misused("of which project? One at most", "spillway report --week last nlp")
	case c.Month != "" && !c.Chargeback:
		return false, misused("--month is of a chargeback", "spillway report --chargeback --month 2026-11")
	}
	project := ""
	if len(words) == 1 {
		project = words[0]
	}
	if asJSON {
		c.Format = "json"
	}
	write, err := c.writer(a, project)
	if err != nil {
		return false, err
	}
	var b bytes.Buffer // so that no half report is left behind
	if err := write(&b); err != nil {
		return false, err
	}
	if c.Out == "" {
		if _, err := b.WriteTo(a.out); err != nil {
			return false, fmt.Errorf("print report: %w", err)
		}
		return true, nil
	}
	if err := os.WriteFile(c.Out, b.Bytes(), 0o600); err != nil {
		return false, fmt.Errorf("write report: %w", err)
	}
	return true, nil
}

// writer asks for what is wanted and returns what writes it.
func (c *weekFlags) writer(a *app, project string) (func(io.Writer) error, error) {
	if c.Chargeback {
		return c.chargeback(a, project)
	}
	lang := report.Lang(a.lang())
	part := report.Part("")
	if c.Part != "" {
		var err error
		if part, err = report.ParsePart(c.Part); err != nil {
			return nil, misused(err.Error(), "spillway report --week last --part spend")
		}
		if c.Format == "" {
			c.Format = "csv"
		}
		if c.Format != "csv" {
			return nil, misused("one part alone is CSV", "spillway report --week last --format csv --part "+c.Part)
		}
	}
	r, err := ask(a, desk.AskWeek, desk.WeekRequest{Week: c.Week, Project: project})
	if err != nil {
		return nil, err
	}
	if c.Charts != "" {
		if err := drawCharts(a, &r, c.Charts); err != nil {
			return nil, err
		}
	}
	switch c.Format {
	case "json":
		return r.JSON, nil
	case "csv":
		return func(w io.Writer) error { return r.CSV(w, part) }, nil
	case "html":
		return func(w io.Writer) error { return html.Write(w, &r, lang) }, nil
	}
	return func(w io.Writer) error { return r.Markdown(w, lang) }, nil
}

func (c *weekFlags) chargeback(a *app, project string) (func(io.Writer) error, error) {
	if c.Part != "" || c.Charts != "" || c.Format == "md" || c.Format == "html" {
		return nil, misused("a chargeback is CSV or JSON, whole and without charts", "spillway report --chargeback --month 2026-11 --format csv")
	}
	got, err := ask(a, desk.AskChargeback, desk.ChargebackRequest{Month: c.Month, Project: project})
	if err != nil {
		return nil, err
	}
	for _, m := range got.Open {
		fmt.Fprintf(a.errs, "(%s of %s is of rentals that are not settled, and not in it)\n", m, got.Month)
	}
	if c.Format == "json" {
		f := format{Output: "json"}
		return func(w io.Writer) error { return f.print(&app{out: w}, got, nil) }, nil
	}
	return got.CSV, nil
}

func misused(what, try string) error {
	return &desk.Error{Kind: desk.BadRequest, Wrong: what, Try: try}
}
