package desk

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"spillway.sh/spillway/bridge"
)

// ExplainRequest asks about one job.
type ExplainRequest struct {
	Job     bridge.JobID `json:"job"`
	Cluster string       `json:"cluster,omitempty"` // needed when two clusters have the id
	Lang    Lang         `json:"lang,omitempty"`
}

// ExplainAnswer says what a job asks for, what Spillway says of it, why, and
// what would change it. State is pending, running, or gone.
type ExplainAnswer struct {
	Cluster string          `json:"cluster,omitempty"`
	Job     bridge.JobID    `json:"job"`
	State   string          `json:"state"`
	Demand  *bridge.Demand  `json:"demand,omitempty"`
	Run     *bridge.Run     `json:"run,omitempty"`
	Verdict *bridge.Verdict `json:"verdict,omitempty"`
	// Why and Change are the verdict in sentences.
	Why    string `json:"why,omitempty"`
	Change string `json:"change,omitempty"`
	// Billing is how the offer that the verdict speaks of is charged, in words,
	// where that is more than the time.
	Billing string `json:"billing,omitempty"`
	// Compared are the offers for it as the choice weighs them, the best first.
	Compared []Compared `json:"compared"`
	Waits    int64      `json:"waiting_seconds"`
	// Budgets are those of the account that would pay, widest first.
	Budgets []Balance     `json:"budgets"`
	Rentals []Rental      `json:"rentals"` // made for it, newest first
	News    []bridge.News `json:"news"`    // what happened to it, oldest first
}

// Explain answers why a job waits, where it runs, and what was rented for it.
func (d *Desk) Explain(ctx context.Context, p Person, q ExplainRequest) (ExplainAnswer, error) {
	if q.Job == "" {
		return ExplainAnswer{}, wrong(BadRequest, "spillway explain 4711", "which job? Its id is missing")
	}
	a := ExplainAnswer{Job: q.Job, State: "gone", Compared: []Compared{}, Budgets: []Balance{}}
	owner, err := d.find(&q, &a)
	if err != nil {
		return ExplainAnswer{}, err
	}
	if err := d.history(ctx, &a, &owner); err != nil {
		return ExplainAnswer{}, err
	}
	if owner == "" {
		return ExplainAnswer{}, wrong(NotFound, "spillway queue", "no job %s waits or runs, and nothing was ever rented for it", q.Job)
	}
	asked := a.Verdict != nil && a.Verdict.Account != "" && d.approvesFor(p, a.Verdict.Account)
	if owner != p.Name && !p.may(SeeAll) && !asked {
		return ExplainAnswer{}, wrong(Forbidden, "spillway queue", "job %s is not yours", q.Job)
	}
	if snap, _, err := d.look(); err == nil && a.Demand != nil {
		a.Compared = d.comparedFor(&snap, a.Demand, a.Verdict, q.Lang)
	}
	if v := a.Verdict; v != nil {
		a.Why, a.Change = q.Lang.Why(v), q.Lang.Change(v)
		if v.Account != "" {
			bs, err := d.pathBalances(ctx, v.Account)
			if err != nil {
				return ExplainAnswer{}, err
			}
			a.Budgets = asBalances(bs)
		}
	}
	return a, nil
}

// find looks for the job in the latest look, and returns its owner; empty when
// it is in no queue. Without a daemon only history is left.
func (d *Desk) find(q *ExplainRequest, a *ExplainAnswer) (owner string, err error) {
	snap, plan, err := d.look()
	if err != nil {
		if d.Viewer == nil {
			return "", nil
		}
		return "", err
	}
	verdicts := byJob(&plan)
	var at []string
	for i := range snap.Queues {
		queue := &snap.Queues[i]
		if q.Cluster != "" && q.Cluster != queue.Cluster {
			continue
		}
		if j := slices.IndexFunc(queue.Demands, func(x bridge.Demand) bool { return sameJob(x.Job, q.Job) }); j >= 0 {
			dem := &queue.Demands[j]
			at, owner = append(at, queue.Cluster), dem.User
			a.Cluster, a.Job, a.State, a.Demand = queue.Cluster, dem.Job, "pending", dem
			a.Verdict = verdicts[jobKey{dem.Cluster, dem.Job}]
			a.Billing = q.Lang.billingOf(a.Verdict, &snap, &plan)
			a.Waits = int64(waited(dem, d.Now()) / time.Second)
		} else if j := slices.IndexFunc(queue.Runs, func(x bridge.Run) bool { return sameJob(x.Job, q.Job) }); j >= 0 {
			run := &queue.Runs[j]
			at, owner = append(at, queue.Cluster), run.User
			a.Cluster, a.Job, a.State, a.Run = queue.Cluster, run.Job, "running", run
		}
	}
	if len(at) > 1 {
		return "", wrong(BadRequest, "spillway explain "+string(q.Job)+" --cluster "+at[0],
			"job %s is in more than one cluster: %s", q.Job, strings.Join(at, ", "))
	}
	return owner, nil
}

// sameJob reports whether an id as typed means a job: itself, or a task of its
// array.
func sameJob(job, typed bridge.JobID) bool {
	if job == typed {
		return true
	}
	array, _, isTask := strings.Cut(string(typed), "_")
	return isTask && string(job) == array
}

// history adds the rentals made for the job and the news of both.
func (d *Desk) history(ctx context.Context, a *ExplainAnswer, owner *string) error {
	recent, err := d.Reader.Recent(ctx, recentRentals)
	if err != nil {
		return unreadable(err)
	}
	a.Rentals, a.News = []Rental{}, []bridge.News{}
	for i := range recent {
		r := &recent[i]
		served := slices.ContainsFunc(r.Jobs, func(j bridge.JobID) bool { return sameJob(j, a.Job) })
		if a.Verdict != nil && a.Verdict.Rental == r.ID {
			served = true
		}
		if !served || a.Cluster != "" && r.Cluster != a.Cluster {
			continue
		}
		*owner = cmp.Or(*owner, r.Requester)
		a.Cluster = cmp.Or(a.Cluster, r.Cluster)
		out := asRental(r, d.Now())
		d.hear(&out)
		a.Rentals = append(a.Rentals, out)
		news, err := d.Reader.News(ctx, NewsFilter{Rental: r.ID, Job: a.Job, Limit: recentNews})
		if err != nil {
			return unreadable(err)
		}
		a.News = append(a.News, news...)
	}
	slices.SortFunc(a.News, func(x, y bridge.News) int { return cmp.Compare(x.ID, y.ID) })
	a.News = slices.CompactFunc(a.News, func(x, y bridge.News) bool { return x.ID == y.ID })
	return nil
}

// How far back questions look.
const (
	recentRentals = 500
	recentNews    = 200
)
