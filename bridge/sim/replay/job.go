package replay

import (
	"time"

	"spillway.sh/spillway/bridge"
)

// Job is one long job with a deadline.
type Job struct {
	Work     time.Duration // it computes in all
	Deadline time.Duration // after its start
	Restart  time.Duration // before a new machine computes: boot and restoring
	Every    time.Duration // between two checkpoints
	// Move is what it costs to bring its checkpoint to another region, as part of
	// what the work costs on demand.
	Move float64
}

// Outcome is what a run of a job came to.
type Outcome struct {
	Cost     float64       // as part of what the work costs on demand
	Finished time.Duration // after its start
	Lost     time.Duration // computed and not in a checkpoint when the machine was taken
	Egress   float64       // of the cost
	Reclaims int
	Moves    int // to another region
	Late     bool
}

// Place is where a job runs: nowhere, on demand, or on spot in a zone.
type Place struct {
	Market bridge.Market // empty: nowhere
	Zone   int
}

// View is what a strategy may look at.
type View struct {
	Job  Job
	Now  time.Duration // since its start
	Done time.Duration // computed, lost work excluded
	Safe time.Duration // of that, in a checkpoint
	At   Place
	Has  []bool // spot, by zone, at this moment
}

// Strategy chooses where a job runs, at each step. It may remember.
type Strategy interface {
	Choose(v *View) Place
	// Taken tells of a reclaim, at a time since the start.
	Taken(zone int, at time.Duration)
}

// spotPrice is what a machine-hour of spot costs, as part of one on demand.
const spotPrice = 0.3

// Run takes a job from the given step of the traces to its end.
func Run(j Job, ts []Trace, start int, s Strategy) Outcome {
	v := View{Job: j, Has: make([]bool, len(ts))}
	var out Outcome
	var booting time.Duration
	cost := time.Duration(0) // on demand, at full price
	spot := time.Duration(0)
	region := "" // its checkpoint is in
	for v.Done < j.Work && v.Now < 4*j.Deadline {
		for i := range ts {
			v.Has[i] = ts[i].Has[(start+int(v.Now/Step))%len(ts[i].Has)]
		}
		if v.At.Market == bridge.Spot && !v.Has[v.At.Zone] {
			out.Reclaims++
			out.Lost += v.Done - v.Safe
			v.Done = v.Safe
			s.Taken(v.At.Zone, v.Now)
			v.At = Place{}
		}
		if to := s.Choose(&v); to != v.At {
			v.At, booting = to, j.Restart
			v.Safe = v.Done               // a move by choice saves first
			if to.Market == bridge.Spot { // on demand is had in every region
				if r := ts[to.Zone].Region(); r != region {
					if region != "" && v.Done > 0 {
						out.Moves++
					}
					region = r
				}
			}
		}
		if v.At.Market != "" {
			if v.At.Market == bridge.Spot {
				spot += Step
			} else {
				cost += Step
			}
			boots := min(booting, Step)
			booting -= boots
			v.Done += Step - boots
			v.Safe = max(v.Safe, v.Done/j.Every*j.Every)
		}
		v.Now += Step
	}
	out.Egress = float64(out.Moves) * j.Move
	out.Cost = (cost.Hours()+spotPrice*spot.Hours())/j.Work.Hours() + out.Egress
	out.Finished, out.Late = v.Now, v.Now > j.Deadline+Step
	return out
}

// Floor is what a job would cost that knew the future and restarted for nothing.
func Floor(j Job, ts []Trace, start int) float64 {
	up := time.Duration(0)
	for i := range int(j.Deadline / Step) {
		for k := range ts {
			if ts[k].Has[(start+i)%len(ts[k].Has)] {
				up += Step
				break
			}
		}
	}
	spot := min(up, j.Work)
	return (spotPrice*spot.Hours() + (j.Work - spot).Hours()) / j.Work.Hours()
}
