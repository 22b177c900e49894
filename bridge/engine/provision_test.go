package engine_test

import (
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/engine"
)

// tokens are the different tokens a cloud was asked with.
func (c *cloud) tokens() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []string
	for _, l := range c.creates {
		if !slices.Contains(out, l.Token) {
			out = append(out, l.Token)
		}
	}
	return out
}

func TestC_F17_SoldOutPoolIsLeftForTheNext(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.a.fault("Create", "no-capacity")
		w.cluster.submit("1", 1, 8, time.Minute)
		begun := time.Now()
		w.start()
		w.until(5*time.Second, "a machine on the other cloud", func() bool { return len(w.b.live()) == 1 })
		if d := time.Since(begun); d > 2*time.Second {
			t.Errorf("the next pool was asked after %s", d)
		}
		w.until(10*time.Second, "the refused rental settled at nothing", func() bool { return w.told(bridge.NewsSettled) == 1 })
		w.until(10*time.Minute, "job done", w.state("1", "done"))
		w.settled(5 * time.Minute)
		if n := w.a.made(); n != 0 {
			t.Errorf("%d machines on the cloud that refused", n)
		}
	})
}

func TestC_F25_SoldOutPoolRestsLongerEachTime(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.b.setup(func(c *cloud) { clear(c.pools) })
		w.a.setup(func(c *cloud) {
			for _, p := range c.pools {
				p.stock = 0
			}
		})
		w.cluster.submit("1", 1, 8, time.Minute)
		w.start()
		time.Sleep(32 * time.Minute) // asked at 0, then after 30 s, 1, 2, 4, 8 and 16 min
		if n := w.a.sent(); n < 6 || n > 7 {
			t.Errorf("asked %d times in half an hour", n)
		}
	})
}

func TestC_F08_AnswerLostAfterTheEffectMakesOneMachine(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.a.fault("Create", "lost", "lost", "lost")
		w.cluster.submit("1", 1, 8, time.Minute)
		w.start()
		w.until(10*time.Minute, "job done", w.state("1", "done"))
		w.settled(5 * time.Minute)
		if n, tokens := w.a.made(), w.a.tokens(); n != 1 || len(tokens) != 1 {
			t.Errorf("%d machines, %d tokens; want one", n, len(tokens))
		}
		if w.told(bridge.NewsUnknown) != 1 {
			t.Errorf("unknown told %d times", w.told(bridge.NewsUnknown))
		}
	})
}

func TestC_F16_UnknownBeforeTheEffectIsTriedAgainWithTheSameToken(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.a.fault("Create", "lost-before", "lost-before")
		w.cluster.submit("1", 1, 8, time.Minute)
		w.start()
		w.until(10*time.Minute, "job done", w.state("1", "done"))
		w.settled(5 * time.Minute)
		if n, tokens := w.a.sent(), w.a.tokens(); n != 3 || len(tokens) != 1 || w.a.made() != 1 {
			t.Errorf("%d calls with %d tokens made %d machines; want 3, 1, 1", n, len(tokens), w.a.made())
		}
	})
}

func TestC_F09_RefusalAfterDoubtProvesNothing(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.limits.Launch = time.Minute
		w.a.fault("Create", "lost", "no-capacity") // it did start; the second answer lies
		w.a.hide["a-001"] = true                   // and lists lag
		w.cluster.submit("1", 1, 8, 3*time.Minute)
		w.start()
		time.Sleep(100 * time.Second)
		w.a.setup(func(c *cloud) { c.hide["a-001"] = false })
		w.until(10*time.Minute, "job done", w.state("1", "done"))
		w.settled(15 * time.Minute)
		if n := w.told(bridge.NewsOrphan); n != 0 {
			t.Errorf("its books were closed while it lived: %d orphans", n)
		}
	})
}

