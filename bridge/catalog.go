package bridge

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"
)

// catalog is all offers of a snapshot, in one order that does not depend on the
// order they came in: by rate, then by pool. It is kept while nothing in it
// changes but times.
type catalog struct {
	version  uint64
	offers   []*Offer
	pools    []Pool // copies, for verdicts to point to
	state    []offerState
	now      time.Time
	boot     time.Duration   // median
	boots    []time.Duration // all there are, sorted, each once
	reserved bool            // there is one of that market
	views    map[viewKey]*view
	quick    map[termsView]*view
	holds    []offerSet // offers of each hardware
	fits     []offerSet // offers that hold each shape, by its number; made when asked for
	sold     uint64     // hash of the set of offers without a machine left
	low      uint64     // hash of all stocks below lowStock
}

// offerState is what is known of one offer apart from its cloud's own words.
type offerState struct {
	hw    int32
	fresh bool
	down  time.Time     // zero: not down
	stock int           // left after the orders of this plan; negative: unknown
	taken bool          // by this plan
	loss  int64         // per mille of what a spot machine computes is lost to reclaims
	moves int64         // reclaims to be expected in an hour, in thousandths
	left  time.Duration // until its contract ends, in whole minutes; negative: it has ended
	holds uint64        // hash of the hours that its provider's attributes last
}

// takeOffers makes the catalog of a snapshot, or finds that the last one holds.
func (d *Decider) takeOffers(s *Snapshot) *catalog {
	c := &catalog{now: s.Now, views: map[viewKey]*view{}, quick: map[termsView]*view{}, offers: make([]*Offer, 0, len(s.Offers))}
	for i := range s.Offers {
		c.offers = append(c.offers, &s.Offers[i])
	}
	slices.SortFunc(c.offers, compareOffers)
	boots := make([]time.Duration, 0, len(c.offers))
	losses := newLosses(s)
	for _, o := range c.offers {
		c.pools = append(c.pools, o.Pool)
		c.reserved = c.reserved || o.Pool.Market == Reserved
		c.state = append(c.state, offerState{hw: d.hardware.number(o), fresh: o.Fresh(s.Now), down: losses.downs.until(o.Pool), stock: o.Available, loss: losses.of(o), moves: losses.moves(o), left: o.left(s.Now), holds: o.lastsHash(s.Now)})
		boots = append(boots, o.Boot)
	}
	for i := range c.state {
		c.count(i, 1)
	}
	if len(boots) > 0 {
		slices.Sort(boots)
		c.boot = boots[len(boots)/2]
		c.boots = slices.Compact(boots)
	}
	if last := d.catalog; last != nil && c.same(last) {
		c.version, c.views, c.quick, c.holds, c.fits = last.version, last.views, last.quick, last.holds, last.fits
	} else {
		d.versions++
		c.version = d.versions
		c.holds = make([]offerSet, len(d.hardware.list))
		for i := range c.state {
			h := &c.holds[c.state[i].hw]
			if *h == nil {
				*h = newOfferSet(len(c.offers))
			}
			h.add(i)
		}
	}
	d.catalog = c
	return c
}

// same reports whether two catalogs lead to the same purchases.
func (c *catalog) same(o *catalog) bool {
	return slices.EqualFunc(c.offers, o.offers, func(a, b *Offer) bool {
		return a.Pool == b.Pool && a.Rate == b.Rate && a.Boot == b.Boot && a.Billing() == b.Billing() && a.Bar == b.Bar &&
			a.Network == b.Network && a.Egress == b.Egress && slices.Equal(a.Attributes, b.Attributes)
	}) && slices.EqualFunc(c.state, o.state, func(a, b offerState) bool {
		return a.hw == b.hw && a.fresh == b.fresh && a.loss == b.loss && a.moves == b.moves && a.left == b.left && a.holds == b.holds && a.down.Equal(b.down)
	})
}

