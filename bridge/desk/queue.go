package desk

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"spillway.sh/spillway/bridge"
)

// QueueRequest asks what waits and what Spillway says of it.
type QueueRequest struct {
	Cluster string `json:"cluster,omitempty"`
	User    string `json:"user,omitempty"`  // empty: everybody the asker may see
	Limit   int    `json:"limit,omitempty"` // zero: all
	Lang    Lang   `json:"lang,omitempty"`
}

// QueueAnswer is the queue in the scheduler's order.
type QueueAnswer struct {
	At        time.Time      `json:"at"` // of the oldest view in it
	Stale     []string       `json:"stale"`
	Jobs      []QueueRow     `json:"jobs"`
	More      int            `json:"more"`   // rows left out by the limit
	Counts    map[string]int `json:"counts"` // rows by verdict, before the limit
	Frozen    bool           `json:"frozen"`
	Protected string         `json:"protected,omitempty"` // why nothing new is rented
}

// QueueRow is one waiting record and its verdict.
type QueueRow struct {
	Cluster  string          `json:"cluster"`
	Job      bridge.JobID    `json:"job"`
	Name     string          `json:"name,omitempty"`
	User     string          `json:"user"`
	Account  string          `json:"account,omitempty"` // the scheduler's
	Nodes    int             `json:"nodes"`             // of one gang
	Count    int             `json:"count"`             // gangs
	Shape    bridge.Shape    `json:"shape"`
	Waits    int64           `json:"waiting_seconds"` // since eligible
	Verdict  bridge.Kind     `json:"verdict"`
	Why      bridge.Reason   `json:"why"`
	Text     string          `json:"text"` // Why in a few words
	Pays     bridge.Account  `json:"pays,omitempty"`
	Rental   bridge.RentalID `json:"rental,omitempty"`
	Cost     bridge.Money    `json:"cost"` // at most
	Standing bridge.Standing `json:"standing"`
}

// Queue lists waiting jobs with their verdicts: members see their own.
func (d *Desk) Queue(_ context.Context, p Person, q QueueRequest) (QueueAnswer, error) {
	if q.User != "" && q.User != p.Name {
		if err := p.need(SeeAll); err != nil {
			return QueueAnswer{}, err
		}
	}
	if !p.may(SeeAll) {
		q.User = p.Name
	}
	snap, plan, err := d.look()
	if err != nil {
		return QueueAnswer{}, err
	}
	if q.Cluster != "" && !slices.Contains(append(clusters(&snap), d.Clusters...), q.Cluster) {
		return QueueAnswer{}, wrong(NotFound, "spillway queue", "no cluster %q is watched; watched: %s", q.Cluster, strings.Join(clusters(&snap), ", "))
	}
	a := QueueAnswer{Stale: d.unseen(&snap), Jobs: []QueueRow{}, Counts: map[string]int{}, Frozen: snap.Frozen}
	if snap.Protected {
		a.Protected = q.Lang.Short(bridge.ReasonProtected)
	}
	verdicts := byJob(&plan)
	for i := range snap.Queues {
		if k := &snap.Queues[i]; q.Cluster == "" || k.Cluster == q.Cluster {
			a.addCluster(k, verdicts, d.Now(), snap.MaxQueueAge, &q)
		}
	}
	return a, nil
}

// addCluster adds one cluster's jobs.
func (a *QueueAnswer) addCluster(k *bridge.Queue, verdicts map[jobKey]*bridge.Verdict, now time.Time, oldest time.Duration, q *QueueRequest) {
	if a.At.IsZero() || k.ObservedAt.Before(a.At) {
		a.At = k.ObservedAt
	}
	if k.ObservedAt.IsZero() || now.Sub(k.ObservedAt) > oldest {
		a.Stale = append(a.Stale, k.Cluster)
	}
	for i := range k.Demands {
		if dem := &k.Demands[i]; q.User == "" || dem.User == q.User {
			a.add(dem, verdicts[jobKey{dem.Cluster, dem.Job}], now, q)
		}
	}
}

func (a *QueueAnswer) add(dem *bridge.Demand, v *bridge.Verdict, now time.Time, q *QueueRequest) {
	if v == nil {
		v = &bridge.Verdict{Kind: bridge.Wait, Why: bridge.ReasonStale}
	}
	a.Counts[string(v.Kind)]++
	if q.Limit > 0 && len(a.Jobs) >= q.Limit {
		a.More++
		return
	}
	a.Jobs = append(a.Jobs, QueueRow{
		Cluster: dem.Cluster, Job: dem.Job, Name: dem.Name, User: dem.User, Account: dem.Account,
		Nodes: dem.Nodes, Count: dem.Count, Shape: dem.Shape, Waits: int64(waited(dem, now) / time.Second),
		Verdict: v.Kind, Why: v.Why, Text: q.Lang.Short(v.Why), Pays: v.Account, Rental: v.Rental, Cost: v.Cost,
		Standing: dem.Standing,
	})
}

// waited is how long a demand could have run already.
func waited(dem *bridge.Demand, now time.Time) time.Duration {
	since := dem.Eligible
	if since.IsZero() {
		since = dem.Submitted
	}
	if since.IsZero() || since.After(now) {
		return 0
	}
	return now.Sub(since)
}

type jobKey struct {
	cluster string
	job     bridge.JobID
}

func byJob(plan *bridge.Plan) map[jobKey]*bridge.Verdict {
	m := make(map[jobKey]*bridge.Verdict, len(plan.Verdicts))
	for i := range plan.Verdicts {
		v := &plan.Verdicts[i]
		m[jobKey{v.Cluster, v.Job}] = v
	}
	return m
}

func clusters(s *bridge.Snapshot) []string {
	out := make([]string, 0, len(s.Queues))
	for i := range s.Queues {
		out = append(out, s.Queues[i].Cluster)
	}
	return out
}

// Size says what a demand needs: "8 CPU, 8 x a100", "2 nodes of ...", "3 times ...".
func Size(s bridge.Shape, nodes, count int) string {
	t := s.String()
	if nodes > 1 {
		t = fmt.Sprintf("%d nodes of %s", nodes, t)
	}
	if count > 1 {
		t = fmt.Sprintf("%d times %s", count, t)
	}
	return t
}
