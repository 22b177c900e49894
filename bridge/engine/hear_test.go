package engine_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"spillway.sh/spillway/bridge"
)

// warnings counts the warnings that say something.
func (w *world) warnings(text string) int {
	n := 0
	for _, x := range w.news() {
		if x.Kind == bridge.NewsWarning && strings.Contains(x.Text, text) {
			n++
		}
	}
	return n
}

// say is a machine's agent reporting.
func (w *world) say(machine string, r bridge.Report) error {
	w.t.Helper()
	for _, rental := range w.live() {
		for _, m := range rental.Machines {
			if m.ID == machine {
				return w.engine.Hear(w.t.Context(), rental.ID, machine, r)
			}
		}
	}
	return w.engine.Hear(w.t.Context(), "r-none", machine, r)
}

// hears is an agent's report that is taken.
func (w *world) hears(machine string, r bridge.Report) {
	w.t.Helper()
	if err := w.say(machine, r); err != nil {
		w.t.Fatal(err)
	}
}

// warned is a report of a notice given just now, of so long.
func warned(in time.Duration) bridge.Report {
	now := time.Now()
	return bridge.Report{
		At: now, Health: bridge.HealthFit, Busy: true,
		Notice: &bridge.Warning{Source: "spot-interruption", Seen: now, At: now.Add(in)},
	}
}

// fit is a report of a machine without a notice.
func fit() bridge.Report { return bridge.Report{At: time.Now(), Health: bridge.HealthFit} }

func (w *world) machine(id string) bridge.Machine {
	w.t.Helper()
	for _, r := range w.live() {
		for _, m := range r.Machines {
			if m.ID == id {
				return m
			}
		}
	}
	return bridge.Machine{}
}

// runningOn starts a spot job and waits until it runs on a-001.
func runningOn(w *world) {
	w.t.Helper()
	w.spot()
	w.terms.Signal, w.terms.SignalTo, w.terms.SignalWindow = "USR1", "batch", 40*time.Second
	w.cluster.submit("1", 1, 8, 10*time.Minute)
	w.start()
	w.until(time.Minute, "running", w.state("1", "running"))
	w.until(time.Minute, "seen running", func() bool { return w.told(bridge.NewsStarted) == 1 })
}

func TestNoticeOfAnAgentIsActedOnLikeThatOfAList(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.limits.ListEvery = 20 * time.Minute // no list says it first
		runningOn(w)
		said := time.Now()
		w.hears("a-001", warned(2*time.Minute))
		w.until(2*time.Second, "signalled", func() bool { return w.cluster.called("Signal") == 1 })
		if d := time.Since(said); d > time.Second {
			t.Errorf("signalled %s after the report", d)
		}
		for range 30 { // agents repeat themselves
			w.hears("a-001", warned(2*time.Minute))
			time.Sleep(time.Second)
		}
		w.until(20*time.Second, "requeued after its window", func() bool { return w.told(bridge.NewsRequeued) == 1 })
		if d := w.at(bridge.NewsRequeued).Sub(said); d < 40*time.Second || d > 42*time.Second {
			t.Errorf("requeued %s after the notice; its window is 40 s", d)
		}
		if got := w.cluster.signals; !slices.Equal(got, []string{"1 USR1 batch"}) || w.told(bridge.NewsNotice) != 1 {
			t.Errorf("signals %q, %d notices; want one of each", got, w.told(bridge.NewsNotice))
		}
		w.until(20*time.Minute, "job done", w.state("1", "done"))
		w.settled(5 * time.Minute)
	})
}

