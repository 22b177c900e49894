package report

import (
	"slices"
	"strconv"

	"spillway.sh/spillway/bridge"
)

// Sections are the ten parts in a language.
func (r *Report) Sections(g Lang) []Section {
	build := map[Part]func(Lang) []Table{
		PartSpend: r.spendTables, PartUse: r.useTables, PartWait: r.waitTables, PartMix: r.mixTables, PartSpot: r.spotTables,
		PartTop: r.topTables, PartWaste: r.wasteTables, PartApprovals: r.approvalTables, PartGuard: r.guardTables, PartAdvice: r.adviceTables,
	}
	out := make([]Section, 0, len(build))
	for i, p := range Parts() {
		s := Section{Part: p, Number: i + 1, Title: g.say("part." + string(p))}
		for _, t := range build[p](g) {
			if len(t.Rows) > 0 {
				s.Tables = append(s.Tables, t)
			}
		}
		if p == PartMix {
			for i := range r.Mix.Classes {
				s.Lines = append(s.Lines, r.Mix.Classes[i].Sentence(g))
			}
		}
		for i := range r.Notes {
			if n := &r.Notes[i]; n.Part == p {
				s.Notes = append(s.Notes, n.Text(g))
			}
		}
		out = append(out, s)
	}
	return out
}

func (r *Report) spendTables(g Lang) []Table {
	s := &r.Spend
	f := figures{lang: g}
	f.add("elastic", amount(s.Elastic))
	f.add("on-demand", amount(s.OnDemand))
	f.add("spot", amount(s.Spot))
	f.add("kept", amount(s.Kept))
	f.add("total", amount(s.Total))
	f.add("elastic-share", maybe(s.ElasticPM, share))
	f.add("last-week", maybe(s.LastWeek, amount))
	f.add("change", maybe(s.Change, amount))
	f.add("change-share", maybe(s.ChangePM, share))
	f.add("mean", maybe(s.Mean, amount))
	f.add("mean-weeks", count(s.MeanWeeks))
	f.add("unsettled", amount(s.Unsettled))
	if c := s.Forecast; c != nil {
		f.add("forecast-month", words(c.Month))
		f.add("forecast-likely", amount(c.Likely))
		f.add("forecast-low", amount(c.Low))
		f.add("forecast-high", amount(c.High))
	}
	days := g.titled("spend-days", "day", "on-demand", "spot", "kept", "sum")
	for _, d := range s.Days {
		days.Rows = append(days.Rows, Row{ID: d.Date, Name: d.Date, Cells: []Cell{
			amount(d.OnDemand), amount(d.Spot), amount(d.Kept), amount(r.add(d.OnDemand, d.Spot, d.Kept)),
		}})
	}
	days.Rows = append(days.Rows, g.total(amount(s.OnDemand), amount(s.Spot), amount(s.Kept), amount(s.Total)))
	weeks := g.titled("spend-weeks", "week", "elastic")
	for _, w := range s.Weeks {
		weeks.Rows = append(weeks.Rows, Row{ID: w.Week, Name: w.Week, Cells: []Cell{amount(w.Elastic)}})
	}
	month := g.titled("spend-month", "day", "so-far")
	month.Detail = true
	for _, m := range s.Month {
		month.Rows = append(month.Rows, Row{ID: m.Date, Name: m.Date, Cells: []Cell{amount(m.SoFar)}})
	}
	kept := g.titled("spend-capacity", "name", "'kind", "'gpu", "gpus", "cost")
	for i := range s.Capacity {
		c := &s.Capacity[i]
		kept.Rows = append(kept.Rows, Row{ID: c.Name, Name: c.Name, Cells: []Cell{words(g.say("capacity." + string(c.Kind))), words(c.GPU), count(c.GPUs), amount(c.Cost)}})
	}
	if len(kept.Rows) > 0 {
		kept.Rows = append(kept.Rows, g.total(Cell{}, Cell{}, Cell{}, amount(s.Kept)))
	}
	budgets := g.titled("spend-budgets", "budget", "limit", "posted", "held", "left", "used", "'kind")
	for i := range s.Budgets {
		b := &s.Budgets[i]
		kind := g.say("budget.soft")
		if b.Hard {
			kind = g.say("budget.hard")
		}
		name := b.Scope.String() + ", " + b.Period
		budgets.Rows = append(budgets.Rows, Row{ID: name, Name: name, Cells: []Cell{
			amount(b.Limit), amount(b.Posted), amount(b.Held), amount(b.Left), share(b.UsedPM), words(kind),
		}})
	}
	return []Table{f.table("spend"), days, weeks, month, kept, budgets}
}

