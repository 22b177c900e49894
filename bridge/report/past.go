package report

import (
	"cmp"
	"slices"
	"time"

	"spillway.sh/spillway/bridge"
)

// past is a rental of the week with what its machines did in it. Amounts are
// exact micro-units.
type past struct {
	*bridge.Rental
	jobs []jobTime
	cost int64 // in the week
	// Machine-seconds in the week.
	paid, busy, starting, idle, stopping int64
	// jobCost is what each job cost in the week.
	jobCost map[bridge.JobID]int64
}

// jobTime is one run of a job on a rental.
type jobTime struct {
	job      bridge.JobID
	gpus     int
	from, to time.Time
}

// elastic reports whether the rental's machines cost something more.
func (p *past) elastic() bool { return p.Pool.Market != bridge.Reserved }

// failed reports whether the rental's machines were never admitted.
func (p *past) failed() bool {
	switch p.State {
	case bridge.StateReleasing, bridge.StateSettled:
	case bridge.StateWaiting, bridge.StateLaunching, bridge.StateJoining, bridge.StateAdmitted, bridge.StateDraining, bridge.StateClosed:
		return false
	}
	return !slices.ContainsFunc(p.Machines, func(m bridge.Machine) bool { return !m.Joined.IsZero() })
}

// gpus is how many one machine has.
func (p *past) gpus() int64 { return int64(p.Shape.GPUs) }

// looked is the part of a report's input that many parts need.
type looked struct {
	*Input
	end     time.Time // of what is known of the week
	rentals []past
	mine    map[bridge.RentalID]bool // rentals of the account, those that were only asked for too
	lostBy  map[string]int64         // GPU-seconds of work that reclaims destroyed, by class
	notes   []Note
}

// look works out what each rental did. News say when its jobs came and went and
// when it was given back; nothing is known of what they leave out.
func look(in *Input) *looked {
	l := &looked{Input: in, mine: map[bridge.RentalID]bool{}, lostBy: map[string]int64{}, end: clip(in.Made, in.Week.From, in.Week.To)}
	for _, id := range in.Asked {
		l.mine[id] = true
	}
	runs, released := lives(in, l.end)
	for i := range in.Rentals {
		r := &in.Rentals[i]
		l.mine[r.ID] = true
		if c := r.Cost.Currency; c != "" && c != in.Currency {
			l.otherCurrency(PartUse, c)
			continue
		}
		p := past{Rental: r, jobs: runs[r.ID], jobCost: map[bridge.JobID]int64{}}
		if in.Made.Before(in.Week.To) { // what runs now began before all news that were read
			for _, j := range r.Running {
				if !slices.ContainsFunc(p.jobs, func(t jobTime) bool { return t.job == j }) {
					p.jobs = append(p.jobs, jobTime{job: j, from: in.Week.From, to: l.end})
				}
			}
		}
		slices.SortFunc(p.jobs, func(a, b jobTime) int {
			return cmp.Or(a.from.Compare(b.from), cmp.Compare(a.job, b.job))
		})
		p.measure(in.Week.From, l.end, in.Made, released[r.ID])
		l.rentals = append(l.rentals, p)
	}
	return l
}

// lives are the runs of jobs on each rental, and when each was first drained or
// given back.
func lives(in *Input, end time.Time) (map[bridge.RentalID][]jobTime, map[bridge.RentalID]time.Time) {
	type key struct {
		r bridge.RentalID
		j bridge.JobID
	}
	open := map[key]jobTime{}
	runs := map[bridge.RentalID][]jobTime{}
	released := map[bridge.RentalID]time.Time{}
	for _, news := range [][]bridge.News{in.Earlier, in.News} {
		for i := range news {
			n := &news[i]
			k := key{n.Rental, n.Job}
			switch n.Kind {
			case bridge.NewsStarted:
				open[k] = jobTime{n.Job, n.GPUs, n.At, end}
			case bridge.NewsFinished:
				if t, ok := open[k]; ok {
					t.to = n.At
					runs[n.Rental] = append(runs[n.Rental], t)
					delete(open, k)
				}
			case bridge.NewsDraining, bridge.NewsReleasing:
				if released[n.Rental].IsZero() {
					released[n.Rental] = n.At
				}
			default:
			}
		}
	}
	for k, t := range open {
		runs[k.r] = append(runs[k.r], t)
	}
	return runs, released
}