func TestC_F31_ThrottledCreateComesLater(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.a.fault("Create", "throttled", "throttled")
		w.cluster.submit("1", 1, 8, time.Minute)
		w.start()
		w.until(10*time.Minute, "job done", w.state("1", "done"))
		w.settled(5 * time.Minute)
		if w.a.sent() != 3 || w.b.sent() != 0 {
			t.Errorf("%d and %d calls; want 3 and 0", w.a.sent(), w.b.sent())
		}
	})
}

func TestC_F07_CancelledWhileTheCallHangs(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.a.fault("Create", "hang")
		w.cluster.submit("1", 1, 8, time.Minute)
		w.start()
		w.until(10*time.Second, "create sent", func() bool { return w.a.sent() == 1 })
		w.cluster.set(func(c *cluster) { c.jobs["1"].state = "cancelled" })
		w.until(10*time.Second, "called off", w.inState(bridge.StateReleasing))
		w.settled(15 * time.Minute) // the lists must prove that it made nothing
		if n := w.a.made(); n != 0 {
			t.Errorf("%d machines", n)
		}
	})
}

func TestC_F07_LateSuccessOfACancelledCallIsEnded(t *testing.T) {
	inWorld(t, func(_ *testing.T, w *world) {
		w.a.fault("Create", "lost")
		w.a.fault("List", slices.Repeat([]string{"unknown"}, 4)...)
		w.cluster.submit("1", 1, 8, time.Minute)
		w.start()
		w.until(10*time.Second, "create sent", func() bool { return w.a.sent() == 1 })
		w.cluster.set(func(c *cluster) { c.jobs["1"].state = "cancelled" })
		w.until(time.Minute, "the machine ended", func() bool { return len(w.a.live()) == 0 && w.a.made() == 1 })
		w.settled(15 * time.Minute)
	})
}

// A cloud may take minutes to list what it has made. The books of a create whose
// answer was lost stay open that long.
func TestC_F07_MachineThatIsListedLateIsStillInTheBooks(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.a.fault("Create", "lost")
		w.a.setup(func(c *cloud) { c.hide["a-001"], c.lost["a-001"] = true, true })
		w.cluster.submit("1", 1, 8, time.Minute)
		w.start()
		w.until(10*time.Second, "create sent", func() bool { return w.a.sent() == 1 })
		w.a.fault("Create", slices.Repeat([]string{"unknown"}, 1000)...)
		w.cluster.set(func(c *cluster) { c.jobs["1"].state = "cancelled" })
		w.ask(bridge.StateReleasing)
		time.Sleep(4 * time.Minute)
		if len(w.live()) != 1 {
			t.Errorf("settled four minutes after the create, while its machine may yet be listed: %s", w.rentals())
		}
		w.a.setup(func(c *cloud) { clear(c.hide); clear(c.lost) })
		w.until(time.Minute, "the machine ended", func() bool { return len(w.a.live()) == 0 && w.a.made() == 1 })
		w.settled(15 * time.Minute)
	})
}

func TestC_F12_SlowBootIsNotLoss(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.a.boot, w.b.boot = 6*time.Minute, 6*time.Minute
		w.cluster.submit("1", 1, 8, time.Minute)
		w.start()
		w.until(20*time.Minute, "job done", w.state("1", "done"))
		w.settled(5 * time.Minute)
		if w.a.made() != 1 {
			t.Errorf("%d machines", w.a.made())
		}
	})
}

func TestC_F20_GangWithAMachineThatNeverJoinsGoesBackWhole(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.limits.Join = time.Minute
		w.cluster.submit("1", 2, 8, time.Minute)
		w.start()
		w.until(10*time.Second, "two machines", func() bool { return len(w.a.live()) == 2 })
		w.a.setup(func(c *cloud) { c.machines["a-002"].never = true })
		w.until(2*time.Minute, "the gang goes to the other cloud", func() bool { return len(w.b.live()) == 2 })
		if n := w.cluster.called("Admit"); n != 0 {
			t.Errorf("half a gang was admitted: %d calls", n)
		}
		w.until(10*time.Minute, "job done", w.state("1", "done"))
		w.settled(5 * time.Minute)
		if w.cluster.called("Admit") != 1 {
			t.Errorf("%d admissions of one gang", w.cluster.called("Admit"))
		}
	})
}

