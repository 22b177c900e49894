package engine_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"spillway.sh/spillway/bridge"
)

// only makes a cloud sell nothing but the given pools, all at one price.
func (c *cloud) only(stock int, pools ...bridge.Pool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.pools)
	for i, p := range pools {
		p.Cloud = c.name
		c.pools[p] = &pool{rate: bridge.Rate{Micro: int64(8+i) * bridge.Micro, Currency: "USD"}, stock: stock, notice: 2 * time.Minute}
	}
}

// stock sets how many machines the pools have that f names.
func (c *cloud) stock(n int, f func(bridge.Pool) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for p, v := range c.pools {
		if f(p) {
			v.stock = n
		}
	}
}

func zonesIn(market bridge.Market, regions, zones int) []bridge.Pool {
	var out []bridge.Pool
	for r := range regions {
		for z := range zones {
			region := fmt.Sprintf("r%d", r+1)
			out = append(out, bridge.Pool{Region: region, Zone: fmt.Sprintf("%s%c", region, 'a'+z), Type: "g8", Market: market})
		}
	}
	return out
}

// asked are the pools a cloud was asked for, in order, without repetition.
func (c *cloud) asked() []bridge.Pool {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []bridge.Pool
	for _, l := range c.creates {
		if !slices.Contains(out, l.Pool) {
			out = append(out, l.Pool)
		}
	}
	return out
}

// warned returns the texts of warnings with a word in them.
func (w *world) warned(word string) []string {
	var out []string
	for _, n := range w.news() {
		if n.Kind == bridge.NewsWarning && strings.Contains(n.Text, word) {
			out = append(out, n.Text)
		}
	}
	return out
}

func TestC_17_OnlyTheLastOfTwelvePoolsHasStock(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.b.only(0)
		w.a.only(0, zonesIn(bridge.OnDemand, 4, 3)...)
		w.a.stock(1, func(p bridge.Pool) bool { return p.Zone == "r4c" })
		w.cluster.submit("1", 1, 8, time.Minute)
		begun := time.Now()
		w.start()
		w.until(20*time.Second, "a machine of the last pool", func() bool { return w.a.made() == 1 })
		if d := time.Since(begun); d > 12*time.Second {
			t.Errorf("twelve pools took %s", d)
		}
		asked := w.a.asked()
		if n := w.a.sent(); n != 12 || len(asked) != 12 {
			t.Errorf("%d creates in %d pools; want one in each of twelve", n, len(asked))
		}
		w.until(10*time.Minute, "job done", w.state("1", "done"))
		w.settled(5 * time.Minute)
	})
}

func TestC_19_QuotaOfFiveRegionsIsNoneOfTheSixth(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.b.only(0)
		w.a.only(4, zonesIn(bridge.OnDemand, 6, 3)...)
		w.a.setup(func(c *cloud) {
			c.refuses = func(l *bridge.Launch) bridge.CloudErrorKind {
				if l.Pool.Region != "r6" {
					return bridge.CloudQuota
				}
				return ""
			}
		})
		w.cluster.submit("1", 4, 8, time.Minute)
		begun := time.Now()
		w.start()
		w.until(20*time.Second, "the gang in the sixth region", func() bool { return w.a.made() == 4 })
		if d := time.Since(begun); d > 6*time.Second {
			t.Errorf("five regions without quota took %s", d)
		}
		if n := w.a.sent(); n != 6 {
			t.Errorf("%d creates; a quota counts in all zones of its region, so six are enough", n)
		}
		w.until(10*time.Minute, "job done", w.state("1", "done"))
		w.settled(5 * time.Minute)
	})
}

// A driver that knows its quota says so before anything is asked for.
func TestC_19_QuotaThatIsKnownIsNeverRunInto(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.b.only(0)
		w.a.only(9, zonesIn(bridge.OnDemand, 6, 3)...)
		w.a.setup(func(c *cloud) {
			c.quota = func(p bridge.Pool) int {
				if p.Region == "r6" {
					return 4
				}
				return 3 // of the four that the gang needs
			}
		})
		w.cluster.submit("1", 4, 8, time.Minute)
		w.start()
		w.until(20*time.Second, "the gang in the sixth region", func() bool { return w.a.made() == 4 })
		if n := w.a.sent(); n != 1 {
			t.Errorf("%d creates; want one", n)
		}
		w.until(10*time.Minute, "job done", w.state("1", "done"))
		w.settled(5 * time.Minute)
	})
}

