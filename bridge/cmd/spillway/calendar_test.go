package main

import (
	"testing"
	"time"
)

// What goes by the calendar goes once on every date: its time of day is never
// leapt over, and never comes twice, where clocks change.
func TestB_F23_EveryNightHasItsTaskOnce(t *testing.T) {
	for _, name := range []string{
		"UTC", "Asia/Shanghai", "America/New_York", "Europe/Berlin", "Europe/London", "Australia/Lord_Howe", "Australia/Sydney",
		"America/Santiago", "America/Havana", "Asia/Beirut", "Africa/Cairo", "Pacific/Auckland", "Asia/Jerusalem",
	} {
		t.Run(name, func(t *testing.T) {
			zone, err := time.LoadLocation(name)
			if err != nil {
				t.Fatal(err)
			}
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
