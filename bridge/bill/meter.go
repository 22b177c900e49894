package bill

import (
	"fmt"
	"math/big"
	"time"

	"spillway.sh/spillway/bridge"
)

// span is a time of running.
type span struct{ from, to time.Time }

func (s span) empty() bool { return !s.from.Before(s.to) }

// run is when a machine was metered; empty for one that never started.
func run(m *bridge.Machine, now time.Time) span {
	if m.ID == "" || m.Started.IsZero() {
		return span{}
	}
	s := span{m.Started, now}
	if !m.Stopped.IsZero() {
		s.to = m.Stopped
	}
	return s
}

// life is from the first start of a rental's machines to the last stop.
func life(r *bridge.Rental, now time.Time) span {
	var out span
	for i := range r.Machines {
		s := run(&r.Machines[i], now)
		if s.empty() {
			continue
		}
		if out.from.IsZero() || s.from.Before(out.from) {
			out.from = s.from
		}
		if s.to.After(out.to) {
			out.to = s.to
		}
	}
	return out
}

// until is what a machine had cost by t, as it is metered.
func until(r *bridge.Rental, m *bridge.Machine, t, now time.Time) (bridge.Money, error) {
	s := run(m, now)
	if s.empty() || !t.After(s.from) {
		return bridge.Money{}, nil
	}
	if t.After(s.to) {
		t = s.to
	}
	rate := m.Rate
	if rate.Micro <= 0 {
		rate = r.Rate
	}
	cost, err := rate.Cost(r.Billing().Charged(t.Sub(s.from)), 1, bridge.RoundHalfEven)
	if err != nil {
		return bridge.Money{}, fmt.Errorf("cost of machine %s: %w", m.ID, err)
	}
	return cost, nil
}

// days cuts a life at the midnights of a zone: the first instants of its days,
// the first of which is its own beginning.
func days(s span, zone *time.Location) []time.Time {
	out := []time.Time{s.from}
	y, m, d := s.from.In(zone).Date()
	const most = 3660
	for i := 1; i < most; i++ {
		next := bridge.DayStart(y, m, d+i, zone)
		if !next.Before(s.to) {
			break
		}
		out = append(out, next)
	}
	return out
}

// metered is what a rental cost on each of the days, as it is metered.
func metered(r *bridge.Rental, starts []time.Time, now time.Time) ([]int64, error) {
	out := make([]int64, len(starts))
	for i := range r.Machines {
		before := int64(0)
		for d := range starts {
			end := now.Add(time.Hour)
			if d+1 < len(starts) {
				end = starts[d+1]
			}
			cost, err := until(r, &r.Machines[i], end, now)
			if err != nil {
				return nil, err
			}
			out[d] += cost.Micro - before
			before = cost.Micro
		}
	}
	return out, nil
}

// spread adds an amount of a time to the days in proportion, all of it.
func spread(out []int64, starts []time.Time, amount int64, s span) {
	if s.empty() {
		out[dayOf(starts, s.from)] += amount
		return
	}
	given := int64(0)
	for d := range starts {
		part := amount
		if d+1 < len(starts) && starts[d+1].Before(s.to) {
			part = scaled(amount, max(starts[d+1].Sub(s.from), 0), s.to.Sub(s.from))
		}
		out[d] += part - given
		given = part
	}
}

// scaled is amount × d ÷ whole, cut towards nothing.
func scaled(amount int64, d, whole time.Duration) int64 {
	x := new(big.Int).Mul(big.NewInt(amount), big.NewInt(int64(d)))
	return x.Quo(x, big.NewInt(int64(whole))).Int64()
}

// dayOf is the day an instant is on; those outside count to the nearest.
func dayOf(starts []time.Time, t time.Time) int {
	for d := len(starts) - 1; d > 0; d-- {
		if !t.Before(starts[d]) {
			return d
		}
	}
	return 0
}

// within cuts a span to another; where they do not meet, the nearest instant.
func within(s, bounds span) span {
	clamp := func(t time.Time) time.Time {
		if t.Before(bounds.from) {
			return bounds.from
		}
		if t.After(bounds.to) {
			return bounds.to
		}
		return t
	}
	return span{clamp(s.from), clamp(s.to)}
}
