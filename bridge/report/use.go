package report

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"spillway.sh/spillway/bridge"
)

// spotted is how much of the rented GPU-hours the usage record must have seen
// for its word to count, per mille: below it the record began or stopped amid
// the week.
const spotted = 900

// use is part 2.
func (l *looked) use(s *Spend) Use {
	u := Use{Classes: []UseClass{}}
	seen := l.usage()
	cost := l.costByGPU()
	gpus, contracts := l.gpuTimes()
	names := map[string]bool{}
	for n := range cost {
		names[n] = true
	}
	for n := range gpus {
		names[n] = true
	}
	order := slices.SortedFunc(maps.Keys(names), func(a, b string) int {
		return cmp.Or(cmp.Compare(cost[b], cost[a]), cmp.Compare(a, b))
	})
	exact := make([]int64, len(order))
	for i, n := range order {
		exact[i] = cost[n]
	}
	shown := fill(s.Elastic.Micro, exact)
	all := gpuTime{}
	allCost := int64(0)
	for i, n := range order {
		g := gpus[n]
		if g == nil {
			g = &gpuTime{}
		}
		g.watched(seen[n], contracts[n])
		line := g.line(n, cost[n], l.Currency)
		line.Cost = l.money(shown[i])
		u.Classes = append(u.Classes, line)
		if g.paid > 0 {
			all.add(g)
			allCost = plus(allCost, cost[n])
		}
	}
	u.Total = all.line("", allCost, l.Currency)
	u.Total.Cost = s.Elastic
	for _, g := range seen {
		u.Total.Owned += HoursOf(g.Owned)
		u.Total.OwnedBusy += HoursOf(g.OwnedBusy)
	}
	l.sayUse(&u, &all)
	l.unused(&u, s)
	return u
}

// gpuTimes are what rented GPUs of each class did, and the classes of which
// machines of a contract ran.
func (l *looked) gpuTimes() (elastic map[string]*gpuTime, contracts map[string]bool) {
	elastic, contracts = map[string]*gpuTime{}, map[string]bool{}
	for i := range l.rentals {
		p := &l.rentals[i]
		if p.paid == 0 {
			continue
		}
		if !p.elastic() {
			contracts[p.Shape.GPUType] = true
			continue
		}
		g := elastic[p.Shape.GPUType]
		if g == nil {
			g = &gpuTime{}
			elastic[p.Shape.GPUType] = g
		}
		g.paid += p.paid * p.gpus()
		g.busy += p.busy * p.gpus()
		g.admitted += (p.busy + p.idle + p.stopping) * p.gpus()
	}
	return elastic, contracts
}

// gpuTime is what rented GPUs of a class did, in GPU-seconds.
type gpuTime struct {
	paid, admitted, busy, useful int64
	owned, ownedBusy             int64
	measured                     int64 // of busy, per mille, times busy
	known                        bool  // busy is from the usage record
}

func (g *gpuTime) add(o *gpuTime) {
	g.paid += o.paid
	g.admitted += o.admitted
	g.busy += o.busy
	g.useful += o.useful
	g.measured += o.measured
	g.known = g.known || o.known
}

// watched takes the usage record's word for what was busy where it saw nearly
// all of it, and its measured utilisation where there is one. The record does
// not tell machines of a contract from those that cost more.
func (g *gpuTime) watched(u bridge.Usage, contract bool) {
	g.owned, g.ownedBusy = u.Owned, u.OwnedBusy
	if !contract && u.Rented > 0 && u.Rented >= ratio(g.admitted, spotted, 1000) {
		g.busy, g.known = min(u.RentedBusy, g.paid), true
	}
	g.useful = g.busy
	if u.Measured > 0 {
		g.useful = ratio(g.busy, min(u.Useful, u.Measured), u.Measured)
		g.measured = ratio(g.busy, min(u.Measured, u.RentedBusy), max(u.RentedBusy, 1))
	}
}

// line shows a class that cost so much.
func (g *gpuTime) line(gpu string, micro int64, c bridge.Currency) UseClass {
	out := UseClass{GPU: gpu, Paid: HoursOf(g.paid), Owned: HoursOf(g.owned), OwnedBusy: HoursOf(g.ownedBusy)}
	if g.paid == 0 {
		return out
	}
	busy := HoursOf(g.busy)
	out.Busy, out.Source = &busy, Allocated
	if g.measured > 0 {
		out.Source = Measured
		if pm := perMille(g.measured, g.busy); pm != nil {
			out.MeasuredPM = *pm
		}
	}
	out.UtilisationPM = perMille(g.useful, g.paid)
	out.PerUseful = perHour(micro, g.useful, c)
	return out
}

// usage adds up the week's record by class.
func (l *looked) usage() map[string]bridge.Usage {
	out := map[string]bridge.Usage{}
	for i := range l.Usage {
		u := &l.Usage[i]
		if u.Hour.Before(l.Week.From) || !u.Hour.Before(l.end) {
			continue
		}
		t := out[u.GPU]
		t.GPU = u.GPU
		t.Owned += u.Owned
		t.OwnedBusy += u.OwnedBusy
		if l.Account == "" { // the record does not say whose
			t.Rented += u.Rented
			t.RentedBusy += u.RentedBusy
			t.Measured += u.Measured
			t.Useful += u.Useful
		}
		out[u.GPU] = t
	}
	return out
}

// costByGPU is what was posted in the week, by class.
func (l *looked) costByGPU() map[string]int64 {
	out := map[string]int64{}
	for i := range l.Days {
		for _, s := range l.Days[i].Sums {
			if s.Amount.Currency == l.Currency {
				out[s.GPU] = plus(out[s.GPU], s.Amount.Micro)
			}
		}
	}
	return out
}

// sayUse says where utilisation is from.
func (l *looked) sayUse(u *Use, all *gpuTime) {
	switch {
	case all.paid == 0:
		l.note(PartUse, NoteNoHours)
	case u.Total.Source == Measured:
		l.note(PartUse, NoteMeasured, "share", Percent(u.Total.MeasuredPM))
	default:
		l.note(PartUse, NoteAllocated)
	}
	if all.paid > 0 && !all.known {
		l.note(PartUse, NoteFromStarts)
	}
	if l.Account != "" {
		l.note(PartUse, NoteUseOneAccount)
	}
}

// unused is what was paid and ran nothing.
func (l *looked) unused(u *Use, s *Spend) {
	kinds := []UnusedKind{Starting, Idling, Stopping, Failed}
	cost, gpu := make([]int64, len(kinds)), make([]int64, len(kinds))
	for i := range l.rentals {
		p := &l.rentals[i]
		if !p.elastic() || p.paid == 0 {
			continue
		}
		took := []int64{p.starting, p.idle, p.stopping, 0}
		if p.failed() {
			took = []int64{0, 0, 0, p.paid}
		}
		for k, t := range took {
			cost[k] = plus(cost[k], p.value(t))
			gpu[k] += t * p.gpus()
		}
	}
	total, shown := parts(cost)
	u.UnusedCost = l.money(total)
	u.UnusedPM = perMille(total, s.Elastic.Micro)
	for k, kind := range kinds {
		u.Unused = append(u.Unused, Unused{kind, HoursOf(gpu[k]), l.money(shown[k]), perMille(shown[k], s.Elastic.Micro)})
		u.UnusedHours += HoursOf(gpu[k])
	}
}

// userOf is who an account's spending is of: its last part where it reaches
// down to one.
func userOf(a bridge.Account) string {
	parts := strings.Split(string(a), "/")
	if len(parts) < 4 {
		return ""
	}
	return parts[len(parts)-1]
}
