package bridge

import "slices"

// route sends a demand to rented machines of its project that have room: those
// in the scheduler at once, those on their way when they are admitted.
func (l *look) route(c *cluster, o *opening, v *Verdict) bool { //nolint:gocyclo // What makes a room fit, one after the other.
	if !c.upper.under(&o.demand.Shape) {
		return false
	}
	var first *room
	count := o.left
	for _, m := range c.rooms {
		if o.left == 0 {
			break
		}
		if !m.roof.under(&o.demand.Shape) || findGang(m.places, &o.demand.Shape, int(o.nodes)) == nil || !l.mayUse(m, o) {
			continue
		}
		for o.left > 0 && takeGang(m.places, &o.demand.Shape, int(o.nodes)) {
			o.left--
		}
		m.roof = roofOf(m.places)
		if m.rental.State == StateAdmitted {
			r := Route{Rental: m.rental.ID, Job: o.demand.Job}
			if m.project != o.payer.project.name {
				r.Account, m.project = o.payer.full, o.payer.project.name
			}
			l.routes = append(l.routes, r)
		}
		m.vacant = false
		l.needed[m.rental.ID] = true
		if first == nil {
			first = m
		}
	}
	if first == nil {
		return false
	}
	v.Kind, v.Why, v.Rental, v.Pool = Burst, ReasonUnderway, first.rental.ID, &first.rental.Pool
	if first.rental.State == StateAdmitted {
		v.Why = ReasonRoute
	}
	if o.left > 0 {
		o.before = servedPart(int(o.count)-o.left, int(o.count))
	}
	return o.left == 0 && count > 0
}

// mayUse reports whether policy and money allow a demand onto a rental, and
// takes what a new payer needs from its budgets.
func (l *look) mayUse(m *room, o *opening) bool {
	r, t := m.rental, o.terms
	if r.State == StateWaiting || !poolAllowed(&r.Pool, t, o.rule) || !l.suits(r, t) {
		return false
	}
	if need := needOf(t, o.demand.TimeLimit); !r.Expires.IsZero() && l.over(r.Expires, -need) {
		return false
	}
	if m.project == o.payer.project.name {
		return true
	}
	return t.Share && r.State == StateAdmitted && m.vacant && l.takeOver(r, o)
}

// suits reports whether the provider of a rental has what policy asks for. One
// whose offer is not listed any more is not known to.
func (l *look) suits(r *Rental, t *Terms) bool {
	if len(t.Attributes) == 0 && t.Network == NetworkPlain {
		return true
	}
	i := slices.Index(l.catalog.pools, r.Pool)
	if i < 0 {
		return false
	}
	why, _ := l.catalog.offers[i].Suits(t, r.Expires)
	return why == ""
}

// takeOver charges the rest of a rental's life to a project that does not pay
// for it yet.
func (l *look) takeOver(r *Rental, o *opening) bool {
	if l.s.Frozen || l.s.Protected || len(o.payer.purses) == 0 || o.payer.mixed {
		return false
	}
	l.span.close() // its cost falls with time
	rest := r.Expires.Sub(l.s.Now)
	if r.Expires.IsZero() {
		rest = needOf(o.terms, 0)
	}
	cost, err := r.Billing().Worst(r.MaxRate, rest, max(machinesOf(r), 1))
	budgets := o.payer.on(r.Pool.Cloud, r.Shape.GPUType)
	if err != nil || cost.Currency != o.payer.currency || len(budgets) == 0 || budgets.short(cost.Micro) != nil {
		return false
	}
	budgets.spend(cost.Micro)
	return true
}

func poolAllowed(p *Pool, t *Terms, rule marketRule) bool {
	if len(t.Clouds) > 0 && !slices.Contains(t.Clouds, p.Cloud) || len(t.Regions) > 0 && !slices.Contains(t.Regions, p.Region) {
		return false
	}
	if p.Market == Reserved || t.Class == P0 {
		return p.Market == Reserved
	}
	return slices.Contains(rule.allowed(t.Markets), p.Market)
}
