package calendar

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/go-co-op/gocron/v2"
	"github.com/jonboulle/clockwork"

	"spillway.sh/spillway/bridge"
)

// Store is what the calendar reads and where it tells.
type Store interface {
	// Balances are of the periods that contain now.
	Balances(ctx context.Context, now time.Time, budgets []bridge.Budget) ([]bridge.Balance, error)
	Live(ctx context.Context) ([]bridge.Rental, error)
	PostedBetween(ctx context.Context, from, to time.Time) ([]bridge.PostedSum, error)
	NewsBetween(ctx context.Context, from, to time.Time, kinds ...bridge.NewsKind) ([]bridge.News, error)
	TellOnce(ctx context.Context, once ...bridge.Once) (int, error)
}

// Task is something that a calendar does for others. What it could not do it
// returns, and does again when it is due next.
type Task struct {
	Name string
	Do   func(context.Context) error
}

// Options is what a calendar is made of.
type Options struct {
	Store   Store
	Budgets []bridge.Budget
	Reports Reports
	// Since is when the calendar was first kept: what was due before is nobody's.
	Since time.Time
	// Minutely tasks begin at once, Nightly ones run at half past three in the zone of reports.
	Minutely, Nightly []Task
	Clock             clockwork.Clock // nil: the host's
	Log               *slog.Logger
}

// Calendar tells what is due.
type Calendar struct {
	o      Options
	past   map[string]days      // by zone
	told   map[string]bool      // names of alerts that need not be asked about again
	looked map[string]time.Time // at periods that ended without anything to say, by name
}

// New returns a calendar that is not kept yet.
func New(o Options) *Calendar {
	if o.Clock == nil {
		o.Clock = clockwork.NewRealClock()
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Reports.Zone == nil {
		o.Reports.Zone = zoneOf(o.Budgets)
	}
	return &Calendar{o: o, past: map[string]days{}, told: map[string]bool{}, looked: map[string]time.Time{}}
}

// zoneOf is where the site's days begin, as its first budget has it.
func zoneOf(budgets []bridge.Budget) *time.Location {
	if len(budgets) > 0 && budgets[0].Zone != nil {
		return budgets[0].Zone
	}
	return time.UTC
}

// Half past three is on every date of every zone that budgets may have, and
// once: no clock is put forward or back over it.
const nightHour, nightMinute = 3, 30

// Run keeps the calendar until ctx ends, and waits for what is under way.
func (c *Calendar) Run(ctx context.Context) error {
	s, err := gocron.NewScheduler(gocron.WithLocation(c.o.Reports.Zone), gocron.WithClock(c.o.Clock))
	if err != nil {
		return fmt.Errorf("make calendar: %w", err)
	}
	look := Task{"calendar", func(ctx context.Context) error { return c.Look(ctx, c.o.Clock.Now().UTC()) }}
	minute := gocron.DurationJob(time.Minute)
	night := gocron.DailyJob(1, gocron.NewAtTimes(gocron.NewAtTime(nightHour, nightMinute, 0)))
	var errs []error
	for _, t := range append([]Task{look}, c.o.Minutely...) {
		errs = append(errs, c.enter(ctx, s, minute, t, gocron.WithStartAt(gocron.WithStartImmediately())))
	}
	for _, t := range c.o.Nightly {
		errs = append(errs, c.enter(ctx, s, night, t))
	}
	if err := errors.Join(errs...); err != nil {
		return errors.Join(err, s.Shutdown())
	}
	s.Start()
	<-ctx.Done()
	if err := s.Shutdown(); err != nil {
		return fmt.Errorf("end calendar: %w", err)
	}
	return nil
}

// enter puts a task into the schedule. One that takes longer than its turn
// misses the next one.
func (c *Calendar) enter(ctx context.Context, s gocron.Scheduler, when gocron.JobDefinition, t Task, o ...gocron.JobOption) error {
	last := ""
	do := func() {
		err := t.Do(ctx)
		if ctx.Err() != nil {
			return
		}
		is := ""
		if err != nil {
			is = err.Error()
		}
		if is != last && is != "" {
			c.o.Log.Error("task of the calendar", "task", t.Name, "error", err)
		}
		last = is
	}
	o = append(o, gocron.WithName(t.Name), gocron.WithSingletonMode(gocron.LimitModeReschedule))
	if _, err := s.NewJob(when, gocron.NewTask(do), o...); err != nil {
		return fmt.Errorf("enter %s in calendar: %w", t.Name, err)
	}
	return nil
}

// Look tells all that is due at now. Each part is safe to repeat, and an error
// of one never stops another.
func (c *Calendar) Look(ctx context.Context, now time.Time) error {
	return errors.Join(c.alerts(ctx, now), c.periods(ctx, now), c.digests(ctx, now))
}
