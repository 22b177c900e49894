package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/books"
	"spillway.sh/spillway/bridge/calendar"
	"spillway.sh/spillway/bridge/config"
	"spillway.sh/spillway/bridge/desk"
	"spillway.sh/spillway/bridge/engine"
)

// housekeeping is what goes by the clock: alerts of budgets, ends of periods
// and digests are told; each minute the use of GPUs is recorded, and each night
// the books are proved.
func (d *daemon) housekeeping(ctx context.Context) *calendar.Calendar {
	r := d.site.config.Reports
	return calendar.New(calendar.Options{
		Store: through[calendar.Store](d.store), Budgets: d.site.Budgets(), Since: d.calendarSince(ctx), Log: d.log,
		Reports:  calendar.Reports{Daily: timeOf(r.Daily), Weekly: timeOf(r.Weekly), Zone: r.Zone},
		Minutely: []calendar.Task{{Name: "use of GPUs", Do: d.used.Sample}, {Name: "licences of clouds", Do: d.tellOfLicences}},
		Nightly:  []calendar.Task{{Name: "ledger check", Do: d.proveBooks}},
	})
}

func timeOf(c *config.Clock) *calendar.At {
	if c == nil {
		return nil
	}
	return &calendar.At{Hour: c.Hour, Minute: c.Minute, Weekday: c.Weekday}
}

// calendarSince is when the calendar of this store was first kept. While the
// store does not say, it is now: then nothing is made up for.
func (d *daemon) calendarSince(ctx context.Context) time.Time {
	since := utcNow()
	err := through[desk.Loop](d.engine).Remember(ctx, func(m *bridge.Marks) {
		if m.Calendar.IsZero() {
			m.Calendar = since
		}
		since = m.Calendar
	})
	if err != nil {
		d.log.Error("read since when the calendar is kept", "error", err)
	}
	return since
}

// proveBooks checks ledger and store, and tells everybody who follows the news
// what is wrong.
func (d *daemon) proveBooks(ctx context.Context) error {
	r, err := books.Books{Store: d.store}.CheckLedger(ctx)
	if err != nil {
		return err
	}
	if len(r.Problems) == 0 {
		d.log.Info("the books balance", "entries", r.Entries, "head", r.Head)
		return nil
	}
	d.log.Error("the books do not balance", "findings", r.Problems)
	return through[engine.Store](d.store).Tell(ctx, bridge.News{
		At: utcNow(), Kind: bridge.NewsWarning,
		Text: fmt.Sprintf("the books do not balance (%d findings, the first: %s); see: spillway ledger check", len(r.Problems), r.Problems[0]),
	})
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
