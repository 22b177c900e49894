package engine_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/engine"
)

// crowd submits n jobs of one machine each and returns how to ask whether all of
// them are in a state.
func (w *world) crowd(n int, work time.Duration) func(state string) func() bool {
	w.terms.Most, w.budgets[0].Limit = 10*n, usd(1e6) // neither keeps anybody from buying twice
	w.a.setup(func(c *cloud) {
		for _, p := range c.pools {
			p.stock = 2 * n
		}
	})
	ids := make([]bridge.JobID, n)
	for i := range n {
		ids[i] = bridge.JobID(fmt.Sprint(i + 1))
		w.cluster.submit(ids[i], 1, 8, work)
	}
	return func(state string) func() bool {
		return func() bool {
			return !slices.ContainsFunc(ids, func(id bridge.JobID) bool { return w.job(id).state != state })
		}
	}
}

// silence has a node answer nothing, or answer again; its machine runs on.
func (w *world) silence(machine string, silent bool) {
	w.a.mu.Lock()
	m := w.a.machines[machine]
	name := bridge.NodeName(m.launch.Rental, m.ordinal)
	w.a.mu.Unlock()
	w.cluster.set(func(c *cluster) { c.nodes[name].dead = silent })
}

func TestC_F02_OneInTenOfManyNeverJoinsAndNoneIsLeft(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.limits.Join = time.Minute
		all := w.crowd(40, 3*time.Minute)
		w.start()
		w.until(time.Minute, "forty machines", func() bool { return w.a.made() == 40 })
		never := []string{}
		w.a.setup(func(c *cloud) {
			for i := 1; i <= 40; i += 10 {
				id := fmt.Sprintf("a-%03d", i)
				c.machines[id].never = true
				never = append(never, id)
			}
		})
		w.until(30*time.Minute, "all done", all("done"))
		if live := w.a.live(); slices.ContainsFunc(never, func(id string) bool { return slices.Contains(live, id) }) {
			t.Errorf("machines that never joined live on: %q of %q", live, never)
		}
		w.settled(10 * time.Minute)
	})
}

func TestC_F04_TwentyMachinesOutliveTheirBridge(t *testing.T) {
	for name, away := range map[string]time.Duration{
		"which comes back":           time.Minute,
		"which comes back very late": 3 * time.Hour, // as when it was taken off the host
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.terms.Life = 2 * time.Hour
				all := w.crowd(20, 10*time.Minute)
				w.start()
				w.until(time.Minute, "all running", all("running"))
				w.kill()
				for back := time.Now().Add(away); time.Now().Before(back); time.Sleep(time.Minute) {
					w.job("1") // the jobs go on
				}
				if n := len(w.a.live()); away > w.terms.Life && n != 0 {
					t.Errorf("%d machines cost money without anybody after the end they were given", n)
				}
				w.start()
				w.until(30*time.Minute, "all done", all("done"))
				w.settled(10 * time.Minute)
				if n := w.a.made() + w.b.made(); n != 20 {
					t.Errorf("%d machines for twenty jobs", n)
				}
			})
		})
	}
}

func TestC_F13_SilenceOfANodeIsAskedOfItsCloud(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.cluster.submit("1", 1, 8, 10*time.Minute)
		w.start()
		w.until(time.Minute, "running", w.state("1", "running"))
		w.silence("a-001", true)
		time.Sleep(time.Minute)
		if w.job("1").state != "running" || len(w.a.live()) != 1 {
			t.Errorf("job %s, %d machines, after a minute without the network", w.job("1").state, len(w.a.live()))
		}
		w.silence("a-001", false)
		w.until(15*time.Minute, "job done", w.state("1", "done"))
		if w.cluster.started("1") != 1 || w.a.made() != 1 {
			t.Errorf("%d starts on %d machines", w.cluster.started("1"), w.a.made())
		}
		w.settled(5 * time.Minute)
	})
}

