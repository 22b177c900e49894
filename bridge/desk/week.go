package desk

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/report"
)

// WeekReader is the part of a store that weekly reports and chargebacks are
// read from.
type WeekReader interface {
	// RentalsBetween are rentals that had machines or an open hold at some time in
	// [from, to), oldest first, ended ones too.
	RentalsBetween(ctx context.Context, from, to time.Time) ([]bridge.Rental, error)
	// PostedBetween is what was posted in [from, to), both on quarter hours.
	PostedBetween(ctx context.Context, from, to time.Time) ([]bridge.PostedSum, error)
	// NewsBetween are news of some kinds in [from, to), oldest first.
	NewsBetween(ctx context.Context, from, to time.Time, kinds ...bridge.NewsKind) ([]bridge.News, error)
	// Usage are the hours of [from, to).
	Usage(ctx context.Context, from, to time.Time) ([]bridge.Usage, error)
	// Corrections are those recorded in [from, to).
	Corrections(ctx context.Context, from, to time.Time) ([]bridge.Correction, error)
	// Parcels are messages that wait to be delivered.
	Parcels(ctx context.Context, limit int) ([]bridge.Parcel, error)
	// ChargesBetween are settled costs that arose in [from, to), by rental and kind.
	ChargesBetween(ctx context.Context, from, to time.Time) ([]bridge.Charge, error)
}

// WeekRequest asks for the report of one week.
type WeekRequest struct {
	Week    string `json:"week,omitempty"`    // 2026-W48, last or this; empty: last
	Project string `json:"project,omitempty"` // empty: all, for who may see all
}

// Week answers with the weekly report: of everything for who may see all, of one
// project for others.
func (d *Desk) Week(ctx context.Context, p Person, q WeekRequest) (report.Report, error) {
	if d.Weekly == nil {
		return report.Report{}, wrong(Unavailable, "spillway report", "there is no weekly report here")
	}
	now, zone := d.Now(), d.homeZone()
	week, err := report.ParseWeek(q.Week, now, zone)
	if err != nil {
		return report.Report{}, noWeek(q.Week, week, err)
	}
	account, err := d.scopeOf(ctx, p, q.Project)
	if err != nil {
		return report.Report{}, err
	}
	in := report.Input{Week: week, Made: now, Account: account, Currency: d.currency()}
	for _, read := range []func(context.Context, *report.Input) error{d.weekMoney, d.weekRentals, d.weekNews, d.weekRest} {
		if err := read(ctx, &in); err != nil {
			return report.Report{}, unreadable(err)
		}
	}
	return report.Make(&in), nil
}

// noWeek says what is wrong with the name of a week.
func noWeek(name string, week report.Week, err error) error {
	const try = "spillway report --week last"
	switch {
	case errors.Is(err, report.ErrNotBegun):
		return wrong(BadRequest, try, "week %s has not begun: it begins on %s", week.Name, week.From.In(week.Zone).Format(time.DateOnly))
	case errors.Is(err, report.ErrNotInYear):
		return wrong(BadRequest, try, "there is no week %s: its year does not have it", name)
	}
	return wrong(BadRequest, try, "%q is no week: say 2026-W48, last or this", name)
}

// scopeOf is whose report a person gets: everybody's for who may see that, else
// that of a project of theirs.
func (d *Desk) scopeOf(ctx context.Context, p Person, project string) (bridge.Account, error) {
	if project == "" && p.may(SeeAll) {
		return "", nil
	}
	return d.projectOf(ctx, p, project)
}

// homeZone is that of the widest budget, which is the site's own.
func (d *Desk) homeZone() *time.Location {
	zone, depth := time.UTC, -1
	for _, b := range d.Rules.Budgets() {
		if n := strings.Count(string(b.Account), "/"); b.Zone != nil && (depth < 0 || n < depth) {
			zone, depth = b.Zone, n
		}
	}
	return zone
}

// currency is the one budgets are in.
func (d *Desk) currency() bridge.Currency {
	for _, b := range d.Rules.Budgets() {
		if b.Limit.Currency != "" {
			return b.Limit.Currency
		}
	}
	return "USD"
}

