package desk

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"spillway.sh/spillway/bridge"
)

// diary is a store that knows what was posted on which day.
type diary struct {
	*books
	posted map[string]float64
}

func (d *diary) Balances(_ context.Context, now time.Time, budgets []bridge.Budget) ([]bridge.Balance, error) {
	out := make([]bridge.Balance, 0, len(budgets))
	for _, b := range budgets {
		from, to := periodOf(now, b.Every, b.Zone)
		sum := 0.0
		for date, units := range d.posted {
			if at, err := time.ParseInLocation(time.DateOnly, date, b.Zone); err == nil && !at.Before(from) && at.Before(to) {
				sum += units
			}
		}
		out = append(out, bridge.Balance{Account: b.Account, Limit: b.Limit, Posted: usd(sum), Held: usd(0)})
	}
	return out, nil
}

func TestReport(t *testing.T) {
	weeks := func(n int, of func(time.Time) float64) map[string]float64 {
		out := map[string]float64{}
		for i := 1; i <= 7*n; i++ {
			day := noon.AddDate(0, 0, -i)
			out[day.Format(time.DateOnly)] = of(day)
		}
		return out
	}
	same := func(units float64) func(time.Time) float64 { return func(time.Time) float64 { return units } }
	for name, c := range map[string]struct {
		words    string
		now      time.Time
		posted   map[string]float64
		want     bridge.Money // posted in the period
		forecast *bridge.Forecast
		seen     int
		days     int
	}{
		// The week of Monday the 30th has six more days, and half of this one.
		"the same each day": {words: "week nlp", now: noon, posted: weeks(4, same(10)), forecast: &bridge.Forecast{Likely: usd(65), Low: usd(65), High: usd(65)}, seen: 28, days: 1},
		"a range by weekday": {words: "nlp week", now: noon, posted: weeks(4, func(at time.Time) float64 {
			if at.After(noon.AddDate(0, 0, -8)) {
				return 20
			}
			return 10
		}), forecast: &bridge.Forecast{Likely: usd(81.25), Low: usd(62.755), High: usd(99.745)}, seen: 28, days: 1},
		"less than two weeks":  {words: "week", now: noon, posted: weeks(1, same(10)), seen: 7, days: 1},
		"nothing was ever":     {words: "week", now: noon, posted: map[string]float64{}, days: 1},
		"the last day of all":  {words: "month", now: noon, posted: weeks(4, same(10)), want: usd(280), forecast: &bridge.Forecast{Likely: usd(285), Low: usd(285), High: usd(285)}, seen: 28, days: 30},
		"a day":                {words: "today", now: noon, posted: map[string]float64{"2026-11-30": 5}, want: usd(5), days: 1},
		"of its budget's time": {words: "nlp", now: noon, posted: map[string]float64{"2026-10-31": 7, "2026-11-01": 5}, want: usd(5), forecast: &bridge.Forecast{Likely: usd(5), Low: usd(5), High: usd(5)}, seen: 29, days: 30},
	} {
		t.Run(name, func(t *testing.T) {
			d, w := newWorld(t)
			w.snap.Now = c.now
			d.Reader = &diary{w.books, c.posted}
			a, err := d.Report(t.Context(), d.as("ana"), ReportRequest{Words: strings.Fields(c.words)})
			if err != nil {
				t.Fatal(err)
			}
			if c.want.Currency != "" && a.Posted != c.want || a.Seen != c.seen || len(a.Days) != c.days {
				t.Errorf("posted %s over %d days, %d seen", a.Posted, len(a.Days), a.Seen)
			}
			switch {
			case (a.Forecast == nil) != (c.forecast == nil):
				t.Errorf("forecast %+v, want %+v", a.Forecast, c.forecast)
			case a.Forecast != nil && fmt.Sprint(*a.Forecast) != fmt.Sprint(*c.forecast): // to the cent
				t.Errorf("forecast %+v, want %+v", *a.Forecast, *c.forecast)
			}
			if sum := sumOf(a.Days); c.want.Currency != "" && sum != a.Posted.Micro {
				t.Errorf("the days sum to %d, the period to %d", sum, a.Posted.Micro)
			}
		})
	}
}

func sumOf(days []Day) int64 {
	sum := int64(0)
	for _, d := range days {
		sum += d.Posted.Micro
	}
	return sum
}

// What runs now will cost at least what is left of its time, whatever the past
// weeks were like.
func TestAForecastIsNeverLessThanWhatRuns(t *testing.T) {
	d, w := newWorld(t)
	w.running(t, d, "8xh100 4h spot")
	posted := map[string]float64{}
	for i := 1; i <= 28; i++ {
		posted[noon.AddDate(0, 0, -i).Format(time.DateOnly)] = 0.01
	}
	d.Reader = &diary{w.books, posted}
	a, err := d.Report(t.Context(), d.as("ana"), ReportRequest{Words: []string{"week", "nlp"}})
	if err != nil {
		t.Fatal(err)
	}
	rest, _ := rate(20).Cost(w.rentals[0].Life, 1, bridge.RoundUp)
	if a.Forecast == nil || a.Forecast.Low.Micro < rest.Micro || a.Forecast.Likely.Micro > rest.Micro+usd(0.07).Micro {
		t.Errorf("forecast %+v, what runs costs %s", a.Forecast, rest)
	}
}

