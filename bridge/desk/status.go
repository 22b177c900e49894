package desk

import (
	"context"
	"fmt"
	"time"

	"spillway.sh/spillway/bridge"
)

// StatusRequest asks how Spillway itself is.
type StatusRequest struct{}

// StatusAnswer is the health of the daemon and what it sees.
type StatusAnswer struct {
	Version   string         `json:"version"`
	Daemon    bool           `json:"daemon"` // false: read from the store alone
	Ready     bool           `json:"ready"`  // a first look at the world is done
	At        time.Time      `json:"at"`
	Frozen    bool           `json:"frozen"`
	Protected string         `json:"protected,omitempty"` // why nothing new is rented
	Clusters  []ClusterView  `json:"clusters"`
	Clouds    []CloudView    `json:"clouds"`
	Rentals   map[string]int `json:"rentals"` // open ones by state
	Problems  []string       `json:"problems"`
}

// ClusterView is how a cluster was last seen.
type ClusterView struct {
	Name    string    `json:"name"`
	SeenAt  time.Time `json:"seen_at"`
	Stale   bool      `json:"stale"`
	Pending int       `json:"pending"`
	Running int       `json:"running"`
	Nodes   int       `json:"nodes"`
}

// CloudView is what a cloud offers.
type CloudView struct {
	Name   string    `json:"name"`
	Offers int       `json:"offers"`
	Fresh  int       `json:"fresh"` // with a price that may be bought at
	Priced time.Time `json:"priced_at"`
	Down   int       `json:"down"` // pools resting after a refusal
}

// Status answers how Spillway itself is; everybody may ask.
func (d *Desk) Status(ctx context.Context, _ Person, _ StatusRequest) (StatusAnswer, error) {
	a := StatusAnswer{
		Version: d.Version, Daemon: d.Loop != nil, At: d.Now(), Clusters: []ClusterView{}, Clouds: []CloudView{},
		Rentals: map[string]int{}, Problems: []string{},
	}
	if d.Problems != nil {
		a.Problems = append(a.Problems, d.Problems()...)
	}
	marks, err := d.Reader.Marks(ctx)
	if err != nil {
		return a, unreadable(err)
	}
	a.Frozen, a.Protected = marks.Frozen, marks.Protected
	live, err := d.live(ctx)
	if err != nil {
		return a, err
	}
	for i := range live {
		a.Rentals[string(live[i].State)]++
	}
	snap, _, err := d.look()
	if err != nil {
		a.Problems = append(a.Problems, AsError(err).Wrong)
		return a, nil
	}
	a.Ready = true
	d.views(&snap, &a)
	if a.Protected != "" {
		a.Problems = append(a.Problems, "nothing new is rented: "+a.Protected)
	}
	return a, nil
}

func (d *Desk) views(s *bridge.Snapshot, a *StatusAnswer) {
	for _, name := range d.unseen(s) {
		a.Clusters = append(a.Clusters, ClusterView{Name: name, Stale: true})
		a.Problems = append(a.Problems, fmt.Sprintf("cluster %s has not been seen yet; nothing is bought for it", name))
	}
	for i := range s.Queues {
		q := &s.Queues[i]
		v := ClusterView{Name: q.Cluster, SeenAt: q.ObservedAt, Pending: len(q.Demands), Running: len(q.Runs), Nodes: len(q.Nodes)}
		v.Stale = q.ObservedAt.IsZero() || d.Now().Sub(q.ObservedAt) > s.MaxQueueAge
		if v.Stale {
			a.Problems = append(a.Problems, fmt.Sprintf("cluster %s was last seen %s; nothing is bought for it", q.Cluster, ago(q.ObservedAt, d.Now())))
		}
		a.Clusters = append(a.Clusters, v)
	}
	at := map[string]int{}
	for i := range s.Offers {
		o := &s.Offers[i]
		j, ok := at[o.Pool.Cloud]
		if !ok {
			j = len(a.Clouds)
			at[o.Pool.Cloud] = j
			a.Clouds = append(a.Clouds, CloudView{Name: o.Pool.Cloud})
		}
		c := &a.Clouds[j]
		c.Offers++
		if o.Fresh(d.Now()) {
			c.Fresh++
		}
		if o.SampledAt.After(c.Priced) {
			c.Priced = o.SampledAt
		}
	}
	for _, h := range s.Pools {
		if j, ok := at[h.Pool.Cloud]; ok && d.Now().Before(h.DownUntil) {
			a.Clouds[j].Down++
		}
	}
	for _, c := range a.Clouds {
		if c.Fresh == 0 {
			a.Problems = append(a.Problems, fmt.Sprintf("cloud %s has no fresh price; nothing is bought there", c.Name))
		}
	}
}

func ago(t, now time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return Span(now.Sub(t)) + " ago"
}