func TestWindowIsNeverLongerThanTheNoticeAllows(t *testing.T) {
	for name, c := range map[string]struct {
		notice, want time.Duration
		skew         time.Duration // of the machine's clock
		relative     bool          // the time was worked out by the machine's clock
	}{
		"30 s of notice leave 20 s":                   {notice: 30 * time.Second, want: 20 * time.Second},
		"2 min leave all of the rule's window":        {notice: 2 * time.Minute, want: 40 * time.Second},
		"less than the reserve leaves nothing":        {notice: 8 * time.Second},
		"a machine an hour ahead":                     {notice: 30 * time.Second, skew: time.Hour, want: 20 * time.Second},
		"a machine an hour behind":                    {notice: 30 * time.Second, skew: -time.Hour, want: 20 * time.Second},
		"a machine that counts by its clock, ahead":   {notice: 30 * time.Second, skew: time.Hour, relative: true, want: 20 * time.Second},
		"a machine that counts by its clock, behind":  {notice: 30 * time.Second, skew: -time.Hour, relative: true, want: 20 * time.Second},
		"a clock a little behind shortens its window": {notice: 40 * time.Second, skew: -10 * time.Second, relative: true, want: 20 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				runningOn(w)
				now := time.Now()
				r := warned(c.notice)
				r.At, r.Notice.Seen = now.Add(c.skew), now.Add(c.skew)
				if c.relative {
					r.Notice.At = r.Notice.Seen.Add(c.notice)
				}
				w.hears("a-001", r)
				w.until(time.Minute, "requeued", func() bool { return w.told(bridge.NewsRequeued) == 1 })
				if d := w.at(bridge.NewsRequeued).Sub(now); d < c.want || d > c.want+1500*time.Millisecond {
					t.Errorf("requeued after %s, want %s", d, c.want)
				}
				w.cluster.set(func(c *cluster) { c.jobs["1"].state = "cancelled" })
			})
		})
	}
}

func TestNoticeThatIsCalledOffLeavesEverythingAsItWas(t *testing.T) {
	for name, nodes := range map[string]int{"one machine": 1, "a gang": 2} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.spot()
				w.terms.Signal, w.terms.SignalTo, w.terms.SignalWindow = "USR1", "batch", time.Minute
				w.cluster.submit("1", nodes, 8, 10*time.Minute)
				w.start()
				w.until(time.Minute, "running", w.state("1", "running"))
				w.hears("a-001", warned(2*time.Minute))
				w.until(2*time.Second, "signalled", func() bool { return w.cluster.called("Signal") == 1 })
				w.hears("a-001", fit())
				time.Sleep(time.Second) // one report without it is not believed
				if w.told(bridge.NewsCalledOff) != 0 {
					t.Error("called off by a single report")
				}
				time.Sleep(10 * time.Second)
				w.hears("a-001", fit())
				w.until(2*time.Second, "undrained", func() bool { return w.cluster.called("Undrain") == 1 })
				w.until(20*time.Minute, "job done where it was", w.state("1", "done"))
				if w.cluster.started("1") != 1 || w.told(bridge.NewsRequeued) != 0 || w.told(bridge.NewsCalledOff) != 1 {
					t.Errorf("%d starts, %d requeues, %d called off; want 1, 0, 1", w.cluster.started("1"), w.told(bridge.NewsRequeued), w.told(bridge.NewsCalledOff))
				}
				m, err := w.store.Marks(t.Context())
				if err != nil || len(m.Reclaims) > 0 {
					t.Errorf("it counts as a reclaim: %v, %v", m.Reclaims, err)
				}
				w.settled(10 * time.Minute)
			})
		})
	}
}

func TestNoticeOfAListIsNotCalledOffByAnAgent(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		runningOn(w)
		w.hears("a-001", warned(2*time.Minute))
		w.a.notice("a-001")
		time.Sleep(5 * time.Second)
		for range 5 {
			w.hears("a-001", fit())
			time.Sleep(2 * time.Second)
		}
		w.until(time.Minute, "requeued", func() bool { return w.told(bridge.NewsRequeued) == 1 })
		if w.told(bridge.NewsCalledOff) != 0 {
			t.Error("called off though the cloud's list says that it is taken")
		}
		w.until(20*time.Minute, "job done", w.state("1", "done"))
		w.settled(5 * time.Minute)
	})
}

