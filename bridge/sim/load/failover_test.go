package load

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"spillway.sh/spillway/bridge"
	adapter "spillway.sh/spillway/bridge/cloud/local"
	"spillway.sh/spillway/bridge/cloud/local/server"
	"spillway.sh/spillway/bridge/engine"
	"spillway.sh/spillway/bridge/store"
	"spillway.sh/spillway/policies"
)

// twelve are the pools of a walk: all sold out but the dearest, and each says so
// in one of the ways that clouds have.
func twelve(tb testing.TB) server.World {
	tb.Helper()
	var b strings.Builder
	b.WriteString(`version: 1
clouds:
  - name: nimbus
    currency: USD
    boot: 1s
    limits: 100
    hide_stock: true
    accounts: [{name: default}]
    types: [{name: gpu8, cpus: 16, memory_mib: 64000, gpu_type: a100, gpus: 8}]
    regions:
`)
	for i := range 12 {
		stock, failure := 0, []string{"error", "list", "operation"}[i%3]
		if i == 11 {
			stock = 1
		}
		fmt.Fprintf(&b, "      - name: r%02d\n        zones: [{name: r%02da, pools: [{type: gpu8, on_demand: {rate: \"%d\", stock: %d}, failure: %s}]}]\n", i, i, 10+i, stock, failure)
	}
	w, err := server.ParseWorld([]byte(b.String()))
	if err != nil {
		tb.Fatal(err)
	}
	return w
}

// still is a cluster whose queue does not change.
type still struct {
	engine.Scheduler
	queue bridge.Queue
}

func (s still) Observe(context.Context) (bridge.Queue, error) {
	q := s.queue
	q.ObservedAt = time.Now().UTC()
	return q, nil
}

func (still) UserData(context.Context, *bridge.Rental, bridge.Boot) (string, error) {
	return "#!/bin/sh\n", nil
}

func (still) Comment(context.Context, bridge.JobID, string) error { return nil }

// watched notes when a cloud said no, and when it was asked next.
type watched struct {
	*adapter.Cloud
	mu    sync.Mutex
	no    time.Time
	took  []time.Duration
	there chan struct{} // closed when machines were had
	once  sync.Once
}

func (w *watched) Create(ctx context.Context, l bridge.Launch) (bridge.Handle, error) {
	w.mu.Lock()
	if !w.no.IsZero() {
		w.took, w.no = append(w.took, time.Since(w.no)), time.Time{}
	}
	w.mu.Unlock()
	h, err := w.Cloud.Create(ctx, l)
	w.heard(err)
	return h, err
}

func (w *watched) Observe(ctx context.Context, l bridge.Launch, h bridge.Handle) ([]bridge.Instance, error) {
	ins, err := w.Cloud.Observe(ctx, l, h)
	w.heard(err)
	if slices.ContainsFunc(ins, func(in bridge.Instance) bool { return in.State != bridge.InstanceGone }) {
		w.once.Do(func() { close(w.there) })
	}
	return ins, err
}

func (w *watched) heard(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil && bridge.KindOf(err).Refused() && w.no.IsZero() {
		w.no = time.Now()
	}
}

// BenchmarkFailover is how long it takes from a cloud's word that a pool is sold
// out, which may come with the create or later, to the next create: the engine
// as it runs, its store on a disk, the local cloud over its API. Each walk goes
// through eleven pools without stock to the twelfth.
func BenchmarkFailover(b *testing.B) {
	for _, jobs := range []int{1, 10_000} {
		b.Run(fmt.Sprintf("jobs=%d", jobs), func(b *testing.B) {
			var all []time.Duration
			walks := 0
			began := time.Now()
			for b.Loop() {
				took := walk(b, jobs)
				if len(took) != 11 {
					b.Fatalf("%d of eleven pools without stock were left", len(took))
				}
				all = append(all, took...)
				walks++
			}
			slices.Sort(all)
			ms := func(share float64) float64 {
				return float64(all[int(share*float64(len(all)-1))].Microseconds()) / 1000
			}
			b.ReportMetric(ms(0.5), "p50-ms")
			b.ReportMetric(ms(0.95), "p95-ms")
			b.ReportMetric(ms(1), "max-ms")
			b.ReportMetric(time.Since(began).Seconds()/float64(walks), "walk-s")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// walk runs an engine until one job has its machine, beside others that no
// money is left for.
func walk(b *testing.B, jobs int) []time.Duration {
	b.Helper()
	srv, err := server.Open(b.Context(), server.Options{Dir: b.TempDir(), World: twelve(b), Host: server.NewNullHost()})
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := srv.Close(); err != nil {
			b.Error(err)
		}
	}()
	addr, err := srv.Listen("127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	c, err := adapter.New(adapter.Config{Name: "nimbus", URL: "http://" + addr.String(), TokenFile: srv.TokenFile("nimbus", "default"), Limits: 100})
	if err != nil {
		b.Fatal(err)
	}
	w := &watched{Cloud: c, there: make(chan struct{})}
	st, err := store.Open(b.Context(), b.TempDir(), store.Options{Now: func() time.Time { return time.Now().UTC() }})
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := st.Close(); err != nil {
			b.Error(err)
		}
	}()
	f, err := policies.Parse("failover.yaml", []byte(`
version: 1
organisation: uni
currency: USD
mode: burst
accounts: [{account: "*", to: "lab/{account}"}]
rules: [{name: everyone, class: P1, wait: 1s, most: 100}]
budgets:
  - {account: uni, every: month, zone: UTC, limit: 10000 USD}
  - {account: uni/lab/poor, every: month, zone: UTC, limit: 1 USD}
`))
	if err != nil {
		b.Fatal(err)
	}
	e, err := engine.New(engine.Options{
		Clusters: map[string]engine.Scheduler{"main": still{queue: crowd(jobs)}}, Clouds: []engine.Cloud{w}, Store: st,
		Policy: f.Policy(), Budgets: f.Budgets(), Currency: f.Currency(), Watch: f.Watch(),
		Boot:  func(r *bridge.Rental, _ time.Time) (bridge.Boot, error) { return bridge.Boot{Expires: r.Expires}, nil },
		Clock: func() time.Time { return time.Now().UTC() },
	})
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(b.Context(), 2*time.Minute)
	defer cancel()
	var run sync.WaitGroup
	run.Go(func() {
		if err := e.Run(ctx); err != nil {
			b.Error(err)
		}
	})
	select {
	case <-w.there:
	case <-ctx.Done():
		b.Error("no machine in two minutes")
	}
	cancel()
	run.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.took
}

// crowd is one job that can be paid for, and others that cannot.
func crowd(jobs int) bridge.Queue {
	began := time.Now().UTC().Add(-time.Hour)
	q := bridge.Queue{Cluster: "main"}
	for i := range jobs {
		d := bridge.Demand{
			Cluster: "main", Job: bridge.JobID(fmt.Sprint(1000 + i)), Name: "train", User: "ann", Account: "poor", Partition: "gpu", Count: 1, Nodes: 1,
			Shape: bridge.Shape{CPUs: 8, MemoryMiB: 32_000, GPUs: 8, GPUType: "a100"}, TimeLimit: 2 * time.Hour,
			Submitted: began, Eligible: began, Standing: bridge.StandingHelps, Restartable: true, Priority: 1,
		}
		if i == jobs-1 {
			d.Account = "rich"
		}
		q.Demands = append(q.Demands, d)
	}
	return q
}