func TestC_19_SpotThatIsRefusedNeverBlocksOnDemand(t *testing.T) {
	for _, kind := range []bridge.CloudErrorKind{bridge.CloudQuota, bridge.CloudNoCapacity, bridge.CloudPrice} {
		t.Run(string(kind), func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.terms.Markets = []bridge.Market{bridge.Spot, bridge.OnDemand}
				w.b.only(0)
				w.a.only(9, append(zonesIn(bridge.Spot, 1, 2), zonesIn(bridge.OnDemand, 1, 2)...)...)
				w.a.setup(func(c *cloud) {
					c.refuses = func(l *bridge.Launch) bridge.CloudErrorKind {
						if l.Pool.Market == bridge.Spot {
							return kind
						}
						return ""
					}
				})
				w.cluster.submit("1", 1, 8, time.Minute)
				w.start()
				w.until(5*time.Second, "a machine on demand", func() bool { return w.a.made() == 1 })
				w.until(10*time.Minute, "job done", w.state("1", "done"))
				w.settled(5 * time.Minute)
			})
		})
	}
}

func TestC_16_WordsNobodyKnowsAreTakenElsewhere(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.a.fault("Create", slices.Repeat([]string{"unknown"}, 100)...)
		w.cluster.submit("1", 1, 8, time.Minute)
		begun := time.Now()
		w.start()
		w.until(30*time.Second, "a machine of the other cloud", func() bool { return w.b.made() == 1 })
		if d := time.Since(begun); d > 10*time.Second {
			t.Errorf("asked elsewhere after %s", d)
		}
		if sent, tokens := w.a.sent(), w.a.tokens(); sent != 3 || len(tokens) != 1 {
			t.Errorf("%d calls with %d tokens; want the same one three times", sent, len(tokens))
		}
		if w.told(bridge.NewsUnknown) != 1 || !strings.Contains(strings.Join(w.story(), "\n"), "Code-unknown") {
			t.Errorf("the cloud's own word was not told once:\n%s", strings.Join(w.story(), "\n"))
		}
		w.until(10*time.Minute, "job done", w.state("1", "done"))
		w.settled(15 * time.Minute) // when lists have proved that the doubtful one made nothing
		if n := w.a.made() + w.b.made(); n != 1 {
			t.Errorf("%d machines for one job", n)
		}
	})
}

// While it is in doubt whether a launch made something, nothing is launched for
// the same job elsewhere: as long as the cloud cannot be listed, and not longer
// than a launch may take at all.
func TestC_16_DoubtHoldsTheNextLaunchBackForATime(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.limits.Launch = 2 * time.Minute
		w.cluster.submit("1", 1, 8, time.Minute)
		w.start()
		w.a.fault("Create", slices.Repeat([]string{"unknown"}, 100)...)
		w.until(10*time.Second, "asked", func() bool { return w.a.sent() == 1 })
		w.a.fault("List", slices.Repeat([]string{"partial"}, 70)...)
		time.Sleep(time.Minute)
		if n := w.b.sent(); n != 0 {
			t.Errorf("%d creates elsewhere while nobody knows what the first one did", n)
		}
		w.until(2*time.Minute, "asked elsewhere in the end", func() bool { return w.b.made() == 1 })
		w.settled(30 * time.Minute)
	})
}

