package bridge

import "slices"

// hardware is what offers of one type have in common, whatever their zone,
// market and rate: a shape is fitted to it once.
type hardware struct {
	shape    Shape
	features []string
}

// hardwareTable numbers hardware, and remembers which shapes fit. It is keyed
// by value and outlives a decision.
type hardwareTable struct {
	index hashIndex
	list  []hardware
	fits  []fitSet // by number of shape
}

// fitSet is the set of hardware that holds a shape, as far as it was checked.
type fitSet struct {
	bits    []uint64
	checked int
}

func (s *fitSet) has(hw int32) bool { return s.bits[hw>>6]>>(hw&63)&1 == 1 }

func (t *hardwareTable) number(o *Offer) int32 {
	h := hashShape(&o.Shape)
	for _, f := range o.Features {
		h = mixString(h, f)
	}
	for i := t.index.first(h); i >= 0; i = t.index.next(h) {
		if equalShape(&t.list[i].shape, &o.Shape) && slices.Equal(t.list[i].features, o.Features) {
			return i
		}
	}
	n := int32(len(t.list))
	t.list = append(t.list, hardware{cloneShape(&o.Shape), slices.Clone(o.Features)})
	t.index.add(h, n)
	return n
}

// fit returns the hardware that holds the shape with number n.
func (t *hardwareTable) fit(n int32, s *Shape) *fitSet {
	for int(n) >= len(t.fits) {
		t.fits = append(t.fits, fitSet{})
	}
	f := &t.fits[n]
	if f.checked == len(t.list) {
		return f
	}
	for len(f.bits)*64 < len(t.list) {
		f.bits = append(f.bits, 0)
	}
	for i := f.checked; i < len(t.list); i++ {
		h := &t.list[i]
		if provides(&h.shape, h.features, s) {
			f.bits[i>>6] |= 1 << (i & 63)
		}
	}
	f.checked = len(t.list)
	return f
}
