package report

import (
	"container/heap"
	"math"
	"math/bits"
)

// market is one on which GPUs can be rented by the hour for price, or reserved
// for term hours for fee.
//
// alphaPM is alpha of Wang, Li and Liang, "To Reserve or Not to Reserve: Optimal
// Online Multi-Instance Acquisition in IaaS Clouds" (2013, arXiv:1305.5608), per
// mille: what an hour of use costs on a reserved machine, of what it costs on
// demand. The fee is paid beside it, once for each reservation. A contract that
// is paid whether it is used or not has nothing to pay for use: its alpha is 0,
// and its fee is its hourly rate times its term.
type market struct {
	price   int64 // of an hour on demand
	fee     int64
	term    int
	alphaPM int
}

// online is what the deterministic rule of that paper pays, and how often it
// reserves. It knows nothing of the future: when what an hour's level of demand
// has cost on demand within the last term, beyond what use of a reservation
// would have cost, exceeds the fee, one GPU is reserved from then on, and the
// past counts as covered by it. It never pays more than 2 - alpha times what
// who had known all would have, and no rule without chance can do better.
func (m *market) online(demand []int) (cost int64, reserved int) {
	covered := make([]int, len(demand)+m.term)
	over := m.price - ratio(m.price, int64(m.alphaPM), 1000) // of an hour on demand
	rented, used := int64(0), int64(0)
	for t, d := range demand {
		from := max(t-m.term+1, 0)
		for {
			n := int64(0)
			for i := from; i <= t; i++ {
				if demand[i] > covered[i] {
					n++
				}
			}
			if ratio(over, n, 1) <= m.fee {
				break
			}
			reserved++
			for i := from; i < t+m.term; i++ {
				covered[i]++
			}
		}
		on := max(d-covered[t], 0)
		rented += int64(on)
		used += int64(d - on)
	}
	return m.sum(rented, used, reserved), reserved
}

func (m *market) sum(rented, used int64, reserved int) int64 {
	cost := plus(ratio(m.price, rented, 1), ratio(ratio(m.price, int64(m.alphaPM), 1000), used, 1))
	return plus(cost, ratio(m.fee, int64(reserved), 1))
}

// offline is the least that the demand could have cost: a cheapest flow. Demand
// that rises enters where it rises and leaves where it falls. It gets from one
// hour to the next on demand, over a term by a reservation, and back for
// nothing: what is reserved need not be used.
func (m *market) offline(demand []int) int64 {
	n := len(demand)
	use := ratio(m.price, int64(m.alphaPM), 1000)
	g := newFlow(n + 1)
	was, total := 0, int64(0)
	for t, d := range demand {
		g.excess[t] = int64(d - was)
		was = d
		total += int64(d)
		g.arc(t, t+1, m.price-use)
		g.arc(t+1, t, 0)
		g.arc(t, min(t+m.term, n), m.fee)
	}
	g.excess[n] = int64(-was)
	return plus(g.cost(), ratio(use, total, 1))
}

// flow is a network whose arcs hold any amount; arcs come in pairs, the second
// one back with what the first carries.
type flow struct {
	to     []int
	room   []int64
	price  []int64
	of     [][]int // arcs by node
	excess []int64
	level  []int64 // potentials
}

func newFlow(nodes int) *flow {
	return &flow{of: make([][]int, nodes), excess: make([]int64, nodes), level: make([]int64, nodes)}
}

func (g *flow) arc(from, to int, price int64) {
	g.of[from] = append(g.of[from], len(g.to))
	g.of[to] = append(g.of[to], len(g.to)+1)
	g.to = append(g.to, to, from)
	g.room = append(g.room, math.MaxInt64/2, 0)
	g.price = append(g.price, price, -price)
}

// cost sends all that is in excess to where it is wanting, along shortest paths
// one after the other.
func (g *flow) cost() int64 {
	total := int64(0)
	for s := range g.excess {
		for g.excess[s] > 0 {
			end, came, dist := g.shortest(s)
			if end < 0 {
				return math.MaxInt64
			}
			amount := min(g.excess[s], -g.excess[end])
			for v := end; v != s; v = g.to[came[v]^1] {
				amount = min(amount, g.room[came[v]])
			}
			for v := end; v != s; v = g.to[came[v]^1] {
				g.room[came[v]] -= amount
				g.room[came[v]^1] += amount
				total = plus(total, ratio(max(g.price[came[v]], 0), amount, 1)-ratio(max(-g.price[came[v]], 0), amount, 1))
			}
			g.excess[s] -= amount
			g.excess[end] += amount
			for v := range g.level { // nodes further than the end are as far as it
				g.level[v] += min(dist[v], dist[end])
			}
		}
	}
	return total
}

// shortest finds the nearest node with a want, and by which arc each node on
// the way is reached.
func (g *flow) shortest(s int) (end int, came []int, dist []int64) {
	came, dist = make([]int, len(g.of)), make([]int64, len(g.of))
	for v := range dist {
		dist[v] = math.MaxInt64
	}
	dist[s] = 0
	q := &reached{{s, 0}}
	for q.Len() > 0 {
		at := heap.Pop(q).(reach)
		if at.far > dist[at.node] {
			continue
		}
		if g.excess[at.node] < 0 {
			return at.node, came, dist
		}
		for _, a := range g.of[at.node] {
			if g.room[a] == 0 {
				continue
			}
			v := g.to[a]
			if far := at.far + g.price[a] + g.level[at.node] - g.level[v]; far < dist[v] {
				dist[v], came[v] = far, a
				heap.Push(q, reach{v, far})
			}
		}
	}
	return -1, came, dist
}

type reach struct {
	node int
	far  int64
}

// reached is a heap of nodes by how far they are.
type reached []reach

func (q reached) Len() int           { return len(q) }
func (q reached) Less(i, j int) bool { return q[i].far < q[j].far }
func (q reached) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }

// Push adds one at the end.
func (q *reached) Push(x any) { *q = append(*q, x.(reach)) }

// Pop takes the last one.
func (q *reached) Pop() any {
	old := *q
	x := old[len(old)-1]
	*q = old[:len(old)-1]
	return x
}

// atLeast reports whether a x b >= c x d, of numbers that are not negative.
func atLeast(a, b, c, d int64) bool {
	h1, l1 := bits.Mul64(uint64(a), uint64(b))
	h2, l2 := bits.Mul64(uint64(c), uint64(d))
	return h1 > h2 || h1 == h2 && l1 >= l2
}
