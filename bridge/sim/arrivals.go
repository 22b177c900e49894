package sim

import (
	"context"
	"math"
	"math/rand/v2"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/sim/slurmctl"
)

// users own jobs, and projects pay for them.
var (
	users    = []string{"ana", "ben", "cem", "dee"}
	projects = []string{"p1", "p2", "p3"}
)

// arrive plans the jobs: more by day than by night, single ones, gangs and
// arrays, some of which their owners take back.
func (w *World) arrive() {
	if w.setup.daily() == 0 || w.setup.Jobs < 0 {
		return
	}
	r := w.draw("jobs")
	mean := w.setup.span(24 * time.Hour / time.Duration(w.setup.daily()))
	w.every(func() time.Duration { return time.Duration(float64(after(r, mean)) / w.rush()) }, func(context.Context) {
		id := w.Submit(w.newJob(r))
		if r.IntN(12) == 0 {
			w.in(w.setup.span(between(r, time.Minute, 4*time.Hour)), func(context.Context) { w.cancelJob(id) })
		}
	})
}

// rush is how much more than on the mean of the day arrives now: from a quarter
// at night to almost twice as much in the afternoon.
func (w *World) rush() float64 {
	day := float64(time.Since(w.born)%w.setup.span(24*time.Hour)) / float64(w.setup.span(24*time.Hour))
	return 1 - 0.75*math.Cos(2*math.Pi*(day-0.1))
}

func (w *World) newJob(r *rand.Rand) slurmctl.Job {
	work := w.setup.span(time.Duration(math.Exp(r.NormFloat64()*0.8) * float64(70*time.Minute))).Round(time.Second)
	work = min(max(work, w.setup.span(2*time.Minute)), w.setup.span(9*time.Hour))
	j := slurmctl.Job{
		Name: "job", User: pick(r, users...), Account: pick(r, projects...), Nodes: 1, CPUs: pick(r, 4, 8, 16), Work: work,
		Limit: (work + work*time.Duration(r.IntN(20))/10).Truncate(time.Minute) + time.Minute, Restartable: r.IntN(5) > 1,
		Grace: w.setup.span(pick(r, 0, 5*time.Second)), Fails: r.IntN(25) == 0,
	}
	switch r.IntN(8) {
	case 0: // a gang
		j.Nodes, j.CPUs = 2+r.IntN(3), 16
	case 1: // an array
		j.Tasks, j.Throttle = 2+r.IntN(5), pick(r, 0, 0, 2)
	}
	if j.Nodes <= 2 && r.IntN(2) == 0 {
		j.GPUs, j.GPUType = pick(r, 1, 2, 4, 4, 8), pick(r, "", "a100")
	}
	if j.Restartable && r.IntN(2) == 0 {
		j.Checkpoint = w.setup.span(pick(r, 10*time.Minute, 30*time.Minute))
		j.SaveOn, j.SaveTakes, j.Comment = "USR1", w.setup.span(10*time.Second), "spillway:checkpoint"
	}
	switch r.IntN(20) {
	case 0:
		j.Limit = 0
	case 1:
		j.Limit = max((work / 2).Truncate(time.Minute), time.Minute) // it will not be done in time
	case 2:
		j.Comment = "spillway:no"
	case 3:
		j.Held = true
	}
	return j
}

func (w *World) cancelJob(id bridge.JobID) {
	w.story.tell(time.Now(), "job %s is cancelled by its owner", id)
	w.Slurm.Cancel(id)
}