// weekMoney reads what was posted: by day of the week, of its month and of the
// days a forecast needs, and by week.
func (d *Desk) weekMoney(ctx context.Context, in *report.Input) error {
	b := postings{ctx: ctx, from: d.Weekly, account: in.Account, days: map[time.Time][]bridge.PostedSum{}}
	days := in.Week.Days()
	for i := range days[:7] {
		if !days[i].Before(in.Made) {
			break
		}
		sums, err := b.day(days[i], days[i+1])
		if err != nil {
			return err
		}
		in.Days = append(in.Days, report.Posted{Name: days[i].In(in.Week.Zone).Format(time.DateOnly), From: days[i], To: days[i+1], Sums: sums})
	}
	for n := 4; n >= 1; n-- {
		w := in.Week.Before(n)
		sums, err := b.week(w)
		if err != nil {
			return err
		}
		in.Weeks = append(in.Weeks, report.Posted{Name: w.Name, From: w.From, To: w.To, Sums: sums})
	}
	this := report.Posted{Name: in.Week.Name, From: in.Week.From, To: in.Week.To}
	for i := range in.Days {
		this.Sums = append(this.Sums, in.Days[i].Sums...)
	}
	in.Weeks = append(in.Weeks, this)
	return d.weekForecast(ctx, in, &b)
}

// weekForecast reads the month of the week's end, and looks ahead to its end
// from now; a month that is over needs no forecast.
func (d *Desk) weekForecast(ctx context.Context, in *report.Input, b *postings) error {
	zone := in.Week.Zone
	last := in.Week.To.Add(-1)
	if in.Made.Before(last) {
		last = in.Made
	}
	y, m, _ := last.In(zone).Date()
	today, tomorrow := periodOf(in.Made, bridge.Day, zone)
	_, end := periodOf(last, bridge.Month, zone)
	look := bridge.Outlook{Now: in.Made, Began: today, Posted: bridge.Money{Currency: in.Currency}}
	for day := 1; ; day++ {
		from, to := periodOf(time.Date(y, m, day, 12, 0, 0, 0, zone), bridge.Day, zone)
		if !from.Before(end) || !from.Before(in.Made) {
			break
		}
		sums, err := b.day(from, to)
		if err != nil {
			return err
		}
		in.Month = append(in.Month, report.Posted{Name: from.In(zone).Format(time.DateOnly), From: from, To: to, Sums: sums})
		look.Posted.Micro += inCurrency(sums, in.Currency)
	}
	if !in.Made.Before(end) {
		return nil
	}
	if err := d.ahead(ctx, in, b, &look, tomorrow, end); err != nil {
		return err
	}
	if f, ok := look.Forecast(); ok {
		in.Forecast = &report.Forecast{Month: last.In(zone).Format("2006-01"), Low: f.Low, Likely: f.Likely, High: f.High, Days: look.Seen()}
	}
	return nil
}

// ahead tells a forecast of the days behind it, of those to come until end, and of
// what runs.
func (d *Desk) ahead(ctx context.Context, in *report.Input, b *postings, look *bridge.Outlook, tomorrow, end time.Time) error {
	zone := in.Week.Zone
	y, m, day := in.Made.In(zone).Date()
	for back := 7 * bridge.ForecastWeeks; back >= 1; back-- {
		sums, err := b.day(periodOf(time.Date(y, m, day-back, 12, 0, 0, 0, zone), bridge.Day, zone))
		if err != nil {
			return err
		}
		look.Past = append(look.Past, inCurrency(sums, in.Currency))
	}
	for at := tomorrow; !at.After(end); {
		look.Ends = append(look.Ends, at)
		_, at = periodOf(at.Add(12*time.Hour), bridge.Day, zone)
	}
	live, err := d.Reader.Live(ctx)
	if err != nil {
		return fmt.Errorf("read rentals: %w", err)
	}
	for i := range live {
		if r := &live[i]; r.State.Held() && in.Covers(r.Account) && r.Hold.Currency == in.Currency {
			look.Runs = append(look.Runs, bridge.ExpenseOf(r))
		}
	}
	return nil
}

// postings reads what was posted, of one account or of all, each day once.
type postings struct {
	ctx     context.Context
	from    WeekReader
	account bridge.Account
	days    map[time.Time][]bridge.PostedSum
}

// day reads one day, by its first instant.
func (b *postings) day(from, to time.Time) ([]bridge.PostedSum, error) {
	key := from.UTC()
	if sums, ok := b.days[key]; ok {
		return sums, nil
	}
	sums, err := b.from.PostedBetween(b.ctx, from, to)
	if err != nil {
		return nil, fmt.Errorf("read what was posted: %w", err)
	}
	sums = slices.DeleteFunc(sums, func(s bridge.PostedSum) bool { return b.account != "" && !under(s.Account, b.account) })
	b.days[key] = sums
	return sums, nil
}

// week reads the days of a week.
func (b *postings) week(w report.Week) ([]bridge.PostedSum, error) {
	var out []bridge.PostedSum
	days := w.Days()
	for i := range days[:7] {
		sums, err := b.day(days[i], days[i+1])
		if err != nil {
			return nil, err
		}
		out = append(out, sums...)
	}
	return out, nil
}

