package bridge

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"
)

// Thresholds are the shares of a limit, in per cent, that are told of.
var thresholds = []int{50, 80, 100}

// stronger are the measures in the order of what they say: money that is spent
// is held or spent, and so it is likely to be spent.
var stronger = []Measure{OfPosted, OfHeld, OfForecast}

// Alerts are the shares of its limit that a budget has reached in its current
// period, each to be told once: of every measure the highest only, and none that
// a stronger measure says already. Likely is what the period comes to by its
// end, nil where there is not enough to go by. Told are the alerts of the period
// so far, oldest first; those of other budgets do not matter.
//
// The name of an alert has the limit in it, so that what was told of a lower or
// a higher one does not count. A raised limit is silent about what was reached
// when it was raised: of a threshold of the new limit is told only if it lies
// beyond all that the messages so far say may have been reached, which is up to
// the next threshold of the old limit, or, once that was used up, the amount it
// was told with. A lowered limit tells what it makes true.
func Alerts(now time.Time, b *Budget, bal *Balance, likely *Money, told []Alert) []Once {
	committed, err := bal.Posted.Add(bal.Held)
	if err != nil || bal.Limit.Currency != b.Limit.Currency {
		return nil // a sum of two currencies is of no limit
	}
	amounts := map[Measure]Money{OfPosted: bal.Posted, OfHeld: committed}
	if likely != nil {
		amounts[OfForecast] = *likely
	}
	var out []Once
	most := 0
	for _, m := range stronger {
		a := Alert{Scope: b.Scope(), Every: b.Every, Period: bal.Period, Measure: m, Amount: amounts[m], Limit: b.Limit, Hard: b.Hard}
		a.Percent = a.reached()
		if a.Percent <= most || a.old(told) {
			continue
		}
		most = a.Percent
		out = append(out, Once{a.name(), a.silences(), News{At: now, Kind: NewsAlert, Text: a.String(), Alert: &a}})
	}
	return out
}

// reached is the highest threshold that the amount has reached, or zero.
func (a *Alert) reached() int {
	if a.Amount.Micro <= 0 || a.Amount.Currency != a.Limit.Currency {
		return 0
	}
	for _, percent := range slices.Backward(thresholds) {
		if least, ok := dueAt(a.Limit, percent); ok && a.Amount.Micro >= least {
			return percent
		}
	}
	return 0
}

// dueAt is a number of per cent of a limit, rounded up: at so much it is reached.
func dueAt(limit Money, percent int) (micro int64, ok bool) {
	micro, err := muldiv(limit.Micro, int64(percent), 100, RoundUp)
	return micro, err == nil
}

// name is what must not be told twice.
func (a *Alert) name() string {
	return fmt.Sprintf("alert/%s/%s/%s/%s/%s/%s/%d of %d %s",
		a.Scope.Account, a.Scope.GPU, a.Scope.Cloud, a.Every, a.Period, a.Measure, a.Percent, a.Limit.Micro, a.Limit.Currency)
}

// silences are the names that say less than this one.
func (a *Alert) silences() []string {
	var out []string
	for _, m := range stronger[slices.Index(stronger, a.Measure):] {
		for _, percent := range thresholds {
			less := *a
			less.Measure, less.Percent = m, percent
			if percent <= a.Percent && less.name() != a.name() {
				out = append(out, less.name())
			}
		}
	}
	return out
}

// old reports whether the alert may have been true already when its limit was
// raised.
func (a *Alert) old(told []Alert) bool {
	var last Alert
	highest := 0 // percent that was told of last's limit
	for i := range told {
		t := &told[i]
		if t.Scope != a.Scope || t.Every != a.Every || t.Period != a.Period || !t.says(a.Measure) {
			continue
		}
		if t.Limit != last.Limit {
			highest, last = 0, *t
		}
		if t.Percent >= highest {
			highest, last = t.Percent, *t
		}
	}
	if highest == 0 || last.Limit.Currency != a.Limit.Currency || last.Limit.Micro >= a.Limit.Micro {
		return false
	}
	beyond := last.Amount.Micro + 1
	if i := slices.Index(thresholds, highest); i >= 0 && i+1 < len(thresholds) {
		beyond, _ = dueAt(last.Limit, thresholds[i+1])
	}
	least, ok := dueAt(a.Limit, a.Percent)
	return ok && least < beyond
}

