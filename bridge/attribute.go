package bridge

import (
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
