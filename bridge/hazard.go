package bridge

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
	"time"
)

// Hazard is what was seen of reclaims in one spot pool. Both figures lose half
// their weight in hazardHalf, so that the market of last month does not judge
// that of today.
type Hazard struct {
	Pool  Pool          `json:"pool"`
	Lived time.Duration `json:"lived"` // machine time, decayed
	Taken int64         `json:"taken"` // reclaims in thousandths, decayed
	At    time.Time     `json:"at"`    // both are as of
}

// What is believed of a pool that nothing was seen of: one reclaim in ten
// machine-hours, with the weight of ten machine-hours. Public traces of nine
// zones show 0.1 to 1.4 reclaims in an hour of V100 spot, most of them below 0.5.
const (
	hazardHalf   = 24 * time.Hour
	priorLived   = 10 * time.Hour
	priorTaken   = 1000
	decayNothing = 40 * hazardHalf // nothing is left of it
)

// usualLoss is what a reclaim costs a job beside the boot of its next machine:
// half of the quarter of an hour between two checkpoints that is usual.
const usualLoss = 450 * time.Second

// as returns the hazard with its figures decayed to now.
func (h Hazard) as(now time.Time) Hazard {
	gone := now.Sub(h.At)
	switch {
	case gone <= 0:
		return h
	case gone >= decayNothing:
		h.Lived, h.Taken = 0, 0
	default:
		keep := math.Exp2(-gone.Hours() / hazardHalf.Hours())
		h.Lived, h.Taken = time.Duration(float64(h.Lived)*keep), int64(float64(h.Taken)*keep)
	}
	h.At = now
	return h
}

// PerHour is the reclaims to be expected in one machine-hour, in thousandths.
func (h Hazard) PerHour(now time.Time) int64 {
	h = h.as(now)
	hi, lo := bits.Mul64(uint64(h.Taken+priorTaken), uint64(time.Hour))
	span := uint64(h.Lived + priorLived)
	if hi >= span {
		return math.MaxInt64
	}
	q, _ := bits.Div64(hi, lo, span)
	return int64(min(q, math.MaxInt64))
}

// Between is the mean time between two reclaims of one machine.
func (h Hazard) Between(now time.Time) time.Duration {
	per := max(h.PerHour(now), 1)
	return time.Duration(min(1000*int64(time.Hour)/per, int64(math.MaxInt64)))
}

// Rest is how long a pool is left alone after its newest reclaim: first, and
// twice as long with each that has not faded yet, up to most.
func (h Hazard) Rest(now time.Time, first, most time.Duration) time.Duration {
	again := max((h.as(now).Taken+500)/1000-1, 0)
	return max(min(first<<min(again, 20), most), first)
}

// loss is the part of what a machine computes that reclaims destroy, per mille:
// how often it is taken, times what that costs. It is rounded to steps of ten,
// since a choice must not change with every machine-minute.
func (h Hazard) loss(now time.Time, boot time.Duration) int64 {
	const most, step = 900, 10
	per := h.PerHour(now)
	cost := int64((max(boot, 0) + usualLoss) / time.Second)
	if per > most*3600/max(cost, 1) {
		return most
	}
	return (per*cost/3600 + step/2) / step * step
}

// Lived adds machine time to what is known of a pool.
func Lived(hs []Hazard, p Pool, d time.Duration, now time.Time) []Hazard {
	return amend(hs, p, now, func(h *Hazard) { h.Lived += max(d, 0) })
}

// Reclaimed adds one reclaim to what is known of a pool.
func Reclaimed(hs []Hazard, p Pool, now time.Time) []Hazard {
	return amend(hs, p, now, func(h *Hazard) { h.Taken += 1000 })
}

// HazardOf is what is known of a pool, nothing at all included.
func HazardOf(hs []Hazard, p Pool) Hazard {
	if i := slices.IndexFunc(hs, func(h Hazard) bool { return h.Pool == p }); i >= 0 {
		return hs[i]
	}
	return Hazard{Pool: p}
}

// amend returns the list with one pool changed, in the order of pools, without
// those of which nothing is left.
func amend(hs []Hazard, p Pool, now time.Time, change func(*Hazard)) []Hazard {
	out := slices.DeleteFunc(slices.Clone(hs), func(h Hazard) bool { return h.Pool == p || now.Sub(h.At) >= decayNothing })
	h := HazardOf(hs, p).as(now)
	h.At = cmp.Or(h.At, now)
	change(&h)
	out = append(out, h)
	slices.SortFunc(out, func(a, b Hazard) int { return comparePools(&a.Pool, &b.Pool) })
	return out
}

// Hazards are what is known of all pools, with the machine time of the spot
// machines that live now: it is written down when they are gone.
func Hazards(known []Hazard, rentals []Rental, now time.Time) []Hazard {
	lived := map[Pool]time.Duration{}
	for i := range rentals {
		r := &rentals[i]
		if r.Pool.Market != Spot {
			continue
		}
		for k := range r.Machines {
			if m := &r.Machines[k]; !m.Started.IsZero() && m.Stopped.IsZero() && m.State != MachineGone {
				lived[r.Pool] += max(now.Sub(m.Started), 0)
			}
		}
	}
	if len(lived) == 0 {
		return known
	}
	out, before := make([]Hazard, 0, len(known)+len(lived)), map[Pool]Hazard{}
	for _, h := range known {
		if _, lives := lived[h.Pool]; lives {
			before[h.Pool] = h
		} else if now.Sub(h.At) < decayNothing {
			out = append(out, h)
		}
	}
	for p, d := range lived {
		h := before[p].as(now)
		h.Pool, h.At = p, cmp.Or(h.At, now)
		h.Lived += d
		out = append(out, h)
	}
	slices.SortFunc(out, func(a, b Hazard) int { return comparePools(&a.Pool, &b.Pool) })
	return out
}
