package ledger_test

import (
	"testing"
	"time"

	"spillway.sh/spillway/bridge"
)

// A budget's day ends at midnight of its own zone, on the days on which clocks
// change too; no hour is in two days or in none.
func TestB_F22_ADayEndsAtMidnightOfTheBudgetsZone(t *testing.T) {
	for name, c := range map[string]struct {
		zone, day string
		hours     float64
	}{
		"Shanghai, which has no summer time": {"Asia/Shanghai", "2026-11-01", 24},
		"New York in autumn":                 {"America/New_York", "2026-11-01", 25},
		"New York in spring":                 {"America/New_York", "2027-03-14", 23},
		"Lord Howe, by half an hour":         {"Australia/Lord_Howe", "2027-04-04", 24.5},
	} {
		t.Run(name, func(t *testing.T) {
			z := zone(t, c.zone)
			noon, err := time.ParseInLocation("2006-01-02 15:04", c.day+" 12:00", z)
			if err != nil {
				t.Fatal(err)
			}
			start, end := bridge.Span(noon.UTC(), bridge.Day, z)
			if got := end.Sub(start).Hours(); got != c.hours || start.In(z).Format("15:04") != "00:00" || end.In(z).Format("15:04") != "00:00" {
				t.Errorf("the day is from %s to %s, %.1f hours", start.In(z), end.In(z), got)
			}
			for at := start.Add(-2 * time.Hour); at.Before(end.Add(2 * time.Hour)); at = at.Add(15 * time.Minute) {
				in := !at.Before(start) && at.Before(end)
				if got := bridge.PeriodOf(at, bridge.Day, z) == c.day; got != in {
					t.Errorf("%s is in %s: %t, its own date says %t", at.In(z), c.day, got, in)
				}
			}
		})
	}
}
