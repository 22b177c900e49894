package bridge

import (
	"maps"
	"math"
	"reflect"
	"slices"
	"time"
)

// past is the last plan and what it was made of. While a snapshot differs from
// it in nothing but times, and no time that decided anything was passed, the
// same verdicts, routes and orders hold.
type past struct {
	s      Snapshot // copied but for queues and rentals: callers keep their books in the rest
	plan   Plan
	needed map[RentalID]bool
	span   span
	seen   []figures // of each queue
}

// span is the time for which all answers to the question whether a time was
// reached stay what they are. Unix nanoseconds.
type span struct {
	now   int64
	from  int64
	until int64 // not in it any more
}

func spanAt(now time.Time) span {
	return span{now: nanos(now, 0), from: math.MinInt64, until: math.MaxInt64}
}

// reached reports whether now is t or later.
func (s *span) reached(t int64) bool {
	if s.now < t {
		s.until = min(s.until, t)
		return false
	}
	s.from = max(s.from, t)
	return true
}

// close says that the answer is good for this instant alone.
func (s *span) close() { s.from, s.until = s.now, s.now+1 }

// keep remembers a plan, unless a queue was seen too badly for it.
func (d *Decider) keep(l *look, p *Plan) {
	d.past = nil
	if !slices.ContainsFunc(l.queues, l.s.Stale) {
		d.past = &past{s: copyBooks(l.s), plan: *p, needed: l.needed, span: l.span}
		for i := range l.s.Queues {
			d.past.seen = append(d.past.seen, l.seen[&l.s.Queues[i]])
		}
	}
}

// copyBooks copies a snapshot with all lists that a caller may go on writing in.
func copyBooks(s *Snapshot) Snapshot {
	c := *s
	c.Queues, c.Offers, c.Budgets = slices.Clone(s.Queues), slices.Clone(s.Offers), slices.Clone(s.Budgets)
	c.Pools, c.Answers, c.Reclaims = slices.Clone(s.Pools), slices.Clone(s.Answers), maps.Clone(s.Reclaims)
	for cluster, counts := range c.Reclaims {
		c.Reclaims[cluster] = maps.Clone(counts)
	}
	c.Checkpoints, c.Hazards = maps.Clone(s.Checkpoints), slices.Clone(s.Hazards)
	for cluster, marks := range c.Checkpoints {
		c.Checkpoints[cluster] = maps.Clone(marks)
	}
	c.Looking = maps.Clone(s.Looking)
	for cluster, jobs := range c.Looking {
		c.Looking[cluster] = maps.Clone(jobs)
	}
	return c
}

// repeat returns the last plan if it is that of s too. What is given back and
// withdrawn depends on time in ways of its own and is worked out anew.
func (d *Decider) repeat(s *Snapshot) (Plan, bool) {
	p := d.past
	if p == nil || !p.sameMoney(s) || !p.sameMarket(s) || !d.sameQueues(s) {
		return Plan{}, false
	}
	out, pending := p.plan, pendingJobs(s)
	out.Now, out.Withdraw, out.Return = s.Now, withdrawals(s, pending), returns(s, p.needed, pending)
	out.Rent, out.Route = slices.Clone(out.Rent), slices.Clone(out.Route)
	return out, true
}

// sameMoney compares time, budgets, and what people and rentals have to say.
func (p *past) sameMoney(s *Snapshot) bool {
	now, old := nanos(s.Now, 0), &p.s
	return now >= p.span.from && now < p.span.until &&
		s.Frozen == old.Frozen && s.Protected == old.Protected && slices.Equal(s.Budgets, old.Budgets) &&
		reflect.DeepEqual(s.Rentals, old.Rentals) && reflect.DeepEqual(s.Answers, old.Answers) && reflect.DeepEqual(s.Reclaims, old.Reclaims) &&
		reflect.DeepEqual(s.Checkpoints, old.Checkpoints) && reflect.DeepEqual(s.Looking, old.Looking)
}

// sameMarket compares what can be bought.
func (p *past) sameMarket(s *Snapshot) bool {
	old := &p.s
	if len(s.Offers) != len(old.Offers) || !slices.Equal(s.Pools, old.Pools) {
		return false
	}
	is, before := newLosses(s), newLosses(old)
	for i := range s.Offers {
		o, was := &s.Offers[i], &old.Offers[i]
		if !equalOffer(o, was) || o.Fresh(s.Now) != was.Fresh(old.Now) || is.of(o) != before.of(was) {
			return false
		}
	}
	return !slices.ContainsFunc(s.Pools, func(h PoolHealth) bool {
		return h.DownUntil.After(s.Now) != h.DownUntil.After(old.Now)
	})
}

// sameQueues compares what waits, and where it might run already.
func (d *Decider) sameQueues(s *Snapshot) bool {
	p := d.past
	if len(s.Queues) != len(p.s.Queues) {
		return false
	}
	for i := range s.Queues {
		q, old := &s.Queues[i], &p.s.Queues[i]
		if q.Cluster != old.Cluster || s.Stale(q) || len(q.Demands) != len(old.Demands) || !equalNodes(q.Nodes, old.Nodes) {
			return false
		}
		for k := range s.Rentals {
			if since := s.Rentals[k].Since; q.ObservedAt.Before(since) != old.ObservedAt.Before(since) {
				return false
			}
		}
		was := p.seen[i]
		if is := was.at(s.Now); !sameTerms(d.policy, &was.Facts, &is.Facts) {
			return false
		}
	}
	for i := range s.Queues {
		a, b := s.Queues[i].Demands, p.s.Queues[i].Demands
		for k := range a {
			if !equalDemand(&a[k], &b[k]) {
				return false
			}
		}
	}
	return true
}

func equalNodes(a, b []Node) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !equalNode(&a[i], &b[i]) {
			return false
		}
	}
	return true
}

// equalNode compares what a decision looks at.
func equalNode(a, b *Node) bool {
	return a.Name == b.Name && a.Usable == b.Usable && a.Dynamic == b.Dynamic && a.IdleSince.Equal(b.IdleSince) &&
		equalShape(&a.Shape, &b.Shape) && equalShape(&a.Free, &b.Free) &&
		slices.Equal(a.Partitions, b.Partitions) && slices.Equal(a.Features, b.Features)
}

// equalOffer compares everything: an order carries its whole offer.
func equalOffer(a, b *Offer) bool {
	return a.Pool == b.Pool && a.Rate == b.Rate && a.SampledAt.Equal(b.SampledAt) && a.MaxAge == b.MaxAge && a.Boot == b.Boot &&
		a.Available == b.Available && a.Source == b.Source && a.Billing() == b.Billing() && a.Notice == b.Notice &&
		a.Limited == b.Limited && a.Score == b.Score && a.Network == b.Network && a.Egress == b.Egress &&
		slices.Equal(a.Attributes, b.Attributes) && a.Quoted == b.Quoted && a.FX == b.FX && a.Bar == b.Bar && a.BarWhy == b.BarWhy && a.Contract == b.Contract && a.Until.Equal(b.Until) &&
		equalShape(&a.Shape, &b.Shape) && slices.Equal(a.Features, b.Features)
}
