package engine_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/engine"
	"spillway.sh/spillway/bridge/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a cluster, two clouds, a store and an engine in a bubble of time.
type world struct {
	t       *testing.T
	dir     string
	cluster *cluster
	a, b    *cloud // a is the cheaper one
	terms   bridge.Terms
	budgets []bridge.Budget
	limits  engine.Limits
	decide  func(*bridge.Snapshot) bridge.Plan
	metrics prometheus.Registerer
	skew    atomic.Int64         // nanoseconds, of the bridge's clock
	finder  *ckpts               // nil: nobody looks for checkpoints
	count   func(*bridge.Demand) // of demands that policy is asked about
	gate    bool                 // machines join when their agents say that they are fit
	options func(*engine.Options)
	ports   func(*world, engine.Scheduler, engine.Cloud, engine.Store) (engine.Scheduler, engine.Cloud, engine.Store)

	store  *store.Store
	engine *engine.Engine
	stop   func()
	log    *bytes.Buffer
	logMu  sync.Mutex
}

// Write makes the world the place its engine's log goes to.
func (w *world) Write(p []byte) (int, error) {
	w.logMu.Lock()
	defer w.logMu.Unlock()
	return w.log.Write(p)
}

// inWorld runs a test in a bubble, with a world that is there and not running
// yet, and checks the books and what is left at its end.
func inWorld(t *testing.T, f func(*testing.T, *world)) {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "spillway-engine-") //nolint:usetesting // In memory, where there is such a place: fsync is not what is tested.
	if err != nil {
		dir = t.TempDir()
	}
	defer os.RemoveAll(dir)
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, dir)
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { w.tick(ctx) })
		defer wg.Wait()
		defer cancel()
		defer func() {
			w.kill()
			if t.Failed() {
				w.logMu.Lock()
				t.Logf("log:\n%s", w.log)
				w.logMu.Unlock()
			}
		}()
		f(t, w)
	})
}

func newWorld(t *testing.T, dir string) *world {
	w := &world{t: t, dir: dir, cluster: newCluster(), log: &bytes.Buffer{}}
	w.a, w.b = newCloud("a", w.cluster), newCloud("b", w.cluster)
	w.a.sell(bridge.OnDemand, 8, 100)
	w.b.sell(bridge.OnDemand, 10, 100)
	w.terms = bridge.Terms{
		Burst: true, Rule: "all", Class: bridge.P1, Account: "org/team/proj", Markets: []bridge.Market{bridge.OnDemand},
		Most: 16, Idle: 5 * time.Second, Life: 6 * time.Hour, Reclaims: 3, Ask: true, AskFor: time.Hour,
	}
	w.budgets = []bridge.Budget{{Account: "org", Every: bridge.Month, Zone: time.UTC, Limit: usd(1000)}}
	w.limits = engine.Limits{ListEvery: 2 * time.Second}
	return w
}

// sameCall compares what is stored of a create with what is sent. Machines of a
// contract are asked for by their pool's own market.
func sameCall(a, b *bridge.Launch) bool {
	x, y := *a, *b
	if x.Pool.Market == bridge.Reserved {
		x.Pool.Market, x.MaxRate, x.Contract, x.Tags = y.Pool.Market, y.MaxRate, y.Contract, y.Tags
	}
	return cmp.Equal(x, y)
}

func usd(units float64) bridge.Money {
	return bridge.Money{Micro: int64(units * bridge.Micro), Currency: "USD"}
}

// Terms makes the world its own policy: the same for every job of project
// proj, none for the others.
func (w *world) Terms(d *bridge.Demand, _ *bridge.Facts) *bridge.Terms {
	if w.count != nil {
		w.count(d)
	}
	t := w.terms
	if d.Account != "proj" {
		t.Account, t.Burst, t.Why = bridge.Account("org/team/"+d.Account), false, bridge.ReasonOptOut
	}
	return &t
}

