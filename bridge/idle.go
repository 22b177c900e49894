package bridge

import (
	"cmp"
	"time"
)

// Watch is policy's patience with machines that have no job. Zero fields take
// the defaults.
type Watch struct {
	// Tell is after how long a machine is named to its owner; sooner, if it would
	// be given back sooner.
	Tell time.Duration `json:"tell"`
	// Unowned is how long after the owner of its budget was told a machine goes that
	// nobody owns, however patient policy is otherwise.
	Unowned time.Duration `json:"unowned"`
}

// The defaults of a watch.
const (
	WatchTell    = 20 * time.Minute
	WatchUnowned = 15 * time.Minute
)

// OrDefault returns the watch with what was left out.
func (w Watch) OrDefault() Watch {
	return Watch{cmp.Or(w.Tell, WatchTell), cmp.Or(w.Unowned, WatchUnowned)}
}

// leastTold keeps a machine from being named between one job and the next.
const leastTold = time.Minute

// Untold are the machines of a rental, by their place in it, that have been
// without a job for so long that they are to be named now: once for each spell,
// and not while their owner keeps them. Machines of a gang are idle together. What goes back
// at once anyway is not named, unless nobody owns it: then it does not go before,
// and is named as soon as policy's patience is over.
func Untold(r *Rental, w Watch, now time.Time) []int {
	if r.State != StateAdmitted || now.Before(r.KeepUntil) || r.Gang > 1 && r.IdleSince.IsZero() {
		return nil
	}
	wait := min(w.OrDefault().Tell, r.Idle)
	if r.Unowned == 0 {
		wait = max(wait, leastTold)
	}
	var out []int
	for i := range r.Machines {
		m := &r.Machines[i]
		since := m.IdleSince
		if r.Gang > 1 {
			since = r.IdleSince
		}
		if m.State != MachineJoined || since.IsZero() || now.Sub(since) < wait || m.told() {
			continue
		}
		if r.Unowned == 0 && !r.Goes(m).After(now) {
			continue
		}
		out = append(out, i)
	}
	return out
}

// told reports whether somebody was told of the spell that the machine is in.
func (m *Machine) told() bool {
	return !m.IdleSince.IsZero() && !m.IdleTold.Before(m.IdleSince)
}

// allTold reports whether all idle machines of a rental were named.
func allTold(r *Rental) bool {
	for i := range r.Machines {
		if m := &r.Machines[i]; m.State == MachineJoined && !m.told() {
			return false
		}
	}
	return true
}

// patience is until when an idle machine, or with nil a whole idle rental, is
// waited for; false: for ever, because somebody must be told first.
func (r *Rental) patience(m *Machine) (time.Time, bool) {
	since, told := r.IdleSince, time.Time{}
	if m != nil {
		since, told = m.IdleSince, m.IdleTold
	}
	until := since.Add(r.Idle)
	if r.Unowned > 0 {
		if m != nil && !m.told() || m == nil && !allTold(r) {
			return time.Time{}, false
		}
		if m == nil {
			told = lastTold(r)
		}
		if by := told.Add(r.Unowned); by.Before(until) {
			until = by
		}
	}
	if until.Before(r.KeepUntil) {
		until = r.KeepUntil
	}
	return until, true
}

func lastTold(r *Rental) time.Time {
	var out time.Time
	for i := range r.Machines {
		if m := &r.Machines[i]; m.State == MachineJoined && m.IdleTold.After(out) {
			out = m.IdleTold
		}
	}
	return out
}

// Goes is when an idle machine of the rental, or with nil the rental if it is
// idle as a whole, goes back if no job comes: at the
// end of what is paid, once policy's patience is over. Zero: it is not idle, or
// somebody has to be told first. A rental that is idle as a whole goes as a whole.
func (r *Rental) Goes(m *Machine) time.Time {
	started := oldestStart(r)
	switch {
	case r.State != StateAdmitted:
		return time.Time{}
	case !r.IdleSince.IsZero():
		m = nil
	case m == nil || m.IdleSince.IsZero() || r.Gang > 1:
		return time.Time{}
	default:
		started = m.Started
	}
	at, ok := r.patience(m)
	if !ok {
		return time.Time{} // somebody is told first
	}
	if !started.IsZero() {
		if paid := started.Add(r.Billing().Paid(at.Sub(started)) - ReturnLead); paid.After(at) {
			at = paid
		}
	}
	for _, end := range []time.Time{r.Expires, r.ReleaseAt} {
		if !end.IsZero() && end.Before(at) {
			at = end
		}
	}
	return at
}

// IdleCost is what the machines of a rental that have no job now have cost
// since they had one, at their rates.
func (r *Rental) IdleCost(now time.Time) Money {
	sum := Money{Currency: r.Rate.Currency}
	for i := range r.Machines {
		m := &r.Machines[i]
		if m.State != MachineJoined || m.IdleSince.IsZero() || !now.After(m.IdleSince) {
			continue
		}
		rate := m.Rate
		if rate.Currency == "" {
			rate = r.Rate
		}
		cost, err := rate.Cost(now.Sub(m.IdleSince), 1, RoundUp)
		if err != nil {
			continue // no sensible figure
		}
		if more, err := sum.Add(cost); err == nil {
			sum = more
		}
	}
	return sum
}
