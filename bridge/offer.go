package bridge

import (
	"slices"
	"strings"
	"time"
)

// Market is how a machine is bought.
type Market string

// The two elastic markets, and machines of a contract that is paid for anyway.
const (
	OnDemand Market = "on-demand"
	Spot     Market = "spot"
	Reserved Market = "reserved"
)

// Pool is where machines of one kind come from: the unit that sells out.
type Pool struct {
	Cloud  string `json:"cloud"`
	Region string `json:"region"`
	Zone   string `json:"zone"`
	Type   string `json:"type"`
	Market Market `json:"market"`
}

// String prints cloud/region/zone/type/market.
func (p Pool) String() string {
	return strings.Join([]string{p.Cloud, p.Region, p.Zone, p.Type, string(p.Market)}, "/")
}

// Offer is a pool at a rate, with what a machine of it has.
type Offer struct {
	Pool     Pool     `json:"pool"`
	Shape    Shape    `json:"shape"`
	Features []string `json:"features,omitempty"`
	Rate     Rate     `json:"rate"`
	// SampledAt is when the cloud gave the rate; older than MaxAge it serves
	// quotes only, never an admission.
	SampledAt time.Time     `json:"sampled_at"`
	MaxAge    time.Duration `json:"max_age"`
	// Source is where the rate is from, in the cloud's own words: the call or the
	// list that was read. Empty: the cloud has one only.
	Source    string        `json:"source,omitempty"`
	Boot      time.Duration `json:"boot"`      // expected, from create to joined
	Available int           `json:"available"` // machines in stock; negative: unknown
	// Step and Minimum are the billing step and minimum charge of one machine.
	Step    time.Duration `json:"step"`
	Minimum time.Duration `json:"minimum"`
	// Term is how long a machine is taken for, and EarlyPM the per mille of the
	// rest of it that is charged when the machine goes back sooner.
	Term    time.Duration `json:"term,omitempty"`
	EarlyPM int           `json:"early_pm,omitempty"`
	// Notice is the warning given before a spot machine is taken; zero: none.
	Notice time.Duration `json:"notice"`
	// Quoted is the rate in the cloud's own currency where that is another one,
	// and FX the Exchange.String that made Rate of it.
	Quoted Rate   `json:"quoted,omitzero"`
	FX     string `json:"fx,omitempty"`
	// Bar is why it may not be bought, whatever it costs; empty: it may.
	// BarWhy says the same in figures, where there are any.
	Bar    Reason `json:"bar,omitempty"`
	BarWhy string `json:"bar_why,omitempty"`
	// Contract names the capacity, paid for anyway, that its machines belong to, and
	// Until is when that ends; zero: never.
	Contract string    `json:"contract,omitempty"`
	Until    time.Time `json:"until,omitzero"`
	// Limited is what keeps Available where it is, other than stock: a quota, by the
	// cloud's own name; empty: stock.
	Limited string `json:"limited,omitempty"`
	// Score is the cloud's own word for how likely the pool gives machines and keeps
	// them, 1 to 10; zero: it has none.
	Score int `json:"score,omitempty"`
	// Network, Attributes and Egress are of the provider and its region. Egress is
	// the price of a GiB that leaves it; zero: nothing, or not known.
	Network    Network     `json:"network,omitempty"`
	Attributes []Attribute `json:"attributes,omitempty"`
	Egress     Money       `json:"egress,omitzero"`
}

// Fresh reports whether the rate may be used to buy at now. Nothing is a price
// only of what is paid for already; anywhere else it is one not known.
func (o *Offer) Fresh(now time.Time) bool {
	priced := o.Rate.Micro > 0 || o.Rate.Micro == 0 && o.Pool.Market == Reserved
	return priced && o.Bar == "" && !o.SampledAt.IsZero() && now.Sub(o.SampledAt) <= o.MaxAge && o.SampledAt.Sub(now) < time.Minute
}

// Holds reports whether one machine of the offer satisfies a node's shape.
func (o *Offer) Holds(s *Shape) bool { return provides(&o.Shape, o.Features, s) }

// provides reports whether a machine that is yet to be rented can take one node
// of shape s: its GPUs are whatever the scheduler will be told to call them.
func provides(h *Shape, features []string, s *Shape) bool {
	return suffices(h, features, s) && (s.GPUs == 0 || s.GPUType == "" || GPUTakes(s.GPUType, h.GPUType))
}

// satisfies reports whether a machine that is in the scheduler with h and features
// can take one node of shape s. A scheduler knows a GPU by its name alone.
func satisfies(h *Shape, features []string, s *Shape) bool {
	return (s.GPUs == 0 || s.GPUType == "" || s.GPUType == h.GPUType) && suffices(h, features, s)
}

// suffices looks at everything but the name of the GPUs.
func suffices(h *Shape, features []string, s *Shape) bool {
	if h.CPUs < s.CPUs || h.MemoryMiB < s.MemoryMiB || h.GPUs < s.GPUs || h.DiskMiB < s.DiskMiB {
		return false
	}
	for k, n := range s.GRES {
		if h.GRES[k] < n {
			return false
		}
	}
	for _, or := range s.Features {
		if !slices.ContainsFunc(or, func(w string) bool { return slices.Contains(features, w) }) {
			return false
		}
	}
	return true
}

// PoolHealth remembers refusals of a pool, or of all that a wide one covers.
type PoolHealth struct {
	Pool      Pool      `json:"pool"`
	DownUntil time.Time `json:"down_until"`
	Failures  int       `json:"failures"` // that were not made good yet
	Code      string    `json:"code"`     // the cloud's last word
	// At is when that was said, and Kind what it means.
	At   time.Time      `json:"at,omitzero"`
	Kind CloudErrorKind `json:"kind,omitempty"`
}
