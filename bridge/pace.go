package bridge

import (
	"math/bits"
	"time"
)

// Pace is how a job with a deadline stands, for the Uniform Progress rule of
// Wu et al., "Can't Be Late", NSDI 2024: progress is owed evenly over the time
// there is, spot is used while it can be had, on demand makes up for what is
// owed, and a job that could not lose another machine stays on demand.
type Pace struct {
	Start    time.Time     // its time began
	Deadline time.Time     // and ends
	Work     time.Duration // it computes in all
	Done     time.Duration // of that, safe in a checkpoint
	Restart  time.Duration // what a new machine costs: boot and restoring
	Loss     time.Duration // what a reclaim costs: the time between two checkpoints
	// Stays says that a job is not taken off on demand again, so that going there
	// costs the rest of its work at the full price: it waits longer for spot.
	Stays bool
}

// searchPart is the part of the time between even progress and the last moment
// in which a job that stays on demand looks for machines there too: a replay of
// nine zones costs the less the later it begins, and the time is left to find some.
const searchPart = 8

// Course says on which market a job with a deadline goes on.
type Course string

// The courses.
const (
	CourseSpot     Course = "spot"      // ahead: on spot, or it waits for spot
	CourseAny      Course = "any"       // behind: on spot where there is some, else on demand
	CourseOnDemand Course = "on-demand" // it could not lose a machine: on demand to its end
)

// Course returns the course of a job that holds no machine, or one on spot.
func (p *Pace) Course(now time.Time) Course {
	behind, last := p.Turns()
	switch {
	case !now.Before(last):
		return CourseOnDemand
	case now.Before(behind):
		return CourseSpot
	}
	return CourseAny
}

// Turns are the times from which a job that makes no progress is behind, and
// from which it may not lose a machine any more: it starts on one, loses it and
// what it did since its last checkpoint, and starts again.
func (p *Pace) Turns() (behind, last time.Time) {
	left := max(p.Work-p.Done, 0)
	last = p.Deadline.Add(-left - 2*max(p.Restart, 0) - max(p.Loss, 0))
	behind = p.Start.Add(scale(p.Deadline.Sub(p.Start), p.Done, p.Work))
	if p.Stays && last.After(behind) {
		behind = last.Add(-last.Sub(behind) / searchPart)
	}
	return behind, last
}

// Leaves reports whether a job that runs on demand may go back to spot: it is
// ahead by what two moves cost, so that it does not swing between the two.
func (p *Pace) Leaves(now time.Time) bool {
	ahead := *p
	ahead.Done -= 2 * max(p.Restart, 0)
	return ahead.Done >= 0 && ahead.Course(now) == CourseSpot
}

// scale is d * part / whole, at most d.
func scale(d, part, whole time.Duration) time.Duration {
	if d <= 0 || part <= 0 {
		return 0
	}
	if part >= whole {
		return d
	}
	hi, lo := bits.Mul64(uint64(d), uint64(part))
	q, _ := bits.Div64(hi, lo, uint64(whole))
	return time.Duration(q)
}

// paceOf is the pace of a demand; false where it has no deadline, or policy
// does not go by it.
func paceOf(d *Demand, t *Terms, ck *Checkpoint, boot time.Duration) (Pace, bool) {
	p := Pace{Start: d.Submitted, Deadline: d.Deadline, Work: t.Work, Restart: boot, Loss: ck.Every, Stays: true}
	if p.Work == 0 {
		p.Work = d.TimeLimit
	}
	if p.Loss == 0 {
		p.Loss = 2 * usualLoss
	}
	p.Done = min(ck.Done, p.Work)
	ok := t.Progress && !d.Deadline.IsZero() && !d.Submitted.IsZero() && p.Work > 0 && d.Deadline.After(d.Submitted)
	return p, ok
}
