package engine_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/engine"
	"spillway.sh/spillway/bridge/sim/crash"
	"spillway.sh/spillway/bridge/store"
)

// reads are the calls that change nothing.
var reads = []string{
	"Scheduler.Observe", "Cloud.List", "Cloud.Offers", "Cloud.Observe", "Cloud.Changed", "Store.Live", "Store.Marks", "Store.Balances",
}

// watched has all calls of a world's next engine counted.
func (w *world) watched() *crash.Doom {
	d := crash.New()
	w.ports = func(_ *world, s engine.Scheduler, c engine.Cloud, st engine.Store) (engine.Scheduler, engine.Cloud, engine.Store) {
		return crash.Scheduler("c1", s, d.Around(1)), crash.Cloud(c, d.Around(1)), crash.Store(st, d.Around(1))
	}
	return d
}

// writes counts the calls that change something.
func writes(d *crash.Doom) map[string]int {
	out := map[string]int{}
	for _, point := range d.Passed(1) {
		name, _, _ := strings.Cut(point, " ")
		if strings.HasSuffix(point, " after") && !slices.Contains(reads, name) {
			out[name]++
		}
	}
	return out
}

func TestINV_I26_QuietSystemWritesNothing(t *testing.T) {
	for name, setup := range map[string]func(*world){
		"an empty queue": func(*world) {},
		"a demand that nothing fits": func(w *world) {
			w.cluster.submit("1", 1, 64, time.Hour)
		},
		"a demand that policy does not let out": func(w *world) {
			w.cluster.submit("1", 1, 8, time.Hour).account = "other"
		},
		"a question that waits for its answer": func(w *world) {
			w.tight()
			w.cluster.submit("1", 1, 8, time.Hour)
		},
		"a sold-out pool that rests": func(w *world) {
			w.a.setup(func(c *cloud) { clear(c.pools) })
			w.b.setup(func(c *cloud) { clear(c.pools); c.sell(bridge.OnDemand, 8, 0) })
			w.limits.PoolDown = time.Hour
			w.cluster.submit("1", 1, 8, time.Hour)
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				setup(w)
				d := w.watched()
				w.start()
				time.Sleep(time.Minute)
				before, cycles := writes(d), w.engine.Health().Cycles
				time.Sleep(4 * time.Minute)
				if diff := cmp.Diff(before, writes(d)); diff != "" || w.engine.Health().Cycles < cycles+150 {
					t.Errorf("in %d cycles:\n%s", w.engine.Health().Cycles-cycles, diff)
				}
			})
		})
	}
}

func TestRunningJobWritesOnlyItsMeter(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.cluster.submit("1", 1, 8, time.Hour).limit = 2 * time.Hour
		d := w.watched()
		w.start()
		w.until(time.Minute, "running", w.state("1", "running"))
		time.Sleep(5 * time.Second)
		before := writes(d)
		time.Sleep(10 * time.Minute)
		after := writes(d)
		posts, marks := after["Store.Post"]-before["Store.Post"], after["Store.SaveMarks"]-before["Store.SaveMarks"]
		for _, writes := range []map[string]int{before, after} {
			delete(writes, "Store.Post")
			delete(writes, "Store.SaveMarks") // the latest time that was seen, every ten minutes
		}
		if diff := cmp.Diff(before, after); diff != "" || posts < 9 || posts > 11 || marks > 1 {
			t.Errorf("%d posts and %d marks in ten minutes, and else:\n%s", posts, marks, diff)
		}
	})
}

// dark is a store whose writes fail while it is dark.
type dark struct {
	engine.Store
	on *atomic.Bool
}

var errFull = errors.New("no space left on device")

func (s dark) Save(ctx context.Context, r bridge.Rental, news ...bridge.News) (bridge.Rental, error) {
	if s.on.Load() {
		return r, errFull
	}
	return s.Store.Save(ctx, r, news...)
}

func (s dark) Tell(ctx context.Context, news ...bridge.News) error {
	if s.on.Load() {
		return errFull
	}
	return s.Store.Tell(ctx, news...)
}

func (s dark) NextID(ctx context.Context) (bridge.RentalID, error) {
	if s.on.Load() {
		return "", errFull
	}
	return s.Store.NextID(ctx)
}

