package report

import (
	"errors"
	"testing"
	"time"
	_ "time/tzdata"
)

func zone(t *testing.T, name string) *time.Location {
	t.Helper()
	z, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

func TestParseWeek(t *testing.T) {
	now := time.Date(2027, 1, 2, 12, 0, 0, 0, time.UTC)
	for in, want := range map[string]string{
		"2026-W48": "2026-11-23", "2026-w01": "2025-12-29", "2026-W53": "2026-12-28", "last": "2026-12-21", "": "2026-12-21", "this": "2026-12-28", "2020-W53": "2020-12-28",
	} {
		w, err := ParseWeek(in, now, time.UTC)
		if err != nil || w.From.Format(time.DateOnly) != want || w.To.Sub(w.From) != 7*24*time.Hour {
			t.Errorf("%q: %v, from %s to %s, want %s", in, err, w.From, w.To, want)
		}
	}
	for in, want := range map[string]error{
		"2025-W53": ErrNotInYear, "2026-W00": ErrNotInYear, "2026-W54": ErrNotInYear, "2027-W01": ErrNotBegun,
		"2026W48": ErrNoWeek, "48": ErrNoWeek, "2026-W4": ErrNoWeek, "-1": ErrNoWeek, "2026-W48 ": ErrNoWeek,
	} {
		if _, err := ParseWeek(in, now, time.UTC); !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", in, err, want)
		}
	}
}

// A week with a change of clocks is an hour longer or shorter, its days are
// without gaps, and every edge is on a quarter hour.
func TestWeeksOverChangesOfClocks(t *testing.T) {
	for name, c := range map[string]struct {
		zone, week string
		hours      int
	}{
		"back":                    {"Europe/Berlin", "2026-W43", 169},
		"ahead":                   {"Europe/Berlin", "2026-W13", 167},
		"ahead over midnight":     {"Africa/Cairo", "2026-W17", 167},
		"no change":               {"Asia/Shanghai", "2026-W43", 168},
		"half an hour":            {"Australia/Lord_Howe", "2026-W14", 168},
		"three quarters off":      {"Asia/Kathmandu", "2026-W20", 168},
		"ahead at first midnight": {"America/Santiago", "2026-W36", 167},
	} {
		t.Run(name, func(t *testing.T) {
			z := zone(t, c.zone)
			w, err := ParseWeek(c.week, time.Date(2027, 6, 1, 0, 0, 0, 0, time.UTC), z)
			if err != nil {
				t.Fatal(err)
			}
			if got := w.To.Sub(w.From); int(got.Hours()) != c.hours {
				t.Errorf("%s has %s, want %d h", c.week, got, c.hours)
			}
			days := w.Days()
			if len(days) != 8 || !days[0].Equal(w.From) || !days[7].Equal(w.To) {
				t.Errorf("days %v of %s to %s", days, w.From, w.To)
			}
			for i, d := range days {
				if !d.Equal(d.Truncate(15*time.Minute)) || i > 0 && !d.After(days[i-1]) || WeekOf(d, z).Name != w.Name && i < 7 {
					t.Errorf("day %d begins at %s", i, d.In(z))
				}
				if before := d.Add(-time.Second).In(z); before.Day() == d.In(z).Day() {
					t.Errorf("day %d begins at %s, and has seconds before", i, d.In(z))
				}
			}
			if b := w.Before(1); !b.To.Equal(w.From) {
				t.Errorf("the week before ends at %s, this begins at %s", b.To, w.From)
			}
		})
	}
}