func TestAdviceIsToldOnceAndMovesNothing(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		runningOn(w)
		r := warned(0)
		r.Notice.At, r.Notice.Advice = time.Time{}, true
		for range 20 {
			w.hears("a-001", r)
			time.Sleep(time.Second)
		}
		if n := w.warnings("more likely than usual"); n != 1 || w.cluster.called("Drain") != 0 || w.a.made() != 1 {
			t.Errorf("told %d times, %d drains, %d machines; want 1, 0, 1", n, w.cluster.called("Drain"), w.a.made())
		}
		w.hears("a-001", warned(2*time.Minute)) // and then it is taken after all
		w.until(2*time.Second, "drained", func() bool { return w.cluster.called("Drain") == 1 })
		w.until(20*time.Minute, "job done", w.state("1", "done"))
		w.settled(5 * time.Minute)
	})
}

func TestReportOfAMachineThatIsNotOursMovesNothing(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		reg := prometheus.NewRegistry()
		w.metrics = reg
		runningOn(w)
		rental := w.live()[0].ID
		for name, try := range map[string]func() error{
			"a machine nobody knows":        func() error { return w.say("i-foreign", warned(time.Minute)) },
			"a machine of another rental":   func() error { return w.engine.Hear(t.Context(), "r-999", "a-001", warned(time.Minute)) },
			"a machine that claims no id":   func() error { return w.engine.Hear(t.Context(), rental, "", warned(time.Minute)) },
			"another machine of the rental": func() error { return w.engine.Hear(t.Context(), rental, "a-002", warned(time.Minute)) },
		} {
			if err := try(); !errors.Is(err, bridge.ErrNoMachine) {
				t.Errorf("%s: %v, want %v", name, err, bridge.ErrNoMachine)
			}
		}
		time.Sleep(5 * time.Second)
		if w.cluster.called("Drain") != 0 || w.told(bridge.NewsNotice) != 0 {
			t.Error("a forged notice drained a node")
		}
		if n := figure(t, reg, "spillway_reports_ignored_total"); n != 4 {
			t.Errorf("counted %v ignored reports, want 4", n)
		}
		w.a.vanish("a-001", false)
		w.until(time.Minute, "the machine's end is known", func() bool { return w.machine("a-001").ID == "" || w.machine("a-001").State == bridge.MachineGone })
		if err := w.say("a-001", warned(time.Minute)); !errors.Is(err, bridge.ErrNoMachine) {
			t.Errorf("a machine that is gone: %v, want %v", err, bridge.ErrNoMachine)
		}
		w.until(20*time.Minute, "job done", w.state("1", "done"))
		w.settled(5 * time.Minute)
	})
}

func figure(t *testing.T, reg *prometheus.Registry, name string) float64 {
	t.Helper()
	all, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range all {
		if f.GetName() == name {
			return f.GetMetric()[0].GetCounter().GetValue()
		}
	}
	return -1
}

func TestReportsAreBounded(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		runningOn(w)
		long := strings.Repeat("é", 10_000)
		r := bridge.Report{
			Health: bridge.HealthFit, GPUPM: 900, Busy: true, Checks: slices.Repeat([]bridge.Check{{Name: long, OK: true, Got: long}}, 10_000),
			Stages: slices.Repeat([]bridge.Stage{{Name: long, Text: long}}, 10_000),
		}
		w.hears("a-001", r)
		got, at, ok := w.engine.Reported(w.live()[0].ID, "a-001")
		if !ok || at.IsZero() || len(got.Checks) > 64 || len(got.Checks[0].Got) > 500 || len(got.Stages) > 64 || got.GPUPM != 900 || !got.Busy {
			t.Errorf("kept %d checks, %d stages, use %d, busy %t", len(got.Checks), len(got.Stages), got.GPUPM, got.Busy)
		}
		if diff := cmp.Diff(10_000, len(r.Checks)); diff != "" || len(r.Checks[0].Got) != len(long) {
			t.Errorf("the sender's report was changed: %s", diff)
		}
		w.cluster.set(func(c *cluster) { c.jobs["1"].state = "cancelled" })
	})
}
