package card

import (
	"strconv"
	"strings"

	"github.com/slack-go/slack"

	"spillway.sh/spillway/bot/talk"
	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/desk"
	"spillway.sh/spillway/bridge/report"
)

// Day is what the daily line is made of.
type Day struct {
	// Spent is what yesterday cost; nil: not known.
	Spent *report.SpendDay
	// Running are the rentals that cost money now.
	Running  []desk.Rental
	Budgets  []desk.Balance
	Forecast *report.Forecast
	// Known says whether there is a report at all, and so a forecast to miss.
	Known bool
}

// nearlyUsed is from how much of its limit on a budget is in the daily line, in
// per cent, and mostBudgets how many are.
const (
	nearlyUsed  = 80
	mostBudgets = 5
)

// Daily is the daily line: at most four short ones.
func (p Pen) Daily(d *Day) talk.Message {
	w := p.words()
	var lines []string
	if s := d.Spent; s != nil {
		kept := ""
		if s.Kept.Micro > 0 {
			kept = put(w.DailyKept, "money", amount(s.Kept))
		}
		text := w.DailySpent
		elastic, err := s.OnDemand.Add(s.Spot)
		if err == nil && elastic.IsZero() {
			text = w.DailyNothing
		}
		lines = append(lines, put(text, "date", s.Date, "elastic", amount(elastic), "spot", amount(s.Spot), "demand", amount(s.OnDemand), "kept", kept))
	}
	lines = append(lines, p.now(d.Running))
	if near := p.nearly(d.Budgets); near != "" {
		lines = append(lines, put(w.DailyBudgets, "list", near))
	}
	switch f := d.Forecast; {
	case f != nil:
		lines = append(lines, put(w.DailyForecast, "month", f.Month, "likely", amount(f.Likely), "low", amount(f.Low), "high", amount(f.High)))
	case d.Known:
		lines = append(lines, w.DailyNoOutlook)
	}
	return Fit(talk.Message{Text: lines[0], Blocks: []slack.Block{section(strings.Join(lines, "\n"))}})
}

// now says what runs.
func (p Pen) now(rs []desk.Rental) string {
	w := p.words()
	if len(rs) == 0 {
		return w.DailyQuiet
	}
	gpus, order := map[string]int{}, []string{}
	held, idle := bridge.Money{}, 0
	for i := range rs {
		r := &rs[i]
		class := r.Shape.GPUType
		if r.Shape.GPUs == 0 {
			class = r.Pool.Type
		}
		if gpus[class] == 0 {
			order = append(order, class)
		}
		gpus[class] += r.Count * max(1, r.Shape.GPUs)
		if IsIdle(r) {
			idle++
		}
		if sum, err := held.Add(r.Hold); err == nil {
			held = sum
		}
	}
	what := make([]string, 0, len(order))
	for _, class := range order {
		what = append(what, strconv.Itoa(gpus[class])+" × "+class)
	}
	lazy := ""
	if idle > 0 {
		lazy = put(w.DailyIdle, "n", strconv.Itoa(idle))
	}
	return put(w.DailyNow, "n", strconv.Itoa(len(rs)), "what", escape(strings.Join(what, ", ")), "held", amount(held), "idle", lazy)
}

// nearly names the budgets that are nearly used up; empty: none is.
func (p Pen) nearly(bs []desk.Balance) string {
	w := p.words()
	var out []string
	for i := range bs {
		b := &bs[i]
		n := percent(bridge.Money{Micro: b.Posted.Micro + b.Held.Micro, Currency: b.Limit.Currency}, b.Limit)
		if n >= nearlyUsed {
			out = append(out, put(w.DailyBudget, "scope", escape(p.scope(b.Scope())), "n", strconv.FormatInt(n, 10), "limit", b.Limit.Floor()))
		}
	}
	text := strings.Join(out[:min(len(out), mostBudgets)], "; ")
	if n := len(out) - mostBudgets; n > 0 {
		text += " " + put(w.More, "n", strconv.Itoa(n))
	}
	return text
}