func (r *Report) add(ms ...bridge.Money) bridge.Money {
	out := bridge.Money{Currency: r.Currency}
	for _, m := range ms {
		out.Micro = plus(out.Micro, m.Micro)
	}
	return out
}

func (r *Report) useTables(g Lang) []Table {
	u := &r.Use
	f := figures{lang: g}
	f.add("utilisation", maybe(u.Total.UtilisationPM, share))
	f.add("source", words(g.source(u.Total.Source)))
	f.add("per-useful", maybe(u.Total.PerUseful, amount))
	f.add("unused", amount(u.UnusedCost))
	f.add("unused-share", maybe(u.UnusedPM, share))
	classes := g.titled("use-classes", "gpu", "cost", "paid", "busy", "utilisation", "'source", "measured", "per-useful", "owned", "owned-busy")
	for i := range u.Classes {
		c := &u.Classes[i]
		classes.Rows = append(classes.Rows, Row{ID: orNone(c.GPU), Name: g.gpu(c.GPU), Cells: g.useCells(c)})
	}
	if len(classes.Rows) > 0 {
		classes.Rows = append(classes.Rows, g.total(g.useCells(&u.Total)...))
	}
	unused := g.titled("use-unused", "why", "gpu-hours", "cost", "share")
	for _, k := range u.Unused {
		unused.Rows = append(unused.Rows, Row{ID: string(k.Kind), Name: g.say("unused." + string(k.Kind)), Cells: []Cell{hours(k.GPU), amount(k.Cost), maybe(k.PM, share)}})
	}
	unused.Rows = append(unused.Rows, g.total(hours(u.UnusedHours), amount(u.UnusedCost), maybe(u.UnusedPM, share)))
	return []Table{f.table("use"), classes, unused}
}

func (g Lang) useCells(c *UseClass) []Cell {
	measured := Cell{}
	if c.Source == Measured {
		measured = share(c.MeasuredPM)
	}
	return []Cell{
		amount(c.Cost), hours(c.Paid), maybe(c.Busy, hours), maybe(c.UtilisationPM, share), words(g.source(c.Source)), measured,
		maybe(c.PerUseful, amount), hours(c.Owned), hours(c.OwnedBusy),
	}
}

func (g Lang) source(s Source) string {
	if s == "" {
		return ""
	}
	return g.say("source." + string(s))
}

