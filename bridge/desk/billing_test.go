package desk

import (
	"strings"
	"testing"
	"time"

	"spillway.sh/spillway/bridge"
)

// TestHowItIsChargedIsSaid holds that a step, a minimum and a term are named
// where they cost something, in both languages, and else not.
func TestHowItIsChargedIsSaid(t *testing.T) {
	const h, m = time.Hour, time.Minute
	for name, c := range map[string]struct {
		billing bridge.Billing
		life    time.Duration
		want    string
		chinese string
	}{
		"by the second":              {bridge.Billing{Step: time.Second, Minimum: m}, anyLife, "", ""},
		"hours":                      {bridge.Billing{Step: h}, anyLife, "started steps of 1 h are paid whole", "按 1 h 计费，不足按整计"},
		"hours, for whole hours":     {bridge.Billing{Step: h}, 3 * h, "", ""},
		"hours, for a part of one":   {bridge.Billing{Step: h}, 190 * m, "started steps of 1 h are paid whole", "按 1 h 计费，不足按整计"},
		"a minimum":                  {bridge.Billing{Minimum: 4 * h}, 90 * m, "at least 4 h are paid", "至少计费 4 h"},
		"a minimum that is reached":  {bridge.Billing{Minimum: 4 * h}, 4 * h, "", ""},
		"a term":                     {bridge.Billing{Term: 24 * h, EarlyPM: 500}, 4 * h, "taken for 24 h: 50 % of what is left of it is paid when it goes back sooner", "约定使用 24 h：提前归还须付剩余时间的 50%"},
		"a term that is reached":     {bridge.Billing{Term: 24 * h, EarlyPM: 500}, 24 * h, "", ""},
		"a term that costs nothing":  {bridge.Billing{Term: 24 * h}, anyLife, "", ""},
		"a fee finer than a percent": {bridge.Billing{Term: h, EarlyPM: 125}, anyLife, "taken for 1 h: 12.5 % of what is left of it is paid when it goes back sooner", "约定使用 1 h：提前归还须付剩余时间的 12.5%"},
		"all of it":                  {bridge.Billing{Step: h, Minimum: 90 * m, Term: 24 * h, EarlyPM: 1000}, h, "started steps of 1 h are paid whole; at least 1 h 30 min are paid; taken for 24 h: 100 % of what is left of it is paid when it goes back sooner", "按 1 h 计费，不足按整计；至少计费 1 h 30 min；约定使用 24 h：提前归还须付剩余时间的 100%"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := English.billing(c.billing, c.life); got != c.want {
				t.Errorf("said %q, want %q", got, c.want)
			}
			if got := Chinese.billing(c.billing, c.life); got != c.chinese {
				t.Errorf("said %q, want %q", got, c.chinese)
			}
		})
	}
}

// TestAQuoteNamesTheRuleItIsPricedBy holds that a quote's price has the minimum in
// it and says so, and that prices show what was converted.
func TestAQuoteNamesTheRuleItIsPricedBy(t *testing.T) {
	d, w := newWorld(t)
	for i := range w.snap.Offers {
		w.snap.Offers[i].Minimum = 12 * time.Hour
	}
	w.snap.Offers[0].Quoted, w.snap.Offers[0].FX = bridge.Rate{Micro: 7, Currency: "CNY"}, "1 CNY = 0.139512 USD (pboc, 2026-11-28)"
	w.snap.Offers[1].Bar = bridge.ReasonNoExchange
	a, err := d.Quote(t.Context(), d.as("ana"), QuoteRequest{Wish: Wish{Words: strings.Fields("8xh100 1h project nlp")}})
	if err != nil || len(a.Offers) == 0 {
		t.Fatalf("%d offers: %v", len(a.Offers), err)
	}
	for i := range a.Offers {
		o := &a.Offers[i]
		if want, _ := o.Rate.Cost(12*time.Hour, o.Machines, bridge.RoundUp); o.Expected != want || o.Billing != "at least 12 h are paid" {
			t.Errorf("%s costs %s, want %s; said %q", o.Pool, o.Expected, want, o.Billing)
		}
	}
	prices, err := d.Prices(t.Context(), d.as("ana"), PricesRequest{Lang: Chinese})
	if err != nil {
		t.Fatal(err)
	}
	converted, barred := 0, 0
	for _, x := range prices.Prices {
		if x.FX != "" && x.Quoted.Currency == "CNY" {
			converted++
		}
		if x.Why == bridge.ReasonNoExchange && !x.Fresh && x.Text == "没有汇率" {
			barred++
		}
		if x.Billing != "至少计费 12 h" {
			t.Errorf("%s is charged as %q", x.Pool, x.Billing)
		}
	}
	if converted != 1 || barred != 1 {
		t.Errorf("%d converted, %d barred", converted, barred)
	}
}
