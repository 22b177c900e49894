package report

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"time"

	"spillway.sh/spillway/bridge"
)

// hoursNeeded is how much demand a mix is worked out from at least: a week, so
// that every hour of every weekday is in it once. With less, a quantile is one
// of working hours, or of a night.
const hoursNeeded = 7 * 24

// mixTerm is the hours of a reservation that the online rule may buy: a week, so
// that several terms fit in the demand looked at.
const mixTerm = 7 * 24

// demand is GPUs wanted in each hour of a class; gaps of the record are not in it.
type demand struct {
	from time.Time
	hour []int // by hours since from; negative: not recorded
	wait int64 // GPUs that jobs waited for, in tenths, added up over the hours
}

// mix is part 4.
func (l *looked) mix() Mix {
	m := Mix{Classes: []MixClass{}}
	classes := l.demands()
	for _, gpu := range slices.Sorted(maps.Keys(classes)) {
		if gpu == "" {
			continue // machines without a GPU, or of which it is not said
		}
		d := classes[gpu]
		known := d.known()
		if slices.Max(append(known, 0)) == 0 {
			continue
		}
		if len(known) < hoursNeeded {
			l.note(PartMix, NoteFewHours, "gpu", gpu, "hours", strconv.Itoa(len(known)), "need", strconv.Itoa(hoursNeeded))
			continue
		}
		m.Classes = append(m.Classes, l.mixClass(gpu, d, known))
	}
	if len(m.Classes) == 0 && len(classes) == 0 {
		l.note(PartMix, NoteNoUsage)
	}
	if len(m.Classes) > 0 {
		l.note(PartMix, NoteDemand)
	}
	return m
}

// demands are the hourly demand of each class: GPUs of all clusters that jobs
// had, on average over the hour, to the nearest whole one.
func (l *looked) demands() map[string]*demand {
	type at struct {
		gpu  string
		hour int64
	}
	tenths := map[at]int64{}
	first, last := int64(0), int64(0)
	out := map[string]*demand{}
	for i := range l.Usage {
		u := &l.Usage[i]
		if u.Seconds <= 0 || !u.Hour.Before(l.end) {
			continue
		}
		h := u.Hour.Unix() / 3600
		if len(tenths) == 0 || h < first {
			first = h
		}
		last = max(last, h)
		tenths[at{u.GPU, h}] += ratio(u.OwnedBusy+u.RentedBusy, 10, u.Seconds)
		d := out[u.GPU]
		if d == nil {
			d = &demand{}
			out[u.GPU] = d
		}
		d.wait += ratio(u.Waiting, 10, u.Seconds)
	}
	for gpu, d := range out {
		d.from = time.Unix(first*3600, 0).UTC()
		d.hour = make([]int, last-first+1)
		for h := range d.hour {
			d.hour[h] = -1
			if t, ok := tenths[at{gpu, first + int64(h)}]; ok {
				d.hour[h] = int((t + 5) / 10)
			}
		}
	}
	return out
}

func (d *demand) known() []int {
	return slices.DeleteFunc(slices.Clone(d.hour), func(n int) bool { return n < 0 })
}

// whole is the demand with gaps as no demand.
func (d *demand) whole() []int {
	out := slices.Clone(d.hour)
	for i := range out {
		out[i] = max(out[i], 0)
	}
	return out
}

