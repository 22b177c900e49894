package engine_test

import (
	"sync"
	"testing"
	"time"

	"spillway.sh/spillway/bridge"
)

// seen keeps what decisions were shown of job 1.
type seen struct {
	mu      sync.Mutex
	done    []time.Duration // in its newest checkpoint, each time it waited
	looking int             // times its first look was not back yet
	bought  int             // machines ordered while it was not
}

// watch lets a world decide as always, and keeps what it is shown.
func (w *world) watch() *seen {
	k := &seen{}
	d := bridge.NewDecider(w)
	w.decide = func(s *bridge.Snapshot) bridge.Plan {
		p := d.Decide(s)
		k.mu.Lock()
		defer k.mu.Unlock()
		if s.Looking["c1"]["1"] {
			k.looking++
			k.bought += len(p.Rent)
		}
		for _, dm := range s.Queues[0].Demands {
			if ck, ok := s.Checkpoints["c1"]["1"]; ok && dm.Job == "1" && dm.Restarts > 0 {
				k.done = append(k.done, ck.Done)
			}
		}
		return p
	}
	return k
}

// TestDoneIsWhatAllRunsComputedUpToTheCheckpoint holds what the deadline rule
// is shown of a job that was broken off: the time its runs computed before the
// newest checkpoint, not the time that has gone by.
func TestDoneIsWhatAllRunsComputedUpToTheCheckpoint(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		k := w.watch()
		var at time.Time
		w.saving(func(bridge.CheckpointJob) (bridge.CheckpointLook, error) {
			return bridge.CheckpointLook{Newest: &bridge.Checkpoint{Step: 40, At: at}}, nil
		})
		w.cluster.submit("1", 1, 8, 10*time.Minute)
		began := time.Now()
		at = began.Add(70 * time.Second)
		w.start()
		w.until(time.Minute, "running", w.state("1", "running"))
		started := time.Now()
		time.Sleep(time.Until(at.Add(20 * time.Second)))
		w.a.notice("a-001")
		w.until(3*time.Minute, "running again", func() bool { return w.job("1").state == "running" && w.cluster.started("1") == 2 })
		w.until(20*time.Minute, "job done", w.state("1", "done"))
		w.settled(5 * time.Minute)
		k.mu.Lock()
		defer k.mu.Unlock()
		if len(k.done) == 0 {
			t.Fatal("no decision was shown the job with its checkpoint")
		}
		want := at.Sub(started)
		if got := k.done[len(k.done)-1]; (got - want).Abs() > 2*time.Second {
			t.Errorf("%s are said to be in the checkpoint, about %s are", got, want)
		}
	})
}

// TestNothingIsBoughtBeforeTheFirstLookAtItsCheckpoint holds that a job whose
// market depends on its checkpoint is not put on demand for want of a look.
func TestNothingIsBoughtBeforeTheFirstLookAtItsCheckpoint(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		k := w.watch()
		w.saving(func(bridge.CheckpointJob) (bridge.CheckpointLook, error) {
			time.Sleep(3 * time.Second)
			return bridge.CheckpointLook{Newest: &bridge.Checkpoint{Step: 40, At: time.Now()}}, nil
		})
		w.a.setup(func(c *cloud) { c.sell(bridge.OnDemand, 9, 100) })
		w.terms.Markets = []bridge.Market{bridge.Spot, bridge.OnDemand}
		w.terms.Checkpoint.Required = true
		w.cluster.submit("1", 1, 8, time.Minute)
		w.start()
		w.until(5*time.Minute, "job done", w.state("1", "done"))
		w.settled(5 * time.Minute)
		k.mu.Lock()
		defer k.mu.Unlock()
		if k.looking == 0 || k.bought > 0 {
			t.Errorf("%d decisions before the first look, %d orders", k.looking, k.bought)
		}
		for _, n := range w.news() {
			if n.Kind == bridge.NewsCreated && n.Pool != nil && n.Pool.Market != bridge.Spot {
				t.Errorf("it was put on %s", n.Pool)
			}
		}
	})
}
