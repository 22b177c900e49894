package bridge

import (
	"math"
	"slices"
	"time"
)

// How far a forecast looks back, and how many days it needs.
const (
	ForecastWeeks = 4
	ForecastDays  = 14
)

// Forecast is what a period comes to by its end. Low and High are the tenth and
// the ninetieth of a hundred such ends.
type Forecast struct {
	Likely Money `json:"likely"`
	Low    Money `json:"low"`
	High   Money `json:"high"`
}

// Outlook is what a forecast is made from. Days are calendar days of the
// budget's zone, so they have 23 or 25 hours where clocks change.
type Outlook struct {
	Now    time.Time
	Posted Money // in the period so far
	// Past is what was posted on each day before today, in micro-units, yesterday last.
	Past []int64
	// Ends are the first instants after today and after each further day of the period.
	Ends  []time.Time
	Began time.Time // of today
	Runs  []Expense
}

// Expense is what goes on costing.
type Expense struct {
	Hourly int64 // micro-units
	Until  time.Time
}

// ExpenseOf is what a rental goes on costing until its end, at the rate it was
// decided with.
func ExpenseOf(r *Rental) Expense {
	return Expense{r.Rate.Micro * int64(max(len(r.Live()), r.Count)), r.Expires}
}

// Seen is how many days there are to go by: those since the first with any
// spending.
func (o *Outlook) Seen() int {
	began := slices.IndexFunc(o.Past, func(m int64) bool { return m != 0 })
	if began < 0 {
		return 0
	}
	return len(o.Past) - began
}

// Forecast is what is posted, and for each day left the larger of what runs
// will cost on it and of the mean of the same weekday of the last four weeks:
// what runs is a part of what such a day costs, and is never counted twice. Of
// today the part that is left counts. The band is that of a sum of days which
// stray from their weekday's mean as the past ones did. False: there is not
// enough to go by.
func (o *Outlook) Forecast() (Forecast, bool) {
	seen := o.Seen()
	if seen < ForecastDays {
		return Forecast{}, false
	}
	past := o.Past[len(o.Past)-min(seen, 7*ForecastWeeks):]
	more, sure := 0.0, 0.0
	parts := [7][]float64{} // of the days left, by weekday; tomorrow is 1
	from := o.Now
	for i, end := range o.Ends {
		began := from
		if i == 0 {
			began = o.Began
		}
		part := 1.0
		if whole := end.Sub(began); whole > 0 {
			part = float64(max(end.Sub(from), 0)) / float64(whole)
		}
		runs := o.runs(from, end)
		sure += runs
		more += max(runs, part*mean(sameDays(past, i)))
		parts[i%7] = append(parts[i%7], part)
		from = end
	}
	stray := strays(past, parts)
	at := func(micro float64) Money {
		return Money{o.Posted.Micro + int64(math.Round(min(max(micro, sure), math.MaxInt64/4))), o.Posted.Currency}
	}
	return Forecast{Likely: at(more), Low: at(more - stray), High: at(more + stray)}, true
}

// runs is what runs costs between two instants.
func (o *Outlook) runs(from, to time.Time) float64 {
	sum := 0.0
	for _, x := range o.Runs {
		until := to
		if x.Until.Before(until) {
			until = x.Until
		}
		sum += float64(x.Hourly) * max(until.Sub(from), 0).Hours()
	}
	return sum
}

// sameDays are the past days with the weekday of the day that comes in ahead days.
func sameDays(past []int64, ahead int) []int64 {
	var out []int64
	for i := len(past) - 7 + ahead%7; i >= 0; i -= 7 {
		out = append(out, past[i])
	}
	return out
}

func mean(of []int64) float64 {
	sum := 0.0
	for _, m := range of {
		sum += float64(m)
	}
	return sum / float64(max(len(of), 1))
}

// strays is how far above and below its mean nine of ten such sums stay, each
// side, by how past days strayed from the mean of their weekday. The means are
// of few days themselves, which widens it.
func strays(past []int64, parts [7][]float64) float64 {
	squares, spread := 0.0, 0.0
	for ahead := range 7 {
		same := sameDays(past, ahead)
		m := mean(same)
		for _, x := range same {
			squares += (float64(x) - m) * (float64(x) - m)
		}
		sum := 0.0
		for _, part := range parts[ahead] {
			sum += part
			spread += part * part
		}
		spread += sum * sum / float64(max(len(same), 1))
	}
	free := float64(len(past) - 7)
	return tenth(free) * math.Sqrt(squares/free*spread)
}

// tenth is the quantile of Student's t that a tenth lies above, by Cornish and
// Fisher's series; good to a thousandth from 7 degrees of freedom on.
func tenth(free float64) float64 {
	const z = 1.2815515655446004
	z3, z5 := z*z*z, z*z*z*z*z
	return z + (z3+z)/(4*free) + (5*z5+16*z3+3*z)/(96*free*free)
}
