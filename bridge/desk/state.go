package desk

import (
	"context"
	"fmt"
	"slices"
	"time"

	"spillway.sh/spillway/bridge"
)

// FreezeRequest stops new money, or lets it flow again.
type FreezeRequest struct {
	Frozen bool   `json:"frozen"`
	Text   string `json:"text,omitempty"` // why, for the record
}

// FreezeAnswer is the state after it. Changed is false when it was so already.
type FreezeAnswer struct {
	Frozen  bool `json:"frozen"`
	Changed bool `json:"changed"`
}

// Freeze stops new money at once, or thaws it. Releases go on either way.
func (d *Desk) Freeze(ctx context.Context, p Person, q FreezeRequest) (FreezeAnswer, error) {
	if err := p.need(StopMoney); err != nil {
		return FreezeAnswer{}, err
	}
	if err := d.open(); err != nil {
		return FreezeAnswer{}, err
	}
	marks, err := d.Reader.Marks(ctx)
	if err != nil {
		return FreezeAnswer{}, unreadable(err)
	}
	if marks.Frozen == q.Frozen {
		return FreezeAnswer{Frozen: q.Frozen}, nil
	}
	kind := bridge.NewsFrozen
	if !q.Frozen {
		kind = bridge.NewsThawed
	}
	set := func(m *bridge.Marks) { m.Frozen = q.Frozen }
	if err := d.Loop.Remember(ctx, set, bridge.News{At: d.Now(), Kind: kind, Who: p.Name, Text: q.Text}); err != nil {
		return FreezeAnswer{}, &Error{Kind: Unavailable, Wrong: "that was not stored: " + err.Error(), Try: "spillway status", Err: err}
	}
	d.Loop.Wake()
	return FreezeAnswer{Frozen: q.Frozen, Changed: true}, nil
}

// WhoAmIRequest asks who the asker is taken for.
type WhoAmIRequest struct{}

// WhoAmIAnswer is the asker, with what they spend from and approve.
type WhoAmIAnswer struct {
	Person   Person           `json:"person"`
	Projects []bridge.Account `json:"projects"` // the asker may rent for
	Approves []bridge.Account `json:"approves"` // budgets
}

// WhoAmI answers who the asker is taken for and what they may do.
func (d *Desk) WhoAmI(ctx context.Context, p Person, _ WhoAmIRequest) (WhoAmIAnswer, error) {
	mine, err := d.accountsOf(ctx, p)
	if err != nil {
		return WhoAmIAnswer{}, err
	}
	a := WhoAmIAnswer{Person: p, Projects: mine, Approves: []bridge.Account{}}
	for _, b := range d.Rules.Budgets() {
		if p.approves(&b) && !slices.Contains(a.Approves, b.Account) {
			a.Approves = append(a.Approves, b.Account)
		}
	}
	return a, nil
}

// NewsRequest asks what happened after an id; with Wait the answer comes when
// there is something, or after that many seconds.
type NewsRequest struct {
	After  int64  `json:"after,omitempty"` // zero: the latest
	Limit  int    `json:"limit,omitempty"` // zero: 100
	Rental string `json:"rental,omitempty"`
	Wait   int    `json:"wait_seconds,omitempty"` // at most 30
}

// NewsAnswer is what happened, oldest first. Next is the After to go on with;
// it moves over news the asker may not see, too.
type NewsAnswer struct {
	News []bridge.News `json:"news"`
	Next int64         `json:"next"`
}

// How news are followed: looks this often, and waits at most this long.
const (
	newsEvery   = 200 * time.Millisecond
	newsLongest = 30 * time.Second
)

// News answers what happened: members see what concerns their own rentals.
func (d *Desk) News(ctx context.Context, p Person, q NewsRequest) (NewsAnswer, error) {
	f := NewsFilter{After: q.After, Limit: q.Limit}
	if f.Limit <= 0 || f.Limit > 1000 {
		f.Limit = 100
	}
	if q.Rental != "" {
		r, err := d.rental(ctx, p, q.Rental)
		if err != nil {
			return NewsAnswer{}, err
		}
		f.Rental = r.ID
	}
	ctx, cancel := context.WithTimeout(ctx, min(time.Duration(q.Wait)*time.Second, newsLongest))
	defer cancel()
	for a := (NewsAnswer{News: []bridge.News{}, Next: q.After}); ; {
		if err := d.readNews(context.WithoutCancel(ctx), p, &f, &a); err != nil {
			return NewsAnswer{}, err
		}
		if len(a.News) > 0 || q.Wait <= 0 {
			return a, nil
		}
		select {
		case <-ctx.Done():
			return a, nil
		case <-time.After(newsEvery):
		}
	}
}

// readNews adds what the person may see and moves on over the rest.
func (d *Desk) readNews(ctx context.Context, p Person, f *NewsFilter, a *NewsAnswer) error {
	news, err := d.Reader.News(ctx, *f)
	if err != nil {
		return unreadable(err)
	}
	own := map[bridge.RentalID]bool{}
	for i := range news {
		n := &news[i]
		a.Next = max(a.Next, n.ID)
		see := p.may(SeeAll) || n.Who == p.Name
		if !see && n.Rental != "" {
			mine, known := own[n.Rental]
			if !known {
				r, err := d.Reader.Rental(ctx, n.Rental)
				mine = err == nil && p.owns(&r)
				own[n.Rental] = mine
			}
			see = mine
		}
		if see {
			a.News = append(a.News, *n)
		}
	}
	if a.Next > f.After && f.After > 0 {
		f.After = a.Next
	}
	return nil
}

// LedgerRequest asks to check the books.
type LedgerRequest struct{}

// LedgerAnswer is the outcome; no problems means the books balance.
type LedgerAnswer struct {
	LedgerReport
	Balanced bool `json:"balanced"`
}

// CheckBooks proves the ledger: entries balance, the chain of hashes is whole,
// holds match rentals.
func (d *Desk) CheckBooks(ctx context.Context, p Person, _ LedgerRequest) (LedgerAnswer, error) {
	if err := p.need(CheckLedger); err != nil {
		return LedgerAnswer{}, err
	}
	rep, err := d.Reader.CheckLedger(ctx)
	if err != nil {
		return LedgerAnswer{}, unreadable(err)
	}
	if rep.Problems == nil {
		rep.Problems = []string{}
	}
	return LedgerAnswer{rep, len(rep.Problems) == 0}, nil
}

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
