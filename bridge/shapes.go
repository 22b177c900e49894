package bridge

import (
	"maps"
	"slices"
)

// shapeTable numbers equal shapes, so that the thousands of demands with one
// shape are fitted once. It is keyed by value and may outlive a decision.
type shapeTable struct {
	byHash map[uint64][]int32
	shapes []Shape
}

// number returns the number of s, giving it the next one if it is new.
func (t *shapeTable) number(s *Shape) int32 {
	h := hashShape(s)
	for _, i := range t.byHash[h] {
		if equalShape(&t.shapes[i], s) {
			return i
		}
	}
	if t.byHash == nil {
		t.byHash = make(map[uint64][]int32)
	}
	n := int32(len(t.shapes))
	t.byHash[h] = append(t.byHash[h], n)
	t.shapes = append(t.shapes, cloneShape(s))
	return n
}

// hashShape mixes all fields; the sum over resources does not depend on the
// order of a map.
func hashShape(s *Shape) uint64 {
	h := mix(uint64(s.CPUs), uint64(s.MemoryMiB))
	h = mix(h, uint64(s.GPUs))
	h = mix(h, uint64(s.DiskMiB))
	h = mixString(h, s.GPUType)
	if s.Exclusive {
		h = mix(h, 1)
	}
	var sum uint64
	for k, n := range s.GRES {
		sum += mix(mixString(0, k), uint64(n))
	}
	h = mix(h, sum)
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
	return a.CPUs == b.CPUs && a.MemoryMiB == b.MemoryMiB && a.GPUs == b.GPUs && a.GPUType == b.GPUType &&
		a.DiskMiB == b.DiskMiB && a.Exclusive == b.Exclusive && maps.Equal(a.GRES, b.GRES) &&
		slices.EqualFunc(a.Features, b.Features, slices.Equal[[]string])
}

func cloneShape(s *Shape) Shape {
	c := *s
	c.GRES = maps.Clone(s.GRES)
	c.Features = make([][]string, 0, len(s.Features))
	for _, or := range s.Features {
		c.Features = append(c.Features, slices.Clone(or))
	}
	return c
}