// tick moves machines and jobs along.
func (w *world) tick(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(100 * time.Millisecond):
			w.a.live()
			w.b.live()
		}
	}
}

func (w *world) now() time.Time { return time.Now().Add(time.Duration(w.skew.Load())).UTC() }

// jump sets the bridge's clock wrong by d.
func (w *world) jump(d time.Duration) { w.skew.Store(int64(d)) }

// start opens the store and runs an engine, until stop.
func (w *world) start() {
	w.t.Helper()
	w.open()
	ctx, cancel := context.WithCancel(w.t.Context())
	done := make(chan error, 1)
	go func() { done <- w.engine.Run(ctx) }()
	w.stop = func() {
		w.stop = nil
		cancel()
		if err := <-done; err != nil && !errors.Is(err, bridge.ErrEpoch) {
			w.t.Errorf("run: %v", err)
		}
		w.close()
	}
}

// open opens the store and makes an engine that does not run.
func (w *world) open() {
	w.t.Helper()
	s, err := store.Open(w.t.Context(), w.dir, store.Options{Now: w.now})
	if err != nil {
		w.t.Fatal(err)
	}
	w.store = s
	o := engine.Options{
		Clusters: map[string]engine.Scheduler{}, Policy: w, Budgets: w.budgets, Limits: w.limits, Decide: w.decide, Clock: w.now, Metrics: w.metrics, Gate: w.gate,
		Boot: func(r *bridge.Rental, now time.Time) (bridge.Boot, error) {
			return bridge.Boot{URL: "https://bridge", Ticket: "t-" + now.Format(time.RFC3339Nano), Expires: r.Expires}, nil
		},
		Explain: func(v *bridge.Verdict) string { return string(v.Why) },
		Log:     slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	var sched engine.Scheduler = w.cluster
	o.Store = s
	for _, c := range []*cloud{w.a, w.b} {
		c.booked = w.booked(s)
		var one engine.Cloud = c
		if w.ports != nil {
			sched, one, o.Store = w.ports(w, w.cluster, c, s)
		}
		o.Clouds = append(o.Clouds, one)
	}
	o.Clusters["c1"] = sched
	if w.finder != nil {
		o.Checkpoints = w.finder
	}
	if w.options != nil {
		w.options(&o)
	}
	if w.engine, err = engine.New(o); err != nil {
		w.t.Fatal(err)
	}
}

// booked holds in every test that a create is in the books as it is sent: its
// hold, and its parameters to the byte (I4). A store that cannot be read then
// says nothing.
func (w *world) booked(s *store.Store) func(context.Context, bridge.Launch) {
	return func(ctx context.Context, l bridge.Launch) {
		r, err := s.Rental(ctx, l.Rental)
		switch {
		case errors.Is(err, store.ErrNoRental):
			w.t.Errorf("INV-I4: a create was sent for %s, which is not in the books", l.Rental)
		case err == nil && (!r.State.Held() || r.Launch.Token != l.Token || bridge.Token(s.StoreID(), r.Launch) != l.Token || !sameCall(&r.Launch, &l)):
			w.t.Errorf("INV-I4: a create was sent for %s, %s, with token %s; the books have %q", l.Rental, r.State, l.Token, r.Launch.Token)
		}
		for _, tag := range []string{bridge.TagStore, bridge.TagCluster, bridge.TagRental, bridge.TagAttempt, bridge.TagAccount, bridge.TagRate, bridge.TagExpires} {
			if l.Tags[tag] == "" {
				w.t.Errorf("a create for %s was sent without the tag %s", l.Rental, tag)
			}
		}
	}
}

func (w *world) close() {
	w.engine.Close()
	if err := w.store.Close(); err != nil {
		w.t.Error(err)
	}
}

func (w *world) kill() {
	if w.stop != nil {
		w.stop()
	}
}

// until waits for something to be so, and says what was not.
func (w *world) until(limit time.Duration, what string, ok func() bool) {
	w.t.Helper()
	end := time.Now().Add(limit)
	for !ok() {
		if time.Now().After(end) {
			w.t.Fatalf("after %s not: %s\nrentals: %s\nnews:\n%s", limit, what, w.rentals(), strings.Join(w.story(), "\n"))
		}
		time.Sleep(min(max(limit/2000, 50*time.Millisecond), 2*time.Second))
	}
}

func (w *world) live() []bridge.Rental {
	rs, err := w.store.Live(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return rs
}

func (w *world) rentals() string {
	rs, err := w.store.Recent(w.t.Context(), 20)
	if err != nil {
		return err.Error()
	}
	var out []string
	for _, r := range rs {
		line := string(r.ID) + " " + string(r.State) + " " + string(r.Why) + " " + r.Pool.Cloud
		for _, m := range r.Machines {
			line += " " + m.ID + ":" + string(m.State)
		}
		out = append(out, line)
	}
	return strings.Join(out, "; ")
}

func (w *world) news() []bridge.News {
	n, err := w.store.News(w.t.Context(), store.NewsFilter{Limit: 1000})
	if err != nil {
		w.t.Fatal(err)
	}
	return n
}

// story is the news in short lines.
func (w *world) story() []string {
	var out []string
	for _, n := range w.news() {
		line := n.At.Format("15:04:05.0") + " " + string(n.Kind)
		for _, part := range []string{string(n.Rental), n.Machine, n.Node, string(n.Job), string(n.Why), n.Text} {
			if part != "" {
				line += " " + part
			}
		}
		out = append(out, line)
	}
	return out
}

func (w *world) told(kind bridge.NewsKind) int {
	n := 0
	for _, x := range w.news() {
		if x.Kind == kind {
			n++
		}
	}
	return n
}

func (w *world) job(id bridge.JobID) *job {
	w.cluster.mu.Lock()
	defer w.cluster.mu.Unlock()
	w.cluster.bury()
	w.cluster.advance()
	j := *w.cluster.jobs[id]
	return &j
}

func (w *world) state(id bridge.JobID, states ...string) func() bool {
	return func() bool { return slices.Contains(states, w.job(id).state) }
}

func (w *world) inState(st bridge.State) func() bool {
	return func() bool {
		return slices.ContainsFunc(w.live(), func(r bridge.Rental) bool { return r.State == st })
	}
}

// over reports whether nothing is rented, held or running any more.
func (w *world) over() bool {
	return len(w.live()) == 0 && len(w.a.live()) == 0 && len(w.b.live()) == 0
}

// settled waits for the end and checks the books against the clouds' own.
func (w *world) settled(limit time.Duration) {
	w.t.Helper()
	w.until(limit, "all given back and settled", w.over)
	report, err := w.store.CheckLedger(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	for _, f := range report.Faults {
		w.t.Errorf("ledger: %s", f)
	}
	if report.OpenHolds != 0 {
		w.t.Errorf("%d holds are open", report.OpenHolds)
	}
	var posted int64
	for _, m := range report.Posted {
		posted += m.Micro
	}
	if bill := w.a.cost().Micro + w.b.cost().Micro; abs(posted-bill) > int64(w.a.made()+w.b.made())*2*bridge.Micro/360 {
		w.t.Errorf("posted %d, the clouds' books say %d\n%s", posted, bill, strings.Join(w.story(), "\n"))
	}
	w.until(20*time.Second, "nothing left in the scheduler", func() bool {
		w.cluster.mu.Lock()
		defer w.cluster.mu.Unlock()
		return len(w.cluster.nodes) == 0 && len(w.cluster.overlays) == 0
	})
	if w.cluster.rash > 0 {
		w.t.Errorf("INV-I17: %d nodes were dismissed without a drain", w.cluster.rash)
	}
}

func abs(n int64) int64 { return max(n, -n) }
