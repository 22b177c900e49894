package report

import (
	"cmp"
	"maps"
	"slices"

	"spillway.sh/spillway/bridge"
)

// spot is part 5.
func (l *looked) spot(r *Report) Spot {
	s := Spot{Cost: r.Spend.Spot, LostCost: l.money(0), NoCheckpoint: []LostJob{}}
	var spotTime, allTime, cost, instead int64
	priced := true
	type kind struct{ cloud, region, name string }
	missing := map[kind]bool{}
	for i := range l.rentals {
		p := &l.rentals[i]
		if !p.elastic() || p.paid == 0 {
			continue
		}
		allTime += p.paid * max(p.gpus(), 1)
		if p.Pool.Market != bridge.Spot {
			continue
		}
		spotTime += p.paid * max(p.gpus(), 1)
		cost = plus(cost, p.cost)
		rate, ok := l.onDemand(p.Pool)
		if !ok {
			priced = false
			missing[kind{p.Pool.Cloud, p.Pool.Region, p.Pool.Type}] = true
		}
		instead = plus(instead, ratio(rate, p.paid, 3600))
	}
	s.GPUHours, s.SharePM = HoursOf(spotTime), perMille(spotTime, allTime)
	l.lost(&s)
	switch {
	case spotTime == 0:
		l.note(PartSpot, NoteNoSpot)
	case priced:
		s.OnDemand = l.ptr(up(instead))
		s.Saving = l.ptr(s.OnDemand.Micro - s.Cost.Micro)
		s.SavingPM = perMille(s.Saving.Micro, s.OnDemand.Micro)
	default:
		first := slices.SortedFunc(maps.Keys(missing), func(a, b kind) int {
			return cmp.Or(cmp.Compare(a.cloud, b.cloud), cmp.Compare(a.name, b.name), cmp.Compare(a.region, b.region))
		})[0]
		l.note(PartSpot, NoteNoListPrice, "machine", first.cloud+" "+first.name)
	}
	s.Price = perHour(cost, spotTime, l.Currency)
	useful := spotTime - int64(s.LostHours)*360
	s.Effective = perHour(cost, useful, l.Currency)
	return s
}

// onDemand is the rate of a spot pool's machines on demand: of the offers of
// now, else what rentals of the week paid.
func (l *looked) onDemand(spot bridge.Pool) (int64, bool) {
	best, found := int64(0), false
	take := func(p bridge.Pool, rate bridge.Rate) {
		same := p.Cloud == spot.Cloud && p.Type == spot.Type && p.Region == spot.Region && p.Market == bridge.OnDemand
		if same && rate.Currency == l.Currency && rate.Micro > 0 && (!found || rate.Micro < best) {
			best, found = rate.Micro, true
		}
	}
	for i := range l.Offers {
		take(l.Offers[i].Pool, l.Offers[i].Rate)
	}
	if found {
		return best, true
	}
	for i := range l.rentals {
		take(l.rentals[i].Pool, l.rentals[i].Rate)
	}
	return best, found
}

// lost adds what reclaims took and destroyed.
func (l *looked) lost(s *Spot) {
	rentals := map[bridge.RentalID]*past{}
	for i := range l.rentals {
		rentals[l.rentals[i].ID] = &l.rentals[i]
	}
	var secs, cost int64
	type run struct{ n, cost int64 }
	jobs := map[bridge.JobID]run{}
	for i := range l.News {
		n := &l.News[i]
		p := rentals[n.Rental]
		if n.Kind == bridge.NewsReclaimed && p != nil && p.Pool.Market == bridge.Spot {
			s.Preemptions++
		}
		if !l.destroyed(n, p) {
			continue
		}
		took, micro := seconds(n.Took)*gpusOf(n, p), int64(0)
		if n.Cost.Currency == l.Currency {
			micro = n.Cost.Micro
		}
		secs, cost = secs+took, plus(cost, micro)
		if p != nil {
			l.lostBy[p.Shape.GPUType] += took
		}
		if n.Kind == bridge.NewsLost {
			j := jobs[n.Job]
			jobs[n.Job] = run{j.n + 1, plus(j.cost, micro)}
		}
	}
	s.LostHours, s.LostCost = HoursOf(secs), l.money(up(cost))
	for job, j := range jobs {
		s.NoCheckpoint = append(s.NoCheckpoint, LostJob{job, int(j.n), l.money(up(j.cost))})
	}
	slices.SortFunc(s.NoCheckpoint, func(a, b LostJob) int {
		return cmp.Or(cmp.Compare(b.Cost.Micro, a.Cost.Micro), cmp.Compare(a.Job, b.Job))
	})
}

// destroyed reports whether news are of work on a spot machine that is done
// again.
func (l *looked) destroyed(n *bridge.News, p *past) bool {
	return (n.Kind == bridge.NewsLost || n.Kind == bridge.NewsResumed) && n.Pool != nil && n.Pool.Market == bridge.Spot && (p != nil || l.Account == "")
}

// gpusOf is how many GPUs news of a job are about: those it has, else those of its
// rental's gang.
func gpusOf(n *bridge.News, p *past) int64 {
	if n.GPUs == 0 && p != nil {
		return max(p.gpus()*int64(max(p.Gang, 1)), 1)
	}
	return int64(max(n.GPUs, 1))
}
