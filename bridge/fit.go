package bridge

import "math"

// Fit says how many machines of an offer hold gangs of a shape.
type Fit struct {
	Machines int // to rent
	Each     int // nodes of the demand one machine holds at once
}

// FitOffer returns the machines of one pool that hold count gangs of nodes
// nodes each, and false if not even one node fits. The nodes of a gang sit on
// machines of their own, as a scheduler places them; gangs of one node share
// machines as far as the shape allows.
func FitOffer(o *Offer, s *Shape, nodes, count int) (Fit, bool) {
	if nodes < 1 || count < 1 || !o.Holds(s) {
		return Fit{}, false
	}
	if nodes > 1 {
		return Fit{Machines: nodes * count, Each: 1}, true
	}
	each := slots(&o.Shape, s)
	return Fit{Machines: ceilDiv(count, each), Each: each}, true
}

// slots is how many nodes of shape want an empty machine holds that holds at
// least one. A demand that limits nothing gets a machine of its own.
func slots(have, want *Shape) int {
	if want.Exclusive {
		return 1
	}
	n := fits(math.MaxInt64, int64(have.CPUs), int64(want.CPUs))
	n = fits(n, have.MemoryMiB, want.MemoryMiB)
	n = fits(n, int64(have.GPUs), int64(want.GPUs))
	n = fits(n, have.DiskMiB, want.DiskMiB)
	for k, w := range want.GRES {
		n = fits(n, int64(have.GRES[k]), int64(w))
	}
	if n == math.MaxInt64 {
		return 1
	}
	return int(min(max(n, 1), 1<<30))
}

// fits lowers n to how often want goes into have.
func fits(n, have, want int64) int64 {
	if want <= 0 || have/want >= n {
		return n
	}
	return have / want
}

// place is a machine or node with what is free on it.
type place struct {
	has      *Shape // when empty
	free     Shape
	features []string
}

// holds reports whether one node of shape want fits into what is free.
func (p *place) holds(want *Shape) bool {
	if want.Exclusive && !untouched(p.has, &p.free) {
		return false
	}
	return satisfies(&p.free, p.features, want)
}

func untouched(has, free *Shape) bool {
	return has.CPUs == free.CPUs && has.MemoryMiB == free.MemoryMiB && has.GPUs == free.GPUs && has.DiskMiB == free.DiskMiB
}

// take uses up the room of one node of shape want, as slots counts it.
func (p *place) take(want *Shape) {
	whole := want.Exclusive || want.CPUs == 0 && want.MemoryMiB == 0 && want.GPUs == 0 && want.DiskMiB == 0 && len(want.GRES) == 0
	if whole {
		p.free = Shape{CPUs: -1, GPUType: p.free.GPUType}
		return
	}
	p.free.CPUs -= want.CPUs
	p.free.MemoryMiB -= want.MemoryMiB
	p.free.GPUs -= want.GPUs
	p.free.DiskMiB -= want.DiskMiB
	if len(want.GRES) > 0 {
		left := make(map[string]int, len(p.free.GRES))
		for k, n := range p.free.GRES {
			left[k] = n - want.GRES[k]
		}
		p.free.GRES = left
	}
}

// roof is the most that is free on any of some places, each kind of resource for
// itself: what goes over it fits on none of them. A full cluster with a long queue
// is asked a million times whether something fits, and this answers at once. The
// zero roof is that of no places.
type roof struct {
	cpus, gpus   int
	memory, disk int64
	some         bool
}

// cover raises the roof over one more place.
func (r *roof) cover(free *Shape) {
	if !r.some {
		*r = roof{free.CPUs, free.GPUs, free.MemoryMiB, free.DiskMiB, true}
		return
	}
	r.cpus, r.gpus = max(r.cpus, free.CPUs), max(r.gpus, free.GPUs)
	r.memory, r.disk = max(r.memory, free.MemoryMiB), max(r.disk, free.DiskMiB)
}

// under reports whether a shape may fit on one of the places.
func (r *roof) under(want *Shape) bool {
	return r.some && want.CPUs <= r.cpus && want.GPUs <= r.gpus && want.MemoryMiB <= r.memory && want.DiskMiB <= r.disk
}

func roofOf(places []*place) roof {
	var r roof
	for _, p := range places {
		r.cover(&p.free)
	}
	return r
}

// findGang returns different places for the nodes of one gang, or nil.
func findGang(places []*place, want *Shape, nodes int) []*place {
	if len(places) < nodes {
		return nil
	}
	var found []*place
	for _, p := range places {
		if !p.holds(want) {
			continue
		}
		if found == nil {
			found = make([]*place, 0, nodes)
		}
		if found = append(found, p); len(found) == nodes {
			return found
		}
	}
	return nil
}

// takeGang puts one gang of nodes nodes on different places, all or none.
func takeGang(places []*place, want *Shape, nodes int) bool {
	found := findGang(places, want, nodes)
	for _, p := range found {
		p.take(want)
	}
	return found != nil
}

func ceilDiv(a, b int) int { return (a-1)/b + 1 }
