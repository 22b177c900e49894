package desk

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"spillway.sh/spillway/bridge"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func usd(units float64) bridge.Money {
	return bridge.Money{Micro: int64(units * bridge.Micro), Currency: "USD"}
}

func rate(units float64) bridge.Rate { return bridge.Rate(usd(units)) }

// books is a store in memory with the rules that matter to a desk: versions,
// budgets checked in the same step as a hold, and one rental for each key.
type books struct {
	mu      sync.Mutex
	rentals []bridge.Rental
	news    []bridge.News
	marks   bridge.Marks
	spent   map[bridge.Account]bridge.Money
	report  LedgerReport
	// meddle is called before each write, so that tests can be "somebody else".
	meddle func()
}

func (b *books) find(id bridge.RentalID) int {
	return slices.IndexFunc(b.rentals, func(r bridge.Rental) bool { return r.ID == id })
}

func (b *books) Rental(_ context.Context, id bridge.RentalID) (bridge.Rental, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if i := b.find(id); i >= 0 {
		return b.rentals[i], nil
	}
	return bridge.Rental{}, ErrNoRental
}

func (b *books) ByKey(_ context.Context, key string) (bridge.Rental, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if i := slices.IndexFunc(b.rentals, func(r bridge.Rental) bool { return r.Key == key }); i >= 0 {
		return b.rentals[i], nil
	}
	return bridge.Rental{}, ErrNoRental
}

func (b *books) Live(context.Context) ([]bridge.Rental, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(b.rentals), func(r bridge.Rental) bool { return r.State.Ended() }), nil
}

func (b *books) Recent(_ context.Context, limit int) ([]bridge.Rental, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := slices.Clone(b.rentals)
	slices.Reverse(out)
	return out[:min(limit, len(out))], nil
}

func (b *books) Balances(_ context.Context, _ time.Time, budgets []bridge.Budget) ([]bridge.Balance, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := make([]bridge.Balance, 0, len(budgets))
	for _, x := range budgets {
		bal := bridge.Balance{Account: x.Account, Cloud: x.Cloud, GPU: x.GPU, Period: "2026-11", Limit: x.Limit, Posted: b.spent[x.Account], Held: bridge.Money{Currency: x.Limit.Currency}, Hard: x.Hard}
		for i := range b.rentals {
			if r := &b.rentals[i]; r.State.Held() && x.Scope().Covers(r.Scope()) {
				bal.Held, _ = bal.Held.Add(r.Hold)
			}
		}
		out = append(out, bal)
	}
	return out, nil
}

func (b *books) News(_ context.Context, f NewsFilter) ([]bridge.News, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []bridge.News
	for _, n := range b.news {
		of := f.Rental == "" && f.Job == "" || f.Rental != "" && n.Rental == f.Rental || f.Job != "" && n.Job == f.Job
		if n.ID > f.After && of {
			out = append(out, n)
		}
	}
	if f.After == 0 && len(out) > f.Limit {
		out = out[len(out)-f.Limit:]
	}
	return out[:min(f.Limit, len(out))], nil
}

func (b *books) CheckLedger(context.Context) (LedgerReport, error) { return b.report, nil }

func (b *books) Marks(context.Context) (bridge.Marks, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.marks, nil
}

func (b *books) Remember(_ context.Context, change func(*bridge.Marks), news ...bridge.News) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	change(&b.marks)
	b.tell(news)
	return nil
}

func (b *books) tell(news []bridge.News) {
	for _, n := range news {
		n.ID = int64(len(b.news) + 1)
		b.news = append(b.news, n)
	}
}

func (b *books) NextID(context.Context) (bridge.RentalID, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return bridge.NewRentalID(int64(len(b.rentals) + 1)), nil
}

