package card_test

import (
	"strings"
	"testing"
	"time"

	"spillway.sh/spillway/bot/card"
	"spillway.sh/spillway/bot/talk"
	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/desk"
)

func alert(m bridge.Measure, amount float64, hard bool) *bridge.Alert {
	return &bridge.Alert{
		Scope: bridge.Scope{Account: "site/ai/nlp"}, Every: bridge.Month, Period: "2026-11", Measure: m, Percent: 80, Amount: usd(amount), Limit: usd(500), Hard: hard,
	}
}

// money are the cards of money and of time.
func money(p card.Pen) map[string]talk.Message {
	narrow := alert(bridge.OfHeld, 420, true)
	narrow.Scope, narrow.Every, narrow.Period = bridge.Scope{Account: "site", Cloud: "stratus", GPU: "h100"}, bridge.Week, "2026-W48"
	out := map[string]talk.Message{
		"budget-half":     p.BudgetAlert(alert(bridge.OfPosted, 250, false), []string{"mei", "@leads"}),
		"budget-full":     p.BudgetAlert(alert(bridge.OfPosted, 500, false), []string{"mei"}),
		"budget-over":     p.BudgetAlert(alert(bridge.OfHeld, 512.01, true), nil),
		"budget-forecast": p.BudgetAlert(alert(bridge.OfForecast, 640, false), []string{"mei"}),
		"budget-narrow":   p.BudgetAlert(narrow, []string{"mei"}),
		"period-ended":    p.PeriodEnded(&bridge.Alert{Scope: bridge.Scope{Account: "site/ai/nlp"}, Period: "2026-11", Limit: usd(500)}, usd(512.01)),
		"corrected":       p.Corrected(&card.Corrected{Rentals: []bridge.RentalID{"r-0013"}, Was: usd(45.92), Now: usd(46.10)}),
		"corrected-more":  p.Corrected(&card.Corrected{Rentals: []bridge.RentalID{"r-0013", "r-0026"}, Was: usd(145.92), Now: usd(144)}),
	}
	for name, change := range map[string]func(*desk.Rental){
		"idle-job": func(r *desk.Rental) { r.IdleSecs, r.Running = 0, []bridge.JobID{"48212"} }, "idle-going": func(r *desk.Rental) { r.State = bridge.StateReleasing },
		"idle-gone": func(r *desk.Rental) { r.State, r.Cost = bridge.StateSettled, usd(45.92) },
	} {
		r := rental(bridge.StateAdmitted)
		r.Running, r.IdleSecs = nil, 14*60
		change(&r)
		out[name] = p.Idle(&r, "ana", noon.Add(time.Hour))
	}
	nobody := rental(bridge.StateAdmitted)
	nobody.Running, nobody.IdleSecs, nobody.IdleSince, nobody.IdleMost = nil, 14*60, noon, 20*60
	out["idle-nobody"] = p.Idle(&nobody, "", noon.Add(time.Hour))
	return out
}

// A budget that is used to the last cent is fully used; one more and it is over,
// and one less is not all of it.
func TestExactlyTheLimitIsFullyUsed(t *testing.T) {
	p := pen(desk.English)
	for name, c := range map[string]struct {
		amount float64
		says   string
	}{
		"a cent below": {499.99, "99 % of the budget"}, "the limit": {500, "fully used"}, "a cent above": {500.01, "over by 0.01 USD"},
	} {
		t.Run(name, func(t *testing.T) {
			if m := p.BudgetAlert(alert(bridge.OfPosted, c.amount, true), nil); !strings.Contains(m.Text, c.says) {
				t.Errorf("%q", m.Text)
			}
		})
	}
}
