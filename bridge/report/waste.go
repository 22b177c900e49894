package report

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"spillway.sh/spillway/bridge"
)

// idleAfter is how long machines are without a job before that is waste.
const idleAfter = 20 * time.Minute

// wasteLines is how many lines are shown.
const wasteLines = 20

// waste is part 7. A rental is in it once, by the worst that is said of it.
func (l *looked) waste() Waste {
	w := Waste{Lines: []WasteLine{}, More: l.money(0)}
	var cost []int64
	orphans := 0
	ours := map[bridge.RentalID]bool{}
	for i := range l.rentals {
		p := &l.rentals[i]
		ours[p.ID] = true
		if !p.elastic() {
			continue
		}
		if line, micro, ok := l.wasted(p); ok {
			w.Lines, cost = append(w.Lines, line), append(cost, micro)
		}
	}
	for i := range l.News {
		n := &l.News[i]
		if n.Kind != bridge.NewsOrphan || l.Account != "" && !ours[n.Rental] {
			continue
		}
		orphans++
		w.Lines = append(w.Lines, WasteLine{Kind: WasteOrphan, Rental: n.Rental, Machine: n.Machine})
		cost = append(cost, max(n.Cost.Micro, 0))
	}
	total, shown := parts(cost)
	for i := range w.Lines {
		w.Lines[i].Cost = l.money(shown[i])
	}
	w.Cost = l.money(total)
	slices.SortStableFunc(w.Lines, func(a, b WasteLine) int {
		return cmp.Or(cmp.Compare(b.Cost.Micro, a.Cost.Micro), cmp.Compare(b.Took, a.Took), cmp.Compare(a.Rental, b.Rental))
	})
	if len(w.Lines) > wasteLines {
		for _, more := range w.Lines[wasteLines:] {
			w.Hidden++
			w.More.Micro += more.Cost.Micro
		}
		w.Lines = w.Lines[:wasteLines]
	}
	if orphans > 0 {
		l.note(PartWaste, NoteOrphanCost, "n", strconv.Itoa(orphans))
	}
	l.note(PartWaste, NoteNoLogins)
	return w
}

// wasted says what of a rental was waste, if anything.
func (l *looked) wasted(p *past) (WasteLine, int64, bool) {
	idle, longest := p.gaps(l.Week.From, l.end)
	line := WasteLine{Rental: p.ID, Owner: p.Requester, Account: p.Account, Took: SpanOf(longest)}
	switch {
	case longest > idleAfter && len(p.jobs) == 0 && len(p.Jobs) == 0:
		line.Kind = WasteForgotten
	case p.Why == bridge.ReasonExpired && p.State.Ended() && !p.Since.Before(l.Week.From) && p.Since.Before(l.end):
		line.Kind = WasteTimeout
	case longest > idleAfter:
		line.Kind = WasteIdle
	default:
		return line, 0, false
	}
	if p.State == bridge.StateAdmitted && !p.IdleSince.IsZero() && l.Made.Sub(p.IdleSince) > idleAfter {
		line.Running, line.Command = true, "spillway release "+string(p.ID)
	}
	return line, p.value(idle), true
}

// gaps are the machine-seconds of a rental in times of over idleAfter without
// any job, between its admission and its end, and the longest such time.
func (p *past) gaps(from, to time.Time) (machineSeconds int64, longest time.Duration) {
	var began, end time.Time
	for i := range p.Machines {
		m := &p.Machines[i]
		if m.ID == "" || m.Joined.IsZero() {
			continue
		}
		if began.IsZero() || m.Joined.After(began) {
			began = m.Joined // the gang is in when its last machine is
		}
		end = later(end, until(m, to))
	}
	if began.IsZero() {
		return 0, 0
	}
	at := began
	if at.Before(from) {
		at = from
	}
	end = earlier(end, to)
	gap := func(a, b time.Time) {
		d := b.Sub(a)
		if d <= idleAfter {
			return
		}
		longest = max(longest, d)
		for i := range p.Machines {
			if m := &p.Machines[i]; m.ID != "" && !m.Joined.IsZero() {
				machineSeconds += seconds(overlap(m.Joined, until(m, to), a, b))
			}
		}
	}
	for _, j := range p.jobs { // in order of their begin
		gap(at, earlier(j.from, end))
		at = later(at, j.to)
	}
	gap(at, end)
	return min(machineSeconds, p.paid), longest
}
