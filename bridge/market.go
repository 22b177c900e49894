package bridge

import (
	"math"
	"math/bits"
	"slices"
	"time"
)

// marketRule says how a demand's own history, its newest checkpoint and its
// deadline narrow its markets. What a deadline says holds for the cluster's span.
func (c *cluster) marketRule(e *entry) marketRule {
	d, t := e.demand, e.terms
	if t.Reclaims > 0 && c.taken(d) >= t.Reclaims {
		return onDemandOnly
	}
	if !d.Restartable {
		return noSpot
	}
	ck, known := c.marks[d.Job]
	if r := freshness(d, t.Checkpoint, &ck, known); r != anyMarket {
		return r
	}
	p, ok := paceOf(d, t, &ck, c.boot)
	if !ok || !slices.Contains(t.Markets, Spot) || !slices.Contains(t.Markets, OnDemand) {
		return anyMarket
	}
	behind, last := p.Turns()
	switch {
	case c.span.reached(nanos(last, 0)):
		return onDemandOnly
	case !c.span.reached(nanos(behind, 0)):
		return spotOnly
	}
	return anyMarket
}

// taken is how many machines a job lost, or the array that a task belongs to.
func (c *cluster) taken(d *Demand) int {
	if len(c.reclaims) == 0 {
		return 0
	}
	return max(c.reclaims[d.Job], c.reclaims[d.Job.Base()])
}

// freshness keeps a job from spot that would lose more there than policy
// accepts: one that must have a checkpoint first, and one that ran and whose
// checkpoints are too far apart.
func freshness(d *Demand, rule *CheckpointRule, ck *Checkpoint, known bool) marketRule {
	switch {
	case rule == nil:
		return anyMarket
	case !known && (rule.Required || rule.MaxAge > 0 && d.Restarts > 0):
		return noCheckpoint
	case !known || rule.MaxAge <= 0:
		return anyMarket
	}
	lost := ck.Every
	if d.Restarts > 0 && !d.Eligible.IsZero() {
		lost = max(lost, d.Eligible.Sub(ck.At)) // eligible again since it was taken off
	}
	if lost > rule.MaxAge {
		return oldCheckpoint
	}
	return anyMarket
}

// rest is how long a demand still computes: its time limit, less what is in its
// checkpoint where policy goes by progress.
func (l *look) rest(e *entry) time.Duration {
	ck := l.s.Checkpoints[e.demand.Cluster][e.demand.Job]
	return restOf(e.demand, e.terms, &ck)
}

func restOf(d *Demand, t *Terms, ck *Checkpoint) time.Duration {
	if t.Progress {
		if p, ok := paceOf(d, t, ck, 0); ok {
			return p.Work - p.Done
		}
	}
	return d.TimeLimit
}

// slowest is the longest boot, of those on offer, with which a demand still ends
// before its deadline; zero: the deadline rules none out.
func (c *cluster) slowest(e *entry) time.Duration {
	d := e.demand
	if d.Deadline.IsZero() {
		return 0
	}
	ck := c.marks[d.Job]
	rest := restOf(d, e.terms, &ck)
	for i := len(c.boots) - 1; i >= 0; i-- {
		if c.span.reached(nanos(d.Deadline, -c.boots[i]-rest+1)) {
			continue
		}
		if i == len(c.boots)-1 {
			return 0
		}
		return max(c.boots[i], 1)
	}
	return 1 // none comes in time that takes any
}

// fastest is the shortest boot on offer.
func (c *catalog) fastest() time.Duration {
	if len(c.boots) == 0 {
		return 0
	}
	return c.boots[0]
}

// behindFrom is when a demand that is ahead of its pace is not any more.
func (l *look) behindFrom(e *entry) time.Time {
	ck := l.s.Checkpoints[e.demand.Cluster][e.demand.Job]
	p, ok := paceOf(e.demand, e.terms, &ck, l.catalog.boot)
	if !ok {
		return time.Time{}
	}
	behind, last := p.Turns()
	if last.Before(behind) {
		return last
	}
	return behind
}

// losses say what reclaims destroy of what each spot offer computes.
type losses struct {
	now   time.Time
	known map[Pool]Hazard
	downs downs
}

func newLosses(s *Snapshot) losses {
	l := losses{now: s.Now, known: make(map[Pool]Hazard, len(s.Hazards)), downs: newDowns(s)}
	for _, h := range s.Hazards {
		l.known[h.Pool] = h
	}
	return l
}

// What a pool is expected to lose, per mille, while another zone of its region
// rests: zones of one region sell out together, measured with a correlation of
// 0.43, against 0.14 across regions. On demand loses no work by it, so there it
// only breaks a tie.
const (
	regionRestsSpot = 50
	regionRests     = 1
)

// of returns the loss of an offer per mille.
func (l losses) of(o *Offer) int64 {
	rests := l.downs.region[regionOf(&o.Pool)]
	switch {
	case o.Pool.Market == Spot && rests:
		return l.known[o.Pool].loss(l.now, o.Boot) + regionRestsSpot
	case o.Pool.Market == Spot:
		return l.known[o.Pool].loss(l.now, o.Boot)
	case rests && o.Pool.Market == OnDemand:
		return regionRests
	}
	return 0
}

// moves is how often a machine of an offer is expected to be taken in an hour, in
// thousandths, in steps of fifty: a choice must not change with every
// machine-minute.
func (l losses) moves(o *Offer) int64 {
	const step = 50
	if o.Pool.Market != Spot {
		return 0
	}
	return (min(l.known[o.Pool].PerHour(l.now), 1000*1000) + step/2) / step * step
}

// dearer is what a cost comes to when a part of what it buys is lost, so that
// it is bought again.
func dearer(cost, lossPM int64) int64 {
	if lossPM <= 0 || cost <= 0 {
		return cost
	}
	hi, lo := bits.Mul64(uint64(cost), 1000)
	rest := uint64(max(1000-lossPM, 1))
	if hi >= rest {
		return math.MaxInt64
	}
	q, _ := bits.Div64(hi, lo, rest)
	return int64(min(q, math.MaxInt64))
}
