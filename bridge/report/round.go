package report

import (
	"math"
	"math/bits"
	"slices"

	"spillway.sh/spillway/bridge"
)

// cent is what all shown amounts are whole numbers of.
const cent = bridge.Micro / 100

// up rounds a cost up to the cent, down what is left down to it.
func up(micro int64) int64   { return -down(-micro) }
func down(micro int64) int64 { return floorDiv(micro, cent) * cent }

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q
}

// parts rounds amounts to cents by largest remainder, so that they add up to
// their sum rounded up. The sum is returned first.
func parts(micro []int64) (total int64, out []int64) {
	sum := int64(0)
	for _, m := range micro {
		sum = plus(sum, m)
	}
	total = up(sum)
	return total, fill(total, micro)
}

// fill rounds amounts to cents by largest remainder so that they add up to a
// total of whole cents; of equal remainders the first goes up. A total that is
// not theirs is met by the largest.
func fill(total int64, micro []int64) []int64 {
	out := make([]int64, len(micro))
	order := make([]int, len(micro))
	rest := total
	for i, m := range micro {
		out[i], order[i] = down(m), i
		rest -= out[i]
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp64(micro[b]-out[b], micro[a]-out[a])
	})
	for _, i := range order {
		if rest < cent || micro[i] == out[i] {
			break
		}
		out[i] += cent
		rest -= cent
	}
	if rest != 0 && len(out) > 0 {
		most := 0
		for i := range out {
			if out[i] > out[most] {
				most = i
			}
		}
		out[most] += rest
	}
	return out
}

func cmp64(a, b int64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// plus adds and stops at the largest amount: a report says no nonsense where
// sums do not fit, it says the largest number there is.
func plus(a, b int64) int64 {
	s := a + b
	switch {
	case a > 0 && b > 0 && s < 0:
		return math.MaxInt64
	case a < 0 && b < 0 && s >= 0:
		return math.MinInt64
	}
	return s
}

// ratio is a × by ÷ per to the nearest, halves up, of a ≥ 0 and by ≥ 0; zero
// where per is not positive.
func ratio(a, by, per int64) int64 {
	if per <= 0 || a <= 0 || by <= 0 {
		if a < 0 && by > 0 && per > 0 {
			return -ratio(-a, by, per)
		}
		return 0
	}
	hi, lo := bits.Mul64(uint64(a), uint64(by))
	lo, carry := bits.Add64(lo, uint64(per)/2, 0)
	hi += carry
	if hi >= uint64(per) {
		return math.MaxInt64
	}
	q, _ := bits.Div64(hi, lo, uint64(per))
	return int64(min(q, math.MaxInt64))
}

// perMille is part of whole; nil where there is no whole.
func perMille(part, whole int64) *int {
	if whole <= 0 {
		return nil
	}
	pm := int(ratio(part, 1000, whole))
	return &pm
}

// perHour is the price of one hour of so many seconds that cost so much, rounded
// up to the cent; nil where there are none.
func perHour(micro, seconds int64, c bridge.Currency) *bridge.Money {
	if seconds <= 0 || micro < 0 {
		return nil
	}
	m := bridge.Money{Micro: up(ratio(micro, 3600, seconds)), Currency: c}
	return &m
}

// nearestRank is the q-per-mille quantile of sorted values: the smallest of them
// that at least so many are not above.
func nearestRank[T any](sorted []T, pm int) T {
	i := (len(sorted)*pm+999)/1000 - 1
	return sorted[max(min(i, len(sorted)-1), 0)]
}
