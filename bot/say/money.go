package say

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"spillway.sh/spillway/bot/card"
	"spillway.sh/spillway/bot/talk"
	"spillway.sh/spillway/bot/words"
	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/desk"
)

// spend says what a project spends, with a forecast where there is enough to
// go by. Without any word it shows all budgets of somebody with several projects.
func (t *turn) spend(ctx context.Context, r *words.Request) ([]talk.Effect, error) {
	if len(r.Words) == 0 && len(t.names.Mine) != 1 {
		a, err := t.Desk.Spend(ctx, t.who.Person, desk.SpendRequest{})
		if err != nil {
			return nil, err
		}
		return t.show(t.pen.Spend(&a, false)), nil
	}
	a, err := t.Desk.Report(ctx, t.who.Person, desk.ReportRequest{Words: r.Words})
	if err != nil {
		return nil, err
	}
	text := fill(t.words.Spent, "project", project(a.Account), "from", day(a.From), "to", day(a.To.Add(-time.Second)), "zone", a.Zone,
		"posted", a.Posted.String(), "held", a.Held.String())
	if a.Limit.Micro > 0 {
		text += fill(t.words.SpentOf, "left", a.Left.Floor(), "limit", a.Limit.Floor(), "percent", strconv.Itoa(a.UsedPC))
	}
	text += t.words.Stop + t.words.Gap + t.forecast(&a)
	if a.Open.Micro > 0 {
		text += t.words.Gap + fill(t.words.NotFinal, "open", a.Open.String())
	}
	m := card.Quote(text)
	if r.Verb == words.Report {
		m.Blocks = append(m.Blocks, card.Quote(t.days(&a)).Blocks...)
	}
	return t.show(m), nil
}

func (t *turn) forecast(a *desk.ReportAnswer) string {
	if a.Forecast == nil {
		return fill(t.words.NoForecast, "seen", strconv.Itoa(a.Seen))
	}
	f := a.Forecast
	return fill(t.words.Forecast, "to", day(a.To.Add(-time.Second)), "likely", f.Likely.String(), "low", f.Low.String(), "high", f.High.String())
}

// day is a date of a report, whose period is in its own zone.
func day(at time.Time) string { return at.Format(time.DateOnly) }

// days lists the days that cost something.
func (t *turn) days(a *desk.ReportAnswer) string {
	var lines []string
	for _, d := range a.Days {
		if d.Posted.Micro != 0 {
			lines = append(lines, d.Date+"  "+d.Posted.String())
		}
	}
	if len(lines) == 0 {
		return t.words.NoDays
	}
	return strings.Join(lines, "\n")
}

// budget says what a project may spend, and what holds money there.
func (t *turn) budget(ctx context.Context, r *words.Request) ([]talk.Effect, error) {
	q := desk.BudgetRequest{}
	for _, w := range r.Words {
		if w = strings.TrimLeft(w, "-@"); w != "project" && w != "of" {
			q.Project = w
		}
	}
	a, err := t.Desk.Budget(ctx, t.who.Person, q)
	if err != nil {
		return nil, err
	}
	if len(a.Budgets) == 0 {
		return t.reply(fill(t.words.NoBudget, "project", project(a.Account))), nil
	}
	m := t.pen.Spend(&desk.SpendAnswer{Accounts: a.Budgets}, false)
	text := fill(t.words.Room, "project", project(a.Account), "room", a.Room.Floor())
	if a.Room.Micro < 0 {
		text = fill(t.words.NoRoom, "project", project(a.Account))
	}
	for i := range a.Budgets {
		if b := &a.Budgets[i]; len(b.Approvers) > 0 {
			text += t.words.Gap + fill(t.words.Above, "account", t.pen.Lang.Scope(b.Scope()), "who", t.people(b.Approvers))
		}
	}
	text += t.words.Gap + t.holding(a.Holding)
	m.Blocks = append(m.Blocks, card.Quote(text).Blocks...)
	return t.show(m), nil
}

// holding names the largest holds.
func (t *turn) holding(rs []desk.Rental) string {
	const most = 5
	if len(rs) == 0 {
		return t.words.NothingHeld
	}
	out := make([]string, 0, most)
	for i := range rs[:min(len(rs), most)] {
		out = append(out, fmt.Sprintf("%s %s", rs[i].ID, rs[i].Hold))
	}
	text := fill(t.words.Holding, "rentals", strings.Join(out, ", "))
	if n := len(rs) - most; n > 0 {
		text += t.words.Gap + fill(t.words.More, "n", strconv.Itoa(n))
	}
	return text
}

// prices lists what machines cost, cheapest first.
func (t *turn) prices(ctx context.Context, r *words.Request) ([]talk.Effect, error) {
	const most = 20
	a, err := t.Desk.Prices(ctx, t.who.Person, desk.PricesRequest{GPU: r.GPU, Place: r.Place})
	if err != nil {
		return nil, err
	}
	if len(a.Prices) == 0 {
		return t.reply(t.words.NoPrices), nil
	}
	lines := []string{fill(t.words.Prices, "at", t.when(a.At))}
	for i := range a.Prices[:min(len(a.Prices), most)] {
		lines = append(lines, t.price(&a.Prices[i]))
	}
	if n := len(a.Prices) - most; n > 0 {
		lines = append(lines, fill(t.words.More, "n", strconv.Itoa(n)))
	}
	return t.reply(strings.Join(lines, "\n")), nil
}

func (t *turn) price(p *desk.Priced) string {
	line := fill(t.words.Price, "what", t.what(1, &p.Shape, p.Pool.Type), "type", p.Pool.Type, "market", t.market(p.Pool.Market), "place", placed(p.Pool), "rate", bridge.Money(p.Rate).String())
	if p.PerGPU.Micro > 0 {
		line += fill(t.words.PerGPU, "rate", bridge.Money(p.PerGPU).String())
	}
	if p.Left == 0 {
		line += t.words.SoldOut
	}
	if !p.Fresh {
		line += t.words.OldPrice
	}
	return line
}