func (l *looked) mixClass(gpu string, d *demand, known []int) MixClass {
	slices.Sort(known)
	n := len(known)
	sum := int64(0)
	for _, k := range known {
		sum += int64(k)
	}
	c := MixClass{
		GPU: gpu, From: d.from, To: d.from.Add(time.Duration(len(d.hour)) * time.Hour), Hours: n,
		Peak: known[n-1], Median: nearestRank(known, 500), Mean: Hours(ratio(sum, 10, int64(n))), Waiting: Hours(ratio(d.wait, 1, int64(n))),
		Curve: curveOf(known), Sets: []PriceSet{}, Steps: []Sensitivity{}, Plans: []PlanCost{},
	}
	reserved, have, contract := l.reserved(gpu)
	c.Have, c.Contract = have, contract
	if reserved <= 0 {
		l.note(PartMix, NoteNoReservedPrice, "gpu", gpu)
		return c
	}
	for _, s := range l.elasticPrices(gpu) {
		set := PriceSet{Name: s.name, Elastic: l.money(up(s.micro)), Reserved: l.money(up(reserved))}
		// What is computed with is what is shown, so that anybody gets the same.
		set.Best = bestK(known, set.Elastic.Micro, set.Reserved.Micro)
		set.QuantilePM = max(1000-int(ratio(set.Reserved.Micro, 1000, set.Elastic.Micro)), 0)
		c.Sets = append(c.Sets, set)
	}
	if len(c.Sets) == 0 {
		l.note(PartMix, NoteNoElasticPrice, "gpu", gpu)
		return c
	}
	l.compare(&c, d, known)
	return c
}

// compare works out what is best under the first price set.
func (l *looked) compare(c *MixClass, d *demand, known []int) {
	e, r := c.Sets[0].Elastic.Micro, c.Sets[0].Reserved.Micro
	for _, by := range [][2]int{{800, 1000}, {1200, 1000}, {1000, 800}, {1000, 1200}} {
		c.Steps = append(c.Steps, Sensitivity{by[0], by[1], bestK(known, ratio(e, int64(by[0]), 1000), ratio(r, int64(by[1]), 1000))})
	}
	best := up(planCost(known, c.Sets[0].Best, e, r))
	for _, p := range []struct {
		name PlanName
		k    int
	}{{PlanNone, 0}, {PlanNow, c.Have}, {PlanBest, c.Sets[0].Best}} {
		cost := up(planCost(known, p.k, e, r))
		c.Plans = append(c.Plans, PlanCost{p.name, p.k, l.money(cost), l.money(cost - best)})
	}
	whole := d.whole()
	m := market{price: e, fee: ratio(r, mixTerm, 1), term: mixTerm}
	rule, made := m.online(whole)
	optimum := m.offline(whole)
	only := planCost(whole, 0, e, r)
	c.Online = &Online{
		AlphaPM: m.alphaPM, BoundPM: 2000 - m.alphaPM, Term: mixTerm, Cost: l.money(up(rule)), Optimum: l.money(up(optimum)), Reserved: made,
		OnlyRent: l.money(up(only)), HoursSeen: len(whole), RatioPM: 1000,
	}
	if optimum > 0 {
		c.Online.RatioPM = int(mulUp(rule, 1000, optimum))
	}
}

// mulUp is ratio, rounded up: a ratio that is held to a bound must not look better.
func mulUp(a, by, per int64) int64 {
	q := ratio(a, by, per)
	if ratio(q, per, by) < a {
		q++
	}
	return q
}

// bestK is how many reserved GPUs are cheapest. The K-th pays if it is wanted in
// so much of the time that its elastic price comes to no less than its own:
// P(D >= K) x elastic >= reserved. So it is the quantile of demand at
// 1 - reserved/elastic.
func bestK(sorted []int, elastic, reserved int64) int {
	n := int64(len(sorted))
	for k := 1; ; k++ {
		i, _ := slices.BinarySearch(sorted, k) // the first that is at least k
		if i == len(sorted) || !atLeast(n-int64(i), elastic, n, reserved) {
			return k - 1
		}
	}
}

// planCost is what the demand costs with k reserved GPUs.
func planCost(hours []int, k int, elastic, reserved int64) int64 {
	over := int64(0)
	for _, d := range hours {
		over += int64(max(d-k, 0))
	}
	return plus(ratio(elastic, over, 1), ratio(ratio(reserved, int64(k), 1), int64(len(hours)), 1))
}

// curveMost is how many points a demand curve has at most.
const curveMost = 60