func compareOffers(a, b *Offer) int {
	if c := cmp.Compare(a.Rate.Micro, b.Rate.Micro); c != 0 {
		return c
	}
	if c := cmp.Compare(a.Shape.GPUs, b.Shape.GPUs); c != 0 && a.Rate.Micro == 0 {
		return c // of what costs nothing, the smallest that will do
	}
	if c := comparePools(&a.Pool, &b.Pool); c != 0 {
		return c
	}
	// One pool is listed once; if a cloud lists it twice, still one order.
	return cmp.Or(
		strings.Compare(string(a.Rate.Currency), string(b.Rate.Currency)), a.SampledAt.Compare(b.SampledAt),
		cmp.Compare(a.Available, b.Available), cmp.Compare(a.Boot, b.Boot), cmp.Compare(a.Step, b.Step),
		cmp.Compare(a.Minimum, b.Minimum), strings.Compare(a.Shape.Key(), b.Shape.Key()), slices.Compare(a.Features, b.Features),
		cmp.Compare(a.MaxAge, b.MaxAge), cmp.Compare(a.Notice, b.Notice), cmp.Compare(a.Term, b.Term), cmp.Compare(a.EarlyPM, b.EarlyPM),
		cmp.Compare(a.Quoted.Micro, b.Quoted.Micro), strings.Compare(string(a.Bar), string(b.Bar)), a.Until.Compare(b.Until), strings.Compare(a.Contract, b.Contract),
	)
}

func comparePools(a, b *Pool) int {
	return cmp.Or(
		strings.Compare(a.Cloud, b.Cloud), strings.Compare(a.Region, b.Region), strings.Compare(a.Zone, b.Zone),
		strings.Compare(a.Type, b.Type), strings.Compare(string(a.Market), string(b.Market)),
	)
}

// use takes machines out of an offer's stock.
func (c *catalog) use(i, machines int) {
	st := &c.state[i]
	st.taken = true
	c.take(i, machines)
	if contract := c.offers[i].Contract; contract != "" { // its machines may come from several zones
		for k, o := range c.offers {
			if k != i && o.Contract == contract && o.Pool.Cloud == c.offers[i].Pool.Cloud {
				c.take(k, machines)
			}
		}
	}
}

func (c *catalog) take(i, machines int) {
	st := &c.state[i]
	if st.stock < 0 {
		return
	}
	c.count(i, -1)
	st.stock = max(st.stock-machines, 0)
	c.count(i, 1)
}

// lowStock is the size of purchase up to which a choice depends on the offers
// in low alone.
const lowStock = 64

// count adds an offer's stock to the hashes, or takes it out.
func (c *catalog) count(i int, sign int64) {
	n := c.state[i].stock
	if n == 0 {
		c.sold += uint64(sign) * mix(uint64(i)+1, 0)
	}
	if n >= 0 && n < lowStock {
		c.low += uint64(sign) * mix(uint64(i)+1, uint64(n)+1)
	}
}

// has reports how many machines of an offer may still be asked for.
func (c *catalog) has(i int) int {
	if n := c.state[i].stock; n >= 0 {
		return n
	}
	return 1 << 30
}

// marketRule narrows the markets policy allows for one demand.
type marketRule uint8

const (
	anyMarket     marketRule = iota
	noSpot                   // the scheduler may not requeue it
	noCheckpoint             // no spot: it has no checkpoint to go on from
	oldCheckpoint            // no spot: it would lose too much
	spotOnly                 // it is ahead of its deadline's pace
	onDemandOnly             // it lost enough spot machines, or may not lose one more
)

// view is the part of the catalog one kind of demand may buy from.
type view struct {
	version  uint64 // of the catalog
	terms    *Terms
	rule     marketRule
	currency Currency
	markets  []Market
	offers   []offerSet // of each market
	barred   []Reason   // of each offer: why it may not be bought; empty if it may
	// slow is the longest boot that the deadlines of its demands allow; zero: any.
	slow time.Duration
	// lasts is how long each offer's provider has what policy asks for, in whole
	// hours; nil: nothing is asked for.
	lasts []time.Duration
}

// lastsOn is how long an offer's provider has what policy asks for.
func (v *view) lastsOn(i int) time.Duration {
	if v.lasts == nil {
		return math.MaxInt64
	}
	return v.lasts[i]
}

// viewKey is all of terms that says where may be bought.
type viewKey struct {
	markets, clouds, regions string
	attributes               string
	network                  Network
	slow                     time.Duration
	data                     bool // something leaves the place
	ceiling                  Rate
	rule                     marketRule
	currency                 Currency
	reserved                 bool // and nothing else
}

