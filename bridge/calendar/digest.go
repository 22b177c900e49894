package calendar

import (
	"context"
	"errors"
	"fmt"
	"time"

	"spillway.sh/spillway/bridge"
)

// Reports is when digests are due.
type Reports struct {
	Daily  *At // nil: never
	Weekly *At
	Zone   *time.Location // nil: that of the first budget, or UTC
}

// At is a time of day, of every day or of one weekday.
type At struct {
	Hour, Minute int
	Weekday      *time.Weekday
}

// Last is the latest instant up to now at which the clocks of a zone show the
// time, and its calendar date (noon in UTC). Each date has it once: a time that
// clocks leap over is when they have, and of one that comes twice one counts.
func (a *At) Last(now time.Time, zone *time.Location) (at, date time.Time) {
	y, m, d := now.In(zone).Date()
	for ahead := 1; ahead > -16; ahead-- {
		date = time.Date(y, m, d+ahead, 12, 0, 0, 0, time.UTC)
		if a.Weekday != nil && *a.Weekday != date.Weekday() {
			continue
		}
		if at = a.on(date, zone); !at.After(now) {
			return at.UTC(), date
		}
	}
	return time.Time{}, time.Time{}
}

// on is the time on a date.
func (a *At) on(date time.Time, zone *time.Location) time.Time {
	y, m, d := date.Date()
	at := time.Date(y, m, d, a.Hour, a.Minute, 0, 0, zone)
	if wall(at).Before(time.Date(y, m, d, a.Hour, a.Minute, 0, 0, time.UTC)) {
		_, at = at.ZoneBounds() // the clocks leap over it just then
	}
	return at
}

// wall is what the clocks show, as if they were of UTC.
func wall(t time.Time) time.Time {
	y, m, d := t.Date()
	return time.Date(y, m, d, t.Hour(), t.Minute(), 0, 0, time.UTC)
}

// digests tells that the daily line and the weekly report are due: of the day
// before, and of the last week that is over.
func (c *Calendar) digests(ctx context.Context, now time.Time) error {
	var errs []error
	r := &c.o.Reports
	if r.Daily != nil {
		due, date := r.Daily.Last(now, r.Zone)
		date = date.AddDate(0, 0, -1)
		errs = append(errs, c.digest(ctx, "daily/"+date.Format(time.DateOnly), due, func() (bridge.News, error) { return c.day(ctx, date) }))
	}
	if r.Weekly != nil {
		due, date := r.Weekly.Last(now, r.Zone)
		week := bridge.PeriodOf(date.AddDate(0, 0, -7), bridge.Week, time.UTC)
		errs = append(errs, c.digest(ctx, "weekly/"+week, due, func() (bridge.News, error) {
			return bridge.News{Kind: bridge.NewsWeekly, Text: week}, nil
		}))
	}
	return errors.Join(errs...)
}

// day is the daily line of a date.
func (c *Calendar) day(ctx context.Context, date time.Time) (bridge.News, error) {
	y, m, d := date.Date()
	from, to := bridge.Span(time.Date(y, m, d, 12, 0, 0, 0, c.o.Reports.Zone), bridge.Day, c.o.Reports.Zone)
	sums, err := c.o.Store.PostedBetween(ctx, from, to)
	if err != nil {
		return bridge.News{}, err
	}
	n := bridge.News{Kind: bridge.NewsDaily, Text: date.Format(time.DateOnly)}
	if len(c.o.Budgets) > 0 {
		currency := c.o.Budgets[0].Limit.Currency
		n.Cost = bridge.Money{Micro: total(sums, nil, currency), Currency: currency}
	}
	return n, nil
}

// digest tells one digest, dated when it was due.
func (c *Calendar) digest(ctx context.Context, name string, due time.Time, news func() (bridge.News, error)) error {
	if due.IsZero() || due.Before(c.o.Since) || c.told[name] {
		return nil
	}
	n, err := news()
	if err == nil {
		n.At = due
		_, err = c.o.Store.TellOnce(ctx, bridge.Once{Name: name, News: n})
	}
	if err != nil {
		return fmt.Errorf("tell %s: %w", name, err)
	}
	c.told[name] = true
	return nil
}

// total sums up what counts in a scope, nil: in any, in one currency.
func total(sums []bridge.PostedSum, of *bridge.Scope, currency bridge.Currency) int64 {
	micro := int64(0)
	for i := range sums {
		if s := &sums[i]; s.Amount.Currency == currency && (of == nil || of.Covers(s.Scope)) {
			micro += s.Amount.Micro
		}
	}
	return micro
}
