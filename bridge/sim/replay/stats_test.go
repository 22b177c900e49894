package replay

import (
	"math"
	"slices"
)

// runs are the lengths in hours of the stretches with one value.
func runs(has []bool, value bool) []float64 {
	var out []float64
	n := 0
	for i, h := range has {
		if h == value {
			n++
		}
		if n > 0 && (h != value || i == len(has)-1) {
			out = append(out, float64(n)*Step.Hours())
			n = 0
		}
	}
	return out
}

func mean(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	return sum / float64(max(len(v), 1))
}

func median(v []float64) float64 {
	s := slices.Sorted(slices.Values(v))
	return s[len(s)/2]
}

// long is what one in twenty is longer than.
func long(v []float64) float64 {
	s := slices.Sorted(slices.Values(v))
	return s[len(s)*19/20]
}

func share(has []bool) float64 {
	n := 0
	for _, h := range has {
		if h {
			n++
		}
	}
	return float64(n) / float64(len(has))
}

func anyOf(ts []Trace) []bool {
	out := make([]bool, len(ts[0].Has))
	for _, t := range ts {
		for i, h := range t.Has {
			out[i] = out[i] || h
		}
	}
	return out
}

// correlations are the mean of all pairs inside a region, and of all across.
func correlations(ts []Trace) (same, apart float64) {
	var in, out []float64
	for i := range ts {
		for k := range i {
			c := correlation(ts[i].Has, ts[k].Has)
			if ts[i].Region() == ts[k].Region() {
				in = append(in, c)
			} else {
				out = append(out, c)
			}
		}
	}
	return mean(in), mean(out)
}

func correlation(a, b []bool) float64 {
	ma, mb := share(a), share(b)
	both := 0
	for i := range a {
		if a[i] && b[i] {
			both++
		}
	}
	return (float64(both)/float64(len(a)) - ma*mb) / math.Sqrt(ma*(1-ma)*mb*(1-mb))
}
