package report

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"spillway.sh/spillway/bridge"
)

// Make computes the report of a week.
func Make(in *Input) Report {
	l := look(in)
	r := Report{
		Week: in.Week.Name, From: in.Week.From, To: in.Week.To, Zone: in.Week.Zone.String(), Made: in.Made.UTC(),
		Open: in.Made.Before(in.Week.To), Account: in.Account, Currency: in.Currency,
	}
	if r.Open {
		l.note(PartSpend, NoteOpen, "made", in.Made.In(in.Week.Zone).Format("2006-01-02 15:04"))
	}
	r.Spend = l.spend()
	r.Use = l.use(&r.Spend)
	r.Spot = l.spot(&r)
	r.Wait = l.wait()
	r.Mix = l.mix()
	r.Top = l.top(&r.Spend)
	r.Waste = l.waste()
	r.Approvals = l.approvals()
	r.Guard = l.guard()
	r.Headline = headline(&r)
	r.Advice = l.advice(&r)
	order := Parts()
	slices.SortStableFunc(l.notes, func(a, b Note) int {
		return cmp.Compare(slices.Index(order, a.Part), slices.Index(order, b.Part))
	})
	r.Notes = append([]Note{}, l.notes...)
	return r
}

func headline(r *Report) Headline {
	h := Headline{Elastic: r.Spend.Elastic, Total: r.Spend.Total, ElasticPM: r.Spend.ElasticPM, Saved: r.Wait.Saved}
	for i := range r.Mix.Classes {
		if c := r.Mix.Classes[i].Advised(); c != nil && (h.Reserve == nil || c.Saves.Micro > h.Reserve.Saves.Micro) {
			h.Reserve = c
		}
	}
	return h
}

// spend is part 1.
func (l *looked) spend() Spend {
	s := Spend{Days: []SpendDay{}, Weeks: []SpendWeek{}, Capacity: []CapacityLine{}, Budgets: []BudgetLine{}, Month: []MonthDay{}}
	l.days(&s)
	l.weeks(&s)
	l.month(&s)
	l.budgets(&s)
	open := int64(0)
	for i := range l.rentals {
		if p := &l.rentals[i]; p.State.Held() {
			open = plus(open, p.cost)
		}
	}
	s.Unsettled = l.money(min(up(open), s.Elastic.Micro))
	if f := l.Forecast; f != nil {
		s.Forecast = &Forecast{f.Month, l.money(up(f.Low.Micro)), l.money(up(f.Likely.Micro)), l.money(up(f.High.Micro)), f.Days}
	} else if l.monthOver() {
		l.note(PartSpend, NoteMonthOver)
	} else {
		l.note(PartSpend, NoteNoForecast)
	}
	return s
}

// monthOver reports whether nothing of the month of the week's end is to come.
func (l *looked) monthOver() bool {
	last, made := l.end.Add(-1).In(l.Week.Zone), l.Made.In(l.Week.Zone)
	return last.Month() != made.Month() || last.Year() != made.Year()
}

// days fills in the week's days, its totals and its capacity. Books say what a
// day cost; which of it was spot is by what the rentals of that day cost.
func (l *looked) days(s *Spend) {
	n := len(l.Days)
	elastic, spot, kept := make([]int64, n), make([]int64, n), make([]int64, n)
	for i := range l.Days {
		d := &l.Days[i]
		elastic[i] = l.sum(d.Sums, PartSpend)
		all, ofSpot := int64(0), int64(0)
		for k := range l.rentals {
			p := l.rentals[k]
			if !p.elastic() {
				continue
			}
			cost := p.costIn(d.From, earlier(d.To, l.end), l.Made)
			all = plus(all, cost)
			if p.Pool.Market == bridge.Spot {
				ofSpot = plus(ofSpot, cost)
			}
		}
		spot[i] = min(ratio(elastic[i], ofSpot, all), max(elastic[i], 0))
	}
	l.capacity(s, kept)
	demand := make([]int64, n)
	for i := range elastic {
		demand[i] = elastic[i] - spot[i]
	}
	total, markets := parts([]int64{sumOf(demand), sumOf(spot)})
	s.OnDemand, s.Spot, s.Elastic = l.money(markets[0]), l.money(markets[1]), l.money(total)
	s.Total = l.money(plus(total, s.Kept.Micro))
	s.ElasticPM = perMille(total, s.Total.Micro)
	demand, spot, kept = fill(markets[0], demand), fill(markets[1], spot), fill(s.Kept.Micro, kept)
	for i := range l.Days {
		s.Days = append(s.Days, SpendDay{l.Days[i].Name, l.money(demand[i]), l.money(spot[i]), l.money(kept[i])})
	}
}

