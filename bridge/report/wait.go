package report

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"time"

	"spillway.sh/spillway/bridge"
)

// started is the first start of a job on rented machines, with its wait.
type started struct {
	gpu         string
	gpus        int
	rental      bridge.RentalID
	wait, local time.Duration // local: until its own cluster would have started it
	saved       time.Duration // negative: it would have started sooner at home
}

// fewJobs is how many jobs a median and a 90th percentile are of at least.
const fewJobs = 5

// wait is part 3.
func (l *looked) wait() Wait {
	w := Wait{ByClass: []WaitK{}}
	jobs, all := l.starts()
	w.Jobs, w.Known = all, len(jobs)
	if all == 0 {
		l.note(PartWait, NoteNoStarts)
		return w
	}
	if len(jobs) == 0 {
		l.note(PartWait, NoteNoEstimates, "n", strconv.Itoa(all))
		return w
	}
	l.note(PartWait, NoteEstimate, "n", strconv.Itoa(len(jobs)), "of", strconv.Itoa(all))
	var saved, savedGPU int64
	byClass := map[string][]started{}
	rentals := map[bridge.RentalID]bool{}
	for i := range jobs {
		j := &jobs[i]
		s := int64(j.saved / time.Second)
		saved, savedGPU = saved+s, savedGPU+s*int64(j.gpus)
		if j.saved < 0 {
			w.Later++
		}
		byClass[j.gpu] = append(byClass[j.gpu], *j)
		rentals[j.rental] = true
	}
	h, g := HoursOf(saved), HoursOf(savedGPU)
	w.Saved, w.SavedGPU = &h, &g
	if len(jobs) >= fewJobs {
		med, p90 := spans(jobs, func(j *started) time.Duration { return j.wait })
		lmed, lp90 := spans(jobs, func(j *started) time.Duration { return j.local })
		w.Median, w.P90, w.LocalMedian, w.LocalP90 = &med, &p90, &lmed, &lp90
	} else {
		l.note(PartWait, NoteFewJobs, "n", strconv.Itoa(len(jobs)), "need", strconv.Itoa(fewJobs))
	}
	for _, gpu := range slices.Sorted(maps.Keys(byClass)) {
		of := byClass[gpu]
		k := WaitK{GPU: gpu, Known: len(of)}
		k.Median, _ = spans(of, func(j *started) time.Duration { return j.wait })
		k.LocalMedian, _ = spans(of, func(j *started) time.Duration { return j.local })
		s := int64(0)
		for i := range of {
			s += int64(of[i].saved / time.Second)
		}
		k.Saved = HoursOf(s)
		w.ByClass = append(w.ByClass, k)
	}
	cost := int64(0)
	for i := range l.rentals {
		if p := &l.rentals[i]; rentals[p.ID] && p.elastic() {
			cost = plus(cost, p.cost)
		}
	}
	if saved > 0 {
		w.PerHour = perHour(cost, saved, l.Currency)
	} else {
		l.note(PartWait, NoteNothingSaved)
	}
	return w
}

// starts are the first starts of the week's jobs that have an estimate, and how
// many started at all. A job that was requeued and started again waited once.
func (l *looked) starts() (known []started, all int) {
	gpu := map[bridge.RentalID]string{}
	for i := range l.rentals {
		gpu[l.rentals[i].ID] = l.rentals[i].Shape.GPUType
	}
	type key struct {
		cluster string
		job     bridge.JobID
	}
	seen := map[key]bool{}
	for i := range l.Earlier {
		if n := &l.Earlier[i]; n.Kind == bridge.NewsStarted {
			seen[key{n.Cluster, n.Job}] = true
		}
	}
	for i := range l.News {
		n := &l.News[i]
		k := key{n.Cluster, n.Job}
		if n.Kind != bridge.NewsStarted || seen[k] {
			continue
		}
		class, ours := gpu[n.Rental]
		if !ours {
			continue // of another account
		}
		seen[k] = true
		all++
		if n.Submitted.IsZero() || n.Estimate.IsZero() {
			continue
		}
		known = append(known, started{
			gpu: class, gpus: n.GPUs, rental: n.Rental, wait: max(n.At.Sub(n.Submitted), 0),
			local: max(n.Estimate.Sub(n.Submitted), 0), saved: n.Estimate.Sub(n.At),
		})
	}
	return known, all
}

// spans are the median and the 90th percentile.
func spans(of []started, figure func(*started) time.Duration) (median, p90 Span) {
	all := make([]time.Duration, 0, len(of))
	for i := range of {
		all = append(all, figure(&of[i]))
	}
	slices.SortFunc(all, cmp.Compare)
	return SpanOf(nearestRank(all, 500)), SpanOf(nearestRank(all, 900))
}
