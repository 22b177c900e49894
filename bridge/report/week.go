package report

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"time"

	"spillway.sh/spillway/bridge"
)

// Week is one ISO week in a zone: from Monday's first instant to the next
// Monday's, which clock changes make an hour longer or shorter.
type Week struct {
	Name     string
	From, To time.Time // UTC
	Zone     *time.Location
}

// Errors of the names of weeks.
var (
	ErrNoWeek    = errors.New("no week: say 2026-W48, last or this")
	ErrNotInYear = errors.New("its year does not have that week")
	ErrNotBegun  = errors.New("the week has not begun")
)

var weekName = regexp.MustCompile(`^(\d{4})-[Ww](\d{2})$`)

// WeekOf is the week that contains t.
func WeekOf(t time.Time, zone *time.Location) Week {
	local := t.In(zone)
	y, m, d := local.Date()
	return weekFrom(y, m, d-(int(local.Weekday())+6)%7, zone)
}

// ParseWeek reads 2026-W48, or last: the one before that of now. Its errors are
// ErrNoWeek, ErrNotInYear, and ErrNotBegun with the week that it is.
func ParseWeek(s string, now time.Time, zone *time.Location) (Week, error) {
	this := WeekOf(now, zone)
	switch s {
	case "last", "":
		return this.Before(1), nil
	case "this":
		return this, nil
	}
	m := weekName.FindStringSubmatch(s)
	if m == nil {
		return Week{}, fmt.Errorf("read week %q: %w", s, ErrNoWeek)
	}
	year, _ := strconv.Atoi(m[1]) // digits by the pattern
	n, _ := strconv.Atoi(m[2])
	jan4 := time.Date(year, 1, 4, 0, 0, 0, 0, time.UTC) // is always in week 1
	w := weekFrom(year, 1, 4-(int(jan4.Weekday())+6)%7+7*(n-1), zone)
	if want := fmt.Sprintf("%04d-W%02d", year, n); w.Name != want {
		return Week{}, fmt.Errorf("read week %s: %w", s, ErrNotInYear)
	}
	if w.From.After(now) {
		return w, fmt.Errorf("read week %s: %w", s, ErrNotBegun)
	}
	return w, nil
}

// Before is the week n weeks earlier.
func (w Week) Before(n int) Week {
	y, m, d := w.From.In(w.Zone).Date()
	return weekFrom(y, m, d-7*n, w.Zone)
}

// Days are the first instants of its seven days, and its end.
func (w Week) Days() []time.Time {
	y, m, d := w.From.In(w.Zone).Date()
	out := make([]time.Time, 0, 8)
	for i := range 8 {
		out = append(out, bridge.DayStart(y, m, d+i, w.Zone))
	}
	return out
}

func weekFrom(y int, m time.Month, d int, zone *time.Location) Week {
	from := bridge.DayStart(y, m, d, zone)
	// Named by its Thursday, at noon: every zone has that.
	year, n := time.Date(y, m, d+3, 12, 0, 0, 0, zone).ISOWeek()
	return Week{Name: fmt.Sprintf("%04d-W%02d", year, n), From: from, To: bridge.DayStart(y, m, d+7, zone), Zone: zone}
}

// overlap is how much of [from, to) is in the week.
func overlap(from, to, a, b time.Time) time.Duration {
	if from.Before(a) {
		from = a
	}
	if to.After(b) {
		to = b
	}
	return max(to.Sub(from), 0)
}

// clip keeps an instant within [a, b].
func clip(t, a, b time.Time) time.Time {
	switch {
	case t.Before(a):
		return a
	case t.After(b):
		return b
	}
	return t
}

// Input is all that a report is made of.
type Input struct {
	Week    Week
	Made    time.Time
	Account bridge.Account // whose; empty: all
	// Currency is the one that is reported in; sums in another are left out and
	// said to be.
	Currency bridge.Currency
	// Days are what was posted on each day of the week that has begun, Weeks what
	// was posted in up to four weeks before and then in this one, oldest first.
	Days, Weeks []Posted
	// Month is what was posted on each day of the forecast's month that has begun,
	// oldest first.
	Month   []Posted
	Rentals []bridge.Rental   // that had machines or a hold in the week
	Asked   []bridge.RentalID // that were asked for in it by the account, when there is one
	Billed  []bridge.Rental   // that Corrections are of
	News    []bridge.News     // of the week, oldest first
	// Earlier are news of before the week: what questions are about that were
	// answered in it, and when jobs began that ran in it.
	Earlier     []bridge.News
	Usage       []bridge.Usage // of four weeks up to the end of this one
	Capacity    []bridge.Capacity
	Balances    []bridge.Balance
	Corrections []bridge.Correction // recorded in the week
	// Offers are those of now; nil: nobody looked.
	Offers   []bridge.Offer
	Forecast *Forecast // exact; nil: not enough data
	// Undelivered are messages that did not reach the chat; nil: not known.
	Undelivered *int
}

// Posted is what was posted in some time, by account, cloud and class.
type Posted struct {
	Name     string // 2026-11-30 or 2026-W48
	From, To time.Time
	Sums     []bridge.PostedSum
}

// Covers reports whether the report is about what an account spends.
func (in *Input) Covers(a bridge.Account) bool {
	return in.Account == "" || (bridge.Scope{Account: in.Account}).Covers(bridge.Scope{Account: a})
}
