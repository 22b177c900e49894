package card

import (
	"cmp"
	"strconv"

	"github.com/slack-go/slack"

	"spillway.sh/spillway/bot/talk"
	"spillway.sh/spillway/bridge"
)

// BudgetAlert says that a share of a budget is reached, what that is in money,
// and what happens next. Exactly the limit is fully used, not over.
func (p Pen) BudgetAlert(a *bridge.Alert, approvers []string) talk.Message {
	w := p.words()
	below, full, over := w.AlertPosted, w.FullPosted, w.OverPosted
	switch a.Measure {
	case bridge.OfHeld:
		below, full, over = w.AlertHeld, w.FullHeld, w.OverHeld
	case bridge.OfForecast:
		below, full, over = w.AlertForecast, w.FullForecast, w.OverForecast
	case bridge.OfPosted:
	}
	icon, what := ":large_yellow_circle:", below
	side, excess := -1, bridge.Money{}
	if d, err := a.Amount.Sub(a.Limit); err == nil {
		side, excess = cmp.Compare(d.Micro, 0), d
	}
	switch side {
	case 0:
		icon, what = ":red_circle:", full
	case 1:
		icon, what = ":red_circle:", over
	}
	if a.Measure == bridge.OfForecast {
		icon = ":large_yellow_circle:" // it has not come to that
	}
	title := put(w.AlertTitle, "icon", icon, "scope", escape(p.scope(a.Scope)), "period", escape(a.Period)) + put(what, "n", strconv.FormatInt(percent(a.Amount, a.Limit), 10), "over", amount(excess))
	text := put(w.AlertOf, "amount", amount(a.Amount), "limit", a.Limit.Floor()) + p.gap() + p.next(a, side >= 0, approvers)
	m := talk.Message{Text: title, Blocks: []slack.Block{section(title), small(text)}}
	m.Blocks = append(m.Blocks, p.actions(string(a.Scope.Account), 0, p.button(Budget, string(a.Scope.Account), 0, w.BudgetB, ""))...)
	return Fit(m)
}

// next says what an alert leads to.
func (p Pen) next(a *bridge.Alert, reached bool, approvers []string) string {
	w := p.words()
	forecast := a.Measure == bridge.OfForecast
	text := w.BeforeSoft
	switch reached = reached && !forecast; {
	case reached && a.Hard:
		text = w.ReachedHard
	case reached:
		text = w.ReachedSoft
	case a.Hard:
		text = w.BeforeHard
	}
	text = put(text, "every", w.Periods[a.Every], "who", p.everyone(approvers))
	if forecast {
		text = w.ForecastStops + p.gap() + text
	}
	return text
}

// scope names a part of all spending.
func (p Pen) scope(s bridge.Scope) string {
	out := string(s.Account)
	if s.GPU != "" {
		out += " " + s.GPU
	}
	if s.Cloud != "" {
		out += put(p.words().ScopeOn, "cloud", s.Cloud)
	}
	return out
}

// percent is how much of a limit an amount is, never more than it is.
func percent(m, limit bridge.Money) int64 {
	if limit.Micro <= 0 {
		return 100
	}
	return m.Micro/limit.Micro*100 + m.Micro%limit.Micro*100/limit.Micro
}

// PeriodEnded says what a budget's period came to.
func (p Pen) PeriodEnded(a *bridge.Alert, posted bridge.Money) talk.Message {
	w := p.words()
	text := w.PeriodEnded
	if a.Limit.Micro <= 0 {
		text = w.PeriodFree
	}
	return Fit(Say(put(text, "scope", escape(p.scope(a.Scope)), "period", escape(a.Period), "posted", amount(posted), "limit", a.Limit.Floor(),
		"n", strconv.FormatInt(percent(posted, a.Limit), 10))))
}

// Corrected is what the costs of some rentals came to by their bills.
type Corrected struct {
	Rentals  []bridge.RentalID
	Was, Now bridge.Money
}

// Corrected says how bills changed what rentals cost.
func (p Pen) Corrected(c *Corrected) talk.Message {
	w := p.words()
	text := w.CostsNow
	rental := ""
	if len(c.Rentals) == 1 {
		text, rental = w.CostNow, string(c.Rentals[0])
	}
	return Fit(Say(put(text, "rental", rental, "n", strconv.Itoa(len(c.Rentals)), "was", amount(c.Was), "now", amount(c.Now))))
}