func inCurrency(sums []bridge.PostedSum, c bridge.Currency) int64 {
	total := int64(0)
	for i := range sums {
		if sums[i].Amount.Currency == c {
			total += sums[i].Amount.Micro
		}
	}
	return total
}

// weekRentals reads the rentals of the week, and those whose bills came in it.
func (d *Desk) weekRentals(ctx context.Context, in *report.Input) error {
	rs, err := d.Weekly.RentalsBetween(ctx, in.Week.From, in.Week.To)
	if err != nil {
		return err
	}
	in.Rentals = slices.DeleteFunc(rs, func(r bridge.Rental) bool { return !in.Covers(r.Account) })
	cs, err := d.Weekly.Corrections(ctx, in.Week.From, in.Week.To)
	if err != nil {
		return err
	}
	seen := map[bridge.RentalID]bool{}
	for i := range cs {
		id := cs[i].Rental
		if seen[id] {
			continue
		}
		seen[id] = true
		r, err := d.Reader.Rental(ctx, id)
		if err != nil {
			return fmt.Errorf("read rental %s of a bill: %w", id, err)
		}
		if in.Covers(r.Account) {
			in.Billed = append(in.Billed, r)
		}
	}
	in.Corrections = cs
	return nil
}

// weekNews reads the week's news, and of a week before it what its own news are
// about.
func (d *Desk) weekNews(ctx context.Context, in *report.Input) error {
	kinds := []bridge.NewsKind{
		bridge.NewsStarted, bridge.NewsFinished, bridge.NewsDraining, bridge.NewsReleasing, bridge.NewsAsked, bridge.NewsApproved, bridge.NewsDenied,
		bridge.NewsLapsed, bridge.NewsWithdrawn, bridge.NewsReclaimed, bridge.NewsLost, bridge.NewsResumed, bridge.NewsOrphan,
	}
	news, err := d.Weekly.NewsBetween(ctx, in.Week.From, in.Week.To, kinds...)
	if err != nil {
		return err
	}
	in.News = news
	before := []bridge.NewsKind{bridge.NewsStarted, bridge.NewsFinished, bridge.NewsDraining, bridge.NewsReleasing, bridge.NewsAsked}
	if in.Earlier, err = d.Weekly.NewsBetween(ctx, in.Week.Before(1).From, in.Week.From, before...); err != nil || in.Account == "" {
		return err
	}
	for _, list := range [][]bridge.News{in.Earlier, in.News} {
		for i := range list {
			if list[i].Kind != bridge.NewsAsked {
				continue
			}
			r, err := d.Reader.Rental(ctx, list[i].Rental)
			if err != nil {
				return fmt.Errorf("read rental %s of a question: %w", list[i].Rental, err)
			}
			if in.Covers(r.Account) {
				in.Asked = append(in.Asked, r.ID)
			}
		}
	}
	return nil
}

// mostParcels is how many messages that wait are counted.
const mostParcels = 10_000

// weekRest reads use, budgets, capacity, offers and messages.
func (d *Desk) weekRest(ctx context.Context, in *report.Input) (err error) {
	if in.Usage, err = d.Weekly.Usage(ctx, in.Week.Before(3).From, in.Week.To); err != nil {
		return err
	}
	of := slices.DeleteFunc(slices.Clone(d.Rules.Budgets()), func(b bridge.Budget) bool { return !in.Covers(b.Account) })
	if in.Balances, err = d.balancesAt(ctx, in, of); err != nil {
		return err
	}
	if d.Capacity != nil && in.Account == "" {
		in.Capacity = d.Capacity()
	}
	if d.Loop != nil { // without the daemon, clouds would have to be asked first
		if snap, _, ok := d.Viewer.View(); ok {
			in.Offers = append([]bridge.Offer{}, snap.Offers...)
		}
	}
	ps, err := d.Weekly.Parcels(ctx, mostParcels)
	if err != nil {
		return err
	}
	n := 0
	for i := range ps {
		if ps[i].Tries > 0 {
			n++
		}
	}
	in.Undelivered = &n
	return nil
}

// balancesAt are those of the periods of the week's end. What is held is held
// now, so nothing of it is in a period that is over.
func (d *Desk) balancesAt(ctx context.Context, in *report.Input, of []bridge.Budget) ([]bridge.Balance, error) {
	now, err := d.Reader.Balances(ctx, in.Made, of)
	if err != nil || in.Made.Before(in.Week.To) {
		return now, err
	}
	then, err := d.Reader.Balances(ctx, in.Week.To.Add(-time.Second), of)
	if err != nil {
		return nil, err
	}
	for i := range then {
		if then[i].Period != now[i].Period {
			then[i].Held.Micro = 0
		}
	}
	return then, nil
}