func TestC_F18_StockoutLeavesNoNodeAndNeedsNobody(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		stock := func(n int) {
			for _, c := range []*cloud{w.a, w.b} {
				c.setup(func(c *cloud) {
					for _, p := range c.pools {
						p.stock = n
					}
				})
			}
		}
		stock(0)
		w.cluster.submit("1", 1, 8, time.Minute)
		w.start()
		w.until(10*time.Second, "both asked", func() bool { return w.a.sent() == 1 && w.b.sent() == 1 })
		time.Sleep(5 * time.Minute)
		w.cluster.set(func(c *cluster) {
			if len(c.nodes) != 0 || len(c.overlays) != 0 {
				t.Errorf("left in the scheduler: %d nodes, %d partitions", len(c.nodes), len(c.overlays))
			}
		})
		_, plan, _ := w.engine.View()
		i := slices.IndexFunc(plan.Verdicts, func(v bridge.Verdict) bool { return v.Job == "1" })
		if i < 0 || plan.Verdicts[i].Why == "" || plan.Verdicts[i].Kind == bridge.Burst {
			t.Errorf("the job waits without a reason: %+v", plan.Verdicts)
		}
		stock(1)
		w.until(35*time.Minute, "job done, and nobody did anything", w.state("1", "done"))
		w.settled(5 * time.Minute)
	})
}

func TestC_F21_IdleTimeIsTheRentals(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.terms.Idle = 10 * time.Minute
		all := w.crowd(10, 2*time.Minute)
		w.start()
		w.until(time.Minute, "ten machines", func() bool { return w.a.made() == 10 })
		for i := range 20 { // nodes come, go silent and come back while they join
			w.cluster.set(func(c *cluster) {
				for _, n := range c.nodes {
					n.dead = i%2 == 0
				}
			})
			time.Sleep(500 * time.Millisecond)
		}
		w.kill()
		w.terms.Idle = 0 // what policy says later is not what these were rented for
		w.start()
		w.until(20*time.Minute, "all done", all("done"))
		done := time.Now()
		w.until(20*time.Minute, "given back", w.over)
		if d := time.Since(done); d < 8*time.Minute || d > 12*time.Minute {
			t.Errorf("given back %s after the last job; ten minutes were agreed", d)
		}
		w.settled(5 * time.Minute)
	})
}

// late shows a queue as it was a while ago, as if it were that of now.
type late struct {
	engine.Scheduler
	by time.Duration
	mu *sync.Mutex
	of *[]bridge.Queue
}

func (l late) Observe(ctx context.Context) (bridge.Queue, error) {
	q, err := l.Scheduler.Observe(ctx)
	if err != nil {
		return q, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	*l.of = append(*l.of, q)
	for len(*l.of) > 1 && time.Since((*l.of)[1].ObservedAt) >= l.by {
		*l.of = (*l.of)[1:]
	}
	old := (*l.of)[0]
	old.ObservedAt = q.ObservedAt
	return old, nil
}

func TestC_F28_StatusThatLagsBuysNothingTwice(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		mu, seen := &sync.Mutex{}, &[]bridge.Queue{}
		w.ports = func(_ *world, s engine.Scheduler, c engine.Cloud, st engine.Store) (engine.Scheduler, engine.Cloud, engine.Store) {
			return late{Scheduler: s, by: 30 * time.Second, mu: mu, of: seen}, c, st
		}
		w.terms.Idle = 5 * time.Minute
		all := w.crowd(50, 10*time.Minute)
		w.start()
		w.until(20*time.Minute, "all running or done", func() bool { return all("running")() || all("done")() })
		time.Sleep(2 * time.Minute)
		if n := w.a.made() + w.b.made(); n != 50 {
			t.Errorf("%d machines for fifty jobs", n)
		}
		w.until(30*time.Minute, "all done", all("done"))
		w.settled(30 * time.Minute)
		if n := w.a.made() + w.b.made(); n != 50 {
			t.Errorf("%d machines for fifty jobs in the end", n)
		}
	})
}

func TestC_F30_MachineThatItsCloudRestartedIsNoNewOne(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.cluster.submit("1", 1, 8, 10*time.Minute)
		w.start()
		w.until(time.Minute, "running", w.state("1", "running"))
		w.cluster.set(func(c *cluster) { // its slurmd comes again, and the scheduler requeues what ran on it
			c.requeue(c.jobs["1"])
		})
		w.until(20*time.Minute, "job done", w.state("1", "done"))
		w.settled(5 * time.Minute)
		if w.cluster.started("1") != 2 || w.a.made() != 1 {
			t.Errorf("%d starts on %d machines; want 2 on 1", w.cluster.started("1"), w.a.made())
		}
	})
}