// capacity adds what was paid for anyway, by piece and by day.
func (l *looked) capacity(s *Spend, byDay []int64) {
	var cost []int64
	other := false
	for i := range l.Capacity {
		c := &l.Capacity[i]
		if c.Rate.Currency != l.Currency {
			other = true
			continue
		}
		sum := int64(0)
		for d := range l.Days {
			from, to := l.Days[d].From, earlier(l.Days[d].To, l.end)
			if !c.From.IsZero() {
				from = later(from, c.From)
			}
			if !c.Until.IsZero() {
				to = earlier(to, c.Until)
			}
			m := ratio(ratio(c.Rate.Micro, int64(c.GPUs), 1), seconds(to.Sub(from)), 3600)
			byDay[d] = plus(byDay[d], m)
			sum = plus(sum, m)
		}
		if sum > 0 {
			cost = append(cost, sum)
			s.Capacity = append(s.Capacity, CapacityLine{Name: c.Name, Kind: c.Kind, GPU: c.GPU, GPUs: c.GPUs})
		}
	}
	total, shown := parts(cost)
	for i := range shown {
		s.Capacity[i].Cost = l.money(shown[i])
	}
	s.Kept = l.money(total)
	switch {
	case l.Account != "":
		l.note(PartSpend, NoteOneAccount, "account", string(l.Account))
	case len(l.Capacity) == 0:
		l.note(PartSpend, NoteNoCapacity)
	}
	if other {
		l.note(PartSpend, NoteCapacityCurrency)
	}
}

// weeks compares with the weeks before.
func (l *looked) weeks(s *Spend) {
	n := len(l.Weeks)
	sum, had := int64(0), 0
	for i := range l.Weeks {
		w := &l.Weeks[i]
		micro := up(l.sum(w.Sums, ""))
		if i == n-1 {
			micro = s.Elastic.Micro
		} else if micro != 0 {
			sum = plus(sum, micro)
			had++
		}
		if micro != 0 || had > 0 || i == n-1 {
			s.Weeks = append(s.Weeks, SpendWeek{w.Name, l.money(micro)})
		}
	}
	if had == 0 {
		l.note(PartSpend, NoteFirstWeek)
		return
	}
	s.MeanWeeks, s.Mean = had, l.ptr(up(sum/int64(had)))
	last := up(l.sum(l.Weeks[n-2].Sums, ""))
	s.LastWeek, s.Change = l.ptr(last), l.ptr(s.Elastic.Micro-last)
	if pm := perMille(s.Change.Micro, last); pm != nil {
		s.ChangePM = pm
	}
}

// budgets are shown in the period of the week's end, with what is held now, if
// it is not over. Costs round up and what is left down, so that nobody spends
// what is not there.
func (l *looked) budgets(s *Spend) {
	unused := 0
	for i := range l.Balances {
		b := &l.Balances[i]
		if b.Posted.IsZero() && b.Held.IsZero() {
			unused++
			continue
		}
		line := BudgetLine{
			Scope: b.Scope(), Period: b.Period, Hard: b.Hard,
			Limit: floorOf(b.Limit), Posted: ceilOf(b.Posted), Held: ceilOf(b.Held),
		}
		left, err := b.Left()
		if err != nil {
			continue // sums of two currencies: the budget's own alert says so
		}
		line.Left = floorOf(left)
		if pm := perMille(plus(b.Posted.Micro, b.Held.Micro), b.Limit.Micro); pm != nil {
			line.UsedPM = *pm
		}
		s.Budgets = append(s.Budgets, line)
	}
	if unused > 0 {
		l.note(PartSpend, NoteBudgetsUnused, "n", strconv.Itoa(unused))
	}
	if len(s.Budgets) > 0 && !l.Made.Before(l.Week.To) {
		l.note(PartSpend, NoteBudgetsNow, "made", l.Made.In(l.Week.Zone).Format("2006-01-02 15:04"))
	}
}

func ceilOf(m bridge.Money) bridge.Money {
	return bridge.Money{Micro: up(m.Micro), Currency: m.Currency}
}

func floorOf(m bridge.Money) bridge.Money {
	return bridge.Money{Micro: down(m.Micro), Currency: m.Currency}
}

// sum adds what was posted in the report's currency; another is noted, once.
func (l *looked) sum(sums []bridge.PostedSum, noted Part) int64 {
	total := int64(0)
	for i := range sums {
		if sums[i].Amount.Currency == l.Currency {
			total = plus(total, sums[i].Amount.Micro)
		} else if noted != "" && !sums[i].Amount.IsZero() {
			l.otherCurrency(noted, sums[i].Amount.Currency)
		}
	}
	return total
}

// otherCurrency notes, once for each part, that amounts are left out.
func (l *looked) otherCurrency(p Part, c bridge.Currency) {
	said := func(n Note) bool {
		return n.Part == p && n.Code == NoteOtherCurrency && n.Facts["currency"] == string(c)
	}
	if !slices.ContainsFunc(l.notes, said) {
		l.note(p, NoteOtherCurrency, "currency", string(c))
	}
}

// costIn is what a rental cost in [from, to) of its whole cost until made.
func (p *past) costIn(from, to, made time.Time) int64 {
	whole, part := int64(0), int64(0)
	for i := range p.Machines {
		m := &p.Machines[i]
		if m.Started.IsZero() || m.ID == "" {
			continue
		}
		stop := until(m, made)
		rate := cmp.Or(m.Rate.Micro, p.Rate.Micro)
		whole = plus(whole, ratio(seconds(stop.Sub(m.Started)), rate, 1))
		part = plus(part, ratio(seconds(overlap(m.Started, stop, from, to)), rate, 1))
	}
	return ratio(p.Cost.Micro, part, whole)
}

func sumOf(of []int64) int64 {
	s := int64(0)
	for _, m := range of {
		s = plus(s, m)
	}
	return s
}
