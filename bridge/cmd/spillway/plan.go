package main

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/desk"
)

type planCmd struct{ format }

// Help gives examples.
func (planCmd) Help() string {
	return `Examples:
  spillway plan
  spillway plan -o json

It is what the daemon decided at its last look, or would decide: asking changes nothing.

JSON keys: at, rent[] (cluster, jobs[], user, account, class, machines, pool, life_seconds, at_most, ask, why, text),
route[] (rental, job), withdraw[], return[] (rental, drain, why, text), others{reason: demands}, texts{reason: words}.`
}

// Run prints the plan.
func (c *planCmd) Run(a *app) error {
	got, err := ask(a, desk.AskPlan, desk.PlanRequest{Lang: a.lang()})
	if err != nil {
		return err
	}
	return c.print(a, got, func(p *page) { sayPlan(p, &got) })
}

func sayPlan(p *page, a *desk.PlanAnswer) {
	p.line("As of %s. Nothing is done by asking.", desk.Clock(a.At))
	p.line("")
	var rows []string
	for i := range a.Rent {
		r := &a.Rent[i]
		action := "rent"
		if r.Ask {
			action = "ask"
		}
		rows = append(rows, row(action, fmt.Sprintf("%d x %s for %s", r.Machines, desk.Place(r.Pool), jobs(r.Jobs)),
			r.Account, r.AtMost.String()+" over "+desk.Span(time.Duration(r.Life)*time.Second), r.Text))
	}
	for _, r := range a.Route {
		rows = append(rows, row("send", fmt.Sprintf("job %s to %s", r.Job, r.Rental), r.Account, "", "an idle rented machine fits"))
	}
	for _, id := range a.Withdraw {
		rows = append(rows, row("withdraw", "the question of "+string(id), "", "", "its job no longer waits"))
	}
	for i := range a.Return {
		r := &a.Return[i]
		how := "give back"
		if r.Drain {
			how = "drain"
		}
		rows = append(rows, row(how, r.Rental, "", "", r.Text))
	}
	if len(rows) == 0 {
		p.line("Nothing would be done.")
	} else {
		p.table("DO\tWHAT\tPAID BY\tAT MOST\tWHY", rows)
	}
	if len(a.Others) > 0 {
		p.line("")
		p.line("Nothing is done for:")
		rows = rows[:0]
		for _, why := range slices.Sorted(maps.Keys(a.Others)) {
			rows = append(rows, row("  "+desk.Count(a.Others[why], "job"), a.Texts[why]))
		}
		p.table("", rows)
		p.line("Each with its reason: spillway queue")
	}
}

func jobs(ids []bridge.JobID) string {
	switch len(ids) {
	case 0:
		return "no job"
	case 1:
		return "job " + string(ids[0])
	}
	return fmt.Sprintf("job %s and %d more", ids[0], len(ids)-1)
}
