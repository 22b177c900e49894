package bridge

import (
	"math"
	"slices"
	"time"
)

// Attribute is something a provider has, as the site's configuration says of it:
// a licence, a certificate, a data centre of its own, the country the data stays in.
type Attribute struct {
	Name   string    `json:"name"`             // as policies ask for it: iso27001, idc-licence, own-data-centre, data-cn
	Number string    `json:"number,omitempty"` // of a licence or certificate
	Until  time.Time `json:"until,omitzero"`   // zero: it does not end
}

// Lacks returns the first of the wanted attributes that the offer's provider does
// not have until a time, and whether one is lacking.
func (o *Offer) Lacks(wanted []string, until time.Time) (string, bool) {
	for _, w := range wanted {
		if !slices.ContainsFunc(o.Attributes, func(a Attribute) bool {
			return a.Name == w && (a.Until.IsZero() || !a.Until.Before(until))
		}) {
			return w, true
		}
	}
	return "", false
}

// lasts is how long the offer's provider has all of the wanted attributes, in
// whole hours; negative: not even now.
func (o *Offer) lasts(wanted []string, now time.Time) time.Duration {
	out := time.Duration(math.MaxInt64)
	for _, w := range wanted {
		longest := time.Duration(-1)
		for i := range o.Attributes {
			if a := &o.Attributes[i]; a.Name == w {
				longest = max(longest, a.lasts(now))
			}
		}
		out = min(out, longest)
	}
	return out
}

// lasts is how long an attribute still holds, in whole hours: less than a rental
// is known to need it for. Negative: it ended.
func (a *Attribute) lasts(now time.Time) time.Duration {
	switch left := a.Until.Sub(now); {
	case a.Until.IsZero():
		return math.MaxInt64
	case left < 0:
		return -1
	default:
		return left.Truncate(time.Hour)
	}
}

// lastsHash changes when the whole hours do that any attribute of the offer lasts.
func (o *Offer) lastsHash(now time.Time) uint64 {
	h := uint64(0)
	for i := range o.Attributes {
		h = mix(h, uint64(o.Attributes[i].lasts(now)))
	}
	return h
}

// hours notes until when what is left of attributes stays what it is.
func (l *look) hours() {
	for _, o := range l.catalog.offers {
		for i := range o.Attributes {
			a := &o.Attributes[i]
			left := a.lasts(l.catalog.now)
			switch {
			case a.Until.IsZero():
			case left < 0:
				l.span.reached(nanos(a.Until, 1))
			default:
				l.span.reached(nanos(a.Until, -left-time.Hour+1))
				l.span.reached(nanos(a.Until, -left+1))
			}
		}
	}
}

// Suits says why policy does not take the offer's provider for a rental until a
// time, with the fact in words; empty if it does.
func (o *Offer) Suits(t *Terms, until time.Time) (Reason, string) {
	if w, lacks := o.Lacks(t.Attributes, until); lacks {
		return ReasonLacks, lacking(o, w)
	}
	if !o.Network.Holds(t.Network) {
		return ReasonNetwork, tooSlow(o, t)
	}
	return "", ""
}

// Network is the class of what joins the machines of an offer to each other.
type Network string

// The classes, from the slowest. An offer that says nothing is of the first.
const (
	NetworkPlain Network = ""     // whatever there is
	NetworkFast  Network = "25g"  // 25 Gbit/s or more a machine
	NetworkVast  Network = "100g" // 100 Gbit/s or more a machine
	NetworkRDMA  Network = "rdma" // RDMA between machines: InfiniBand, RoCE, EFA
)

var networks = []Network{NetworkPlain, NetworkFast, NetworkVast, NetworkRDMA}

// Holds reports whether a class is as good as a wanted one.
func (n Network) Holds(want Network) bool {
	return slices.Index(networks, n) >= slices.Index(networks, want)
}

// Valid reports whether there is such a class.
func (n Network) Valid() bool { return slices.Contains(networks, n) }
