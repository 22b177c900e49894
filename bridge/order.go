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
	x, y := baseOf(a), baseOf(b)
	return cmp.Or(cmp.Compare(len(x), len(y)), strings.Compare(string(x), string(y)),
		cmp.Compare(len(a), len(b)), strings.Compare(string(a), string(b)))
}

// sortEntries returns the places of chosen entries in the scheduler's order: by
// radix over the priority, then each run of equal priority by comparison.
func sortEntries(entries []entry, chosen []int32) []int32 {
	keys := make([]rank, len(chosen))
	for i, at := range chosen {
		// Flipping all but the sign bit turns signed ascending into descending.
		keys[i] = rank{uint64(entries[at].demand.Priority) ^ (1<<63 - 1), at}
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
	for i := range keys {
		chosen[i] = keys[i].at
	}
	return chosen
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

// mergeOrder merges an order that is kept with places sorted anew.
func mergeOrder(entries []entry, kept, fresh []int32) []int32 {
	out := make([]int32, 0, len(kept)+len(fresh))
	for _, at := range fresh {
		n, _ := slices.BinarySearchFunc(kept, entries[at].demand, func(k int32, d *Demand) int {
			return compareDemands(entries[k].demand, d)
		})
		out = append(append(out, kept[:n]...), at)
		kept = kept[n:]
	}
	return append(out, kept...)
}
