package bridge

import (
	"maps"
	"math/bits"
	"slices"
)

// shapeTable numbers equal shapes, so that the thousands of demands with one
// shape are fitted once. It is keyed by value and outlives a decision.
type shapeTable struct {
	index  hashIndex
	shapes []Shape
}

// number returns the number of s, giving it the next one if it is new.
func (t *shapeTable) number(s *Shape) int32 {
	h := hashShape(s)
	for i := t.index.first(h); i >= 0; i = t.index.next(h) {
		if equalShape(&t.shapes[i], s) {
			return i
		}
	}
	n := int32(len(t.shapes))
	t.shapes = append(t.shapes, cloneShape(s))
	t.index.add(h, n)
	return n
}

// hashShape mixes all fields; the sum over resources does not depend on the
// order of a map.
func hashShape(s *Shape) uint64 {
	h := mix(uint64(s.CPUs), uint64(s.MemoryMiB))
	h = mix(h, uint64(s.GPUs)<<32^uint64(s.DiskMiB))
	if s.GPUType != "" {
		h = mixString(h, s.GPUType)
	}
	if s.Exclusive {
		h = ^h
	}
	if len(s.GRES) > 0 {
		var sum uint64
		for k, n := range s.GRES {
			sum += mix(mixString(0, k), uint64(n))
		}
		h = mix(h, sum)
	}
	for _, or := range s.Features {
		h = mix(h, uint64(len(or)))
		for _, w := range or {
			h = mixString(h, w)
		}
	}
	return h
}

// mix is the finaliser of splitmix64 over both words.
func mix(a, b uint64) uint64 {
	x := a*0x9e3779b97f4a7c15 + b
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

func mixString(h uint64, s string) uint64 {
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 0x100000001b3
	}
	return mix(h, uint64(len(s)))
}

func equalShape(a, b *Shape) bool {
	if a.CPUs != b.CPUs || a.MemoryMiB != b.MemoryMiB || a.GPUs != b.GPUs || a.GPUType != b.GPUType ||
		a.DiskMiB != b.DiskMiB || a.Exclusive != b.Exclusive || len(a.GRES) != len(b.GRES) || len(a.Features) != len(b.Features) {
		return false
	}
	if len(a.GRES) > 0 && !maps.Equal(a.GRES, b.GRES) {
		return false
	}
	for i := range a.Features {
		if !slices.Equal(a.Features[i], b.Features[i]) {
			return false
		}
	}
	return true
}

func cloneShape(s *Shape) Shape {
	c := *s
	c.GRES = maps.Clone(s.GRES)
	c.Features = nil
	for _, or := range s.Features {
		c.Features = append(c.Features, slices.Clone(or))
	}
	return c
}

// hashIndex finds numbers by hash: open addressing, no deletion. Callers
// compare values themselves.
type hashIndex struct {
	slots []hashSlot // a power of two
	used  int
	at    uint64 // where the search stands
}

type hashSlot struct {
	hash   uint64
	number int32 // plus one; zero: empty
}

// first returns a number with this hash, or -1.
func (x *hashIndex) first(h uint64) int32 {
	if len(x.slots) == 0 {
		return -1
	}
	x.at = h
	return x.find(h)
}

// next returns the next number with the hash last searched for, or -1.
func (x *hashIndex) next(h uint64) int32 {
	x.at++
	return x.find(h)
}

func (x *hashIndex) find(h uint64) int32 {
	mask := uint64(len(x.slots) - 1)
	for {
		s := &x.slots[x.at&mask]
		if s.number == 0 {
			return -1
		}
		if s.hash == h {
			return s.number - 1
		}
		x.at++
	}
}

func (x *hashIndex) add(h uint64, n int32) {
	if 2*x.used >= len(x.slots) {
		x.grow(max(64, 4*len(x.slots)))
	}
	x.put(hashSlot{h, n + 1})
	x.used++
}

func (x *hashIndex) put(s hashSlot) {
	mask := uint64(len(x.slots) - 1)
	i := s.hash & mask
	for x.slots[i].number != 0 {
		i = (i + 1) & mask
	}
	x.slots[i] = s
}

// reserve makes room for n numbers more.
func (x *hashIndex) reserve(n int) {
	if size := 1 << bits.Len(uint(2*(x.used+n))); size > len(x.slots) {
		x.grow(size)
	}
}

func (x *hashIndex) grow(size int) {
	old := x.slots
	x.slots = make([]hashSlot, size)
	for _, s := range old {
		if s.number != 0 {
			x.put(s)
		}
	}
}
