package calendar

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jonboulle/clockwork"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/store"
)

var (
	monday = time.Monday
	nine   = At{Hour: 9}
	weekly = At{Hour: 9, Weekday: &monday}
)

// every zone here leaps: at two or three in the night, at midnight, by half an
// hour; or it never does.
var everyZone = []string{
	"UTC", "Asia/Shanghai", "America/New_York", "Europe/Berlin", "Europe/London", "Australia/Lord_Howe", "Australia/Sydney",
	"America/Santiago", "America/Havana", "Asia/Beirut", "Africa/Cairo", "Pacific/Auckland", "Asia/Jerusalem",
}

// What goes by the night goes once on every date: its time of day is never
// leapt over, and never comes twice, where clocks change.
func TestB_F23_EveryNightHasItsTaskOnce(t *testing.T) {
	for _, name := range everyZone {
		t.Run(name, func(t *testing.T) {
			zone := zone(t, name)
			want := time.Date(2026, 1, 1, nightHour, nightMinute, 0, 0, zone).Format(time.TimeOnly)
			for day := range 3 * 365 {
				at := time.Date(2026, 1, 1+day, nightHour, nightMinute, 0, 0, zone)
				if at.Format(time.TimeOnly) != want {
					t.Errorf("%s has no %s: its task would run at %s", at.Format(time.DateOnly), want, at.Format(time.TimeOnly))
				}
				for _, off := range []time.Duration{-time.Hour, -30 * time.Minute, 30 * time.Minute, time.Hour} {
					if again := at.Add(off); again.Format(time.TimeOnly) == want {
						t.Errorf("%s has %s twice", at.Format(time.DateOnly), want)
					}
				}
			}
		})
	}
}

// Whatever the time of day, whatever the clocks do: each date of two years has
// its line once, in order, on that date.
func TestB_F23_EachDateHasItsLineOnce(t *testing.T) {
	for _, name := range everyZone {
		zone := zone(t, name)
		for _, at := range []At{{Hour: 0}, {Hour: 0, Minute: 30}, {Hour: 1, Minute: 30}, {Hour: 2, Minute: 15}, {Hour: 2, Minute: 30}, {Hour: 9}, {Hour: 23, Minute: 45}} {
			var last, due time.Time
			n := 0
			for now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC); now.Year() < 2028; now = now.Add(30 * time.Minute) {
				was := due
				var date time.Time
				if due, date = at.Last(now, zone); date.Equal(last) {
					continue
				}
				if n++; n > 1 && (date.Sub(last) != 24*time.Hour || !due.After(was)) {
					t.Fatalf("%s %02d:%02d: after %s comes %s", name, at.Hour, at.Minute, last.Format(time.DateOnly), date.Format(time.DateOnly))
				}
				if shown := due.In(zone).Format(time.DateOnly); shown != date.Format(time.DateOnly) {
					t.Errorf("%s %02d:%02d of %s is on %s", name, at.Hour, at.Minute, date.Format(time.DateOnly), shown)
				}
				last = date
			}
			if n < 2*365 || n > 2*365+1 {
				t.Errorf("%s %02d:%02d: %d lines in two years", name, at.Hour, at.Minute, n)
			}
		}
	}
}

