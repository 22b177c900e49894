package report

import (
	"strconv"

	"spillway.sh/spillway/bridge"
)

// mixTables show all classes in one table of each kind; a row begins with its
// class.
func (r *Report) mixTables(g Lang) []Table {
	demand := g.titled("mix-demand", "gpu", "data-hours", "have", "contract", "peak", "median", "mean", "waiting")
	sets := g.titled("mix-prices", "price", "elastic-hour", "reserved-hour", "quantile", "best")
	steps := g.titled("mix-sensitivity", "price-change", "best")
	plans := g.titled("mix-plans", "plan", "gpus", "cost", "regret")
	online := g.titled("mix-online", "gpu", "alpha", "bound", "term", "rule-cost", "optimum", "ratio", "reservations", "only-rent")
	curve := g.titled("mix-curve", "gpus-at-least", "time-share")
	curve.Detail = true
	for i := range r.Mix.Classes {
		c := &r.Mix.Classes[i]
		row := func(t *Table, id, name string, cells ...Cell) {
			t.Rows = append(t.Rows, Row{ID: c.GPU + "/" + id, Name: c.GPU + " " + name, Cells: cells})
		}
		demand.Rows = append(demand.Rows, Row{ID: c.GPU, Name: c.GPU, Cells: []Cell{
			count(c.Hours), count(c.Have), count(c.Contract), count(c.Peak), count(c.Median), mean(c.Mean), mean(c.Waiting),
		}})
		for _, s := range c.Sets {
			row(&sets, string(s.Name), g.say("price."+string(s.Name)), amount(s.Elastic), amount(s.Reserved), share(s.QuantilePM), count(s.Best))
		}
		for _, s := range c.Steps {
			which, pm := "elastic", s.ElasticPM
			if s.ElasticPM == 1000 {
				which, pm = "reserved", s.ReservedPM
			}
			by := "+20 %"
			if pm < 1000 {
				by = "-20 %"
			}
			row(&steps, which+by[:3], g.say("step."+which)+" "+by, count(s.Best))
		}
		for _, p := range c.Plans {
			row(&plans, string(p.Name), g.say("plan."+string(p.Name)), count(p.GPUs), amount(p.Cost), amount(p.Regret))
		}
		if o := c.Online; o != nil {
			online.Rows = append(online.Rows, Row{ID: c.GPU, Name: c.GPU, Cells: []Cell{
				times(o.AlphaPM), times(o.BoundPM), {strconv.Itoa(o.Term), "h"}, amount(o.Cost), amount(o.Optimum), times(o.RatioPM), count(o.Reserved), amount(o.OnlyRent),
			}})
		}
		for _, p := range c.Curve {
			n := strconv.Itoa(p.GPUs)
			row(&curve, n, "≥ "+n, share(p.PM))
		}
	}
	return []Table{demand, sets, steps, plans, online, curve}
}

// Sentence says what would have been best of a class.
func (c *MixClass) Sentence(g Lang) string {
	if len(c.Sets) == 0 {
		return g.say("mix.unpriced", "gpu", c.GPU, "peak", strconv.Itoa(c.Peak), "median", strconv.Itoa(c.Median))
	}
	s := c.Sets[0]
	regret := bridge.Money{Currency: s.Elastic.Currency}
	for _, p := range c.Plans {
		if p.Name == PlanNow {
			regret = p.Regret
		}
	}
	return g.say("mix.best", "gpu", c.GPU, "best", strconv.Itoa(s.Best), "have", strconv.Itoa(c.Have), "elastic", amount(s.Elastic).String(),
		"reserved", amount(s.Reserved).String(), "regret", amount(regret).String(), "hours", strconv.Itoa(c.Hours))
}