// view returns what may be bought under terms.
func (c *catalog) view(t *Terms, rule marketRule, currency Currency, slow time.Duration) *view {
	quick := termsView{t, rule, currency, slow}
	if v, ok := c.quick[quick]; ok {
		return v
	}
	key := viewKey{joined(t.Markets), joined(t.Clouds), joined(t.Regions), joined(t.Attributes), t.Network, slow, t.moves(), t.MaxRate, rule, currency, t.Class == P0}
	v, ok := c.views[key]
	if !ok {
		v = c.newView(t, rule, currency, slow)
		c.views[key] = v
	}
	c.quick[quick] = v
	return v
}

type termsView struct {
	terms    *Terms
	rule     marketRule
	currency Currency
	slow     time.Duration
}

func joined[S ~string](words []S) string {
	var out strings.Builder
	for _, w := range words {
		out.WriteString(string(w) + "\x00")
	}
	return out.String()
}

func (c *catalog) newView(t *Terms, rule marketRule, currency Currency, slow time.Duration) *view {
	v := &view{version: c.version, terms: t, rule: rule, currency: currency, slow: slow, markets: c.markets(t, rule)}
	if len(t.Attributes) > 0 {
		for _, o := range c.offers {
			v.lasts = append(v.lasts, o.lasts(t.Attributes, c.now))
		}
	}
	v.offers = make([]offerSet, len(v.markets))
	for m := range v.offers {
		v.offers[m] = newOfferSet(len(c.offers))
	}
	v.barred = make([]Reason, len(c.offers))
	for i, o := range c.offers {
		if v.barred[i] = c.bar(v, i); v.barred[i] == "" {
			v.offers[slices.Index(v.markets, o.Pool.Market)].add(i)
		}
	}
	return v
}

// markets are those a demand may buy in: first what is paid for anyway, and for
// class P0 that alone.
func (c *catalog) markets(t *Terms, rule marketRule) []Market {
	if t.Class == P0 {
		return []Market{Reserved}
	}
	out := rule.allowed(t.Markets)
	if c.reserved && !slices.Contains(out, Reserved) {
		out = append([]Market{Reserved}, out...)
	}
	return out
}

func (r marketRule) allowed(ms []Market) []Market {
	switch r {
	case anyMarket:
		return ms
	case onDemandOnly:
		return []Market{OnDemand}
	case noSpot, noCheckpoint, oldCheckpoint, spotOnly:
	}
	return slices.DeleteFunc(slices.Clone(ms), func(m Market) bool { return r.bars(m) != "" })
}

// bars says why the rule keeps a demand from a market; empty if it does not.
func (r marketRule) bars(m Market) Reason {
	spot := m == Spot
	switch {
	case m == Reserved: // nobody takes it back, and it costs nothing more
		return ""
	case r == noSpot && spot:
		return ReasonNotRestartable
	case r == noCheckpoint && spot:
		return ReasonNoCheckpoint
	case r == oldCheckpoint && spot:
		return ReasonOldCheckpoint
	case r == spotOnly && !spot:
		return ReasonAheadOfPace
	case r == onDemandOnly && m != OnDemand:
		return ReasonNoOffer
	}
	return ""
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
		if why := v.rule.bars(o.Pool.Market); why != "" && slices.Contains(t.Markets, o.Pool.Market) {
			return why
		}
		return ReasonNoOffer
	case v.lastsOn(i) < 0:
		return ReasonLacks
	case !o.Network.Holds(t.Network):
		return ReasonNetwork
	case o.Bar != "":
		return o.Bar
	case t.MaxRate.Micro > 0 && (t.MaxRate.Currency != o.Rate.Currency || o.Rate.Micro > t.MaxRate.Micro):
		return ReasonTooDear
	case o.Rate.Currency != v.currency:
		return ReasonNoBudget
	case t.moves() && o.Egress.Micro > 0 && o.Egress.Currency != v.currency:
		return ReasonNoExchange
	case !c.state[i].fresh:
		return ReasonNoPrice
	case v.slow > 0 && o.Boot > v.slow:
		return ReasonLate
	case !c.state[i].down.IsZero():
		return ReasonPoolsDown
	}
	return ""
}