// A week around each change of the clocks, with a restart, and with a second
// daemon that looks at the same minutes: each line and each end is told once.
func TestB_F23_OnceOverChangesOfTheClocks(t *testing.T) {
	for _, c := range []struct{ zone, from string }{
		{"Europe/Berlin", "2026-10-23"},
		{"Europe/Berlin", "2027-03-26"},
		{"America/New_York", "2026-10-30"},
		{"America/New_York", "2027-03-12"},
		{"Asia/Shanghai", "2026-10-30"},
		{"America/Havana", "2027-03-12"},
		{"Asia/Beirut", "2027-03-26"},
		{"Australia/Lord_Howe", "2027-04-02"},
	} {
		t.Run(c.zone+" "+c.from, func(t *testing.T) {
			zone := zone(t, c.zone)
			from, err := time.ParseInLocation(time.DateOnly, c.from, zone)
			if err != nil {
				t.Fatal(err)
			}
			b := &books{}
			y, m, d := from.Date()
			for day := range 8 {
				b.post(time.Date(y, m, d+day, 12, 0, 0, 0, zone), "acme/nlp", 1)
			}
			o := Options{
				Store: b, Since: from, Reports: Reports{Daily: &At{Hour: 2, Minute: 30}, Weekly: &At{Hour: 2, Minute: 30, Weekday: &monday}, Zone: zone},
				Budgets: []bridge.Budget{{Account: "acme", Every: bridge.Day, Zone: zone, Limit: usd(100)}},
			}
			half := time.Date(y, m, d+3, 2, 10, 0, 0, zone)
			keep(t, from, half, New(o), New(o))
			keep(t, half, time.Date(y, m, d+7, 0, 30, 0, 0, zone), New(o), New(o)) // both came back
			var want []string
			for day := range 7 {
				date := time.Date(y, m, d+day, 12, 0, 0, 0, zone)
				want = append(want, "daily "+date.AddDate(0, 0, -1).Format(time.DateOnly), "period-ended acme "+date.Format(time.DateOnly)+" posted 0")
				if date.Weekday() == monday {
					want = append(want, "weekly "+bridge.PeriodOf(date.AddDate(0, 0, -7), bridge.Week, zone))
				}
			}
			got := b.told()
			slices.Sort(got)
			slices.Sort(want)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("told (-want +got):\n%s", diff)
			}
		})
	}
}

// After three days of downtime the latest of each kind is told, once.
func TestB_F23_AfterAnOutageTheLatestOfEachIsTold(t *testing.T) {
	zone := zone(t, "Europe/Berlin")
	b := &books{}
	day := func(d, h int) time.Time { return time.Date(2026, 11, d, h, 0, 0, 0, zone) }
	for d := range 31 {
		b.post(day(d, 12), "acme/nlp", 2)
	}
	o := Options{
		Store: b, Since: day(1, 0), Reports: Reports{Daily: &nine, Weekly: &weekly, Zone: zone},
		Budgets: []bridge.Budget{{Account: "acme", Every: bridge.Day, Zone: zone, Limit: usd(100)}, {Account: "acme", Every: bridge.Month, Zone: zone, Limit: usd(1000)}},
	}
	keep(t, day(27, 8), day(27, 10), New(o))
	before := len(b.told())
	keep(t, day(30, 22), day(31, 3), New(o)) // over the end of the month
	want := []string{
		"daily 2026-11-29", "period-ended acme 2026-11 posted 0", "period-ended acme 2026-11-29 posted 0", "period-ended acme 2026-11-30 posted 0", "weekly 2026-W48",
	}
	got := b.told()[before:]
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
}

// A calendar that is new is not asked about what was due before.
func TestNothingIsDueFromBeforeTheCalendarWasKept(t *testing.T) {
	b := &books{}
	now := time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC)
	b.post(now.AddDate(0, 0, -40), "acme/nlp", 2)
	c := New(Options{Store: b, Since: now, Reports: Reports{Daily: &nine, Weekly: &weekly}, Budgets: []bridge.Budget{{Account: "acme", Every: bridge.Month, Limit: usd(10)}}})
	keep(t, now, now.Add(30*time.Minute), c)
	if got := b.told(); len(got) > 0 {
		t.Errorf("told %q", got)
	}
	keep(t, now, now.Add(90*time.Minute), c)
	if got := b.told(); len(got) != 2 {
		t.Errorf("told %q", got)
	}
}

func TestADailyLineHasTheDaysSpend(t *testing.T) {
	zone := zone(t, "Asia/Shanghai")
	b := &books{}
	b.post(time.Date(2026, 11, 29, 0, 30, 0, 0, zone), "acme/nlp", 3)
	b.post(time.Date(2026, 11, 29, 23, 30, 0, 0, zone), "acme/cv", 4)
	b.post(time.Date(2026, 11, 30, 0, 30, 0, 0, zone), "acme/cv", 50)
	due := time.Date(2026, 11, 30, 9, 0, 0, 0, zone)
	c := New(Options{Store: b, Since: due.AddDate(0, 0, -1), Reports: Reports{Daily: &nine}, Budgets: []bridge.Budget{{Account: "acme", Every: bridge.Month, Zone: zone, Limit: usd(1000)}}})
	keep(t, due.Add(3*time.Hour), due.Add(4*time.Hour), c) // it was late
	if len(b.news) != 1 || b.news[0].Cost != usd(7) || !b.news[0].At.Equal(due) || b.news[0].Text != "2026-11-29" {
		t.Errorf("told %+v", b.news)
	}
}