func (s dark) Live(ctx context.Context) ([]bridge.Rental, error) {
	if s.on.Load() {
		return nil, errFull
	}
	return s.Store.Live(ctx)
}

func (s dark) Settle(ctx context.Context, r bridge.Rental, news ...bridge.News) (bridge.Rental, error) {
	if s.on.Load() {
		return r, errFull
	}
	return s.Store.Settle(ctx, r, news...)
}

func TestFullDiskStopsCreatesAndNoRelease(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		var full atomic.Bool
		w.ports = func(_ *world, s engine.Scheduler, c engine.Cloud, st engine.Store) (engine.Scheduler, engine.Cloud, engine.Store) {
			return s, c, dark{st, &full}
		}
		w.terms.Life = 30 * time.Minute
		w.cluster.submit("1", 1, 8, 10*time.Hour).limit = 0
		w.start()
		w.until(time.Minute, "running", w.state("1", "running"))
		w.a.setup(func(c *cloud) { // the machine's own switch fails
			for _, m := range c.machines {
				m.launch.Expires = m.launch.Expires.Add(24 * time.Hour)
			}
		})
		full.Store(true)
		made := w.a.made() + w.b.made()
		w.cluster.submit("2", 1, 8, time.Minute)
		w.until(40*time.Minute, "ended from memory", func() bool { return len(w.a.live()) == 0 })
		if n := w.a.made() + w.b.made() - made; n != 0 || !w.engine.Health().Dark {
			t.Errorf("%d machines made, dark: %t", n, w.engine.Health().Dark)
		}
		full.Store(false)
		w.cluster.set(func(c *cluster) { c.jobs["1"].state = "cancelled" })
		w.until(10*time.Minute, "the second job done", w.state("2", "done"))
		w.settled(10 * time.Minute)
	})
}

func TestINV_I24_BridgeThatWasOvertakenStops(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.ports = func(_ *world, s engine.Scheduler, c engine.Cloud, st engine.Store) (engine.Scheduler, engine.Cloud, engine.Store) {
			return s, c, overtaken{st}
		}
		w.cluster.submit("1", 1, 8, time.Minute)
		w.open()
		defer w.close()
		err := w.engine.Run(t.Context())
		if !errors.Is(err, bridge.ErrEpoch) || w.a.sent() != 0 {
			t.Errorf("run ended with %v after %d create calls", err, w.a.sent())
		}
	})
}

// A bridge with nothing to write would not notice by writing.
func TestINV_I24_QuietBridgeThatWasOvertakenStops(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.open()
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		done := make(chan error, 1)
		go func() { done <- w.engine.Run(ctx) }()
		time.Sleep(10 * time.Minute)
		if err := os.Remove(filepath.Join(w.dir, "spillway.lock")); err != nil {
			t.Fatal(err)
		}
		next, err := store.Open(t.Context(), w.dir, store.Options{Now: w.now})
		if err != nil {
			t.Fatal(err)
		}
		at := time.Now()
		if err := <-done; !errors.Is(err, bridge.ErrEpoch) || time.Since(at) > 2*time.Second {
			t.Errorf("run ended with %v, %s after another took over", err, time.Since(at))
		}
		if err := next.Close(); err != nil {
			t.Error(err)
		}
		w.close()
	})
}

type overtaken struct{ engine.Store }

func (overtaken) NextID(context.Context) (bridge.RentalID, error) { return "", bridge.ErrEpoch }

func TestHungSchedulerDoesNotHoldUpTheClouds(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.cluster.submit("1", 1, 8, 20*time.Minute)
		w.start()
		w.until(time.Minute, "running", w.state("1", "running"))
		w.cluster.set(func(c *cluster) { c.slow = 25 * time.Second })
		begun, cycles := time.Now(), w.engine.Health().Cycles
		time.Sleep(2 * time.Minute)
		if n := w.engine.Health().Cycles - cycles; n < 10 {
			t.Errorf("%d cycles in %s", n, time.Since(begun))
		}
		w.cluster.set(func(c *cluster) { c.slow = 0 })
		w.until(30*time.Minute, "job done", w.state("1", "done"))
		if w.cluster.started("1") != 1 {
			t.Errorf("started %d times", w.cluster.started("1"))
		}
	})
}

