package bridge

import (
	"fmt"
	"slices"
	"time"
)

// route sends a demand to rented machines of its project that have room: first
// those in the scheduler, by a Route, then those on their way, which it will be
// routed to when they are admitted.
func (l *look) route(c *cluster, o *opening, v *Verdict) bool {
	if len(c.rooms) == 0 {
		return false
	}
	var first *room
	routed := false
	for _, m := range c.rooms {
		if o.left == 0 {
			break
		}
		if findGang(m.places, &o.demand.Shape, o.nodes) == nil || !l.mayUse(m, o) {
			continue
		}
		admitted := m.rental.State == StateAdmitted
		for o.left > 0 && takeGang(m.places, &o.demand.Shape, o.nodes) {
			o.left--
		}
		if admitted {
			r := Route{Rental: m.rental.ID, Job: o.demand.Job}
			if m.project != o.payer.project {
				r.Account, m.project = o.payer.full, o.payer.project
			}
			l.routes = append(l.routes, r)
		}
		m.vacant = false
		l.needed[m.rental.ID] = true
		if first == nil {
			first, routed = m, admitted
		}
	}
	if first == nil {
		return false
	}
	v.Kind, v.Why, v.Rental, v.Pool = Burst, ReasonUnderway, first.rental.ID, &first.rental.Pool
	if routed {
		v.Why = ReasonRoute
	}
	if o.left > 0 {
		v.Detail = fmt.Sprintf("%d of %d are served already", o.demand.Count-o.left, o.demand.Count)
	}
	return o.left == 0
}

// mayUse reports whether policy and money allow a demand onto a rental, and
// takes what a new payer needs from its budgets.
func (l *look) mayUse(m *room, o *opening) bool {
	r, t := m.rental, o.terms
	if r.State == StateWaiting || !poolAllowed(&r.Pool, t, o.rule) {
		return false
	}
	if need := needOf(t, o.demand.TimeLimit); !r.Expires.IsZero() && l.s.Now.Add(need).After(r.Expires) {
		return false
	}
	if m.project == o.payer.project {
		return true
	}
	return t.Share && r.State == StateAdmitted && m.vacant && l.takeOver(r, o)
}

// takeOver charges the rest of a rental's life to a project that does not pay
// for it yet.
func (l *look) takeOver(r *Rental, o *opening) bool {
	if l.s.Frozen || l.s.Protected || len(o.payer.purses) == 0 || o.payer.mixed {
		return false
	}
	rest := r.Expires.Sub(l.s.Now)
	if r.Expires.IsZero() {
		rest = needOf(o.terms, 0)
	}
	cost, err := r.MaxRate.Cost(billed(rest, r.Step, r.Minimum), max(machinesOf(r), 1), RoundUp)
	if err != nil || cost.Currency != o.payer.currency || o.payer.short(cost.Micro) != nil {
		return false
	}
	o.payer.spend(cost.Micro)
	return true
}

func poolAllowed(p *Pool, t *Terms, rule marketRule) bool {
	if len(t.Clouds) > 0 && !slices.Contains(t.Clouds, p.Cloud) || len(t.Regions) > 0 && !slices.Contains(t.Regions, p.Region) {
		return false
	}
	return slices.Contains(rule.allowed(t.Markets), p.Market)
}

// needOf is how long a job may run: its limit, at most policy's longest life.
func needOf(t *Terms, limit time.Duration) time.Duration {
	longest := t.Life
	if longest <= 0 {
		longest = LongestLife
	}
	if limit <= 0 {
		return longest
	}
	return min(limit, longest)
}

// lifeOf is how long a machine lives at most for a job: it boots, and the job
// starts a little after that and ends a little after its limit.
func lifeOf(t *Terms, limit, boot time.Duration) time.Duration {
	longest, need := needOf(t, 0), needOf(t, limit)
	return min(longest, need+boot+LifeMargin)
}