// gpu names a class; that of machines without a GPU in words.
func (g Lang) gpu(class string) string {
	if class == "" {
		return g.say("no-gpu")
	}
	return class
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

func (r *Report) waitTables(g Lang) []Table {
	w := &r.Wait
	f := figures{lang: g}
	f.add("jobs", count(w.Jobs))
	f.add("known", count(w.Known))
	f.add("wait-median", maybe(w.Median, minutes))
	f.add("wait-p90", maybe(w.P90, minutes))
	f.add("local-median", maybe(w.LocalMedian, minutes))
	f.add("local-p90", maybe(w.LocalP90, minutes))
	f.add("saved", maybe(w.Saved, hours))
	f.add("saved-gpu", maybe(w.SavedGPU, hours))
	f.add("later", count(w.Later))
	f.add("per-hour", maybe(w.PerHour, amount))
	classes := g.titled("wait-classes", "gpu", "known", "wait-median", "local-median", "saved")
	for _, k := range w.ByClass {
		classes.Rows = append(classes.Rows, Row{ID: orNone(k.GPU), Name: g.gpu(k.GPU), Cells: []Cell{count(k.Known), minutes(k.Median), minutes(k.LocalMedian), hours(k.Saved)}})
	}
	return []Table{f.table("wait"), classes}
}

func (r *Report) spotTables(g Lang) []Table {
	s := &r.Spot
	f := figures{lang: g}
	f.add("spot-hours", hours(s.GPUHours))
	f.add("spot-share", maybe(s.SharePM, share))
	f.add("spot-cost", amount(s.Cost))
	f.add("spot-instead", maybe(s.OnDemand, amount))
	f.add("spot-saving", maybe(s.Saving, amount))
	f.add("spot-saving-share", maybe(s.SavingPM, share))
	f.add("preemptions", count(s.Preemptions))
	f.add("lost-hours", hours(s.LostHours))
	f.add("lost-cost", amount(s.LostCost))
	f.add("spot-price", maybe(s.Price, amount))
	f.add("spot-effective", maybe(s.Effective, amount))
	jobs := g.titled("spot-no-checkpoint", "job", "runs", "cost")
	for _, j := range s.NoCheckpoint {
		jobs.Rows = append(jobs.Rows, Row{ID: string(j.Job), Name: string(j.Job), Cells: []Cell{count(j.Runs), amount(j.Cost)}})
	}
	return []Table{f.table("spot"), jobs}
}

func (r *Report) topTables(g Lang) []Table {
	list := func(id, head string, of []TopLine) Table {
		compared := slices.ContainsFunc(of, func(l TopLine) bool { return l.Before != nil })
		columns := []string{"cost", "share"}
		if compared {
			columns = append(columns, "before", "change")
		}
		t := g.titled(id, head, columns...)
		for i := range of {
			l := &of[i]
			cells := []Cell{amount(l.Cost), share(l.PM), maybe(l.Before, amount), maybe(l.Change, amount)}
			t.Rows = append(t.Rows, Row{ID: l.id(), Name: g.top(l), Cells: cells[:len(columns)]})
		}
		if len(of) > 0 {
			t.Rows = append(t.Rows, g.total([]Cell{amount(r.Spend.Elastic), share(1000), {}, {}}[:len(columns)]...))
		}
		return t
	}
	out := []Table{
		list("top-projects", "project", r.Top.Projects), list("top-users", "user", r.Top.Users), list("top-jobs", "job", r.Top.Jobs),
	}
	if c := r.Top.Changed; c != nil {
		t := g.titled("top-changed", "project", "cost", "before", "change")
		t.Rows = []Row{{ID: c.id(), Name: g.top(c), Cells: []Cell{amount(c.Cost), maybe(c.Before, amount), maybe(c.Change, amount)}}}
		out = append(out, t)
	}
	return out
}

func (l *TopLine) id() string {
	switch {
	case l.Others > 0:
		return "others"
	case l.Name == "":
		return "none"
	}
	return l.Name
}

func (g Lang) top(l *TopLine) string {
	switch {
	case l.Others > 0:
		return g.say("others", "n", strconv.Itoa(l.Others))
	case l.Name == "":
		return g.say("no-job")
	}
	return l.Name
}

func (r *Report) wasteTables(g Lang) []Table {
	t := g.titled("waste", "rental", "'what", "'owner", "'account", "took", "cost", "'command")
	for i := range r.Waste.Lines {
		w := &r.Waste.Lines[i]
		name := string(w.Rental)
		if w.Machine != "" {
			name += " " + w.Machine
		}
		took := Cell{}
		if w.Took > 0 {
			took = minutes(w.Took)
		}
		t.Rows = append(t.Rows, Row{ID: name, Name: name, Cells: []Cell{
			words(g.say("waste." + string(w.Kind))), words(w.Owner), words(string(w.Account)), took, amount(w.Cost), words(w.Command),
		}})
	}
	if r.Waste.Hidden > 0 {
		t.Rows = append(t.Rows, Row{ID: "others", Name: g.say("others", "n", strconv.Itoa(r.Waste.Hidden)), Cells: []Cell{{}, {}, {}, {}, amount(r.Waste.More), {}}})
	}
	if len(t.Rows) > 0 {
		t.Rows = append(t.Rows, g.total(Cell{}, Cell{}, Cell{}, Cell{}, amount(r.Waste.Cost), Cell{}))
	}
	return []Table{t}
}

func (r *Report) approvalTables(g Lang) []Table {
	a := &r.Approvals
	f := figures{lang: g}
	f.add("asked", count(a.Asked))
	f.add("approved", count(a.Approved))
	f.add("denied", count(a.Denied))
	f.add("expired", count(a.Expired))
	f.add("withdrawn", count(a.Withdrawn))
	f.add("waiting", count(a.Waiting))
	f.add("decision-median", maybe(a.Median, minutes))
	f.add("over-budget", amount(a.OverBudget))
	f.add("reason", words(g.reason(a.Reason)))
	f.add("reason-count", count(a.ReasonCount))
	return []Table{f.table("approvals")}
}

func (r *Report) guardTables(g Lang) []Table {
	x := &r.Guard
	f := figures{lang: g}
	f.add("bills", count(x.Bills))
	f.add("bill-error", maybe(x.ErrorPM, share))
	f.add("bill-worst", maybe(x.WorstPM, share))
	f.add("hold-ratio", maybe(x.HoldPM, times))
	f.add("hold-n", count(x.HoldN))
	f.add("overruns", count(x.Overruns))
	f.add("price-age", maybe(x.PriceAge, minutes))
	f.add("stale", count(x.Stale))
	f.add("undelivered", maybe(x.Undelivered, count))
	return []Table{f.table("guard")}
}

func (r *Report) adviceTables(g Lang) []Table {
	t := Table{ID: "advice", Head: g.say("c.number"), Columns: g.columns("'what", "saves", "'command")}
	for i := range r.Advice {
		a := &r.Advice[i]
		n := strconv.Itoa(i + 1)
		t.Rows = append(t.Rows, Row{ID: n, Name: n, Cells: []Cell{words(a.Text(g)), amount(a.Saves), words(a.Command)}})
	}
	return []Table{t}
}
