package engine_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"spillway.sh/spillway/bridge"
)

// ckpts is a place for checkpoints that says what a test wants.
type ckpts struct {
	mu    sync.Mutex
	say   func(bridge.CheckpointJob) (bridge.CheckpointLook, error)
	looks map[bridge.JobID]int
	under int
	most  int // looks at once
}

func (k *ckpts) Find(ctx context.Context, _ *bridge.CheckpointRule, job bridge.CheckpointJob) (bridge.CheckpointLook, error) {
	k.mu.Lock()
	k.under++
	k.most = max(k.most, k.under)
	if k.looks == nil {
		k.looks = map[bridge.JobID]int{}
	}
	k.looks[job.Job]++
	say := k.say
	k.mu.Unlock()
	defer func() { k.mu.Lock(); k.under--; k.mu.Unlock() }()
	if say == nil {
		<-ctx.Done()
		return bridge.CheckpointLook{}, &bridge.CheckpointError{Kind: bridge.TroubleSlow, Err: ctx.Err()}
	}
	return say(job)
}

func (k *ckpts) set(say func(bridge.CheckpointJob) (bridge.CheckpointLook, error)) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.say = say
}

// always says the same of every job.
func always(c *bridge.Checkpoint) func(bridge.CheckpointJob) (bridge.CheckpointLook, error) {
	return func(bridge.CheckpointJob) (bridge.CheckpointLook, error) {
		return bridge.CheckpointLook{Newest: c}, nil
	}
}

func nothingKnown(bridge.CheckpointJob) (bridge.CheckpointLook, error) {
	return bridge.CheckpointLook{}, &bridge.CheckpointError{Kind: bridge.TroubleStale, Place: "/ckpt/1"}
}

// saving makes the world one of spot machines whose jobs write checkpoints.
func (w *world) saving(say func(bridge.CheckpointJob) (bridge.CheckpointLook, error)) *ckpts {
	w.spot()
	w.finder = &ckpts{say: say}
	w.terms.Checkpoint = &bridge.CheckpointRule{Name: "runs", Path: "/ckpt/%j"}
	w.limits.Look = 5 * time.Second
	return w.finder
}

// brokenOff runs a job for a minute, takes its machine, and waits until it runs
// again.
func (w *world) brokenOff() (stopped time.Time) {
	w.t.Helper()
	w.cluster.submit("1", 1, 8, 10*time.Minute)
	w.start()
	w.until(time.Minute, "running", w.state("1", "running"))
	time.Sleep(time.Minute)
	stopped = time.Now()
	w.a.notice("a-001")
	w.until(3*time.Minute, "running again", func() bool { return w.job("1").state == "running" && w.cluster.started("1") == 2 })
	return stopped
}

func (w *world) first(kind bridge.NewsKind) bridge.News {
	i := slices.IndexFunc(w.news(), func(n bridge.News) bool { return n.Kind == kind })
	if i < 0 {
		return bridge.News{}
	}
	return w.news()[i]
}

func TestResumedIsSaidOnlyWithAStep(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		began := time.Now()
		w.saving(func(bridge.CheckpointJob) (bridge.CheckpointLook, error) {
			return bridge.CheckpointLook{Newest: &bridge.Checkpoint{Step: 40, At: began.Add(time.Minute)}}, nil
		})
		stopped := w.brokenOff()
		w.until(time.Minute, "told what it resumed from", func() bool { return w.told(bridge.NewsResumed) == 1 })
		n := w.first(bridge.NewsResumed)
		lost := stopped.Sub(began.Add(time.Minute))
		if !strings.HasPrefix(n.Text, "resumed at step 40 (checkpoint age ") || (n.Took-lost).Abs() > 3*time.Second || n.Job != "1" {
			t.Errorf("told %+v; %s were lost", n, lost)
		}
		if want := int64(3 * bridge.Micro * n.Took.Seconds() / 3600); n.Cost.Currency != "USD" || n.Cost.Micro < want-10 || n.Cost.Micro > want+10 {
			t.Errorf("lost work cost %s, at 3 USD/h for %s", n.Cost, n.Took)
		}
		w.until(20*time.Minute, "job done", w.state("1", "done"))
		w.settled(5 * time.Minute)
		if w.told(bridge.NewsResumed) != 1 || w.told(bridge.NewsLost) != 0 {
			t.Errorf("told %q", w.story())
		}
	})
}

func TestS_F79_RunFromTheBeginningIsLostWorkWithItsCost(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.saving(always(nil))
		w.brokenOff()
		w.until(time.Minute, "told what was lost", func() bool { return w.told(bridge.NewsLost) == 1 })
		n := w.first(bridge.NewsLost)
		if n.Took < 58*time.Second || n.Took > 65*time.Second || n.Cost.Micro < 48_000 || n.Cost.Micro > 55_000 {
			t.Errorf("a minute at 3 USD/h: told %s, %s", n.Took, n.Cost)
		}
		if w.told(bridge.NewsResumed) != 0 {
			t.Error("it began anew and was said to have resumed")
		}
	})
}

func TestCheckpointWithoutAStepIsNeverCalledResumed(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.saving(always(&bridge.Checkpoint{Step: -1, At: time.Now()}))
		w.brokenOff()
		w.until(time.Minute, "a warning", func() bool { return w.warnings("gives no step") == 1 })
		if w.told(bridge.NewsResumed)+w.told(bridge.NewsLost) != 0 {
			t.Errorf("told %q", w.story())
		}
	})
}