func TestWrongShapeIsGivenBackAtOnce(t *testing.T) {
	inWorld(t, func(_ *testing.T, w *world) {
		w.cluster.submit("1", 1, 8, time.Minute)
		w.start()
		w.until(10*time.Second, "a machine", func() bool { return len(w.a.live()) == 1 })
		w.a.setup(func(c *cloud) { c.machines["a-001"].gpus = 7 })
		w.until(30*time.Second, "given back, and another asked elsewhere", func() bool { return len(w.a.live()) == 0 && len(w.b.live()) == 1 })
		w.until(10*time.Minute, "job done", w.state("1", "done"))
		w.settled(5 * time.Minute)
	})
}

func TestLateMachineOfManyIsTrimmed(t *testing.T) {
	inWorld(t, func(_ *testing.T, w *world) {
		w.limits.Join = time.Minute
		w.cluster.submit("1", 1, 8, 10*time.Minute)
		w.cluster.submit("2", 1, 8, time.Minute)
		w.start()
		w.until(10*time.Second, "two machines", func() bool { return len(w.a.live()) == 2 })
		w.a.setup(func(c *cloud) { c.machines["a-002"].never = true })
		w.until(20*time.Second, "the first works at once", w.state("1", "running"))
		w.until(30*time.Minute, "both done", func() bool { return w.job("1").state == "done" && w.job("2").state == "done" })
		w.settled(5 * time.Minute)
	})
}

func TestFreezeStopsNewMoneyAtOnceAndNothingElse(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.cluster.submit("1", 1, 8, 2*time.Minute)
		w.start()
		w.until(30*time.Second, "running", w.state("1", "running"))
		freeze := func(on bool) {
			if err := w.engine.Remember(t.Context(), func(m *bridge.Marks) { m.Frozen = on }); err != nil {
				t.Fatal(err)
			}
		}
		freeze(true)
		w.cluster.submit("2", 1, 8, time.Minute)
		w.until(15*time.Minute, "the first one's machine went back while frozen", func() bool { return w.job("1").state == "done" && w.over() })
		time.Sleep(time.Minute)
		if w.a.made()+w.b.made() != 1 && w.job("2").state != "done" {
			t.Errorf("%d machines rented while frozen", w.a.made()+w.b.made())
		}
		freeze(false)
		w.until(10*time.Minute, "the second done after the thaw", w.state("2", "done"))
		w.settled(5 * time.Minute)
	})
}

func TestINV_I4_FrozenBeforeTheCallIsSent(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		// A rental that came through the desk: held, its call not made yet.
		w.open()
		id, err := w.store.NextID(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		o := w.order("1")
		r := bridge.Draw(id, &o, w.now())
		if _, err := w.store.Reserve(t.Context(), r, w.budgets); err != nil {
			t.Fatal(err)
		}
		if err := w.engine.Remember(t.Context(), func(m *bridge.Marks) { m.Frozen = true }); err != nil {
			t.Fatal(err)
		}
		w.close()
		w.cluster.submit("1", 1, 8, time.Minute)
		w.start()
		w.settled(6 * time.Minute) // the launch limit; nothing was ever asked for
		if n := w.a.sent() + w.b.sent(); n != 0 {
			t.Errorf("%d create calls while frozen", n)
		}
	})
}

