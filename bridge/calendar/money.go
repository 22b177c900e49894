package calendar

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"spillway.sh/spillway/bridge"
)

// How long what past days have cost is believed, and how long after its end a
// period is counted: the last minute has been posted by then.
const (
	pastFor = time.Hour
	settles = 5 * time.Minute
)

// alerts tells which shares of their limits budgets have reached.
func (c *Calendar) alerts(ctx context.Context, now time.Time) error {
	if len(c.o.Budgets) == 0 {
		return nil
	}
	bs, err := c.o.Store.Balances(ctx, now, c.o.Budgets)
	if err != nil {
		return err
	}
	live, err := c.o.Store.Live(ctx)
	if err != nil {
		return err
	}
	likely := make([]*bridge.Money, len(bs))
	since := now
	fresh := false
	for i := range bs {
		b := &c.o.Budgets[i]
		if likely[i], err = c.likely(ctx, now, b, &bs[i], live); err != nil {
			return err
		}
		if slices.ContainsFunc(bridge.Alerts(now, b, &bs[i], likely[i], nil), func(o bridge.Once) bool { return !c.told[o.Name] }) {
			fresh = true
		}
		if start, _ := bridge.Span(now, b.Every, b.Zone); start.Before(since) {
			since = start
		}
	}
	if !fresh {
		return nil
	}
	return c.alert(ctx, now, since, bs, likely)
}

// alert tells those alerts that were not told since an instant.
func (c *Calendar) alert(ctx context.Context, now, since time.Time, bs []bridge.Balance, likely []*bridge.Money) error {
	news, err := c.o.Store.NewsBetween(ctx, since, now.Add(time.Minute), bridge.NewsAlert)
	if err != nil {
		return err
	}
	var told []bridge.Alert
	for i := range news {
		if news[i].Alert != nil {
			told = append(told, *news[i].Alert)
		}
	}
	var once, all []bridge.Once
	for i := range bs {
		once = append(once, bridge.Alerts(now, &c.o.Budgets[i], &bs[i], likely[i], told)...)
		all = append(all, bridge.Alerts(now, &c.o.Budgets[i], &bs[i], likely[i], nil)...)
	}
	if _, err := c.o.Store.TellOnce(ctx, once...); err != nil {
		return err
	}
	const most = 10_000
	if len(c.told) > most {
		clear(c.told)
	}
	for i := range all { // told, or silent for good
		c.told[all[i].Name] = true
	}
	return nil
}

// likely is what a budget's period comes to; nil where there is not enough to
// go by.
func (c *Calendar) likely(ctx context.Context, now time.Time, b *bridge.Budget, bal *bridge.Balance, live []bridge.Rental) (*bridge.Money, error) {
	past, err := c.pastDays(ctx, now, b.Zone)
	if err != nil {
		return nil, err
	}
	_, end := bridge.Span(now, b.Every, b.Zone)
	scope := b.Scope()
	look := bridge.Outlook{Now: now, Began: past.today, Posted: bal.Posted}
	look.Past = past.of(scope, b.Limit.Currency)
	for at := now; at.Before(end); {
		_, at = bridge.Span(at, bridge.Day, b.Zone)
		look.Ends = append(look.Ends, at)
	}
	for i := range live {
		if r := &live[i]; r.State.Held() && scope.Covers(r.Scope()) && r.Rate.Currency == b.Limit.Currency {
			look.Runs = append(look.Runs, bridge.ExpenseOf(r))
		}
	}
	f, ok := look.Forecast()
	if !ok {
		return nil, nil //nolint:nilnil // Not enough data is no error.
	}
	return &f.Likely, nil
}

// days are what the days before today have cost, oldest first.
type days struct {
	today time.Time // its first instant
	read  time.Time
	sums  [][]bridge.PostedSum
	known map[purse][]int64 // what was added up already
}

type purse struct {
	bridge.Scope
	currency bridge.Currency
}

// of is what counted in a scope on each day.
func (d *days) of(s bridge.Scope, currency bridge.Currency) []int64 {
	key := purse{s, currency}
	out, ok := d.known[key]
	if !ok {
		for i := range d.sums {
			out = append(out, total(d.sums[i], &s, currency))
		}
		d.known[key] = out
	}
	return out
}

// pastDays reads the days of a zone anew each hour: late bills change them.
func (c *Calendar) pastDays(ctx context.Context, now time.Time, zone *time.Location) (days, error) {
	name := "UTC"
	if zone != nil {
		name = zone.String()
	}
	today, _ := bridge.Span(now, bridge.Day, zone)
	if p, ok := c.past[name]; ok && p.today.Equal(today) && now.Sub(p.read) < pastFor && !now.Before(p.read) {
		return p, nil
	}
	p := days{today: today, read: now, known: map[purse][]int64{}}
	for next := today; len(p.sums) < 7*bridge.ForecastWeeks; {
		from, to := bridge.Span(next.Add(-time.Second), bridge.Day, zone)
		next = from
		sums, err := c.o.Store.PostedBetween(ctx, from, to)
		if err != nil {
			return days{}, err
		}
		p.sums = append(p.sums, sums)
	}
	slices.Reverse(p.sums)
	c.past[name] = p
	return p, nil
}

// periods tells of budgets whose period has ended.
func (c *Calendar) periods(ctx context.Context, now time.Time) error {
	var errs []error
	for i := range c.o.Budgets {
		if err := c.period(ctx, now, &c.o.Budgets[i]); err != nil {
			errs = append(errs, fmt.Errorf("tell of the last %s of %s: %w", c.o.Budgets[i].Every, c.o.Budgets[i].Scope(), err))
		}
	}
	return errors.Join(errs...)
}

func (c *Calendar) period(ctx context.Context, now time.Time, b *bridge.Budget) error {
	end, _ := bridge.Span(now, b.Every, b.Zone)
	last := end.Add(-time.Second)
	scope := b.Scope()
	key := fmt.Sprintf("period/%s/%s/%s/%s/%s", scope.Account, scope.GPU, scope.Cloud, b.Every, end.Format(time.RFC3339))
	if end.Before(c.o.Since) || now.Sub(end) < settles || c.told[key] || now.Sub(c.looked[key]) < pastFor {
		return nil
	}
	bs, err := c.o.Store.Balances(ctx, last, []bridge.Budget{*b})
	if err != nil {
		return err
	}
	live, err := c.o.Store.Live(ctx)
	if err != nil {
		return err
	}
	open := slices.DeleteFunc(live, func(r bridge.Rental) bool {
		return !r.State.Held() || !r.Created.Before(end) || !scope.Covers(r.Scope())
	})
	once := bridge.PeriodEnded(now, b, &bs[0], open)
	if once == nil {
		c.looked[key] = now // a late bill may come
		return nil
	}
	if _, err := c.o.Store.TellOnce(ctx, *once); err != nil {
		return err
	}
	c.told[key] = true
	return nil
}
