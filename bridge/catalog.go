package bridge

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// SpotHeadroomPM is the ceiling of a spot machine in per mille of today's rate,
// where policy sets no ceiling of its own: moving prices may rise by a quarter
// before the machine is no longer wanted, and the hold covers that.
const SpotHeadroomPM = 1250

// catalog is all offers of a snapshot, in one order that does not depend on the
// order they came in: by rate, then by pool.
type catalog struct {
	now      time.Time
	offers   []*Offer
	pools    []Pool // copies, for verdicts to point to
	down     []time.Time
	stock    []int // left after the orders of this plan; negative: unknown
	taken    []bool
	boot     time.Duration // median
	hardware []hardware
	hw       []int32 // of each offer
	fits     map[int32][]int32
	views    map[viewKey]*view
}

// hardware is what offers of one type have in common, whatever their zone,
// market and rate: a shape is fitted to it once.
type hardware struct {
	shape    *Shape
	features []string
}

func newCatalog(s *Snapshot) *catalog {
	c := &catalog{now: s.Now, fits: map[int32][]int32{}, views: map[viewKey]*view{}}
	for i := range s.Offers {
		c.offers = append(c.offers, &s.Offers[i])
	}
	slices.SortFunc(c.offers, compareOffers)
	down := make(map[Pool]time.Time, len(s.Pools))
	for _, h := range s.Pools {
		if h.DownUntil.After(s.Now) && h.DownUntil.After(down[h.Pool]) {
			down[h.Pool] = h.DownUntil
		}
	}
	boots := make([]time.Duration, 0, len(c.offers))
	for _, o := range c.offers {
		c.pools = append(c.pools, o.Pool)
		c.down = append(c.down, down[o.Pool])
		c.stock = append(c.stock, o.Available)
		c.taken = append(c.taken, false)
		c.hw = append(c.hw, c.hardwareOf(o))
		boots = append(boots, o.Boot)
	}
	if len(boots) > 0 {
		slices.Sort(boots)
		c.boot = boots[len(boots)/2]
	}
	return c
}

func compareOffers(a, b *Offer) int {
	return cmp.Or(
		cmp.Compare(a.Rate.Micro, b.Rate.Micro),
		strings.Compare(string(a.Rate.Currency), string(b.Rate.Currency)),
		comparePools(&a.Pool, &b.Pool),
		a.SampledAt.Compare(b.SampledAt),
		cmp.Compare(a.Available, b.Available),
	)
}

func comparePools(a, b *Pool) int {
	return cmp.Or(
		strings.Compare(a.Cloud, b.Cloud), strings.Compare(a.Region, b.Region), strings.Compare(a.Zone, b.Zone),
		strings.Compare(a.Type, b.Type), strings.Compare(string(a.Market), string(b.Market)),
	)
}

func (c *catalog) hardwareOf(o *Offer) int32 {
	for i := range c.hardware {
		h := &c.hardware[i]
		if equalShape(h.shape, &o.Shape) && slices.Equal(h.features, o.Features) {
			return int32(i)
		}
	}
	c.hardware = append(c.hardware, hardware{&o.Shape, o.Features})
	return int32(len(c.hardware) - 1)
}

// each returns, for every hardware, how many nodes of the shape one machine
// holds; zero where it holds none. n is the shape's number in the table.
func (c *catalog) each(n int32, s *Shape) []int32 {
	if known, ok := c.fits[n]; ok {
		return known
	}
	each := make([]int32, len(c.hardware))
	for i := range c.hardware {
		o := Offer{Shape: *c.hardware[i].shape, Features: c.hardware[i].features}
		if o.Holds(s) {
			each[i] = int32(min(slots(&o.Shape, s), 1<<30))
		}
	}
	c.fits[n] = each
	return each
}

// use takes machines out of an offer's stock.
func (c *catalog) use(i, machines int) {
	c.taken[i] = true
	if c.stock[i] >= 0 {
		c.stock[i] -= machines
	}
}

