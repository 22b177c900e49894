package desk

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"spillway.sh/spillway/bridge"
)

// Finder finds the checkpoints of a job. Errors are *bridge.CheckpointError and
// never mean that there are none.
type Finder interface {
	Find(ctx context.Context, rule *bridge.CheckpointRule, job bridge.CheckpointJob) (bridge.CheckpointLook, error)
}

// CheckpointsRequest asks about the checkpoints of one job.
type CheckpointsRequest struct {
	Job     bridge.JobID `json:"job"`
	Cluster string       `json:"cluster,omitempty"` // needed when two clusters have the id
	Lang    Lang         `json:"lang,omitempty"`
}

// CheckpointsAnswer is what is known of a job's checkpoints just now, what that
// means for its market, and how often it had best write one.
type CheckpointsAnswer struct {
	Cluster string                 `json:"cluster"`
	Job     bridge.JobID           `json:"job"`
	State   string                 `json:"state"` // pending or running
	User    string                 `json:"user"`
	Rule    *bridge.CheckpointRule `json:"rule,omitempty"` // nil: policy has none for it
	Newest  *bridge.Checkpoint     `json:"newest,omitempty"`
	Age     int64                  `json:"age_seconds"` // of the newest
	Passed  []PassedCheckpoint     `json:"passed"`      // that look newer, or all, newest first
	// Trouble says why nothing could be looked at; it does not mean that there
	// are none.
	Trouble bridge.CheckpointTrouble `json:"trouble,omitempty"`
	Say     string                   `json:"say"` // the newest, or the trouble, in a sentence

	Spot    bool   `json:"spot"` // it may go there, as far as it and policy are concerned
	SpotWhy string `json:"spot_why"`

	Every   int64 `json:"every_seconds"`   // measured between the latest two; zero: unknown
	Save    int64 `json:"save_seconds"`    // measured that one takes to write; zero: unknown
	Between int64 `json:"between_seconds"` // expected between two reclaims of the whole job; zero: it is not on spot
	Best    int64 `json:"best_seconds"`    // the interval that loses least; zero: unknown
	// Pool is the spot pool that Between is of.
	Pool   *bridge.Pool `json:"pool,omitempty"`
	Advice string       `json:"advice"`
}

// PassedCheckpoint is one that does not count, and why in words.
type PassedCheckpoint struct {
	bridge.PassedCheckpoint
	Why string `json:"why"`
}

// Checkpoints looks for the checkpoints of a job that waits or runs.
func (d *Desk) Checkpoints(ctx context.Context, p Person, q CheckpointsRequest) (CheckpointsAnswer, error) {
	if q.Job == "" {
		return CheckpointsAnswer{}, wrong(BadRequest, "spillway checkpoints 4711", "which job? Its id is missing")
	}
	if d.Finder == nil {
		return CheckpointsAnswer{}, wrong(Unavailable, "spillway status", "nobody looks for checkpoints here")
	}
	snap, _, err := d.look()
	if err != nil {
		return CheckpointsAnswer{}, err
	}
	var x ExplainAnswer
	owner, err := d.find(&ExplainRequest{Job: q.Job, Cluster: q.Cluster}, &x)
	switch {
	case err != nil:
		return CheckpointsAnswer{}, err
	case owner == "":
		return CheckpointsAnswer{}, wrong(NotFound, "spillway explain "+string(q.Job), "no job %s waits or runs", q.Job)
	case owner != p.Name && !p.may(SeeAll):
		return CheckpointsAnswer{}, wrong(Forbidden, "spillway queue", "job %s is not yours", q.Job)
	}
	dem := x.Demand
	if dem == nil {
		dem = asDemand(x.Run, x.Cluster)
	}
	terms := d.Rules.Terms(dem, &bridge.Facts{Cluster: x.Cluster})
	a := CheckpointsAnswer{Cluster: x.Cluster, Job: x.Job, State: x.State, User: owner, Passed: []PassedCheckpoint{}}
	if terms != nil {
		a.Rule = terms.Checkpoint
	}
	d.lookFor(ctx, &a, dem, &snap, q.Lang)
	d.judgeSpot(&a, dem, terms, &snap, q.Lang)
	d.advise(&a, dem, &snap, q.Lang)
	return a, nil
}

// asDemand is a running job as policy is asked about it.
func asDemand(r *bridge.Run, cluster string) *bridge.Demand {
	return &bridge.Demand{
		Cluster: cluster, Job: r.Job, Name: r.Name, User: r.User, Account: r.Account, Partition: r.Partition, Comment: r.Comment,
		Nodes: max(len(r.Nodes), 1), Count: 1, TimeLimit: r.TimeLimit, Restartable: r.Restartable, Restarts: r.Restarts, Standing: bridge.StandingHelps,
	}
}

