package ledger_test

import (
	"testing"
	"time"
	_ "time/tzdata" // the same zones on every machine

	"pgregory.net/rapid"

	"spillway.sh/spillway/bridge"
)

// zones leap at midnight, back over it, by half an hour, over a whole day, or
// lie off the full hour.
var zones = []string{
	"UTC", "Asia/Shanghai", "Europe/Berlin", "America/New_York", "America/Sao_Paulo", "America/Havana", "Asia/Beirut", "Africa/Cairo",
	"Asia/Kathmandu", "Australia/Lord_Howe", "Australia/Eucla", "Pacific/Apia", "Pacific/Chatham", "America/Asuncion", "Asia/Amman", "Asia/Tehran",
	"Africa/Casablanca", "America/Scoresbysund", "Antarctica/Troll", "Asia/Gaza", "America/Santiago",
}

func zone(t interface{ Fatal(...any) }, name string) *time.Location {
	z, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

func at(s string) time.Time {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		panic(err)
	}
	return t
}

func TestPeriodsFollowTheBudgetsOwnCalendar(t *testing.T) {
	for name, c := range map[string]struct {
		now, zone        string
		kind             bridge.PeriodKind
		want, start, end string
	}{
		"a month in the zone where it has begun already":     {"2026-11-30T16:30:00Z", "Asia/Shanghai", bridge.Month, "2026-12", "2026-11-30T16:00:00Z", "2026-12-31T16:00:00Z"},
		"the same instant in UTC":                            {"2026-11-30T16:30:00Z", "UTC", bridge.Month, "2026-11", "2026-11-01T00:00:00Z", "2026-12-01T00:00:00Z"},
		"a spring day of 23 hours":                           {"2026-03-29T12:00:00Z", "Europe/Berlin", bridge.Day, "2026-03-29", "2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z"},
		"an autumn day of 25 hours":                          {"2026-10-25T12:00:00Z", "Europe/Berlin", bridge.Day, "2026-10-25", "2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z"},
		"a week that belongs to the next year":               {"2026-12-31T12:00:00Z", "UTC", bridge.Week, "2026-W53", "2026-12-28T00:00:00Z", "2027-01-04T00:00:00Z"},
		"a week that belongs to the year before":             {"2027-01-03T12:00:00Z", "UTC", bridge.Week, "2026-W53", "2026-12-28T00:00:00Z", "2027-01-04T00:00:00Z"},
		"a Sunday ends its week":                             {"2026-11-29T23:59:59Z", "UTC", bridge.Week, "2026-W48", "2026-11-23T00:00:00Z", "2026-11-30T00:00:00Z"},
		"a day whose midnight the clocks leap over":          {"2018-11-04T12:00:00Z", "America/Sao_Paulo", bridge.Day, "2018-11-04", "2018-11-04T03:00:00Z", "2018-11-05T02:00:00Z"},
		"a day whose midnight comes twice":                   {"2026-11-01T12:00:00Z", "America/Havana", bridge.Day, "2026-11-01", "2026-11-01T04:00:00Z", "2026-11-02T05:00:00Z"},
		"the day before one that the calendar of Samoa lost": {"2011-12-30T03:00:00Z", "Pacific/Apia", bridge.Day, "2011-12-29", "2011-12-29T10:00:00Z", "2011-12-30T10:00:00Z"},
	} {
		t.Run(name, func(t *testing.T) {
			z := zone(t, c.zone)
			if got := bridge.PeriodOf(at(c.now), c.kind, z); got != c.want {
				t.Errorf("period is %s, want %s", got, c.want)
			}
			start, end := bridge.Span(at(c.now), c.kind, z)
			if !start.Equal(at(c.start)) || !end.Equal(at(c.end)) {
				t.Errorf("span is %s to %s, want %s to %s", start.Format(time.RFC3339), end.Format(time.RFC3339), c.start, c.end)
			}
		})
	}
}

// Every instant lies in its period, the periods join without gap or overlap,
// and their ends are quarter hours.
func TestPeriodsCoverTimeExactly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		z := zone(t, rapid.SampledFrom(zones).Draw(t, "zone"))
		kind := rapid.SampledFrom([]bridge.PeriodKind{bridge.Day, bridge.Week, bridge.Month}).Draw(t, "kind")
		now := drawInstant(t, z)
		start, end := bridge.Span(now, kind, z)
		if now.Before(start) || !now.Before(end) {
			t.Fatalf("%s is not between %s and %s", now, start, end)
		}
		period := bridge.PeriodOf(now, kind, z)
		for _, in := range []time.Time{start, end.Add(-1)} {
			if got := bridge.PeriodOf(in, kind, z); got != period {
				t.Errorf("%s is in %s, want %s", in, got, period)
			}
		}
		for _, out := range []time.Time{start.Add(-1), end} {
			if got := bridge.PeriodOf(out, kind, z); got == period {
				t.Errorf("%s is in %s too", out, got)
			}
		}
		if next, _ := bridge.Span(end, kind, z); !next.Equal(end) {
			t.Errorf("one period ends at %s, the next begins at %s", end, next)
		}
		if start.Unix()%900 != 0 || end.Unix()%900 != 0 {
			t.Errorf("%s to %s are no quarter hours", start, end)
		}
	})
}

// drawInstant prefers the hours around a change of clocks.
func drawInstant(t *rapid.T, z *time.Location) time.Time {
	from, to := at("2011-12-01T00:00:00Z"), at("2035-01-01T00:00:00Z")
	now := time.Unix(rapid.Int64Range(from.Unix(), to.Unix()).Draw(t, "second"), 0).In(z)
	if rapid.Bool().Draw(t, "near a change of clocks") {
		if _, change := now.ZoneBounds(); !change.IsZero() && change.Before(to) {
			now = change.Add(time.Duration(rapid.Int64Range(-90_000, 90_000).Draw(t, "off")) * time.Second)
		}
	}
	return now
}

func TestQuartersCountDownBefore1970(t *testing.T) {
	for s, want := range map[int64]int64{0: 0, 899: 0, 900: 1, -1: -1, -900: -1, -901: -2} {
		if got := bridge.Quarter(time.Unix(s, 0)); got != want {
			t.Errorf("second %d is in quarter %d, want %d", s, got, want)
		}
		if got := bridge.Quarter(bridge.QuarterStart(want)); got != want {
			t.Errorf("the start of quarter %d is in quarter %d", want, got)
		}
	}
}
