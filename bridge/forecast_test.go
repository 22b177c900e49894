package bridge

import (
	"math/rand/v2"
	"testing"
	"time"
)

// outlook is a Monday noon with a week and its days before it, in whole units.
func outlook(past []int64, days int, runs ...Expense) *Outlook {
	o := &Outlook{Now: noon, Began: noon.Truncate(24 * time.Hour), Posted: Money{Currency: "USD"}, Runs: runs}
	for _, units := range past {
		o.Past = append(o.Past, units*Micro)
	}
	for i := range days {
		o.Ends = append(o.Ends, o.Began.AddDate(0, 0, i+1))
	}
	return o
}

func flat(n int, units int64) []int64 {
	out := make([]int64, n)
	for i := range out {
		out[i] = units
	}
	return out
}

func TestForecast(t *testing.T) {
	weekends := make([]int64, 28) // noon is a Monday: yesterday and the day before were the weekend
	for i := range weekends {
		if back := (28 - i) % 7; back == 1 || back == 2 {
			weekends[i] = 100
		}
	}
	for name, c := range map[string]struct {
		past              []int64
		days              int
		runs              []Expense
		likely, low, high int64 // whole units
		none              bool
	}{
		"the same each day":             {past: flat(28, 10), days: 7, likely: 65, low: 65, high: 65},
		"half of today is left":         {past: flat(28, 10), days: 1, likely: 5, low: 5, high: 5},
		"only the weekend costs":        {past: weekends, days: 7, likely: 200, low: 200, high: 200},
		"and not before the weekend":    {past: weekends, days: 5, likely: 0, low: 0, high: 0},
		"13 days are not enough":        {past: flat(13, 10), days: 7, none: true},
		"14 days are":                   {past: flat(14, 10), days: 7, likely: 65, low: 65, high: 65},
		"days before the first do not":  {past: append(flat(40, 0), flat(13, 10)...), days: 7, none: true},
		"nothing was ever":              {past: flat(28, 0), days: 7, none: true},
		"what runs is in such a day":    {past: flat(28, 48), days: 2, runs: []Expense{{2 * Micro, noon.Add(24 * time.Hour)}}, likely: 72, low: 72, high: 72},
		"what runs is more than usual":  {past: flat(28, 24), days: 2, runs: []Expense{{2 * Micro, noon.Add(36 * time.Hour)}}, likely: 72, low: 72, high: 72},
		"what runs goes on after it":    {past: flat(28, 0), days: 2, runs: []Expense{{2 * Micro, noon.Add(1000 * time.Hour)}}, none: true},
		"an end that has passed is nil": {past: flat(28, 24), days: 1, runs: []Expense{{2 * Micro, noon.Add(-time.Hour)}}, likely: 12, low: 12, high: 12},
	} {
		t.Run(name, func(t *testing.T) {
			o := outlook(c.past, c.days, c.runs...)
			o.Posted.Micro = 1000 * Micro
			got, ok := o.Forecast()
			if ok == c.none {
				t.Fatalf("enough to go by: %t", ok)
			}
			want := Forecast{Money{(1000 + c.likely) * Micro, "USD"}, Money{(1000 + c.low) * Micro, "USD"}, Money{(1000 + c.high) * Micro, "USD"}}
			if ok && got != want {
				t.Errorf("got %s from %s to %s, want %s", got.Likely, got.Low, got.High, want.Likely)
			}
		})
	}
}

// Of a hundred periods about eighty end inside the band, about ten above it
// and ten below, whatever the length.
func TestEightyOfAHundredPeriodsEndInsideTheBand(t *testing.T) {
	chance := rand.New(rand.NewPCG(1, 2)) // The same numbers in every run.
	day := func() int64 { return max(int64(100+30*chance.NormFloat64()), 0) }
	for name, days := range map[string]int{"rest of a week": 7, "rest of a month": 25} {
		t.Run(name, func(t *testing.T) {
			const runs = 2000
			above, below := 0, 0
			for range runs {
				past := make([]int64, 28)
				for i := range past {
					past[i] = day()
				}
				o := outlook(past, days)
				o.Now = o.Began // of whole days
				f, _ := o.Forecast()
				end := int64(0)
				for range days {
					end += day() * Micro
				}
				if end > f.High.Micro {
					above++
				}
				if end < f.Low.Micro {
					below++
				}
			}
			for side, n := range map[string]int{"above": above, "below": below} {
				if n < runs*7/100 || n > runs*13/100 {
					t.Errorf("%d of %d end %s the band, want about a tenth", n, runs, side)
				}
			}
			t.Logf("%d above, %d below, of %d", above, below, runs)
		})
	}
}

// Nothing that is paid or runs already is forecast away.
func TestAForecastIsNeverBelowWhatRuns(t *testing.T) {
	past := flat(28, 1)
	past[27], past[20] = 500, 0 // a wild weekday
	o := outlook(past, 7, Expense{Micro, noon.Add(48 * time.Hour)})
	o.Posted.Micro = 7 * Micro
	f, ok := o.Forecast()
	if sure := int64(7+48) * Micro; !ok || f.Low.Micro < sure || f.Likely.Micro < f.Low.Micro || f.High.Micro < f.Likely.Micro {
		t.Errorf("forecast %+v, %d is sure", f, sure)
	}
}