// The doubtful launch had made a machine, which the lists did not show yet: it
// is ended as soon as they do, and stays in the books until then.
func TestC_16_WhatTurnsUpOfADoubtfulLaunchIsEnded(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.a.fault("Create", append([]string{"lost"}, slices.Repeat([]string{"unknown"}, 100)...)...)
		w.a.setup(func(c *cloud) { c.hide["a-001"] = true })
		w.cluster.submit("1", 1, 8, 5*time.Minute)
		w.start()
		w.until(30*time.Second, "a machine of the other cloud", func() bool { return w.b.made() == 1 })
		w.a.setup(func(c *cloud) { c.hide["a-001"] = false })
		w.until(10*time.Second, "the other one ended", func() bool { return len(w.a.live()) == 0 })
		w.until(10*time.Minute, "job done", w.state("1", "done"))
		w.settled(15 * time.Minute)
		if n := w.told(bridge.NewsOrphan); n != 0 {
			t.Errorf("its books were closed while it lived: %d orphans", n)
		}
	})
}

func TestC_20_GangThatIsFilledInPartGoesBackWholeAtTheDeadline(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.limits.Launch = 2 * time.Minute
		w.terms.Most = 20
		w.a.setup(func(c *cloud) { c.fills = 6 })
		w.cluster.submit("1", 10, 8, time.Minute)
		w.start()
		w.until(10*time.Second, "six of ten", func() bool { return len(w.a.live()) == 6 })
		time.Sleep(90 * time.Second)
		if n := len(w.a.live()); n != 6 || w.b.made() != 0 {
			t.Errorf("before the deadline %d of the six live, %d elsewhere; a gang that forms is left alone", n, w.b.made())
		}
		w.until(time.Minute, "all ten elsewhere, none left behind", func() bool { return len(w.b.live()) == 10 && len(w.a.live()) == 0 })
		if w.a.sent() != 1 || w.b.sent() != 1 {
			t.Errorf("%d and %d creates; want one each", w.a.sent(), w.b.sent())
		}
		w.until(10*time.Minute, "job done", w.state("1", "done"))
		w.settled(15 * time.Minute) // when lists have proved that the other four never came
	})
}

func TestC_25_PoolThatComesAndGoesIsAskedSeldom(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.b.only(0)
		w.terms.Idle = time.Second
		everywhere := func(bridge.Pool) bool { return true }
		w.start()
		for i := range 18 { // three hours, up five minutes and down five
			w.a.stock(9, everywhere)
			w.cluster.submit(bridge.JobID(fmt.Sprint(2*i+1)), 1, 8, 30*time.Second)
			time.Sleep(5 * time.Minute)
			w.a.stock(0, everywhere)
			w.cluster.submit(bridge.JobID(fmt.Sprint(2*i+2)), 1, 8, 30*time.Second)
			time.Sleep(5 * time.Minute)
		}
		refused := w.told(bridge.NewsRefused)
		t.Logf("%d creates, %d of them refused, %d machines", w.a.sent(), refused, w.a.made())
		if w.a.sent() > 60 || refused > 24 {
			t.Errorf("%d creates, %d refused, in three hours of a pool that comes and goes", w.a.sent(), refused)
		}
	})
}

func TestC_25_LaunchesInAMinuteAreCapped(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.limits.Launches = 5
		w.limits.PoolDown = time.Second // and a pool that hardly rests
		w.limits.PoolMost = time.Second
		w.b.only(0)
		w.a.only(0, zonesIn(bridge.OnDemand, 4, 3)...)
		w.cluster.submit("1", 1, 8, time.Minute)
		w.start()
		time.Sleep(10 * time.Minute)
		if n := w.a.sent(); n < 45 || n > 55 {
			t.Errorf("%d launches in ten minutes; five a minute are allowed", n)
		}
	})
}

func TestC_28_OneLaunchForEachDemandAtATime(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.b.only(0)
		w.a.only(0, zonesIn(bridge.OnDemand, 4, 3)...)
		w.a.stock(20, func(p bridge.Pool) bool { return p.Region == "r4" })
		w.terms.Most = 60
		w.a.setup(func(c *cloud) { c.slow = 3 * time.Second })
		for i := range 10 {
			w.cluster.submit(bridge.JobID(fmt.Sprint(i+1)), 2, 8, time.Minute)
		}
		most := 0
		w.start()
		w.until(5*time.Minute, "twenty machines", func() bool {
			jobs := map[bridge.JobID]int{}
			for _, r := range w.live() {
				for _, j := range r.Jobs {
					if r.State == bridge.StateLaunching || r.State == bridge.StateJoining || r.State == bridge.StateAdmitted {
						jobs[j]++
						most = max(most, jobs[j])
					}
				}
			}
			return w.a.made() == 20
		})
		if most > 1 {
			t.Errorf("%d launches for one job at a time", most)
		}
		w.until(10*time.Minute, "no more than twenty, all done", func() bool { return w.told(bridge.NewsFinished) == 10 })
		w.settled(5 * time.Minute)
		if n := w.a.made(); n != 20 {
			t.Errorf("%d machines for ten jobs of two", n)
		}
	})
}