func (b *books) write(r bridge.Rental, news []bridge.News, allowed func(at int) error) (bridge.Rental, error) {
	if b.meddle != nil {
		m := b.meddle
		b.meddle = nil
		m()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	i := b.find(r.ID)
	if i >= 0 && b.rentals[i].Version != r.Version {
		return r, bridge.ErrVersion
	}
	if err := allowed(i); err != nil {
		return r, err
	}
	r.Version++
	if i < 0 {
		b.rentals = append(b.rentals, r)
	} else {
		b.rentals[i] = r
	}
	b.tell(news)
	return r, nil
}

func (b *books) Propose(_ context.Context, r bridge.Rental, news ...bridge.News) (bridge.Rental, error) {
	r.Revision, r.Digest = 1, bridge.DigestOf(&r)
	return b.write(r, news, func(int) error { return nil })
}

func (b *books) Save(_ context.Context, r bridge.Rental, news ...bridge.News) (bridge.Rental, error) {
	if d := bridge.DigestOf(&r); r.State == bridge.StateWaiting && d != r.Digest {
		r.Revision, r.Digest, r.Yeses = r.Revision+1, d, nil
	}
	return b.write(r, news, func(int) error { return nil })
}

func (b *books) Reserve(_ context.Context, r bridge.Rental, budgets []bridge.Budget, news ...bridge.News) (bridge.Rental, error) {
	return b.write(r, news, func(int) error { return b.room(&r, budgets, false) })
}

func (b *books) Approve(_ context.Context, d bridge.Decision, r bridge.Rental, budgets []bridge.Budget, news ...bridge.News) (bridge.Rental, error) {
	yeses := append(slices.Clone(r.Yeses), bridge.Yes{Who: d.Who, At: d.At})
	last := len(yeses) >= d.Needs
	if last != (r.State == bridge.StateLaunching) || r.Agreed(d.Who) {
		return r, errors.New("not the last yes, or not a new one")
	}
	r.Yeses = yeses
	return b.write(r, news, func(at int) error {
		if !last {
			return nil
		}
		if d.Who == r.Requester {
			return errors.New("the requester decided")
		}
		if b.rentals[at].Version != d.Version {
			return bridge.ErrVersion
		}
		return b.room(&r, budgets, true)
	})
}

func (b *books) Extend(_ context.Context, r bridge.Rental, more bridge.Money, budgets []bridge.Budget, news ...bridge.News) (bridge.Rental, error) {
	total, err := r.Hold.Add(more)
	if err != nil {
		return r, err
	}
	r.Hold = total
	return b.write(r, news, func(int) error { return b.room(&r, budgets, false) })
}

func (b *books) ApproveExtension(ctx context.Context, d bridge.Decision, q, r bridge.Rental, budgets []bridge.Budget, news ...bridge.News) (question, extended bridge.Rental, err error) {
	if d.Who == q.Requester {
		return q, r, errors.New("the requester decided")
	}
	var hard []bridge.Budget
	for _, x := range budgets {
		if x.Hard {
			hard = append(hard, x)
		}
	}
	if extended, err = b.Extend(ctx, r, q.Hold, hard); err != nil {
		return q, r, err
	}
	question, err = b.write(q, news, func(at int) error {
		if b.rentals[at].Version != d.Version {
			return bridge.ErrVersion
		}
		return nil
	})
	return question, extended, err
}

// room checks the budgets; the lock is held.
func (b *books) room(r *bridge.Rental, budgets []bridge.Budget, softToo bool) error {
	for _, x := range budgets {
		if !x.Scope().Covers(r.Scope()) || softToo && !x.Hard {
			continue
		}
		sum := b.spent[x.Account].Micro + r.Hold.Micro
		for i := range b.rentals {
			if o := &b.rentals[i]; o.ID != r.ID && o.State.Held() && x.Scope().Covers(o.Scope()) {
				sum += o.Hold.Micro
			}
		}
		if sum > x.Limit.Micro {
			return bridge.ErrOverBudget
		}
	}
	return nil
}

// world is a look at one cluster with two jobs, and four offers.
type world struct {
	*books
	snap bridge.Snapshot
	plan bridge.Plan
	woke int
}

func (w *world) View() (bridge.Snapshot, bridge.Plan, bool) { return w.snap, w.plan, true }
func (w *world) Wake()                                      { w.woke++ }

// rules maps the scheduler accounts nlp and vision to projects of site/ai.
type rules struct {
	terms    bridge.Terms
	budgets  []bridge.Budget
	approval bridge.Approval
}

func (r *rules) Approval() bridge.Approval { return r.approval }

func (r *rules) Budgets() []bridge.Budget { return r.budgets }

func (r *rules) Terms(d *bridge.Demand, _ *bridge.Facts) *bridge.Terms {
	t := r.terms
	if d.Account == "nlp" || d.Account == "vision" {
		t.Account = bridge.Account("site/ai/" + d.Account)
	} else {
		t.Account, t.Burst, t.Why = "", false, bridge.ReasonNoAccount
	}
	return &t
}

func offer(kind string, gpus int, gpu string, m bridge.Market, price float64) bridge.Offer {
	return bridge.Offer{
		Pool:  bridge.Pool{Cloud: "stratus", Region: "east", Zone: "east-1", Type: kind, Market: m},
		Shape: bridge.Shape{CPUs: 64, MemoryMiB: 512 << 10, GPUs: gpus, GPUType: gpu},
		Rate:  rate(price), SampledAt: noon, MaxAge: time.Hour, Boot: time.Minute, Available: 4,
	}
}

// newWorld is a desk and all behind it: ana and ben are members of nlp, mei
// approves for the project, tom for the whole site, root is an admin.
func newWorld(t *testing.T) (*Desk, *world) {
	t.Helper()
	w := &world{books: &books{spent: map[bridge.Account]bridge.Money{}}}
	w.snap = bridge.Snapshot{
		Now: noon, MaxQueueAge: time.Minute,
		Queues: []bridge.Queue{{
			Cluster: "main", ObservedAt: noon,
			Demands: []bridge.Demand{
				{Cluster: "main", Job: "4711", Name: "train", User: "ana", Account: "nlp", Nodes: 2, Count: 1, Shape: bridge.Shape{CPUs: 8, GPUs: 8, GPUType: "h100"}, Eligible: noon.Add(-12 * time.Minute), TimeLimit: 2 * time.Hour},
				{Cluster: "main", Job: "4712", Name: "sweep", User: "ben", Account: "nlp", Nodes: 1, Count: 10, Shape: bridge.Shape{CPUs: 8}, Eligible: noon.Add(-time.Minute)},
			},
		}},
		Offers: []bridge.Offer{
			offer("gpu8", 8, "h100", bridge.Spot, 20), offer("gpu8", 8, "h100", bridge.OnDemand, 32),
			offer("gpu4", 4, "h100", bridge.OnDemand, 18), offer("cpu64", 0, "", bridge.OnDemand, 2),
		},
	}
	w.plan = bridge.Plan{Now: noon, Verdicts: []bridge.Verdict{
		{Cluster: "main", Job: "4711", Kind: bridge.Wait, Why: bridge.ReasonWaitPolicy, Rule: "everyone", Class: bridge.P1, Account: "site/ai/nlp", Until: noon.Add(3 * time.Minute)},
		{Cluster: "main", Job: "4712", Kind: bridge.Never, Why: bridge.ReasonUnplaceable, Detail: "a licence"},
	}}
	d := New(Config{
		Version: "test", Reader: w.books, Writer: w.books, Viewer: w, Loop: w, Now: func() time.Time { return w.snap.Now },
		Roles: Roles{Approvers: []string{"tom"}},
		Rules: &rules{
			terms: bridge.Terms{
				Burst: true, Class: bridge.P1, Markets: []bridge.Market{bridge.Spot, bridge.OnDemand}, Most: 8,
				Idle: 20 * time.Minute, Life: 24 * time.Hour, Ask: true, AskFor: time.Hour,
			},
			budgets: []bridge.Budget{
				{Account: "site", Every: bridge.Month, Zone: time.UTC, Limit: usd(1000), Hard: true},
				{Account: "site/ai/nlp", Every: bridge.Month, Zone: time.UTC, Limit: usd(100), Approvers: []string{"mei", "@leads"}},
			},
		},
	})
	return d, w
}

func (d *Desk) as(name string, groups ...string) Person { return d.Roles.Of(name, 1000, groups) }

// kind is the kind of a refusal; empty when there was none.
func kind(err error) ErrorKind {
	if err == nil {
		return ""
	}
	return AsError(err).Kind
}

func (d *Desk) mustRent(t *testing.T, who, words string) RentAnswer {
	t.Helper()
	a, err := d.Rent(t.Context(), d.as(who), RentRequest{Wish: Wish{Words: []string{words}}, Key: words})
	if err != nil {
		t.Fatalf("rent %q: %v", words, err)
	}
	return a
}
