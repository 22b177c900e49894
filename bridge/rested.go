package bridge

import (
	"slices"
	"time"
)

// CodeReclaimed is the code of a pool that rests because it took a machine back.
const CodeReclaimed = "reclaimed"

// Refused lets a pool, or all that a wide one stands for, rest after a refusal:
// first, and twice as long with each that was not made good, up to most. The
// refusals of pools that gave no cause for so many of the longest rests are
// forgotten.
func Refused(hs []PoolHealth, about Pool, kind CloudErrorKind, code string, now time.Time, first, most time.Duration) []PoolHealth {
	hs = slices.DeleteFunc(slices.Clone(hs), func(h PoolHealth) bool {
		return !h.DownUntil.After(now) && now.Sub(h.At) >= time.Duration(max(h.Failures, 1))*most
	})
	hs, h := healthIn(hs, about)
	rest := max(min(first<<min(h.Failures, 20), most), first)
	h.Failures++
	h.At, h.Kind, h.Code, h.DownUntil = now, kind, code, now.Add(rest)
	return hs
}

// Rested lets a pool rest for a time without blaming it for a refusal.
func Rested(hs []PoolHealth, p Pool, code string, now time.Time, rest time.Duration) []PoolHealth {
	hs, h := healthIn(slices.Clone(hs), p)
	h.DownUntil, h.Code = later(h.DownUntil, now.Add(rest)), code
	return hs
}

// Delivered makes one refusal of a pool good, as it has just delivered, and all
// of what covers it; so a pool that comes and goes rests longer each time. That
// it takes machines back is not made good by one that was under way.
func Delivered(hs []PoolHealth, p Pool, now time.Time) []PoolHealth {
	refused := func(h PoolHealth) bool {
		return h.Pool.Covers(p) && (h.Code != CodeReclaimed || !h.DownUntil.After(now))
	}
	hs = slices.DeleteFunc(slices.Clone(hs), func(h PoolHealth) bool { return refused(h) && (h.Pool != p || h.Failures <= 1) })
	if i := slices.IndexFunc(hs, refused); i >= 0 {
		hs[i].Failures--
		hs[i].DownUntil = now
	}
	return hs
}

// healthIn finds what is known of a pool, or makes room for it.
func healthIn(hs []PoolHealth, p Pool) ([]PoolHealth, *PoolHealth) {
	i := slices.IndexFunc(hs, func(h PoolHealth) bool { return h.Pool == p })
	if i < 0 {
		hs = append(hs, PoolHealth{Pool: p})
		i = len(hs) - 1
	}
	return hs, &hs[i]
}