// lookFor fills in what a look finds.
func (d *Desk) lookFor(ctx context.Context, a *CheckpointsAnswer, dem *bridge.Demand, s *bridge.Snapshot, lang Lang) {
	if a.Rule == nil {
		a.Say = lang.checkpoint("no-rule", nil)
		return
	}
	got, err := d.Finder.Find(ctx, a.Rule, bridge.CheckpointJob{
		Cluster: dem.Cluster, Job: dem.Job, User: dem.User, Name: dem.Name, Comment: dem.Comment,
	})
	a.Newest = got.Newest
	if err != nil {
		a.Trouble = bridge.TroubleStale
		place := a.Rule.Path
		if ce, ok := errors.AsType[*bridge.CheckpointError](err); ok {
			a.Trouble, place = ce.Kind, ce.Place
		}
		a.Say = lang.checkpoint(string(a.Trouble), map[string]string{"place": place})
		if known, ok := s.Checkpoints[dem.Cluster][dem.Job]; ok {
			a.Newest = &known
		}
	}
	for _, x := range got.Passed {
		a.Passed = append(a.Passed, PassedCheckpoint{x, lang.checkpoint(string(x.Flaw), map[string]string{"detail": x.Detail})})
	}
	if n := a.Newest; n != nil {
		age := max(d.Now().Sub(n.At), 0)
		a.Age, a.Every, a.Save = int64(age/time.Second), int64(n.Every/time.Second), int64(n.Save/time.Second)
		if err == nil {
			a.Say = lang.checkpoint("newest", map[string]string{"place": n.Place, "step": stepWords(n.Step), "age": Span(age), "framework": n.Framework})
		}
	} else if err == nil {
		a.Say = lang.checkpoint("none", map[string]string{"place": got.Place})
	}
}

// judgeSpot says whether the job may go to spot, as far as it and policy are
// concerned, and why.
func (d *Desk) judgeSpot(a *CheckpointsAnswer, dem *bridge.Demand, t *bridge.Terms, s *bridge.Snapshot, lang Lang) {
	taken := max(s.Reclaims[dem.Cluster][dem.Job], s.Reclaims[dem.Cluster][dem.Job.Base()])
	facts := map[string]string{}
	key := "spot-yes"
	switch {
	case t == nil || !t.Burst || !slices.Contains(t.Markets, bridge.Spot):
		key = "spot-policy"
	case !dem.Restartable:
		key = "spot-" + string(bridge.ReasonNotRestartable)
	case t.Reclaims > 0 && taken >= t.Reclaims:
		key, facts["n"], facts["times"] = "spot-reclaimed", strconv.Itoa(taken), Count(taken, "time")
	case t.Checkpoint == nil:
		key = "spot-no-rule"
	default:
		if t.Checkpoint.MaxAge > 0 {
			facts["most"] = Span(t.Checkpoint.MaxAge)
		}
		if bar := t.Checkpoint.Bars(dem, a.Newest); bar != "" {
			key = "spot-" + string(bar)
		} else if a.Newest == nil {
			key = "spot-none-needed"
		}
	}
	a.Spot = key == "spot-yes" || key == "spot-no-rule" || key == "spot-none-needed"
	a.SpotWhy = lang.checkpoint(key, facts)
}

// advise says how often the job had best write a checkpoint.
func (d *Desk) advise(a *CheckpointsAnswer, dem *bridge.Demand, s *bridge.Snapshot, lang Lang) {
	h, ok := spotPool(s, dem)
	if !ok {
		a.Advice = lang.checkpoint("advice-no-spot", nil)
		return
	}
	a.Pool = &h.Pool
	between := h.Between(d.Now()) / time.Duration(max(dem.Nodes, 1))
	a.Between = int64(between / time.Second)
	facts := map[string]string{"between": Span(between), "pool": Place(h.Pool)}
	if dem.Nodes > 1 {
		facts["nodes"] = strconv.Itoa(dem.Nodes)
	}
	best := bridge.BestInterval(time.Duration(a.Save)*time.Second, between)
	if best == 0 {
		a.Advice = lang.checkpoint("advice-no-save", facts)
		return
	}
	a.Best = int64(best / time.Second)
	facts["best"], facts["save"] = Span(best), Span(time.Duration(a.Save)*time.Second)
	key := "advice"
	if every := time.Duration(a.Every) * time.Second; every > 0 {
		facts["every"] = Span(every)
		key = adviceOf(every, best)
	}
	a.Advice = lang.checkpoint(key, facts)
}

// adviceOf compares an interval with the best one. Near it, the loss is flat:
// twice or half of it costs a quarter more.
func adviceOf(every, best time.Duration) string {
	switch {
	case every > 2*best:
		return "advice-sooner"
	case every < best/2:
		return "advice-later"
	}
	return "advice-well"
}

// spotPool is the pool a job's reclaims are to be expected of: the one it runs
// in, else that of the cheapest spot machine that fits.
func spotPool(s *bridge.Snapshot, dem *bridge.Demand) (bridge.Hazard, bool) {
	var pool *bridge.Pool
	for i := range s.Rentals {
		r := &s.Rentals[i]
		if r.Cluster == dem.Cluster && slices.Contains(r.Running, dem.Job) {
			if r.Pool.Market != bridge.Spot {
				return bridge.Hazard{}, false
			}
			pool = &r.Pool
		}
	}
	if pool == nil {
		var fits []*bridge.Offer
		for i := range s.Offers {
			if o := &s.Offers[i]; o.Pool.Market == bridge.Spot && o.Holds(&dem.Shape) {
				fits = append(fits, o)
			}
		}
		if len(fits) == 0 {
			return bridge.Hazard{}, false
		}
		pool = &slices.MinFunc(fits, func(a, b *bridge.Offer) int { return cmp.Compare(a.Rate.Micro, b.Rate.Micro) }).Pool
	}
	for _, h := range s.Hazards {
		if h.Pool == *pool {
			return h, true
		}
	}
	return bridge.Hazard{Pool: *pool}, true
}