func TestS_F18_AlertsOfTheCalendar(t *testing.T) {
	b := &books{}
	now := time.Date(2026, 11, 10, 12, 0, 0, 0, time.UTC)
	o := Options{Store: b, Since: now.AddDate(0, -2, 0), Budgets: []bridge.Budget{
		{Account: "acme", Every: bridge.Month, Limit: usd(100)}, {Account: "acme/nlp", Every: bridge.Month, Limit: usd(500)},
	}}
	step := func(units float64, want ...string) {
		t.Helper()
		before := len(b.told())
		b.post(now, "acme/nlp/ana", units)
		keep(t, now, now.Add(10*time.Minute), New(o), New(o))
		now = now.Add(10 * time.Minute)
		if diff := cmp.Diff(want, b.told()[before:], cmp.Transformer("", func(s []string) string { return strings.Join(s, "; ") })); diff != "" {
			t.Errorf("with %v more, told (-want +got):\n%s", units, diff)
		}
	}
	step(40)
	step(15, "budget-alert acme 2026-11 posted 50")
	step(55, "budget-alert acme 2026-11 posted 100") // 110: one message, the highest
	step(1)
	o.Budgets[0].Limit = usd(120) // raised: 92 % of it are no news
	step(1)
	step(8, "budget-alert acme 2026-11 posted 100")
	now = time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC) // a new period begins anew
	b.news = slices.DeleteFunc(b.news, func(n bridge.News) bool { return n.Kind == bridge.NewsPeriod })
	step(60, "budget-alert acme 2026-12 posted 50", "budget-alert acme 2026-12 forecast 100", "period-ended acme 2026-11 posted 100", "period-ended acme/nlp 2026-11 posted 0")
}

// A forecast speaks only when it has two weeks to go by.
func TestAlertsOfAForecastNeedTwoWeeks(t *testing.T) {
	for name, c := range map[string]struct {
		days int
		want []string
	}{
		"13 days": {13, nil}, "14 days": {14, []string{"budget-alert acme 2026-12 forecast 100"}},
	} {
		t.Run(name, func(t *testing.T) {
			b := &books{}
			now := time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
			for i := range c.days {
				b.post(now.AddDate(0, 0, -1-i), "acme/nlp", 10)
			}
			keep(t, now, now.Add(5*time.Minute), New(Options{Store: b, Since: now, Budgets: []bridge.Budget{{Account: "acme", Every: bridge.Month, Limit: usd(300)}}}))
			if diff := cmp.Diff(c.want, b.told()); diff != "" {
				t.Errorf("told (-want +got):\n%s", diff)
			}
		})
	}
}

// What runs counts in the forecast: 31 days at 1 USD, and a machine for 300 more.
func TestWhatRunsIsForecast(t *testing.T) {
	b := &books{}
	now := time.Date(2026, 12, 1, 0, 10, 0, 0, time.UTC)
	for i := range 20 {
		b.post(now.AddDate(0, 0, -1-i), "acme/nlp", 1)
	}
	budgets := []bridge.Budget{{Account: "acme", Every: bridge.Month, Limit: usd(300)}}
	c := New(Options{Store: b, Since: now, Budgets: budgets})
	keep(t, now, now.Add(2*time.Minute), c)
	if got := b.told(); len(got) > 0 {
		t.Fatalf("told %q", got)
	}
	b.live = []bridge.Rental{{
		ID: bridge.NewRentalID(1), State: bridge.StateAdmitted, Account: "acme/nlp/ana", Count: 1, Rate: bridge.Rate(usd(10)), Expires: now.Add(30 * time.Hour),
		Machines: []bridge.Machine{{State: bridge.MachineJoined}},
	}}
	keep(t, now, now.Add(2*time.Minute), c)
	if want := []string{"budget-alert acme 2026-12 forecast 100"}; !slices.Equal(b.told(), want) {
		t.Errorf("told %q, want %q", b.told(), want)
	}
}