func TestWhoMayAskForWhichProject(t *testing.T) {
	for name, c := range map[string]struct {
		who, project string
		groups       []string
		kind         ErrorKind
		says         string
	}{
		"one's only one":                {who: "ana"},
		"by name":                       {who: "ana", project: "nlp"},
		"by path":                       {who: "ana", project: "site/ai/nlp"},
		"for an approver":               {who: "mei", project: "nlp"},
		"for who sees all":              {who: "tom", project: "nlp"},
		"not for a stranger":            {who: "eve", project: "nlp", kind: Forbidden},
		"a stranger who names none":     {who: "eve", kind: BadRequest, says: "none yet"},
		"one that is not there":         {who: "ana", project: "secret", kind: NotFound},
		"a mistyped one":                {who: "ana", project: "nlq", kind: NotFound, says: "did you mean nlp"},
		"the group of that name":        {who: "eve", groups: []string{"nlp"}},
		"a name that is a whole branch": {who: "ana", project: "site"},
	} {
		t.Run(name, func(t *testing.T) {
			d, _ := newWorld(t)
			p := d.as(c.who, c.groups...)
			_, err := d.Budget(t.Context(), p, BudgetRequest{Project: c.project})
			if kind(err) != c.kind || err != nil && !strings.Contains(AsError(err).Wrong, c.says) {
				t.Errorf("budget: %v, want kind %q about %q", err, c.kind, c.says)
			}
			if _, other := d.Report(t.Context(), p, ReportRequest{Project: c.project}); kind(other) != c.kind {
				t.Errorf("report: %v, want kind %q", other, c.kind)
			}
		})
	}
}

func TestBudget(t *testing.T) {
	d, w := newWorld(t)
	w.running(t, d, "8xh100 1h spot")
	d.mustRent(t, "ana", "8xh100 15m spot")
	w.spent["site/ai/nlp"] = usd(20)
	a, err := d.Budget(t.Context(), d.as("ana"), BudgetRequest{})
	if err != nil {
		t.Fatal(err)
	}
	held, _ := w.rentals[0].Hold.Add(w.rentals[1].Hold)
	room, _ := usd(80).Sub(held)
	if a.Room != room || len(a.Budgets) != 2 || a.Budgets[0].Account != "site" {
		t.Errorf("room %s, want %s; budgets %+v", a.Room, room, a.Budgets)
	}
	if len(a.Holding) != 2 || a.Holding[0].Hold.Micro < a.Holding[1].Hold.Micro {
		t.Errorf("holding %+v", a.Holding)
	}
	if !slices.Equal(a.Budgets[1].Approvers, []string{"mei", "@leads"}) {
		t.Errorf("approvers %v", a.Budgets[1].Approvers)
	}
}

func TestPrices(t *testing.T) {
	d, w := newWorld(t)
	w.snap.Offers[1].Available = 0
	w.snap.Offers[2].SampledAt = noon.Add(-2 * time.Hour)
	a, err := d.Prices(t.Context(), d.as("eve"), PricesRequest{})
	if err != nil {
		t.Fatal(err)
	}
	var order []string
	for _, p := range a.Prices {
		order = append(order, p.Pool.Type+" "+string(p.Pool.Market))
	}
	if want := []string{"gpu8 spot", "gpu8 on-demand", "gpu4 on-demand", "cpu64 on-demand"}; !slices.Equal(order, want) {
		t.Errorf("in order %v, want %v", order, want)
	}
	if a.Prices[0].PerGPU != rate(2.5) || a.Prices[1].Left != 0 || a.Prices[2].Fresh {
		t.Errorf("got %+v", a.Prices)
	}
	if a, err = d.Prices(t.Context(), d.as("eve"), PricesRequest{GPU: "H100", Place: "east"}); err != nil || len(a.Prices) != 3 {
		t.Errorf("of one GPU: %v, %d", err, len(a.Prices))
	}
	if _, err = d.Prices(t.Context(), d.as("eve"), PricesRequest{GPU: "h1000"}); kind(err) != BadRequest || !strings.Contains(AsError(err).Try, "h100") {
		t.Errorf("of one that nobody has: %v", err)
	}
}

func TestNames(t *testing.T) {
	d, _ := newWorld(t)
	a, err := d.Names(t.Context(), d.as("ana"), NamesRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(a.GPUs, []string{"h100"}) || !slices.Equal(a.Mine, []string{"nlp"}) || !slices.Equal(a.Places, []string{"east", "east-1", "stratus"}) {
		t.Errorf("got %+v", a)
	}
	if len(a.Jobs) != 1 || a.Jobs[0].Job != "4711" {
		t.Errorf("jobs %+v: only one's own waiting jobs can be chosen", a.Jobs)
	}
	d.Viewer = nil
	if a, err = d.Names(t.Context(), d.as("ana"), NamesRequest{}); err != nil || len(a.Projects) != 2 || len(a.GPUs) != 0 {
		t.Errorf("without a look at the queue: %v, %+v", err, a)
	}
}
