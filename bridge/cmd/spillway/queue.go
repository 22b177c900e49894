package main

import (
	"fmt"
	"strings"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/desk"
)

type queueCmd struct {
	format
	Cluster string `help:"Only this cluster." placeholder:"NAME"`
	User    string `short:"u" help:"Only jobs of this user." placeholder:"NAME"`
	All     bool   `short:"a" help:"Every job; by default the first 100."`
}

// Help gives examples.
func (queueCmd) Help() string {
	return `Examples:
  spillway queue                 what waits, and what is done about it
  spillway queue -u ana -o json  one user's jobs, for a script

JSON keys: at, stale[], jobs[] (cluster, job, name, user, account, nodes, count, shape, waiting_seconds, verdict,
why, text, pays, rental, cost{micro,currency}, standing), more, counts{}, frozen, protected.`
}

const queueRows = 100

// Run lists the queue.
func (c *queueCmd) Run(a *app) error {
	q := desk.QueueRequest{Cluster: c.Cluster, User: c.User, Lang: a.lang()}
	if !c.All && c.Output == "text" {
		q.Limit = queueRows
	}
	got, err := ask(a, desk.AskQueue, q)
	if err != nil {
		return err
	}
	return c.print(a, got, func(p *page) { sayQueue(p, &got, c.User) })
}

func sayQueue(p *page, q *desk.QueueAnswer, user string) {
	for _, name := range q.Stale {
		p.line("Cluster %s has not answered lately: jobs are shown as last seen, and nothing is bought for them.", name)
	}
	switch {
	case q.Frozen:
		p.line("New spending is frozen. An admin lets it go on with: spillway thaw")
	case q.Protected != "":
		p.line("Nothing new is rented (%s). See: spillway status", q.Protected)
	}
	if len(q.Jobs) == 0 {
		switch {
		case len(q.Stale) > 0 && q.At.IsZero():
			p.line("See: spillway status")
		case user != "":
			p.line("No job of %s waits.", user)
		default:
			p.line("No job waits.")
		}
		return
	}
	manyClusters := false
	for i := range q.Jobs {
		manyClusters = manyClusters || q.Jobs[i].Cluster != q.Jobs[0].Cluster
	}
	head := "JOB\tNAME\tUSER\tNEEDS\tWAITS\tVERDICT\tWHY"
	if manyClusters {
		head = "CLUSTER\t" + head
	}
	rows := make([]string, 0, len(q.Jobs))
	for i := range q.Jobs {
		j := &q.Jobs[i]
		why := j.Text
		if j.Rental != "" {
			why += " (" + string(j.Rental) + ")"
		}
		cells := []any{j.Job, shorten(j.Name, 20), j.User, desk.Size(j.Shape, j.Nodes, j.Count), desk.Span(time.Duration(j.Waits) * time.Second), j.Verdict, why}
		if manyClusters {
			cells = append([]any{j.Cluster}, cells...)
		}
		rows = append(rows, row(cells...))
	}
	p.table(head, rows)
	p.line("")
	p.line("%s", sumUp(q))
	p.line("One job in full: spillway explain %s", q.Jobs[0].Job)
}

// sumUp counts the verdicts in words.
func sumUp(q *desk.QueueAnswer) string {
	total := 0
	var parts []string
	for _, k := range []bridge.Kind{bridge.Burst, bridge.Ask, bridge.Wait, bridge.Never} {
		if n := q.Counts[string(k)]; n > 0 {
			total += n
			parts = append(parts, fmt.Sprintf("%d %s", n, k))
		}
	}
	s := desk.Count(total, "job") + " waiting: " + strings.Join(parts, ", ") + "."
	if q.More > 0 {
		s += fmt.Sprintf(" %d more are not shown; -a shows all.", q.More)
	}
	return s
}

// shorten cuts a name by characters, never inside one.
func shorten(s string, most int) string {
	r := []rune(s)
	if len(r) <= most {
		return s
	}
	return string(r[:most-1]) + "…"
}
