package report

import (
	"cmp"
	"maps"
	"slices"

	"spillway.sh/spillway/bridge"
)

// topLines is how many lines a list has before the others come as one.
const topLines = 10

// top is part 6.
func (l *looked) top(s *Spend) Top {
	var before []bridge.PostedSum
	if n := len(l.Weeks); n >= 2 {
		before = l.Weeks[n-2].Sums
	}
	var now []bridge.PostedSum
	for i := range l.Days {
		now = append(now, l.Days[i].Sums...)
	}
	project := func(a bridge.Account) string { return string(a.Project()) }
	user := func(a bridge.Account) string { return cmp.Or(userOf(a), string(a)) }
	projects, projectsBefore := l.group(now, project), l.group(before, project)
	t := Top{
		Projects: l.lines(s, projects, projectsBefore),
		Users:    l.lines(s, l.group(now, user), l.group(before, user)),
	}
	jobs := map[string]int64{}
	for i := range l.rentals {
		p := &l.rentals[i]
		for job, cost := range p.jobCost {
			if p.elastic() {
				name := string(job)
				if p.Cluster != "" {
					name = p.Cluster + "/" + name
				}
				jobs[name] = plus(jobs[name], cost)
			}
		}
	}
	if rest := l.exact(now) - sumOf(slices.Collect(maps.Values(jobs))); rest > 0 {
		jobs[""] = rest
	}
	t.Jobs = l.lines(s, jobs, nil)
	if len(before) > 0 {
		t.Changed = l.changed(projects, projectsBefore, s)
	}
	for i := range t.Projects { // with the cents that it has there
		if c := t.Changed; c != nil && t.Projects[i].Name == c.Name {
			t.Changed = &t.Projects[i]
		}
	}
	return t
}

func (l *looked) exact(sums []bridge.PostedSum) int64 { return l.sum(sums, "") }

func (l *looked) group(sums []bridge.PostedSum, by func(bridge.Account) string) map[string]int64 {
	out := map[string]int64{}
	for i := range sums {
		if sums[i].Amount.Currency == l.Currency {
			name := by(sums[i].Account)
			out[name] = plus(out[name], sums[i].Amount.Micro)
		}
	}
	return out
}

// lines are the dearest, the others together, and what has no name last.
func (l *looked) lines(s *Spend, now, before map[string]int64) []TopLine {
	names := slices.SortedFunc(maps.Keys(now), func(a, b string) int {
		if (a == "") != (b == "") {
			return cmp.Compare(b, a)
		}
		return cmp.Or(cmp.Compare(now[b], now[a]), cmp.Compare(a, b))
	})
	names = slices.DeleteFunc(names, func(n string) bool { return now[n] == 0 })
	out := []TopLine{}
	var exact []int64
	was := int64(0) // of the others
	for i, n := range names {
		named := len(names)
		if names[named-1] == "" {
			named--
		}
		if n != "" && i >= topLines && named > topLines+1 {
			if i == topLines {
				out, exact = append(out, TopLine{}), append(exact, 0)
			}
			others := &out[topLines]
			others.Others++
			exact[topLines] = plus(exact[topLines], now[n])
			if before != nil && len(l.Weeks) >= 2 {
				was = plus(was, before[n])
				others.Before = l.ptr(up(was))
			}
			continue
		}
		line := TopLine{Name: n}
		if before != nil && len(l.Weeks) >= 2 {
			line.Before = l.ptr(up(before[n]))
		}
		out, exact = append(out, line), append(exact, now[n])
	}
	shown := fill(s.Elastic.Micro, exact)
	pms := permille(exact)
	for i := range out {
		out[i].Cost, out[i].PM = l.money(shown[i]), pms[i]
		if b := out[i].Before; b != nil {
			out[i].Change = l.ptr(shown[i] - b.Micro)
		}
	}
	return out
}

// permille are shares that add up to 1000, by largest remainder.
func permille(of []int64) []int {
	total := sumOf(of)
	out := make([]int, len(of))
	if total <= 0 {
		return out
	}
	scaled := make([]int64, len(of))
	for i, m := range of {
		scaled[i] = ratio(m, 1000*cent, total)
	}
	for i, m := range fill(1000*cent, scaled) {
		out[i] = int(m / cent)
	}
	return out
}

// changed is the project whose spend changed most.
func (l *looked) changed(now, before map[string]int64, s *Spend) *TopLine {
	var most *TopLine
	all := maps.Clone(before)
	maps.Copy(all, now)
	for _, n := range slices.Sorted(maps.Keys(all)) {
		line := TopLine{Name: n, Cost: l.money(up(now[n])), Before: l.ptr(up(before[n]))}
		line.Change = l.ptr(line.Cost.Micro - line.Before.Micro)
		if pm := perMille(line.Cost.Micro, s.Elastic.Micro); pm != nil {
			line.PM = *pm
		}
		if line.Change.Micro != 0 && (most == nil || abs(line.Change.Micro) > abs(most.Change.Micro)) {
			most = &line
		}
	}
	return most
}

func abs(m int64) int64 { return max(m, -m) }