func TestDeniedCloudIsSetAsideAndToldOnce(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.a.only(9, zonesIn(bridge.OnDemand, 4, 3)...)
		w.b.setup(func(c *cloud) {
			for _, p := range c.pools {
				p.rate.Micro = 50 * bridge.Micro // the last choice
			}
		})
		w.a.setup(func(c *cloud) { c.refuses = func(*bridge.Launch) bridge.CloudErrorKind { return bridge.CloudDenied } })
		w.cluster.submit("1", 1, 8, time.Minute)
		w.start()
		w.until(10*time.Second, "a machine of the other cloud", func() bool { return w.b.made() == 1 })
		if n := w.a.sent(); n != 2 {
			t.Errorf("%d creates; two regions say the same, so twelve pools are denied", n)
		}
		w.until(10*time.Minute, "job done", w.state("1", "done"))
		time.Sleep(2 * time.Hour) // other jobs come, and ask it again now and then
		for i := range 6 {
			w.cluster.submit(bridge.JobID(fmt.Sprint(i+2)), 1, 8, time.Minute)
			time.Sleep(20 * time.Minute)
		}
		if got := w.warned("set aside"); len(got) != 2 || !strings.Contains(got[0], "region r") || !strings.HasPrefix(got[1], "cloud a is") || !strings.Contains(got[1], "Code-denied") {
			t.Errorf("told: %q; want the first region and then the cloud, with its own code", got)
		}
		w.settled(10 * time.Minute)
	})
}

func TestRegionThatADriverKnowsToBeClosedIsSetAsideAlone(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.b.only(0)
		w.a.only(9, zonesIn(bridge.OnDemand, 2, 3)...)
		w.a.setup(func(c *cloud) {
			c.reach = bridge.ReachRegion
			c.refuses = func(l *bridge.Launch) bridge.CloudErrorKind {
				if l.Pool.Region == "r1" {
					return bridge.CloudInvalid // no such image
				}
				return ""
			}
		})
		w.cluster.submit("1", 1, 8, time.Minute)
		w.start()
		w.until(10*time.Second, "a machine of the other region", func() bool { return w.a.made() == 1 })
		if n := w.a.sent(); n != 2 {
			t.Errorf("%d creates, want 2", n)
		}
		if got := w.warned("region r1 of cloud a is set aside"); len(got) != 1 {
			t.Errorf("told %q", got)
		}
		w.until(10*time.Minute, "job done", w.state("1", "done"))
		w.settled(5 * time.Minute)
	})
}

// A region that says no again after its rest is one region still.
func TestRegionThatIsDeniedTwiceIsNoWholeCloud(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.b.only(0)
		w.a.only(9, zonesIn(bridge.OnDemand, 2, 1)...)
		w.a.setup(func(c *cloud) {
			c.refuses = func(l *bridge.Launch) bridge.CloudErrorKind {
				if l.Pool.Region == "r1" {
					return bridge.CloudDenied
				}
				return ""
			}
		})
		w.start()
		for i := range 3 {
			w.cluster.submit(bridge.JobID(fmt.Sprint(i+1)), 1, 8, time.Minute)
			w.until(5*time.Minute, "job done", w.state(bridge.JobID(fmt.Sprint(i+1)), "done"))
			time.Sleep(20 * time.Minute)
		}
		if got := w.warned("set aside"); len(got) != 1 || !strings.HasPrefix(got[0], "region r1 of cloud a is") {
			t.Errorf("told: %q", got)
		}
		w.settled(5 * time.Minute)
	})
}
