package desk

import (
	"context"
	"slices"
	"strings"
	"time"

	"spillway.sh/spillway/bridge"
)

// ReportRequest asks for a short report of what a project spends in the period
// of now. Words are a period (day, week, month), a project, and a cloud or a
// class of GPU that some budget is of, in any order.
type ReportRequest struct {
	Words   []string          `json:"words,omitempty"`
	Project string            `json:"project,omitempty"`
	Cloud   string            `json:"cloud,omitempty"` // empty: all
	GPU     string            `json:"gpu,omitempty"`   // empty: all
	Every   bridge.PeriodKind `json:"every,omitempty"` // empty: that of its budget
}

// ReportAnswer is what was spent in one period, day by day, with what it comes
// to by its end.
type ReportAnswer struct {
	Account bridge.Account    `json:"account"`
	Cloud   string            `json:"cloud,omitempty"`
	GPU     string            `json:"gpu,omitempty"`
	Every   bridge.PeriodKind `json:"every"`
	From    time.Time         `json:"from"`
	To      time.Time         `json:"to"`
	Zone    string            `json:"zone"`
	Posted  bridge.Money      `json:"posted"`
	Held    bridge.Money      `json:"held"`
	Limit   bridge.Money      `json:"limit"` // of a budget with this period; zero: none
	Left    bridge.Money      `json:"left"`
	UsedPC  int               `json:"used_percent"` // posted and held of the limit
	// Open is what was posted for rentals that are not settled yet: their last
	// figure comes with the bill.
	Open bridge.Money `json:"open"`
	Days []Day        `json:"days"` // oldest first, up to today
	// Forecast is nil where there is not enough to go by.
	Forecast *bridge.Forecast `json:"forecast,omitempty"`
	Seen     int              `json:"days_seen"` // with any history to go by
}

// Day is what was posted on one day.
type Day struct {
	Date   string       `json:"date"`
	Posted bridge.Money `json:"posted"`
}

// Report answers what a project spends.
func (d *Desk) Report(ctx context.Context, p Person, q ReportRequest) (ReportAnswer, error) {
	for _, w := range q.Words {
		for _, w := range tidy(w) {
			w = strings.ToLower(strings.TrimLeft(w, "-@"))
			if every, ok := everyOf(w); ok {
				q.Every = every
			} else if !d.narrows(&q, w) && w != "project" && w != "for" && w != "this" && w != "on" {
				q.Project = w
			}
		}
	}
	account, err := d.projectOf(ctx, p, q.Project)
	if err != nil {
		return ReportAnswer{}, err
	}
	b, limited := d.budgetFor(bridge.Scope{Account: account, Cloud: q.Cloud, GPU: q.GPU}, q.Every)
	a := ReportAnswer{Account: account, Cloud: q.Cloud, GPU: q.GPU, Every: b.Every, Zone: b.Zone.String(), Days: []Day{}}
	now := d.Now()
	a.From, a.To = periodOf(now, b.Every, b.Zone)
	bs, err := d.weigh(ctx, []bridge.Budget{b})
	if err != nil {
		return a, err
	}
	a.Posted, a.Held = bs[0].Posted, bs[0].Held
	if limited {
		bal := asBalances(bs)[0]
		a.Limit, a.Left = bal.Limit, bal.Left
		if a.Limit.Micro > 0 {
			a.UsedPC = int((a.Posted.Micro + a.Held.Micro) * 100 / a.Limit.Micro)
		}
	}
	if err := d.daily(ctx, &b, now, &a); err != nil {
		return a, err
	}
	return a, nil
}

// narrows reads a word that is a cloud or a class of some budget.
func (d *Desk) narrows(q *ReportRequest, word string) bool {
	for _, b := range d.Rules.Budgets() {
		switch {
		case b.Cloud != "" && strings.EqualFold(b.Cloud, word):
			q.Cloud = b.Cloud
		case b.GPU != "" && strings.EqualFold(b.GPU, word):
			q.GPU = b.GPU
		default:
			continue
		}
		return true
	}
	return false
}

// budgetFor is the budget of a scope with a period, or one without a limit in
// the zone and currency of the nearest; false for such a one.
func (d *Desk) budgetFor(s bridge.Scope, every bridge.PeriodKind) (bridge.Budget, bool) {
	out := bridge.Budget{Account: s.Account, Cloud: s.Cloud, GPU: s.GPU, Every: every, Zone: time.UTC}
	if every == "" {
		out.Every = bridge.Month
	}
	chain := s.Account.Ancestors()
	for _, b := range d.Rules.Budgets() { // the nearest comes last among its like
		if !slices.Contains(chain, b.Account) {
			continue
		}
		if b.Zone != nil {
			out.Zone = b.Zone
		}
		out.Limit.Currency = b.Limit.Currency
		if b.Scope() == s && (every == "" || b.Every == every) {
			if b.Zone == nil {
				b.Zone = time.UTC
			}
			return b, true
		}
	}
	return out, false
}

// daily adds the days, what is open and the forecast.
func (d *Desk) daily(ctx context.Context, b *bridge.Budget, now time.Time, a *ReportAnswer) error {
	today, tomorrow := periodOf(now, bridge.Day, b.Zone)
	first := today.AddDate(0, 0, -7*bridge.ForecastWeeks)
	if a.From.Before(first) {
		first = a.From
	}
	byDay := bridge.Budget{Account: b.Account, Cloud: b.Cloud, GPU: b.GPU, Every: bridge.Day, Zone: b.Zone, Limit: b.Limit}
	look := bridge.Outlook{Now: now, Posted: a.Posted, Began: today}
	for at := first; !at.After(now); at = at.AddDate(0, 0, 1) {
		bs, err := d.Reader.Balances(ctx, at.Add(12*time.Hour), []bridge.Budget{byDay})
		if err != nil {
			return unreadable(err)
		}
		if at.Before(today) {
			look.Past = append(look.Past, bs[0].Posted.Micro)
		}
		if !at.Before(a.From) {
			a.Days = append(a.Days, Day{at.Format(time.DateOnly), bs[0].Posted})
		}
	}
	for end := tomorrow; !end.After(a.To); end = end.AddDate(0, 0, 1) {
		look.Ends = append(look.Ends, end)
	}
	if err := d.running(ctx, a, &look); err != nil {
		return err
	}
	a.Seen = look.Seen()
	if f, ok := look.Forecast(); ok {
		a.Forecast = &f
	}
	return nil
}

// running adds up what is posted of rentals that are open, and tells the
// forecast of them.
func (d *Desk) running(ctx context.Context, a *ReportAnswer, look *bridge.Outlook) error {
	live, err := d.live(ctx)
	if err != nil {
		return err
	}
	a.Open = bridge.Money{Currency: a.Posted.Currency}
	scope := bridge.Scope{Account: a.Account, Cloud: a.Cloud, GPU: a.GPU}
	for i := range live {
		r := &live[i]
		if !r.State.Held() || !scope.Covers(r.Scope()) || r.Hold.Currency != a.Posted.Currency {
			continue
		}
		a.Open.Micro += r.Cost.Micro
		look.Runs = append(look.Runs, bridge.ExpenseOf(r))
	}
	return nil
}
