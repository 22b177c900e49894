// Package soak says how much the suites of the proof do: little on every push,
// and in `make soak` what its time allows.
package soak

import (
	"iter"
	"os"
	"strconv"
	"time"
)

// Long reports whether this is a run of `make soak`.
func Long() bool { return os.Getenv("SPILLWAY_SOAK") == "1" }

// Until is when a suite of a long run ends that may take so much: then, or with
// the whole of it. SPILLWAY_SOAK_END is that, in seconds since 1970.
func Until(most time.Duration) time.Time {
	end := time.Now().Add(most)
	whole, err := strconv.ParseInt(os.Getenv("SPILLWAY_SOAK_END"), 10, 64)
	if err == nil && time.Unix(whole, 0).Before(end) {
		end = time.Unix(whole, 0)
	}
	return end
}

// Rounds counts from one: to push on a push, and in a long run to long, as far as
// it comes in its time. One is always played.
func Rounds(push, long uint64, most time.Duration) iter.Seq[uint64] {
	last, in := push, func() bool { return true }
	if Long() {
		end := Until(most)
		last, in = long, func() bool { return time.Now().Before(end) }
	}
	return func(yield func(uint64) bool) {
		for n := uint64(1); n == 1 || n <= last && in(); n++ {
			if !yield(n) {
				return
			}
		}
	}
}