func TestStorageThatCannotBeReadIsNotLostWork(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.saving(nothingKnown)
		w.brokenOff()
		time.Sleep(6 * time.Minute)
		if w.told(bridge.NewsResumed)+w.told(bridge.NewsLost) != 0 {
			t.Errorf("told %q", w.story())
		}
		if h := w.engine.Health().Ports["checkpoints/runs"]; !strings.Contains(h, "stale") {
			t.Errorf("the health of its storage is %q", h)
		}
	})
}

// A run that has a checkpoint beside it and begins at step 0 all the same is
// found out by its own next checkpoint.
func TestRunThatIgnoredItsCheckpointIsFoundOut(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		k := w.saving(always(&bridge.Checkpoint{Step: 40, At: time.Now().Add(time.Minute)}))
		w.brokenOff()
		w.until(time.Minute, "told what it resumed from", func() bool { return w.told(bridge.NewsResumed) == 1 })
		k.set(always(&bridge.Checkpoint{Step: 5, At: time.Now()}))
		w.until(time.Minute, "found out", func() bool { return w.told(bridge.NewsLost) == 1 })
		if n := w.first(bridge.NewsLost); !strings.Contains(n.Text, "step 5") || n.Cost.Micro <= 0 {
			t.Errorf("told %+v", n)
		}
		time.Sleep(time.Minute)
		if n := w.told(bridge.NewsLost); n != 1 {
			t.Errorf("told %d times", n)
		}
	})
}

func TestWhatWasLostIsToldOnceOverARestartOfTheBridge(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.saving(always(nil))
		w.cluster.submit("1", 1, 8, 10*time.Minute)
		w.start()
		w.until(time.Minute, "running", w.state("1", "running"))
		time.Sleep(time.Minute)
		w.a.notice("a-001")
		w.until(time.Minute, "requeued", func() bool { return w.told(bridge.NewsRequeued) == 1 })
		w.stop()
		w.start()
		w.until(3*time.Minute, "told what was lost", func() bool { return w.told(bridge.NewsLost) == 1 })
		w.stop()
		w.start()
		time.Sleep(time.Minute)
		if n := w.told(bridge.NewsLost); n != 1 {
			t.Errorf("told %d times", n)
		}
	})
}

func TestStorageThatHangsHoldsNothingUp(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		k := w.saving(nil)
		w.limits.Lane = 3
		for _, id := range []bridge.JobID{"1", "2", "3", "4", "5", "6", "7"} {
			w.cluster.submit(id, 1, 8, 2*time.Minute)
		}
		w.start()
		w.until(2*time.Minute, "all running", func() bool { return w.cluster.started("7") == 1 && w.cluster.started("1") == 1 })
		if h := w.engine.Health(); h.Took > time.Second {
			t.Errorf("a cycle took %s", h.Took)
		}
		w.until(10*time.Minute, "jobs done", w.state("7", "done"))
		w.settled(5 * time.Minute)
		if k.most == 0 || k.most > 3 {
			t.Errorf("%d looks at once", k.most)
		}
	})
}

func TestSnapshotsCarryTheNewestOfRunningAndWaitingJobs(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		k := w.saving(func(j bridge.CheckpointJob) (bridge.CheckpointLook, error) {
			if j.Job == "2" {
				return bridge.CheckpointLook{}, nil
			}
			return bridge.CheckpointLook{Newest: &bridge.Checkpoint{Job: j.Job, Step: 7, At: time.Now()}}, nil
		})
		w.terms.Most = 1
		w.cluster.submit("1", 1, 8, 10*time.Minute)
		w.cluster.submit("2", 1, 8, 10*time.Minute)
		w.cluster.submit("3", 1, 8, 10*time.Minute)
		w.start()
		w.until(2*time.Minute, "both known", func() bool {
			s, _, ok := w.engine.View()
			return ok && len(s.Checkpoints["c1"]) == 2 && w.job("1").state == "running"
		})
		k.set(nothingKnown)
		time.Sleep(time.Minute)
		s, _, _ := w.engine.View()
		if _, none := s.Checkpoints["c1"]["2"]; none || s.Checkpoints["c1"]["1"].Step != 7 {
			t.Errorf("after storage went away: %+v", s.Checkpoints)
		}
		k.mu.Lock()
		defer k.mu.Unlock()
		if k.looks["1"] < 10 || k.looks["3"] > 3 {
			t.Errorf("%d looks at the running job, %d at a waiting one", k.looks["1"], k.looks["3"])
		}
	})
}

// A queue so long that it is gone through now and then only: what left its
// machines is looked at again at once all the same.
func TestLongQueueIsGoneThroughNowAndThen(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		k := w.saving(always(&bridge.Checkpoint{Step: 40, At: time.Now()}))
		w.limits.Look = time.Minute
		w.decide = func(s *bridge.Snapshot) bridge.Plan {
			few := *s
			few.Queues = slices.Clone(s.Queues)
			for i := range few.Queues {
				few.Queues[i].Demands = slices.DeleteFunc(slices.Clone(few.Queues[i].Demands), func(d bridge.Demand) bool { return d.Job != "1" })
			}
			return bridge.Decide(&few, w)
		}
		for i := range 5100 {
			w.cluster.submit(bridge.JobID(fmt.Sprint(1000+i)), 1, 8, time.Minute, func(j *job) { j.restartable = i == 0 })
		}
		asked := 0
		w.count = func(d *bridge.Demand) {
			if d.Job == "1000" {
				asked++
			}
		}
		w.brokenOff()
		w.until(time.Minute, "told what it resumed from", func() bool { return w.told(bridge.NewsResumed) == 1 })
		k.mu.Lock()
		defer k.mu.Unlock()
		if k.looks["1000"] != 1 || asked > 10 {
			t.Errorf("%d looks at a job of the long queue, policy asked %d times about it", k.looks["1000"], asked)
		}
	})
}
