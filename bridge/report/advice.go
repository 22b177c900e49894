package report

import (
	"cmp"
	"slices"
	"strconv"

	"spillway.sh/spillway/bridge"
)

// adviceMost is how many things are advised.
const adviceMost = 3

// worth is what a thing must save a week to be advised, per mille of what was
// spent: below it, reading costs more.
const worth = 5

// advice is part 10: what saves most, each with how much and the command that
// does it or shows more.
func (l *looked) advice(r *Report) []Advice {
	all := slices.Concat(adviseMix(r), adviseWaste(r), l.adviseLost(r), l.adviseSpot(), adviseStarts(r))
	least := ratio(r.Spend.Total.Micro, worth, 1000)
	all = slices.DeleteFunc(all, func(a Advice) bool { return a.Saves.Micro <= 0 || a.Saves.Micro < least })
	slices.SortStableFunc(all, func(a, b Advice) int { return cmp.Compare(b.Saves.Micro, a.Saves.Micro) })
	if len(all) == 0 {
		l.note(PartAdvice, NoteNoAdvice)
	}
	return append([]Advice{}, all[:min(len(all), adviceMost)]...)
}

func adviseMix(r *Report) []Advice {
	var out []Advice
	for i := range r.Mix.Classes {
		c := &r.Mix.Classes[i]
		a := c.Advised()
		if a == nil {
			continue
		}
		code, n := AdviseReserve, a.Best-a.Now
		if n < 0 {
			code, n = AdviseUnreserve, -n
		}
		out = append(out, Advice{code, a.Saves, "spillway prices " + c.GPU, map[string]string{
			"gpu": c.GPU, "n": strconv.Itoa(n), "now": strconv.Itoa(a.Now), "best": strconv.Itoa(a.Best),
		}})
	}
	return out
}

// adviseWaste is to release what still runs, and to have the rest released
// sooner.
func adviseWaste(r *Report) []Advice {
	var out []Advice
	ended := bridge.Money{Currency: r.Currency}
	n := 0
	for i := range r.Waste.Lines {
		w := &r.Waste.Lines[i]
		switch {
		case w.Running:
			out = append(out, Advice{AdviseRelease, w.Cost, w.Command, map[string]string{"rental": string(w.Rental), "owner": w.Owner}})
		case w.Kind == WasteIdle || w.Kind == WasteForgotten:
			ended.Micro += w.Cost.Micro
			n++
		}
	}
	if n > 0 {
		out = append(out, Advice{AdviseIdle, ended, "spillway check-config", map[string]string{"n": strconv.Itoa(n), "minutes": strconv.Itoa(int(idleAfter.Minutes()))}})
	}
	return out
}

// adviseLost is to let jobs that lose their work write checkpoints.
func (l *looked) adviseLost(r *Report) []Advice {
	if len(r.Spot.NoCheckpoint) == 0 {
		return nil
	}
	first := r.Spot.NoCheckpoint[0]
	sum := l.money(0)
	for _, j := range r.Spot.NoCheckpoint {
		sum.Micro = plus(sum.Micro, j.Cost.Micro)
	}
	return []Advice{{AdviseCheckpoint, sum, "spillway checkpoints " + string(first.Job), map[string]string{
		"n": strconv.Itoa(len(r.Spot.NoCheckpoint)), "job": string(first.Job),
	}}}
}

// adviseSpot is to let jobs that can go on from a checkpoint run on spot
// machines: what those on demand cost, against the week's own price of spot
// machines of their class with the work lost on them.
func (l *looked) adviseSpot() []Advice {
	spot := map[string]int64{}
	saved, n := int64(0), 0
	for i := range l.rentals {
		p := &l.rentals[i]
		gpu := p.Shape.GPUType
		if p.Class != bridge.P2 || p.Pool.Market != bridge.OnDemand || p.gpus() == 0 || p.paid == 0 {
			continue
		}
		if _, known := spot[gpu]; !known {
			spot[gpu] = 0
			for _, e := range l.elasticPrices(gpu) {
				if e.name == SpotWithLoss {
					spot[gpu] = e.micro
				}
			}
		}
		if price := spot[gpu]; price > 0 {
			saved, n = plus(saved, p.cost-ratio(price, p.paid*p.gpus(), 3600)), n+1
		}
	}
	if n == 0 {
		return nil
	}
	saves := l.money(down(saved))
	return []Advice{{AdviseSpot, saves, "spillway prices", map[string]string{"n": strconv.Itoa(n)}}}
}

// adviseStarts is to look at starts that fail.
func adviseStarts(r *Report) []Advice {
	i := slices.IndexFunc(r.Use.Unused, func(u Unused) bool { return u.Kind == Failed })
	if i < 0 {
		return nil
	}
	return []Advice{{AdviseStarts, r.Use.Unused[i].Cost, "spillway news", map[string]string{}}}
}
