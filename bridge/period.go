package bridge

import (
	"fmt"
	"time"
)

// PeriodOf names the period of a kind that contains now in a zone: 2026-11-30,
// 2026-W49 or 2026-11. A nil zone is UTC.
func PeriodOf(now time.Time, kind PeriodKind, zone *time.Location) string {
	t := now.In(orUTC(zone))
	switch kind {
	case Day:
		return t.Format(time.DateOnly)
	case Week:
		y, w := t.ISOWeek()
		return fmt.Sprintf("%04d-W%02d", y, w)
	case Month:
		return t.Format("2006-01")
	}
	return ""
}

// Span returns the first instant of the period that contains now and the first
// one after it, in UTC.
func Span(now time.Time, kind PeriodKind, zone *time.Location) (start, end time.Time) {
	zone = orUTC(zone)
	t := now.In(zone)
	y, m, d := t.Date()
	switch kind {
	case Day:
		return DayStart(y, m, d, zone), DayStart(y, m, d+1, zone)
	case Week:
		monday := d - (int(t.Weekday())+6)%7
		return DayStart(y, m, monday, zone), DayStart(y, m, monday+7, zone)
	case Month:
		return DayStart(y, m, 1, zone), DayStart(y, m+1, 1, zone)
	}
	return time.Time{}, time.Time{}
}

// DayStart returns the first instant that carries a calendar date or, where a
// zone skipped that date, a later one. Midnight itself may not exist, when clocks
// leap over it, or exist twice, when they fall back to it.
func DayStart(y int, m time.Month, d int, zone *time.Location) time.Time {
	want := time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
	t := time.Date(y, m, d, 0, 0, 0, 0, zone)
	if before(t, want) {
		_, t = t.ZoneBounds() // the clocks leapt over midnight just then
	} else if change, _ := t.ZoneBounds(); !change.IsZero() {
		_, now := t.Zone()
		_, was := change.Add(-1).Zone()
		early := t.Add(time.Duration(now-was) * time.Second)
		if early.Before(change) && !before(early, want) {
			t = early // midnight came twice
		}
	}
	return t.UTC()
}

// before reports whether t carries an earlier date than the UTC midnight day.
func before(t, day time.Time) bool {
	y, m, d := t.Date()
	return time.Date(y, m, d, 0, 0, 0, 0, time.UTC).Before(day)
}

const quarterSeconds = 15 * 60

// Quarter numbers the quarter hour of UTC that contains t.
func Quarter(t time.Time) int64 {
	s := t.Unix()
	q := s / quarterSeconds
	if s%quarterSeconds < 0 {
		q--
	}
	return q
}

// QuarterStart returns the first instant of a quarter hour, in UTC.
func QuarterStart(q int64) time.Time { return time.Unix(q*quarterSeconds, 0).UTC() }

func orUTC(zone *time.Location) *time.Location {
	if zone == nil {
		return time.UTC
	}
	return zone
}
