package bridge

import "time"

// Reach is how much of a cloud a refusal is about, as far as its adapter can
// tell from the code.
type Reach string

// The reaches. A driver that knows none leaves it at the pool that was asked.
const (
	ReachPool   Reach = ""       // that pool
	ReachZones  Reach = "zones"  // that type and market in every zone of the region, as quotas are
	ReachRegion Reach = "region" // all of the region: an image that it lacks, a region that is not opened
	ReachCloud  Reach = "cloud"  // the whole account: credentials, a bill that was not paid
)

// Of returns the pools that a refusal of p is about: a pool with empty fields
// stands for all that it covers.
func (r Reach) Of(p Pool) Pool {
	switch r {
	case ReachZones:
		p.Zone = ""
	case ReachRegion:
		return Pool{Cloud: p.Cloud, Region: p.Region}
	case ReachCloud:
		return Pool{Cloud: p.Cloud}
	case ReachPool:
	}
	return p
}

// Wide reports whether the pool stands for several.
func (p Pool) Wide() bool { return p.Type == "" || p.Zone == "" }

// Covers reports whether o is one of the pools that p stands for.
func (p Pool) Covers(o Pool) bool {
	return p.Cloud == o.Cloud && (p.Region == "" || p.Region == o.Region) && (p.Zone == "" || p.Zone == o.Zone) &&
		(p.Type == "" || p.Type == o.Type) && (p.Market == "" || p.Market == o.Market)
}

// downs are the pools that rest at one time.
type downs struct {
	one    map[Pool]time.Time // until
	wide   []PoolHealth
	region map[regionKey]bool // one of its pools was sold out, or took a machine back
}

// regionKey is a type and market in all zones of a region: what sells out
// together.
type regionKey struct {
	cloud, region, typ string
	market             Market
}

func regionOf(p *Pool) regionKey { return regionKey{p.Cloud, p.Region, p.Type, p.Market} }

func newDowns(s *Snapshot) downs {
	d := downs{one: make(map[Pool]time.Time, len(s.Pools)), region: map[regionKey]bool{}}
	for _, h := range s.Pools {
		switch {
		case !h.DownUntil.After(s.Now):
		case h.Pool.Wide():
			d.wide = append(d.wide, h)
		default:
			d.one[h.Pool] = later(h.DownUntil, d.one[h.Pool])
			d.region[regionOf(&h.Pool)] = true
		}
	}
	return d
}

// until is when a pool is up again; zero: it is not down.
func (d *downs) until(p Pool) time.Time {
	out := d.one[p]
	for i := range d.wide {
		if h := &d.wide[i]; h.Pool.Covers(p) {
			out = later(h.DownUntil, out)
		}
	}
	return out
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
