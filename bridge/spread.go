package bridge

// Many machines are not all taken from one spot pool, since a pool that is
// wanted elsewhere takes back all of them at once: from so many spot machines
// on, one pool has at most half of them, as long as another costs at most so
// much more, in per cent.
const (
	spreadFrom = 4
	spreadCost = 125
)

// spotCount is how many spot machines there are, in all and of each pool, those
// of this plan included.
type spotCount struct {
	all    int
	ofPool map[Pool]int
}

func (n *spotCount) add(p Pool, machines int) {
	if p.Market != Spot || machines <= 0 {
		return
	}
	if n.ofPool == nil {
		n.ofPool = map[Pool]int{}
	}
	n.all += machines
	n.ofPool[p] += machines
}

// room is how many machines a pool may add when so many are wanted.
func (n *spotCount) room(p Pool, wanted int) int {
	return max(spreadFrom, ceilDiv(n.all+wanted, 2)) - n.ofPool[p]
}

// spread limits a choice of spot to its pool's share, or turns to the next pool
// where that is full. What has no second pool within reach stays as it is.
func (l *look) spread(b *batch, t *Terms, p pick, gangs int, x *rest) pick {
	if b.key.nodes > 1 || l.catalog.pools[p.offer].Market != Spot {
		return p
	}
	wanted := ceilDiv(gangs, slots(&l.catalog.offers[p.offer].Shape, b.shape))
	room := l.spots.room(l.catalog.pools[p.offer], wanted)
	if room >= wanted {
		return p
	}
	other, ok := l.other(b, t, p, gangs, x)
	if !ok {
		return p
	}
	if room < b.least(t) {
		return other
	}
	p.most = min(p.most, room)
	return p
}

// other is the cheapest spot offer of a pool with room, if it is near in cost.
func (l *look) other(b *batch, t *Terms, p pick, gangs int, x *rest) (pick, bool) {
	for i, market := range b.view.markets {
		if market != Spot {
			continue
		}
		left := append(offerSet(nil), x.of(b.view.offers[i])...)
		for k := range l.catalog.pools {
			if l.spots.room(l.catalog.pools[k], gangs) < b.least(t) || k == p.offer {
				left.drop(k)
			}
		}
		q, ok := l.cheapest(b, t, left, gangs)
		if !ok {
			return pick{}, false
		}
		near := p
		near.cost = p.cost / 100 * spreadCost
		q.most = min(q.most, l.catalog.has(q.offer), l.spots.room(l.catalog.pools[q.offer], gangs))
		return q, !near.cheaper(&q)
	}
	return pick{}, false
}
