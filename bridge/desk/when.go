package desk

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// endOfDay is what eod means: the end of a working day.
const endOfDay = 18 * time.Hour

var (
	clockWord = regexp.MustCompile(`^(\d{1,2}):([0-5]\d)$`)
	halfClock = regexp.MustCompile(`^(\d{1,2})(?::([0-5]\d))?(am|pm)$`)
	dateWord  = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}$`)
)

// instantForm is how an instant is said so that it is read the same by anybody.
const instantForm = "2006-01-02t15:04z"

// when reads an instant from the words that follow: a clock time of today, a
// day and a clock time, eod, or an instant in UTC. It never moves a time that
// has passed to another day.
func (s *sentence) when(what string) (time.Time, error) {
	if len(s.words) == 0 {
		return time.Time{}, s.bad("", "until when? A time is missing after %q", what)
	}
	zone, now := s.known.Zone, s.known.Now
	if zone == nil {
		zone = time.UTC
	}
	w := s.take()
	if t, err := time.Parse(instantForm, w); err == nil {
		return s.ahead(t, w, zone)
	}
	day, isDay := dayOf(w, now.In(zone))
	said := w
	if isDay {
		if len(s.words) == 0 {
			return time.Time{}, s.bad(what+" "+w+" 18:00", "at what time on %s?", w)
		}
		w = s.take()
		said += " " + w
	} else {
		day = now.In(zone)
	}
	at, ok := clockOf(w)
	if !ok {
		return time.Time{}, s.bad(what+" 18:00", "%q is no time; say 18:00, fri 18:00, 2026-12-01 09:00 or eod", said)
	}
	t, exists := wall(day, at, zone)
	if !exists {
		return time.Time{}, s.bad("", "there is no %s in %s: the clocks are put forward then", said, zone)
	}
	return s.ahead(t, said, zone)
}

// ahead refuses a time that has passed.
func (s *sentence) ahead(t time.Time, said string, zone *time.Location) (time.Time, error) {
	if !t.After(s.known.Now) {
		return t, s.bad("until tomorrow 18:00", "%s has passed: it is %s now", said, s.known.Now.In(zone).Format("Mon 15:04 MST"))
	}
	return t.UTC(), nil
}

// dayOf reads a word for a day: today, tomorrow, a weekday (the next one, today
// included) or a date.
func dayOf(w string, now time.Time) (time.Time, bool) {
	switch w {
	case "today":
		return now, true
	case "tomorrow":
		return now.AddDate(0, 0, 1), true
	}
	if dateWord.MatchString(w) {
		t, err := time.ParseInLocation(time.DateOnly, w, now.Location())
		return t, err == nil
	}
	for i := range 7 {
		d := now.AddDate(0, 0, i)
		name := strings.ToLower(d.Weekday().String())
		if w == name || w == name[:3] {
			return d, true
		}
	}
	return time.Time{}, false
}

// clockOf reads a time of day as what has passed since midnight by the clock.
func clockOf(w string) (time.Duration, bool) {
	if w == "eod" {
		return endOfDay, true
	}
	var h, m int
	if p := clockWord.FindStringSubmatch(w); p != nil {
		h, _ = strconv.Atoi(p[1]) // two digits
		m, _ = strconv.Atoi(p[2])
		return time.Duration(h)*time.Hour + time.Duration(m)*time.Minute, h < 24
	}
	p := halfClock.FindStringSubmatch(w)
	if p == nil {
		return 0, false
	}
	h, _ = strconv.Atoi(p[1])
	m, _ = strconv.Atoi(p[2]) // nothing is zero
	ok := h >= 1 && h <= 12
	h %= 12
	if p[3] == "pm" {
		h += 12
	}
	return time.Duration(h)*time.Hour + time.Duration(m)*time.Minute, ok
}

// wall is the instant at which the clocks of a zone show a time of a day. Of
// two such instants it is the earlier one, which costs less; false when there is none.
func wall(day time.Time, at time.Duration, zone *time.Location) (time.Time, bool) {
	y, mon, d := day.Date()
	h, m := int(at/time.Hour), int(at%time.Hour/time.Minute)
	t := time.Date(y, mon, d, h, m, 0, 0, zone)
	if t.Hour() != h || t.Minute() != m {
		return t, false
	}
	for _, back := range []time.Duration{30 * time.Minute, time.Hour, 2 * time.Hour} {
		if e := t.Add(-back); e.Hour() == h && e.Minute() == m {
			return e, true
		}
	}
	return t, true
}

// instants are what Clock has said of instants.
var instants = regexp.MustCompile(`\b\d{4}-\d{2}-\d{2} \d{2}:\d{2} UTC\b`)

// InZone says a text of the desk, whose instants are in UTC, with those of a
// person's zone.
func InZone(text string, zone *time.Location) string {
	if zone == nil {
		return text
	}
	return instants.ReplaceAllStringFunc(text, func(s string) string {
		t, err := time.Parse(clockForm, s)
		if err != nil {
			return s
		}
		return Until(t, zone)
	})
}

// Until says an instant for people, with its zone.
func Until(t time.Time, zone *time.Location) string {
	if t.IsZero() {
		return ""
	}
	if zone == nil {
		zone = time.UTC
	}
	return t.In(zone).Format("2006-01-02 15:04 MST")
}