// A store that cannot be read or written loses nothing: it is told when it can.
func TestAStoreThatFailsLosesNothing(t *testing.T) {
	b := &books{fails: errors.New("disk full")}
	now := time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)
	b.post(now.Add(-time.Hour), "acme", 60)
	c := New(Options{Store: b, Since: now.AddDate(0, 0, -1), Reports: Reports{Daily: &nine}, Budgets: []bridge.Budget{{Account: "acme", Every: bridge.Month, Limit: usd(100)}}})
	if err := c.Look(t.Context(), now); err == nil {
		t.Fatal("a store that fails is no error")
	}
	b.fails = nil
	keep(t, now.Add(time.Minute), now.Add(3*time.Minute), c)
	if want := []string{"budget-alert acme 2026-11 posted 50", "daily 2026-11-29"}; !slices.Equal(b.told(), want) {
		t.Errorf("told %q, want %q", b.told(), want)
	}
}

// Kept by a clock, the calendar looks each minute, does its tasks each minute and
// each night, and a task that fails or lasts does not stop the others.
func TestTheCalendarIsKept(t *testing.T) {
	b := &books{}
	start := time.Date(2026, 10, 25, 0, 50, 30, 0, time.UTC) // ten minutes before Berlin's clocks go back
	clock := clockwork.NewFakeClockAt(start)
	minutes, nights := make(chan time.Time, 1000), make(chan time.Time, 10)
	o := Options{
		Store: b, Since: start, Clock: clock, Reports: Reports{Daily: &At{Hour: 2, Minute: 30}, Zone: zone(t, "Europe/Berlin")},
		Minutely: []Task{
			{"fails", func(context.Context) error { return errors.New("no") }},
			{"minute", func(context.Context) error { minutes <- clock.Now(); return nil }},
		},
		Nightly: []Task{{"night", func(context.Context) error { nights <- clock.Now(); return nil }}},
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- New(o).Run(ctx) }()
	n := 0
	for at := start; at.Before(start.Add(3 * time.Hour)); at = at.Add(time.Minute) {
		if err := clock.BlockUntilContext(ctx, 1); err != nil {
			t.Fatal(err)
		}
		<-minutes // every minute has its turn before the next comes
		n++
		clock.Advance(time.Minute)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if len(nights) != 1 {
		t.Errorf("%d nights", len(nights))
	} else if at := <-nights; at.Sub(time.Date(2026, 10, 25, 2, 30, 0, 0, time.UTC)).Abs() > 10*time.Minute { // half past three, an hour later than the day before; this test's clock does not wait for it
		t.Errorf("the night's task ran at %s", at)
	}
	if want := []string{"daily 2026-10-24"}; !slices.Equal(b.told(), want) {
		t.Errorf("told %q, want %q", b.told(), want)
	}
}

// The store that takes each name once is the real one: over a restart, and for
// two calendars at once.
func TestARealStoreTakesEachOnce(t *testing.T) {
	dir := t.TempDir()
	now := time.Date(2026, 11, 30, 9, 30, 0, 0, time.UTC)
	for range 2 {
		s, err := store.Open(t.Context(), dir, store.Options{Now: func() time.Time { return now }})
		if err != nil {
			t.Fatal(err)
		}
		o := Options{
			Store: s, Since: now.AddDate(0, 0, -3), Reports: Reports{Daily: &nine, Weekly: &weekly},
			Budgets: []bridge.Budget{{Account: "acme", Every: bridge.Month, Limit: usd(100)}},
		}
		keep(t, now, now.Add(3*time.Minute), New(o), New(o))
		news, err := s.NewsBetween(t.Context(), now.AddDate(0, 0, -1), now.AddDate(0, 0, 1))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, n := range news {
			got = append(got, string(n.Kind)+" "+n.Text)
		}
		if want := []string{"daily 2026-11-29", "weekly 2026-W48"}; !slices.Equal(got, want) {
			t.Errorf("told %q, want %q", got, want)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// What is posted of a period's last minute comes a little after its end, and counts.
func TestAPeriodIsCountedWhenItsLastMinuteIsPosted(t *testing.T) {
	b := &books{}
	end := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	b.post(end.Add(-time.Hour), "acme", 5)
	c := New(Options{Store: b, Since: end.AddDate(0, 0, -1), Budgets: []bridge.Budget{{Account: "acme", Every: bridge.Month, Limit: usd(100)}}})
	keep(t, end, end.Add(2*time.Minute), c)
	b.post(end.Add(-time.Minute), "acme", 2)
	keep(t, end.Add(2*time.Minute), end.Add(10*time.Minute), c)
	if len(b.news) != 1 || b.news[0].Cost != usd(7) {
		t.Errorf("told %+v", b.news)
	}
}