// has reports how many machines of an offer may still be asked for.
func (c *catalog) has(i int) int {
	if c.stock[i] < 0 {
		return 1 << 30
	}
	return c.stock[i]
}

// marketRule narrows the markets policy allows for one demand.
type marketRule uint8

const (
	anyMarket    marketRule = iota
	noSpot                  // the scheduler may not requeue it
	onDemandOnly            // it lost enough spot machines
)

// view is the part of the catalog one kind of demand may buy from.
type view struct {
	terms    *Terms
	rule     marketRule
	currency Currency
	markets  []Market
	lists    [][]int32 // offers of each market in order of rate
	barred   []Reason  // of each offer: why it may not be bought; empty if it may
}

type viewKey struct {
	terms    int32 // number in the table of terms
	rule     marketRule
	currency Currency
}

// view returns what may be bought under terms, which have number n.
func (c *catalog) view(n int32, t *Terms, rule marketRule, currency Currency) *view {
	key := viewKey{n, rule, currency}
	v, ok := c.views[key]
	if !ok {
		v = c.newView(t, rule, currency)
		c.views[key] = v
	}
	return v
}

func (c *catalog) newView(t *Terms, rule marketRule, currency Currency) *view {
	v := &view{terms: t, rule: rule, currency: currency, markets: rule.allowed(t.Markets)}
	v.lists = make([][]int32, len(v.markets))
	v.barred = make([]Reason, len(c.offers))
	for i, o := range c.offers {
		v.barred[i] = c.bar(v, i)
		if v.barred[i] != "" {
			continue
		}
		m := slices.Index(v.markets, o.Pool.Market)
		v.lists[m] = append(v.lists[m], int32(i))
	}
	return v
}

func (r marketRule) allowed(ms []Market) []Market {
	switch r {
	case anyMarket:
		return ms
	case noSpot:
		return slices.DeleteFunc(slices.Clone(ms), func(m Market) bool { return m == Spot })
	case onDemandOnly:
		return []Market{OnDemand}
	}
	return nil
}

// bar returns why an offer may not be bought in a view, the most final cause
// first; empty if it may.
func (c *catalog) bar(v *view, i int) Reason {
	o, t := c.offers[i], v.terms
	switch {
	case len(t.Clouds) > 0 && !slices.Contains(t.Clouds, o.Pool.Cloud),
		len(t.Regions) > 0 && !slices.Contains(t.Regions, o.Pool.Region):
		return ReasonNoOffer
	case !slices.Contains(v.markets, o.Pool.Market):
		if v.rule == noSpot && slices.Contains(t.Markets, o.Pool.Market) {
			return ReasonNotRestartable
		}
		return ReasonNoOffer
	case t.MaxRate.Micro > 0 && (t.MaxRate.Currency != o.Rate.Currency || o.Rate.Micro > t.MaxRate.Micro):
		return ReasonTooDear
	case o.Rate.Currency != v.currency:
		return ReasonNoBudget
	case !o.Fresh(c.now):
		return ReasonNoPrice
	case c.down[i].After(c.now):
		return ReasonPoolsDown
	}
	return ""
}

// ceiling is the rate the hold is computed with: what the machine costs today
// on demand, the most it may come to cost on the spot market.
func ceiling(o *Offer, t *Terms) Rate {
	if o.Pool.Market != Spot {
		return o.Rate
	}
	if t.MaxRate.Micro > 0 {
		return t.MaxRate
	}
	hour, err := Rate{o.Rate.Micro, o.Rate.Currency}.Cost(SpotHeadroomPM*time.Hour/1000, 1, RoundUp)
	if err != nil {
		return o.Rate
	}
	return Rate{hour.Micro, hour.Currency}
}

// billed is what a cloud charges for a machine that lives d: at least the
// minimum, in whole steps.
func billed(d, step, minimum time.Duration) time.Duration {
	d = max(d, minimum)
	if step <= 0 {
		return d
	}
	return (d + step - 1) / step * step
}
