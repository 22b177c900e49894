package report

import (
	"slices"

	"spillway.sh/spillway/bridge"
)

// guard is part 9.
func (l *looked) guard() Guard {
	g := Guard{Undelivered: l.Undelivered}
	l.bills(&g)
	var hold, cost int64
	for i := range l.rentals {
		p := &l.rentals[i]
		if p.State != bridge.StateSettled || p.Since.Before(l.Week.From) || !p.Since.Before(l.end) || !p.elastic() {
			continue
		}
		if p.Cost.Micro > p.Hold.Micro {
			g.Overruns++
		}
		if p.Cost.Micro > 0 {
			g.HoldN++
			hold, cost = plus(hold, p.Hold.Micro), plus(cost, p.Cost.Micro)
		}
	}
	if g.HoldPM = perMille(hold, cost); g.HoldPM == nil {
		l.note(PartGuard, NoteNothingSettled)
	}
	l.prices(&g)
	if g.Undelivered == nil {
		l.note(PartGuard, NoteNoDeliveries)
	}
	return g
}

// prices looks how old those of the offers are.
func (l *looked) prices(g *Guard) {
	if l.Offers == nil {
		l.note(PartGuard, NoteNoOffers)
	}
	for i := range l.Offers {
		o := &l.Offers[i]
		if o.SampledAt.IsZero() {
			continue
		}
		if age := SpanOf(max(l.Made.Sub(o.SampledAt), 0)); g.PriceAge == nil || age > *g.PriceAge {
			g.PriceAge = &age
		}
		if !o.Fresh(l.Made) {
			g.Stale++
		}
	}
}

// bills compares what was metered with what was billed, of rentals whose bill
// was recorded in the week.
func (l *looked) bills(g *Guard) {
	diff := map[bridge.RentalID]int64{}
	for i := range l.Corrections {
		if c := &l.Corrections[i]; c.Kind == bridge.ByBill && c.Amount.Currency == l.Currency {
			diff[c.Rental] = plus(diff[c.Rental], c.Amount.Micro)
		}
	}
	var off []int
	worst := 0
	for i := range l.Billed {
		r := &l.Billed[i]
		d, ok := diff[r.ID]
		metered := r.Cost.Micro - d // the cost has the bill in it
		if !ok || metered <= 0 || r.Cost.Currency != l.Currency {
			continue
		}
		pm := int(ratio(d, 1000, metered))
		if abs(int64(pm)) > abs(int64(worst)) {
			worst = pm
		}
		off = append(off, int(abs(int64(pm))))
	}
	if g.Bills = len(off); len(off) == 0 {
		l.note(PartGuard, NoteNoBills)
		return
	}
	slices.Sort(off)
	median := nearestRank(off, 500)
	g.ErrorPM, g.WorstPM = &median, &worst
}
