package bill

import (
	"slices"
	"time"

	"spillway.sh/spillway/bridge"
)

// guess says why a rental's bill may differ.
func (m *matcher) guess(r *bridge.Rental, c *Case, ch *charges) Guess {
	tolerance := m.books.Tolerance
	near := func(a, b int64) bool { return abs(a-b) <= tolerance }
	machines := ch.usage - c.Metered.Micro
	switch {
	case c.Difference.Micro == 0 && len(c.Corrections) == 0:
		return GuessEqual
	case len(c.Corrections) == 0 && near(c.Billed.Micro, c.Was.Micro):
		return GuessRounding
	case ch.back != 0 && near(ch.usage+ch.tax+ch.extra, c.Metered.Micro):
		return GuessCredit
	case ch.tax != 0 && near(ch.usage+ch.extra, c.Metered.Micro):
		return GuessTax
	case ch.extra != 0 && near(ch.usage, c.Metered.Micro):
		return GuessExtra
	case len(ch.fx) > 0 && !slices.Contains(ch.fx, r.FX) && abs(machines) <= c.Metered.Micro/10:
		return GuessExchange
	case m.minimum(r, ch.usage):
		return GuessMinimum
	}
	return m.byTime(r, c, ch)
}

// byTime compares the time that lines cover with the time machines ran.
func (m *matcher) byTime(r *bridge.Rental, c *Case, ch *charges) Guess {
	const least = time.Minute
	if ch.aligned {
		return GuessPrice
	}
	s := life(r, m.books.Now)
	longer := ch.last.Sub(s.to) + s.from.Sub(ch.first)
	switch {
	case longer > least && c.Difference.Micro > 0:
		return GuessLonger
	case longer < -least && c.Difference.Micro < 0:
		return GuessShorter
	}
	return GuessPrice
}

// minimum reports whether longer steps, or a minimum, at the metered price make
// the bill.
func (m *matcher) minimum(r *bridge.Rental, usage int64) bool {
	own := r.Billing()
	for _, step := range []time.Duration{time.Minute, 10 * time.Minute, time.Hour} {
		for _, b := range []bridge.Billing{{Step: step}, {Step: own.Step, Minimum: step}} {
			sum, ok := m.costBy(r, b)
			if ok && abs(sum-usage) <= m.books.Tolerance {
				return true
			}
		}
	}
	return false
}

// costBy is what a rental costs when it is charged in another way.
func (m *matcher) costBy(r *bridge.Rental, b bridge.Billing) (sum int64, ok bool) {
	for i := range r.Machines {
		s := run(&r.Machines[i], m.books.Now)
		if s.empty() {
			continue
		}
		rate := r.Machines[i].Rate
		if rate.Micro <= 0 {
			rate = r.Rate
		}
		cost, err := rate.Cost(b.Charged(s.to.Sub(s.from)), 1, bridge.RoundHalfEven)
		if err != nil {
			return 0, false
		}
		sum += cost.Micro
	}
	return sum, true
}