// What a read costs the scheduler, not how long it took here, says how often it
// is read.
func TestCycleStretchesWithWhatReadsCost(t *testing.T) {
	for name, tt := range map[string]struct {
		slow, cost  time.Duration
		least, most int // reads in 100 s
	}{
		"a slow host, an idle scheduler": {slow: 500 * time.Millisecond, cost: 10 * time.Millisecond, least: 60, most: 100},
		"a scheduler that is busy":       {slow: 500 * time.Millisecond, cost: time.Second, least: 8, most: 11},
		"one that does not say":          {slow: 500 * time.Millisecond, least: 18, most: 21},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.cluster.set(func(c *cluster) { c.slow, c.cost = tt.slow, tt.cost })
				w.start()
				time.Sleep(time.Minute)
				before := w.cluster.called("Observe")
				time.Sleep(100 * time.Second)
				if n := w.cluster.called("Observe") - before; n < tt.least || n > tt.most {
					t.Errorf("%d reads in 100 s, want %d to %d", n, tt.least, tt.most)
				}
			})
		})
	}
}

func TestC_F14_SlowSchedulerReadsDoNotHoldUpANotice(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.spot()
		w.cluster.submit("1", 1, 8, 20*time.Minute)
		w.start()
		w.until(time.Minute, "running", w.state("1", "running"))
		w.cluster.set(func(c *cluster) { c.slow = 5 * time.Second })
		time.Sleep(2 * time.Minute)
		reads := w.cluster.called("Observe")
		time.Sleep(100 * time.Second)
		if n := w.cluster.called("Observe") - reads; n < 1 || n > 3 {
			t.Errorf("%d reads of 5 s each in 100 s; want a tenth of the time", n)
		}
		w.a.notice("a-001")
		w.until(10*time.Second, "drained", func() bool { return w.told(bridge.NewsDrained) == 1 })
		if d, _ := w.took(bridge.NewsDrained); d > time.Second {
			t.Errorf("notice to drained: %s", d)
		}
	})
}

func TestOneMalformedRentalStopsNothing(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.open()
		for _, change := range []func(*bridge.Rental){
			func(r *bridge.Rental) { r.Pool.Cloud = "closed-down" },
			func(r *bridge.Rental) { r.Cluster = "nowhere" },
			func(r *bridge.Rental) { r.Gang, r.Machines = 0, nil },
		} {
			id, err := w.store.NextID(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			o := w.order("77")
			r := bridge.Draw(id, &o, w.now())
			change(&r)
			if _, err := w.store.Reserve(t.Context(), r, w.budgets); err != nil {
				t.Fatal(err)
			}
		}
		w.close()
		w.cluster.submit("1", 1, 8, time.Minute)
		w.start()
		w.until(10*time.Minute, "job done all the same", w.state("1", "done"))
		w.until(10*time.Minute, "its machine gone", func() bool { return len(w.a.live())+len(w.b.live()) == 0 })
	})
}

func TestMetricsSayWhatHappened(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		reg := prometheus.NewRegistry()
		w.metrics = reg
		w.cluster.submit("1", 1, 8, time.Minute)
		w.start()
		w.until(30*time.Second, "running", w.state("1", "running"))
		time.Sleep(2 * time.Second)
		want := map[string]float64{
			"spillway_creates_total a":               1,
			"spillway_machines a on-demand joined":   1,
			"spillway_rentals c1 admitted":           1,
			"spillway_limit_micro org USD 2000-01":   1000e6,
			"spillway_protected":                     0,
			"spillway_create_failures_total b quota": 0,
		}
		got := gathered(t, reg)
		for name, v := range want {
			if got[name] != v {
				t.Errorf("%s is %v, want %v", name, got[name], v)
			}
		}
		w.settled(10 * time.Minute)
	})
}

// gathered are all counters and gauges, by name and label values.
func gathered(t *testing.T, reg *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			name := f.GetName()
			for _, l := range m.GetLabel() {
				if l.GetValue() != "" {
					name += " " + l.GetValue()
				}
			}
			out[name] = m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	return out
}
