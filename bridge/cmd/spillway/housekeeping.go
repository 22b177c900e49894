package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/go-co-op/gocron/v2"

	"spillway.sh/spillway/bridge"
)

// housekeeping is what goes by the calendar: each night, in the zone of the
// budgets, the books are proved, and a warning is told when they do not.
func (d *daemon) housekeeping(ctx context.Context) (gocron.Scheduler, error) {
	zone := time.UTC
	if bs := d.site.Budgets(); len(bs) > 0 && bs[0].Zone != nil {
		zone = bs[0].Zone
	}
	s, err := gocron.NewScheduler(gocron.WithLocation(zone))
	if err != nil {
		return nil, fmt.Errorf("make calendar: %w", err)
	}
	nightly := gocron.DailyJob(1, gocron.NewAtTimes(gocron.NewAtTime(nightHour, nightMinute, 0)))
	if _, err := s.NewJob(nightly, gocron.NewTask(func() { d.proveBooks(ctx) }), gocron.WithSingletonMode(gocron.LimitModeReschedule)); err != nil {
		return nil, fmt.Errorf("enter ledger check in calendar: %w", err)
	}
	task := gocron.NewTask(func() {
		if err := d.used.Sample(ctx); err != nil && ctx.Err() == nil {
			d.log.Error("record what GPUs do", "error", err)
		}
	})
	if _, err := s.NewJob(gocron.DurationJob(time.Minute), task, gocron.WithSingletonMode(gocron.LimitModeReschedule)); err != nil {
		return nil, fmt.Errorf("enter use of GPUs in calendar: %w", err)
	}
	return s, nil
}

// Half past three is on every date of every zone that budgets may have, and
// once: no clock is put forward or back over it.
const nightHour, nightMinute = 3, 30

// proveBooks checks ledger and store, and tells everybody who follows the news
// what is wrong.
func (d *daemon) proveBooks(ctx context.Context) {
	r, err := books{d.store}.CheckLedger(ctx)
	if err != nil {
		d.log.Error("check the ledger", "error", err)
		return
	}
	if len(r.Problems) == 0 {
		d.log.Info("the books balance", "entries", r.Entries, "head", r.Head)
		return
	}
	warning := bridge.News{
		At: utcNow(), Kind: bridge.NewsWarning,
		Text: fmt.Sprintf("the books do not balance (%d findings, the first: %s); see: spillway ledger check", len(r.Problems), r.Problems[0]),
	}
	d.log.Error("the books do not balance", "findings", r.Problems)
	if err := d.store.Tell(ctx, warning); err != nil {
		d.log.Error("tell of the ledger check", "error", err)
	}
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
