package bridge

import (
	"cmp"
	"slices"
	"strings"
)

// compareDemands is the scheduler's order: priority, then time of submission,
// then id.
func compareDemands(a, b *Demand) int {
	if a.Priority != b.Priority {
		return cmp.Compare(b.Priority, a.Priority)
	}
	if c := a.Submitted.Compare(b.Submitted); c != 0 {
		return c
	}
	return compareJobs(a.Job, b.Job)
}

// compareJobs orders ids as numbers where they are numbers: 99 before 100.
func compareJobs(a, b JobID) int {
	x, y := a.Base(), b.Base()
	return cmp.Or(cmp.Compare(len(x), len(y)), strings.Compare(string(x), string(y)),
		cmp.Compare(len(a), len(b)), strings.Compare(string(a), string(b)))
}

// sortEntries returns entries in the scheduler's order: by radix over the
// priority, then each run of equal priority by comparison.
func sortEntries(entries []entry) []entry {
	keys := make([]rank, len(entries))
	for i := range entries {
		// Flipping all but the sign bit turns signed ascending into descending.
		keys[i] = rank{uint64(entries[i].demand.Priority) ^ (1<<63 - 1), int32(i)}
	}
	keys = radix(keys)
	for from := 0; from < len(keys); {
		to := from + 1
		for to < len(keys) && keys[to].key == keys[from].key {
			to++
		}
		if to-from > 1 {
			slices.SortFunc(keys[from:to], func(a, b rank) int {
				return compareDemands(entries[a.at].demand, entries[b.at].demand)
			})
		}
		from = to
	}
	out := make([]entry, len(keys))
	for i := range keys {
		out[i] = entries[keys[i].at]
	}
	return out
}

type rank struct {
	key uint64
	at  int32
}

// radix sorts by key, one byte after the other from the lowest; bytes that are
// the same in all keys cost one look.
func radix(keys []rank) []rank {
	spare := make([]rank, len(keys))
	for shift := 0; shift < 64; shift += 8 {
		var count [256]int
		for i := range keys {
			count[byte(keys[i].key>>shift)]++
		}
		if len(keys) == 0 || count[byte(keys[0].key>>shift)] == len(keys) {
			continue
		}
		at := 0
		for b, n := range count {
			count[b], at = at, at+n
		}
		for i := range keys {
			b := byte(keys[i].key >> shift)
			spare[count[b]] = keys[i]
			count[b]++
		}
		keys, spare = spare, keys
	}
	return keys
}

// mergeEntries merges old entries, in order, with fresh ones, in order. moved
// says where the demand of an old entry is now, plus one; zero: gone.
func mergeEntries(out, old, fresh []entry, moved []int32) []entry {
	if len(old) == 0 {
		return fresh
	}
	out = slices.Grow(out, len(old)+len(fresh))
	keep := func(part []entry) {
		for i := range part {
			if to := moved[part[i].at]; to > 0 {
				out = append(out, part[i])
				out[len(out)-1].at = to - 1
			}
		}
	}
	for i := range fresh {
		n, _ := slices.BinarySearchFunc(old, fresh[i].demand, func(e entry, d *Demand) int {
			return compareDemands(e.demand, d)
		})
		keep(old[:n])
		old = old[n:]
		out = append(out, fresh[i])
	}
	keep(old)
	return out
}
