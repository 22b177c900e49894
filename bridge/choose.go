package bridge

import (
	"math"
	"math/bits"
	"time"
)

// pick is an offer chosen for a batch.
type pick struct {
	offer int // in the catalog
	most  int // machines that stock and the ceiling of one rental allow; in a choice that is kept, the ceiling alone
	cost  int64
	gangs int   // that cost is for
	hold  int64 // worst case of the machines for one gang, in a choice for one
}

// choose finds the cheapest way to run gangs of a batch: the first market of
// policy's order that has machines, except that spot dearer than the same on
// demand is not taken for its name. Offers are compared by what the rental is
// expected to cost: today's rate over its life, in the cloud's billing steps, for
// spot what reclaims are expected to destroy of it, and the egress of what leaves
// the place. What is paid for anyway comes before all of them. Compare shows the
// same, offer by offer.
func (l *look) choose(b *batch, t *Terms, gangs int, x *rest) (pick, bool) {
	if b.key.nodes > 1 {
		gangs = 1 // each is a rental of its own
	}
	q, stock := b.kept(x, gangs > 1), l.catalog.sold
	if most := max(gangs, b.least(t)); most > lowStock {
		q = &quick{} // depends on more stock than is worth remembering
	} else if most > 1 {
		stock = l.catalog.low
	}
	if q.view != b.view || q.version != l.catalog.version || q.stock != stock || q.limit != b.limit || q.gangs != gangs {
		*q = quick{version: l.catalog.version, stock: stock, view: b.view, limit: b.limit, gangs: gangs}
		if q.pick, q.ok = l.search(b, t, gangs, x); q.ok && gangs == 1 {
			q.pick.hold, q.ok = l.worst(b, t, q.pick.offer)
		}
	}
	if !q.ok {
		return pick{}, false
	}
	p := q.pick
	p.most = min(p.most, l.catalog.has(p.offer))
	return p, true
}

// worst is what the first machines of an order on an offer are held for.
func (l *look) worst(b *batch, t *Terms, i int) (int64, bool) {
	o := l.catalog.offers[i]
	life, ok := l.lifeOn(b, t, i)
	m, err := o.Billing().Worst(ceiling(o, t), life, b.least(t))
	return m.Micro, ok && err == nil
}

func (l *look) search(b *batch, t *Terms, gangs int, x *rest) (pick, bool) {
	var best pick
	found := false
	for i, market := range b.view.markets {
		if found && (l.catalog.offers[best.offer].Pool.Market != Spot || market != OnDemand) {
			continue
		}
		p, ok := l.cheapest(b, t, x.of(b.view.offers[i]), gangs)
		if ok && (!found || !best.cheaper(&p)) {
			best, found = p, true
		}
	}
	return best, found
}

// cheaper compares the cost of one gang; both are of one currency.
func (p *pick) cheaper(o *pick) bool {
	ah, al := bits.Mul64(uint64(p.cost), uint64(o.gangs))
	bh, bl := bits.Mul64(uint64(o.cost), uint64(p.gangs))
	return ah < bh || ah == bh && al < bl
}

// cheapest looks through offers in order of rate. One machine costs at least
// its rate over the demand's own time, so for one the search may stop early.
func (l *look) cheapest(b *batch, t *Terms, offers offerSet, gangs int) (pick, bool) {
	var best pick
	found, stop := false, int64(math.MaxInt64)
	fits := l.fitting(b.key.shape)
	for w := range offers {
		for set := offers[w] & fits[w]; set != 0; set &= set - 1 {
			i := w<<6 + bits.TrailingZeros64(set)
			if l.catalog.offers[i].Rate.Micro >= stop {
				return best, found
			}
			p, ok := l.price(b, t, i, gangs)
			if !ok || found && !p.cheaper(&best) {
				continue
			}
			best, found = p, true
			if gangs == 1 || b.key.nodes > 1 {
				stop = dearest(p.cost, lifeOf(t, b.limit, 0), b.least(t))
			}
		}
	}
	return best, found
}

// dearest is a rate at which machines that live as long as given, or longer,
// cost no less than cost.
func dearest(cost int64, life time.Duration, machines int) int64 {
	hi, lo := bits.Mul64(uint64(cost), uint64(time.Hour))
	span := uint64(life) * uint64(machines)
	if life <= 0 || hi >= span {
		return math.MaxInt64
	}
	q, _ := bits.Div64(hi, lo, span)
	return int64(min(q+1, math.MaxInt64))
}

// price computes what gangs of a batch cost on one offer, as far as its stock
// and the ceiling of one rental go.
func (l *look) price(b *batch, t *Terms, i, gangs int) (pick, bool) {
	o := l.catalog.offers[i]
	least := b.least(t)
	p := pick{offer: i, most: math.MaxInt32, gangs: 1}
	life, ok := l.lifeOn(b, t, i)
	if !ok {
		return p, false
	}
	paid := o.Billing().Charged(life)
	if t.MaxCost.Micro > 0 && o.Rate.Micro > 0 {
		one, err := ceiling(o, t).Cost(paid, 1, RoundUp)
		if err != nil || one.Currency != t.MaxCost.Currency || one.Micro <= 0 {
			return p, false
		}
		p.most = int(min(t.MaxCost.Micro/one.Micro, math.MaxInt32))
	}
	most := min(p.most, l.catalog.has(i))
	if most < least {
		return p, false
	}
	machines := least
	if b.key.nodes == 1 && gangs > 1 {
		each := slots(&o.Shape, b.shape)
		machines = min(max(ceilDiv(gangs, each), least), most)
		p.gangs = min(gangs, machines*each)
	}
	cost, err := o.Rate.Cost(paid, machines, RoundUp)
	p.cost = plus(dearer(cost.Micro, l.catalog.state[i].loss), l.egress(b, t, i, p.gangs))
	return p, err == nil
}

// egress is what leaves the place of an offer for so many gangs of a batch, at its
// price: the data of each start, and the checkpoint as often as reclaims are
// expected to make the job go on elsewhere.
func (l *look) egress(b *batch, t *Terms, i, gangs int) int64 {
	price := l.catalog.offers[i].Egress.Micro
	if price <= 0 || !t.moves() {
		return 0
	}
	data := scaled(max(t.DataGiB, 0), price, 1)
	moved := scaled(max(t.CheckpointGiB, 0), price, 1)
	moved = scaled(moved, l.moves(b, t, i), 1000)
	return scaled(plus(data, moved), int64(gangs), 1)
}

// moves is how often a machine of an offer is expected to be taken while a job of
// the batch runs, in thousandths.
func (l *look) moves(b *batch, t *Terms, i int) int64 {
	return scaled(l.catalog.state[i].moves, int64(needOf(t, b.limit)/time.Second), 3600)
}

// scaled is a * by / whole, rounded up, of numbers that are not negative, or the
// most there is.
func scaled(a, by, whole int64) int64 {
	hi, lo := bits.Mul64(uint64(a), uint64(by))
	if hi >= uint64(whole) {
		return math.MaxInt64
	}
	q, rest := bits.Div64(hi, lo, uint64(whole))
	if rest > 0 {
		q++
	}
	return int64(min(q, math.MaxInt64))
}

// plus is a + b of amounts that are not negative, or the most there is.
func plus(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
