package bridge

import (
	"fmt"
	"slices"
)

// PriceRange is what one GPU of a family costs an hour, or one CPU where GPU is
// empty.
type PriceRange struct {
	GPU       string `json:"gpu,omitempty"`
	Low, High Rate
}

// A price is believed from a twentieth of the cheapest on demand, since spot has
// been seen at a tenth and marketplaces below that, up to ten times the dearest.
const (
	plausibleLow  = 20
	plausibleHigh = 10
)

// usual are the cheapest and the dearest GPU of each family on demand, in
// thousandths of a dollar an hour, from public price lists of three clouds:
// prices has them with their sources, and the test works these out.
// Families that are not here are judged by what else is on offer.
var usual = map[string]struct{ low, high int64 }{
	"a10":        {1226, 4476},
	"a100-40":    {2745, 4325},
	"a100-80":    {3431, 6248},
	"a10g":       {1006, 4096},
	"b200":       {14242, 14242},
	"b300":       {17802, 17802},
	"h100":       {6880, 15830},
	"h200":       {7912, 7912},
	"k80":        {900, 900},
	"l4":         {705, 3397},
	"l40s":       {1861, 7577},
	"p100":       {1541, 3116},
	"p4":         {930, 3076},
	"rtxpro6000": {4500, 6051},
	"t4":         {526, 4352},
	"v100-16":    {2834, 3922},
	"v100-32":    {2820, 4163},
	cpuFamily:    {21, 105}, // a CPU with its memory
}

const cpuFamily = "cpu"

// perDollar is about what a dollar is in the currencies that prices are usual in:
// the ranges are so wide that it need not be right.
var perDollar = map[Currency]int64{"USD": 1, "EUR": 1, "GBP": 1, "CHF": 1, "CNY": 7}

// fewest is how many other offers of a family say what it costs where no list
// does.
const fewest = 3

// CheckPrices bars offers whose price is not plausible: none at all, or far
// outside what their family costs, by the site's own ranges, by public price
// lists, or else by the other offers in hand. Nothing is a price of what is paid
// for already. It writes into the list.
func CheckPrices(offers []Offer, own []PriceRange) {
	asked := map[familyIn]familyRange{}
	for i := range offers {
		o := &offers[i]
		if o.Bar != "" || o.Pool.Market == Reserved && o.Rate.Micro == 0 {
			continue
		}
		if o.Rate.Micro <= 0 {
			o.Bar, o.BarWhy = ReasonImplausible, fmt.Sprintf("%s an hour is no price", Money(o.Rate))
			continue
		}
		family, units := familyUnits(&o.Shape)
		key := familyIn{family, o.Rate.Currency}
		r, ok := asked[key]
		if !ok {
			r = rangeOf(offers, own, family, o.Rate.Currency)
			asked[key] = r
		}
		if !r.known || o.Rate.Micro >= r.low*units && o.Rate.Micro/units <= r.high {
			continue
		}
		unit := Money{o.Rate.Micro / units, o.Rate.Currency}
		o.Bar = ReasonImplausible
		o.BarWhy = fmt.Sprintf("%s an hour is %s for each of %d %s; %s it is %s to %s",
			Money(o.Rate), unit, units, family, r.by, Money{r.low, unit.Currency}, Money{r.high, unit.Currency})
	}
}

type familyIn struct {
	family   string
	currency Currency
}

// familyRange is what one unit of a family may cost, in micro-units.
type familyRange struct {
	low, high int64
	known     bool
	by        string
}

// familyUnits is what a machine's price is divided by: its GPUs, or its CPUs.
func familyUnits(s *Shape) (string, int64) {
	if s.GPUs == 0 {
		return cpuFamily, int64(max(s.CPUs, 1))
	}
	if k := modelOf(s.GPUType); k.name != "" {
		return k.name, int64(s.GPUs)
	}
	return s.GPUType, int64(s.GPUs)
}

func rangeOf(offers []Offer, own []PriceRange, family string, currency Currency) familyRange {
	for i := range own {
		r := &own[i]
		if (r.GPU == "" && family == cpuFamily || r.GPU != "" && GPUTakes(r.GPU, family)) && r.Low.Currency == currency {
			return familyRange{r.Low.Micro, r.High.Micro, true, "by the policy file"}
		}
	}
	if r, ok := listed(family, currency); ok {
		return r
	}
	var units []int64
	for i := range offers {
		o := &offers[i]
		if f, n := familyUnits(&o.Shape); f == family && o.Rate.Micro > 0 && o.Rate.Currency == currency {
			units = append(units, o.Rate.Micro/n)
		}
	}
	if len(units) <= fewest {
		return familyRange{}
	}
	slices.Sort(units)
	middle := units[len(units)/2]
	return familyRange{middle / plausibleLow, scaled(middle, plausibleHigh, 1), true, fmt.Sprintf("by %d offers", len(units))}
}

// listed is the range by the public price lists; of a family whose memory is not
// said, that of all its memories.
func listed(family string, currency Currency) (familyRange, bool) {
	dollar, ok := perDollar[currency]
	if !ok {
		return familyRange{}, false
	}
	r := familyRange{by: "by public price lists"}
	for name, u := range usual {
		if name != family && !(name != cpuFamily && GPUTakes(family, name)) {
			continue
		}
		low, high := u.low*1000*dollar/plausibleLow, u.high*1000*dollar*plausibleHigh
		if !r.known {
			r.low, r.high, r.known = low, high, true
		}
		r.low, r.high = min(r.low, low), max(r.high, high)
	}
	return r, r.known
}
