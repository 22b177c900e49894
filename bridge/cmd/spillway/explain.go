package main

import (
	"strings"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/desk"
)

type explainCmd struct {
	format
	Job     string `arg:"" predictor:"job" help:"The scheduler's id of the job; of an array task, too."`
	Cluster string `help:"Its cluster, where two have the same id." placeholder:"NAME"`
}

// Help gives examples.
func (explainCmd) Help() string {
	return `Examples:
  spillway explain 4711
  spillway explain 4711_3 -o json

JSON keys: cluster, job, state (pending, running, gone), demand, run, verdict{kind, why, rule, class, account, rental,
until, pool, cost, left, limit, scope{account, cloud, gpu}, detail}, why, change, billing, compared[] (offer, machines, gangs,
run, boot, spare, minimum, step, early, paid, machine, reclaims, loss_pm, loss, egress, total, hold, chosen, why, detail, lines[]
(what, name, says)), waiting_seconds, budgets[], rentals[], news[]. Of each cloud three offers are compared.`
}

// Run explains one job.
func (c *explainCmd) Run(a *app) error {
	got, err := ask(a, desk.AskExplain, desk.ExplainRequest{Job: bridge.JobID(c.Job), Cluster: c.Cluster, Lang: a.lang()})
	if err != nil {
		return err
	}
	return c.print(a, got, func(p *page) { sayExplain(p, &got, a.lang()) })
}

func sayExplain(p *page, e *desk.ExplainAnswer, lang desk.Lang) {
	var rows []string
	add := func(label string, value string) {
		if value != "" {
			rows = append(rows, row(label, value))
		}
	}
	where := ""
	if e.Cluster != "" {
		where = " on " + e.Cluster
	}
	switch {
	case e.Demand != nil:
		d := e.Demand
		p.line("Job %s%s (%s, %s) has waited %s.", plain(string(e.Job)), where, plain(d.Name), d.User, desk.Span(time.Duration(e.Waits)*time.Second))
		add("It needs", desk.Size(d.Shape, d.Nodes, d.Count)+limited(d.TimeLimit))
		add("Scheduler says", d.Word)
	case e.Run != nil:
		p.line("Job %s%s (%s) runs on %s since %s.", plain(string(e.Job)), where, e.Run.User, strings.Join(e.Run.Nodes, ", "), desk.Clock(e.Run.Started))
	default:
		p.line("Job %s%s neither waits nor runs as far as is known here.", plain(string(e.Job)), where)
	}
	if v := e.Verdict; v != nil {
		add("Verdict", string(v.Kind)+": "+lang.Short(v.Why))
		add("Why", e.Why)
		add("What changes it", e.Change)
		add("Rule of policy", ruleOf(v))
		if v.Pool != nil {
			add("Nearest offer", desk.Place(*v.Pool))
		}
		if v.Cost.Currency != "" {
			add("It costs at most", v.Cost.String())
		}
		add("Charged", e.Billing)
		add("Paid by", string(v.Account))
	}
	p.table("", rows)
	sayCompared(p, e.Compared)
	sayBudgets(p, e.Budgets)
	if len(e.Rentals) > 0 {
		p.line("")
		p.line("Rented for it:")
		sayRentals(p, e.Rentals)
		for i := range e.Rentals {
			sayStages(p, &e.Rentals[i])
		}
	}
	if len(e.News) > 0 {
		p.line("")
		p.line("What happened:")
		sayNews(p, e.News, lang)
	}
}

func limited(d time.Duration) string {
	if d <= 0 {
		return ", without a time limit"
	}
	return ", for " + desk.Span(d)
}

func ruleOf(v *bridge.Verdict) string {
	switch {
	case v.Rule != "" && v.Class != "":
		return v.Rule + " (class " + string(v.Class) + ")"
	case v.Class != "":
		return "class " + string(v.Class)
	}
	return v.Rule
}

// sayBudgets shows the budgets above an account, if there are any.
func sayBudgets(p *page, bs []desk.Balance) {
	if len(bs) == 0 {
		return
	}
	p.line("")
	p.table("BUDGET\tEVERY\tPERIOD\tLIMIT\tSPENT\tHELD\tLEFT\tKIND", budgetRows(bs, false))
}