// says reports whether an alert is one of a measure, too.
func (a *Alert) says(m Measure) bool {
	return slices.Index(stronger, a.Measure) <= slices.Index(stronger, m)
}

// String says the alert in English. The whole limit is fully used, and over is
// only what is more.
func (a *Alert) String() string {
	text := a.Scope.String() + ": "
	switch over, err := a.Amount.Sub(a.Limit); {
	case err == nil && over.Micro > 0:
		text += fmt.Sprintf("over by %s: ", over)
	case err == nil && over.IsZero():
		text += "fully used: "
	}
	text += fmt.Sprintf("%s of %s", a.Amount, a.Limit)
	if a.Amount.Micro < a.Limit.Micro {
		text += fmt.Sprintf(" (%d %%)", a.Share())
	}
	text += map[Measure]string{
		OfPosted: " is spent in ", OfHeld: " is spent or held in ", OfForecast: " is likely to be spent by the end of ",
	}[a.Measure] + a.Period
	if a.Hard && a.Percent >= 100 && a.Measure != OfForecast {
		text += "; the limit is hard, and nothing more is rented"
	}
	return text
}

// Share is the amount in whole per cent of the limit, rounded down; zero
// without a limit.
func (a *Alert) Share() int {
	if a.Limit.Micro <= 0 || a.Amount.Micro <= 0 {
		return 0
	}
	if a.Amount.Micro > math.MaxInt64/100 {
		return int(a.Amount.Micro / max(a.Limit.Micro/100, 1))
	}
	return int(a.Amount.Micro * 100 / a.Limit.Micro)
}

// PeriodEnded is the news that a budget's period has ended, nil where there is
// nothing to say. The balance is that of the ended period; open are the rentals
// that ran in it and are not settled: more may be posted in it for them.
func PeriodEnded(now time.Time, b *Budget, bal *Balance, open []Rental) *Once {
	if bal.Posted.IsZero() && len(open) == 0 {
		return nil
	}
	a := Alert{Scope: b.Scope(), Every: b.Every, Period: bal.Period, Measure: OfPosted, Amount: bal.Posted, Limit: b.Limit, Hard: b.Hard}
	a.Percent = a.reached()
	text := fmt.Sprintf("spent by %s in %s, of %s", a.Scope, a.Period, a.Limit)
	if over, err := a.Amount.Sub(a.Limit); err == nil && over.Micro > 0 {
		text += fmt.Sprintf(", over by %s", over)
	}
	if len(open) > 0 {
		ids := make([]RentalID, 0, len(open))
		for i := range open {
			ids = append(ids, open[i].ID)
		}
		slices.Sort(ids)
		text += fmt.Sprintf("; not final, still open: %s", joinIDs(ids))
	}
	name := fmt.Sprintf("period/%s/%s/%s/%s/%s", a.Scope.Account, a.Scope.GPU, a.Scope.Cloud, a.Every, a.Period)
	return &Once{Name: name, News: News{At: now, Kind: NewsPeriod, Cost: a.Amount, Text: text, Alert: &a}}
}

func joinIDs(ids []RentalID) string {
	const most = 5
	text := ""
	for i, id := range ids {
		if i == most {
			return text + fmt.Sprintf(" and %d more", len(ids)-most)
		}
		text += map[bool]string{true: ", "}[i > 0] + string(id)
	}
	return text
}

// OwnersOf are who answers for what is spent in a scope: the approvers of the
// nearest budget that covers it and names some, or the admins.
func OwnersOf(budgets []Budget, spent Scope, admins []string) []string {
	var near *Budget
	for i := range budgets {
		b := &budgets[i]
		if b.Scope().Covers(spent) && len(b.Approvers) > 0 && (near == nil || cmp.Compare(len(b.Account), len(near.Account)) > 0) {
			near = b
		}
	}
	if near == nil {
		return admins
	}
	return near.Approvers
}
