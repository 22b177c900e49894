package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/desk"
)

type newsCmd struct {
	format
	Follow bool   `short:"f" help:"Go on, and print what happens as it happens."`
	Rental string `help:"Only news of this rental." placeholder:"ID"`
	Last   int    `short:"n" help:"How many of the latest to begin with." default:"20"`
}

// Help gives examples.
func (newsCmd) Help() string {
	return `Examples:
  spillway news
  spillway news --follow
  spillway news -f -o json | jq -r .kind     one JSON object a line

JSON keys of each: id, at, kind, cluster, rental, machine, node, job, who, why, pool, cost, text, took, digest, via, alert
(scope{account, cloud, gpu}, every, period, measure, percent, amount, limit, hard), submitted, estimate, gpus.`
}

// Run prints news; with --follow until interrupted.
func (c *newsCmd) Run(a *app) error {
	q := desk.NewsRequest{Limit: c.Last, Rental: c.Rental}
	for {
		got, err := ask(a, desk.AskNews, q)
		if a.ctx.Err() != nil {
			return nil //nolint:nilerr // Interrupted is how following ends.
		}
		if err != nil {
			return err
		}
		if err := c.show(a, got.News); err != nil {
			return err
		}
		if !c.Follow || a.ctx.Err() != nil {
			if len(got.News) == 0 && !c.Follow && c.Output == "text" {
				fmt.Fprintln(a.out, "Nothing has happened yet.")
			}
			return nil
		}
		q.After, q.Wait, q.Limit = got.Next, 25, 0
	}
}

// show prints news a line each; JSON too, so that it can be followed.
func (c *newsCmd) show(a *app, news []bridge.News) error {
	if c.Output == "text" {
		return c.print(a, nil, func(p *page) { sayNews(p, news, a.lang()) })
	}
	enc := json.NewEncoder(a.out)
	enc.SetEscapeHTML(false)
	for i := range news {
		if err := enc.Encode(&news[i]); err != nil {
			return fmt.Errorf("print news: %w", err)
		}
	}
	return nil
}

func sayNews(p *page, news []bridge.News, lang desk.Lang) {
	rows := make([]string, 0, len(news))
	for i := range news {
		n := &news[i]
		rows = append(rows, row(n.At.UTC().Format("2006-01-02 15:04:05"), n.Rental, n.Kind, newsText(n, lang)))
	}
	p.table("", rows)
}

// newsText says one piece of news after its time, rental and kind.
func newsText(n *bridge.News, lang desk.Lang) string {
	var parts []string
	add := func(ok bool, format string, args ...any) {
		if ok {
			parts = append(parts, fmt.Sprintf(format, args...))
		}
	}
	add(n.Job != "", "job %s", n.Job)
	add(n.Node != "", "%s", n.Node)
	whose, word := "by %s", "took"
	switch n.Kind { //nolint:exhaustive // Of the others a person does something, in a time.
	case bridge.NewsIdle:
		whose, word = "of %s", "without a job for"
	case bridge.NewsResumed, bridge.NewsLost:
		word = "lost"
	}
	add(n.Who != "", whose, n.Who)
	add(n.Why != "", "%s", lang.Short(n.Why))
	add(n.Pool != nil && n.Node == "", "%s", pool(n))
	add(n.Cost.Micro != 0, "%s", n.Cost)
	add(n.Took > 0, "%s %s", word, took(n.Took))
	add(n.Text != "", "%s", lang.News(n))
	return strings.Join(parts, ", ")
}

func pool(n *bridge.News) string {
	if n.Pool == nil {
		return ""
	}
	return desk.Place(*n.Pool)
}

func took(d time.Duration) string {
	if d < 10*time.Second {
		return fmt.Sprintf("%.2f s", d.Seconds())
	}
	return desk.Span(d)
}