// curveOf says for how much of the time at least so many were wanted.
func curveOf(sorted []int) []CurvePoint {
	peak := sorted[len(sorted)-1]
	step := max((peak+curveMost-1)/curveMost, 1)
	var out []CurvePoint
	for k := 0; ; k += step {
		k = min(k, peak)
		i, _ := slices.BinarySearch(sorted, k)
		out = append(out, CurvePoint{k, int(ratio(int64(len(sorted)-i), 1000, int64(len(sorted))))})
		if k == peak {
			return out
		}
	}
}

// reserved is the price of a reserved GPU-hour of a class, how many GPUs are
// there now, and how many of them are of contracts that can end. Contracts give
// the price; owned machines do where there is none.
func (l *looked) reserved(gpu string) (micro int64, have, contract int) {
	var sum, n, owned, nOwned int64
	for i := range l.Capacity {
		c := &l.Capacity[i]
		if c.GPU != gpu || c.Rate.Currency != l.Currency || !c.Active(l.end.Add(-time.Second)) {
			continue
		}
		have += c.GPUs
		if c.Kind == bridge.Owned {
			owned, nOwned = plus(owned, ratio(c.Rate.Micro, int64(c.GPUs), 1)), nOwned+int64(c.GPUs)
			continue
		}
		contract += c.GPUs
		sum, n = plus(sum, ratio(c.Rate.Micro, int64(c.GPUs), 1)), n+int64(c.GPUs)
	}
	if n == 0 {
		sum, n = owned, nOwned
	}
	return ratio(sum, 1, n), have, contract
}

type elasticPrice struct {
	name  PriceName
	micro int64 // of a GPU-hour
}

// elasticPrices are what a GPU-hour of a class costs: as paid in the week, on
// demand, and on spot machines with the work that was lost there.
func (l *looked) elasticPrices(gpu string) []elasticPrice {
	var cost, secs, spot, spotSecs, list int64
	for i := range l.rentals {
		p := &l.rentals[i]
		if !p.elastic() || p.Shape.GPUType != gpu || p.gpus() == 0 {
			continue
		}
		t := p.paid * p.gpus()
		cost, secs = plus(cost, p.cost), secs+t
		if p.Pool.Market == bridge.Spot {
			spot, spotSecs = plus(spot, p.cost), spotSecs+t
		} else if one := ratio(p.Rate.Micro, 1, p.gpus()); p.Rate.Currency == l.Currency && (list == 0 || one < list) {
			list = one
		}
	}
	var out []elasticPrice
	add := func(name PriceName, micro int64) {
		if micro > 0 {
			out = append(out, elasticPrice{name, micro})
		}
	}
	add(AsPaid, ratio(cost, 3600, secs))
	add(ListPrice, cmp.Or(l.offered(gpu), list))
	add(SpotWithLoss, ratio(spot, 3600, max(spotSecs-l.lostBy[gpu], 0)))
	return out
}

// offered is the cheapest price of a GPU-hour on demand that is on offer now;
// zero: none is.
func (l *looked) offered(gpu string) int64 {
	best := int64(0)
	for i := range l.Offers {
		o := &l.Offers[i]
		if o.Shape.GPUType != gpu || o.Shape.GPUs == 0 || o.Pool.Market != bridge.OnDemand || o.Rate.Currency != l.Currency || o.Rate.Micro <= 0 {
			continue
		}
		if one := ratio(o.Rate.Micro, 1, int64(o.Shape.GPUs)); best == 0 || one < best {
			best = one
		}
	}
	return best
}

// Advised is what reserving as much as is best would save a week against now,
// or nil where nothing is to be gained. Owned machines are there to stay.
func (c *MixClass) Advised() *Reserve {
	if len(c.Plans) < 3 || c.Hours == 0 {
		return nil
	}
	best := c.Plans[2]
	saves := c.Plans[1].Regret
	if best.GPUs < c.Have-c.Contract || saves.Micro <= 0 || best.GPUs == c.Have {
		return nil
	}
	saves.Micro = down(ratio(saves.Micro, 7*24, int64(c.Hours)))
	return &Reserve{GPU: c.GPU, Now: c.Have, Best: best.GPUs, Saves: saves}
}
