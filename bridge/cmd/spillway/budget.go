package main

import (
	"strings"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/desk"
)

type budgetCmd struct {
	format
	Project string `arg:"" optional:"" help:"The project; without it, the only one you spend from."`
}

// Help gives examples.
func (budgetCmd) Help() string {
	return `Examples:
  spillway budget
  spillway budget nlp

Every budget that a rental of the project has to fit in, who may approve above it, and what holds money there.

JSON keys: account, budgets[] (as of spillway spend), room, holding[] (rentals, the largest hold first).`
}

// Run shows what a project may spend.
func (c *budgetCmd) Run(a *app) error {
	got, err := ask(a, desk.AskBudget, desk.BudgetRequest{Project: c.Project})
	if err != nil {
		return err
	}
	return c.print(a, got, func(p *page) {
		if len(got.Budgets) == 0 {
			p.line("No budget covers %s. Without a budget nothing is rented.", got.Account)
			return
		}
		p.table("ACCOUNT\tEVERY\tPERIOD\tLIMIT\tSPENT\tHELD\tLEFT\tKIND", budgetRows(got.Budgets, true))
		p.line("")
		if got.Room.Micro > 0 {
			p.line("%s can rent for %s at once.", got.Account, got.Room.Floor())
		} else {
			p.line("%s has nothing left: anything more needs a yes.", got.Account)
		}
		for i := range got.Budgets {
			if b := &got.Budgets[i]; len(b.Approvers) > 0 {
				p.line("Above %s: %s.", b.Scope(), strings.Join(b.Approvers, ", "))
			}
		}
		var rows []string
		for i := range got.Holding {
			r := &got.Holding[i]
			rows = append(rows, row(r.ID, r.Requester, what(r), r.State, r.Cost, r.Hold))
		}
		if len(rows) > 0 {
			p.line("")
			p.table("RENTAL\tASKED BY\tWHAT\tSTATE\tSO FAR\tAT MOST", rows)
		}
	})
}

type reportCmd struct {
	format
	weekFlags
	Words []string `arg:"" optional:"" help:"A period (day, week, month), a project, and a cloud or class of GPU that a budget is of, in any order."`
}

// Help gives examples.
func (reportCmd) Help() string {
	return `Examples:
  spillway report month nlp
  spillway report month nlp on north
  spillway report week
  spillway report --week last
  spillway report --week 2026-W48 --format html --lang zh --out week.html
  spillway report --week 2026-W48 --format csv --part waste
  spillway report --week this nlp
  spillway report --chargeback --month 2026-11 > november.csv

With --week it is the weekly report: spend, use, wait, how much to reserve and how much to rent, spot, who and what, waste,
approvals, how well money is guarded, what to do. CSV is part,row,column,value,unit. With --chargeback it is what settled
rentals cost in a month, as CSV with the columns of FOCUS.

Otherwise: what a project spent in the period, day by day. The forecast is what is spent, and for each day left the mean of the
same weekday of the last four weeks, or what runs on it if that is more. Of ten such periods eight end within the range;
with less than 14 days of history there is no forecast.

JSON keys: account, cloud, gpu, every, from, to, zone, posted, held, limit, left, used_percent, open, days[] (date, posted), forecast
(likely, low, high), days_seen.`
}

// Run reports what a project spends.
func (c *reportCmd) Run(a *app) error {
	if done, err := c.weekly(a, c.Words, c.Output == "json"); done || err != nil {
		return err
	}
	got, err := ask(a, desk.AskReport, desk.ReportRequest{Words: c.Words})
	if err != nil {
		return err
	}
	return c.print(a, got, func(p *page) {
		p.line("%s, this %s (%s, from %s): %s spent, %s held.", bridge.Scope{Account: got.Account, Cloud: got.Cloud, GPU: got.GPU}, got.Every, got.Zone, got.From.Format("2006-01-02"), got.Posted, got.Held)
		if got.Limit.Micro > 0 {
			p.line("%s left of %s (%d %% used).", got.Left.Floor(), got.Limit, got.UsedPC)
		}
		if got.Open.Micro > 0 {
			p.line("%s of it is of rentals that still run, and not final.", got.Open)
		}
		if f := got.Forecast; f != nil {
			p.line("Forecast to its end: %s (range %s to %s).", f.Likely, f.Low, f.High)
		} else {
			p.line("No forecast: not enough data (%d of 14 days).", got.Seen)
		}
		var rows []string
		for _, d := range got.Days {
			if d.Posted.Micro != 0 {
				rows = append(rows, row(d.Date, d.Posted))
			}
		}
		if len(rows) > 0 {
			p.line("")
			p.table("DAY\tSPENT", rows)
		}
	})
}

type pricesCmd struct {
	format
	GPU string `arg:"" optional:"" help:"Only machines with this GPU."`
	In  string `help:"Only this cloud, region or zone." placeholder:"NAME"`
}

// Help gives examples.
func (pricesCmd) Help() string {
	return `Examples:
  spillway prices
  spillway prices h100 --in us-east-1

A price in another currency than the budgets' is shown converted, with what the cloud asks beside it.

JSON keys: at, prices[] (pool, shape, rate, per_gpu, at, fresh, left, quoted, fx, why, text, billing).`
}

// Run shows what machines cost now.
func (c *pricesCmd) Run(a *app) error {
	got, err := ask(a, desk.AskPrices, desk.PricesRequest{GPU: c.GPU, Place: c.In, Lang: a.lang()})
	if err != nil {
		return err
	}
	return c.print(a, got, func(p *page) {
		if len(got.Prices) == 0 {
			p.line("Nothing on offer has it.")
			return
		}
		rows := make([]string, 0, len(got.Prices))
		for i := range got.Prices {
			x := &got.Prices[i]
			perGPU, state := "", "ok"
			if x.PerGPU.Micro > 0 {
				perGPU = bridge.Money(x.PerGPU).String()
			}
			switch {
			case x.Text != "":
				state = x.Text
			case x.Left == 0:
				state = "sold out"
			case !x.Fresh:
				state = "old price"
			}
			rows = append(rows, row(desk.Place(x.Pool), x.Shape.String(), eachHour(x), perGPU, state))
		}
		p.table("OFFER\tEACH HAS\tEACH HOUR\tEACH GPU-HOUR\tSTATE", rows)
		sayCharges(p, got.Prices)
	})
}

// eachHour is what an hour costs, with what the cloud itself asks where that is in
// another currency.
func eachHour(x *desk.Priced) string {
	own := bridge.Money(x.Rate).String()
	if x.Quoted.Currency == "" {
		return own
	}
	return own + " (" + bridge.Money(x.Quoted).String() + ")"
}

// sayCharges says below a price list, once each, how clouds charge and what
// exchange rates were used.
func sayCharges(p *page, prices []desk.Priced) {
	said := map[string]bool{"": true}
	once := func(line string) {
		if !said[line] {
			if len(said) == 1 {
				p.line("")
			}
			said[line] = true
			p.line("%s", line)
		}
	}
	for i := range prices {
		if x := &prices[i]; x.Billing != "" {
			once(x.Pool.Cloud + " " + string(x.Pool.Market) + ": " + x.Billing + ".")
		}
	}
	for i := range prices {
		once(prices[i].FX)
	}
}
