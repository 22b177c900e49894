package bridge

// offerSet is a set of places in the catalog.
type offerSet []uint64

func newOfferSet(n int) offerSet { return make(offerSet, (n+63)/64) }

func (s offerSet) add(i int)      { s[i>>6] |= 1 << (i & 63) }
func (s offerSet) drop(i int)     { s[i>>6] &^= 1 << (i & 63) }
func (s offerSet) has(i int) bool { return s[i>>6]>>(i&63)&1 == 1 }

// fitting returns the offers that hold the shape with number n.
func (d *Decider) fitting(n int32) offerSet {
	c := d.catalog
	for int(n) >= len(c.fits) {
		c.fits = append(c.fits, nil)
	}
	if c.fits[n] != nil {
		return c.fits[n]
	}
	out := newOfferSet(len(c.offers))
	c.fits[n] = out
	fits := d.hardware.fit(n, &d.shapes.shapes[n])
	for hw, set := range c.holds {
		if set == nil || !fits.has(int32(hw)) {
			continue
		}
		for w := range out {
			out[w] |= set[w]
		}
	}
	return out
}