// order is one machine for a job, as the desk would order it.
func (w *world) order(job bridge.JobID) bridge.Order {
	offers, _ := w.a.Offers(w.t.Context())
	o := bridge.Order{
		Cluster: "c1", Account: "org/team/proj/ann", Requester: "ann", Class: bridge.P1, Jobs: []bridge.JobID{job}, Origin: "gpu",
		Gang: 1, Count: 1, Offer: offers[0], MaxRate: offers[0].Rate, Life: 2 * time.Hour, Idle: 5 * time.Second,
	}
	o.Hold, _ = o.MaxRate.Cost(o.Life, 1, bridge.RoundUp)
	return o
}

func TestStaleQueueBuysAndEndsNothing(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.cluster.submit("1", 1, 8, time.Minute)
		w.cluster.seen = time.Now().Add(-10 * time.Minute)
		w.start()
		time.Sleep(5 * time.Minute)
		if n := w.a.sent(); n != 0 {
			t.Errorf("%d create calls on an old view", n)
		}
		w.cluster.set(func(c *cluster) { c.seen = time.Time{} })
		w.until(time.Minute, "running", w.state("1", "running"))
		w.cluster.set(func(c *cluster) { c.seen = time.Now() })
		time.Sleep(10 * time.Minute) // the job is long done, but nobody can see it
		if len(w.a.live()) != 1 || w.cluster.called("Dismiss") != 0 {
			t.Errorf("a machine was ended on an old view: %d live, %d dismissed", len(w.a.live()), w.cluster.called("Dismiss"))
		}
		w.cluster.set(func(c *cluster) { c.seen = time.Time{} })
		w.settled(5 * time.Minute)
	})
}

func TestINV_I8_AskedReleaseWaitsForAViewThatCanBeTrusted(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.cluster.submit("1", 1, 8, time.Minute)
		w.start()
		w.until(time.Minute, "running", w.state("1", "running"))
		w.cluster.set(func(c *cluster) { c.seen = time.Now().Add(-time.Minute) })
		time.Sleep(5 * time.Second)
		w.ask(bridge.StateDraining)
		time.Sleep(5 * time.Minute)
		if w.cluster.called("Dismiss") != 0 || len(w.a.live()) != 1 {
			t.Errorf("%d dismissed, %d live", w.cluster.called("Dismiss"), len(w.a.live()))
		}
		w.cluster.set(func(c *cluster) { c.seen = time.Time{} })
		w.settled(5 * time.Minute)
	})
}

func TestFreezeStopsTheNextTryOfACallToo(t *testing.T) {
	for name, stop := range map[string]func(*bridge.Marks){
		"a person's freeze": func(m *bridge.Marks) { m.Frozen = true },
		"the breaker":       func(m *bridge.Marks) { m.Protected = "machines of another store" },
		"a full disk":       nil,
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				var full atomic.Bool
				w.ports = func(_ *world, s engine.Scheduler, c engine.Cloud, st engine.Store) (engine.Scheduler, engine.Cloud, engine.Store) {
					return s, c, dark{st, &full}
				}
				w.a.fault("Create", slices.Repeat([]string{"throttled"}, 20)...)
				w.cluster.submit("1", 1, 8, time.Minute)
				w.start()
				w.until(10*time.Second, "tried", func() bool { return w.a.sent() == 1 })
				full.Store(stop == nil)
				if stop != nil {
					if err := w.engine.Remember(t.Context(), stop); err != nil {
						t.Fatal(err)
					}
				}
				time.Sleep(4 * time.Minute)
				if n := w.a.sent() + w.b.sent(); n != 1 {
					t.Errorf("%d more calls while no money flows", n-1)
				}
			})
		})
	}
}

func TestStoreWithoutHoldMakesNoCall(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.budgets[0].Limit = usd(1) // nothing fits, and nobody may be asked
		w.terms.Ask = false
		w.cluster.submit("1", 1, 8, time.Minute)
		w.start()
		time.Sleep(time.Minute)
		if n := w.a.sent() + w.b.sent(); n != 0 || len(w.live()) != 0 {
			t.Errorf("%d calls, %d rentals", n, len(w.live()))
		}
	})
}
