package card_test

import (
	"bytes"
	"encoding/csv"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/slack-go/slack"

	"spillway.sh/spillway/bot/card"
	"spillway.sh/spillway/bot/talk"
	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/desk"
	"spillway.sh/spillway/bridge/report"
	"spillway.sh/spillway/bridge/report/reporttest"
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
		"idle-kept": func(r *desk.Rental) { r.Keep = noon.Add(2 * time.Hour) },
		"idle-part": func(r *desk.Rental) {
			r.Count, r.Running, r.IdleSecs = 3, []bridge.JobID{"48212"}, 0
			idle := desk.Machine{Node: "sw-0013-1", State: bridge.MachineJoined, IdleSince: noon.Add(39 * time.Minute), Goes: noon.Add(66 * time.Minute)}
			r.Machines = append(r.Machines, idle, desk.Machine{Node: "sw-0013-2", State: bridge.MachineJoined})
		},
		"idle-job": func(r *desk.Rental) { r.IdleSecs, r.Running = 0, []bridge.JobID{"48212"} }, "idle-going": func(r *desk.Rental) { r.State = bridge.StateReleasing },
		"idle-gone": func(r *desk.Rental) { r.State, r.Cost = bridge.StateSettled, usd(45.92) },
	} {
		r := rental(bridge.StateAdmitted)
		r.Running, r.IdleSecs = nil, 14*60
		r.Goes, r.IdleSince = noon.Add(time.Hour+6*time.Minute), noon.Add(46*time.Minute)
		change(&r)
		out[name] = p.Idle(&r, "ana", noon.Add(time.Hour))
	}
	week := reporttest.Report()
	for i := range week.Waste.Lines {
		week.Waste.Lines[i].Command = strings.Replace(week.Waste.Lines[i].Command, "spillway ", "/", 1)
	}
	for i := range week.Advice {
		week.Advice[i].Command = strings.Replace(week.Advice[i].Command, "spillway prices", "/rent prices", 1)
	}
	out["report"] = p.Report(&week)
	parts := p.ReportParts(&week)
	for name, number := range map[string]string{"report-use": "*2.", "report-mix": "*4.", "report-waste": "*7."} {
		for _, m := range slices.Backward(parts) {
			if strings.HasPrefix(m.Text, number) {
				out[name] = m // the first of the part, in the end
			}
		}
	}
	idle := rental(bridge.StateAdmitted)
	idle.ID, idle.Running, idle.IdleSecs = "r-0026", nil, 14*60
	out["daily"] = p.Daily(&card.Day{
		Spent: &week.Spend.Days[2], Running: []desk.Rental{rental(bridge.StateAdmitted), idle}, Budgets: balances(), Forecast: week.Spend.Forecast, Known: true,
	})
	out["daily-quiet"] = p.Daily(&card.Day{Spent: &report.SpendDay{Date: "2026-11-29", OnDemand: usd(0), Spot: usd(0)}, Known: true})
	nobody := rental(bridge.StateAdmitted)
	nobody.Running, nobody.IdleSecs, nobody.Unowned = nil, 14*60, true
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

// Every figure that the command line writes of a week is in a table of the
// message or its thread, as often, in both languages; the chart has those of its
// table.
func TestReportsHaveAllNumbers(t *testing.T) {
	week := reporttest.Report()
	for _, l := range []desk.Lang{desk.English, desk.Chinese} {
		p := pen(l)
		messages := append([]talk.Message{p.Report(&week)}, p.ReportParts(&week)...)
		var shown []string
		charted := 0.0
		for i, m := range messages {
			if err := card.Validate(m); err != nil {
				t.Errorf("message %d: %v", i, err)
			}
			for _, b := range m.Blocks {
				switch b := b.(type) {
				case *slack.TableBlock:
					for _, row := range b.Rows {
						for _, c := range row {
							shown = append(shown, c.(*slack.TableRawTextCell).Text)
						}
					}
				case *slack.DataVisualizationBlock:
					for _, s := range b.Chart.(*slack.DataVisualizationBarChart).Series {
						for _, d := range s.Data {
							charted += d.Value
						}
					}
				}
			}
		}
		if want := float64(week.Spend.Total.Micro) / bridge.Micro; charted < want-0.001 || charted > want+0.001 {
			t.Errorf("%s: the chart adds up to %f, the week to %f", l, charted, want)
		}
		figures := 0
		for _, part := range report.Parts() {
			var b bytes.Buffer
			if err := week.CSV(&b, part); err != nil {
				t.Fatal(err)
			}
			lines, err := csv.NewReader(&b).ReadAll()
			if err != nil {
				t.Fatal(err)
			}
			for _, line := range lines[1:] {
				if _, err := strconv.ParseFloat(line[3], 64); err != nil || part == report.PartAdvice {
					continue // words are in the reader's language, and what to do is said in sentences
				}
				figures++
				i := slices.Index(shown, strings.TrimSpace(line[3]+" "+line[4]))
				if i < 0 {
					t.Errorf("%s: %v is not shown", l, line)
					continue
				}
				shown = slices.Delete(shown, i, i+1)
			}
		}
		if figures < 200 {
			t.Errorf("only %d figures", figures)
		}
	}
}