// until is when a machine stops costing, as far as is known at end.
func until(m *bridge.Machine, end time.Time) time.Time {
	switch {
	case !m.Stopped.IsZero():
		return m.Stopped
	case m.Absent > 0 && m.AbsentAt.Before(end):
		return m.AbsentAt
	}
	return end
}

// measure works out machine-seconds and cost in [from, to). What a rental has
// cost is spread over its life until made by its machines' seconds at their
// rates.
func (p *past) measure(from, to, made, released time.Time) {
	if p.State == bridge.StateAdmitted {
		released = time.Time{} // a drain that was taken back
	}
	p.cost = p.costIn(from, to, made)
	for i := range p.Machines {
		m := &p.Machines[i]
		if m.Started.IsZero() || m.ID == "" {
			continue
		}
		stop := until(m, made)
		p.paid += seconds(overlap(m.Started, stop, from, to))
		joined := m.Joined
		if joined.IsZero() {
			joined = stop
		}
		p.starting += seconds(overlap(m.Started, earlier(joined, stop), from, to))
		if !released.IsZero() {
			p.stopping += seconds(overlap(later(released, joined), stop, from, to))
		}
	}
	p.occupy(from, to)
	// A job that still runs while its machines drain is busy, not stopping.
	p.stopping = min(p.stopping, p.paid-p.starting-p.busy)
	p.idle = p.paid - p.starting - p.busy - p.stopping
}

// occupy works out how many machine-seconds jobs had, and what each cost: a job
// has so many of the machines as its GPUs need, or all where that is not known.
func (p *past) occupy(from, to time.Time) {
	count, stop := int64(0), from
	for i := range p.Machines {
		if m := &p.Machines[i]; m.ID != "" && !m.Joined.IsZero() {
			count++
			stop = later(stop, until(m, to))
		}
	}
	total := int64(0)
	took := map[bridge.JobID]int64{}
	for _, j := range p.jobs {
		n := count
		if j.gpus > 0 && p.gpus() > 0 {
			n = min(count, (int64(j.gpus)+p.gpus()-1)/p.gpus())
		}
		s := n * seconds(overlap(j.from, earlier(j.to, stop), from, to))
		took[j.job] += s
		total += s
	}
	p.busy = min(total, p.paid-p.starting)
	for job, s := range took {
		if total > p.busy { // they shared machines
			s = ratio(s, p.busy, total)
		}
		if s > 0 {
			p.jobCost[job] = p.value(s)
		}
	}
}

// value is what so many of its machine-seconds cost.
func (p *past) value(machineSeconds int64) int64 {
	return ratio(p.cost, machineSeconds, p.paid)
}

func seconds(d time.Duration) int64 { return int64(max(d, 0) / time.Second) }

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// note adds why a figure is absent or how it was come by.
func (l *looked) note(p Part, code NoteCode, facts ...string) {
	n := Note{Part: p, Code: code}
	for i := 0; i+1 < len(facts); i += 2 {
		if n.Facts == nil {
			n.Facts = map[string]string{}
		}
		n.Facts[facts[i]] = facts[i+1]
	}
	l.notes = append(l.notes, n)
}

// money is an amount in the report's currency.
func (l *looked) money(micro int64) bridge.Money {
	return bridge.Money{Micro: micro, Currency: l.Currency}
}

func (l *looked) ptr(micro int64) *bridge.Money { m := l.money(micro); return &m }
