package engine_test

import (
	"bytes"
	"database/sql"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/adopt"
	"spillway.sh/spillway/bridge/store"
)

// files of a store that something happens to.
func (w *world) database() string { return filepath.Join(w.dir, "spillway.db") }

// troop is two jobs on rented machines: one on spot, one that never ends.
func (w *world) troop() {
	w.t.Helper()
	w.terms.Life = 2 * time.Hour
	w.limits.Cycle, w.limits.ListEvery = 5*time.Second, 5*time.Second
	w.a.sell(bridge.Spot, 3, 100)
	w.start()
	w.terms.Markets = []bridge.Market{bridge.Spot}
	w.cluster.submit("spot", 1, 8, 30*time.Minute)
	w.until(5*time.Minute, "the spot job runs", w.state("spot", "running"))
	w.terms.Markets = []bridge.Market{bridge.OnDemand}
	w.cluster.submit("endless", 1, 8, 100*time.Hour).limit = 0
	w.until(5*time.Minute, "the endless job runs", w.state("endless", "running"))
	time.Sleep(30 * time.Second)
}

// withoutAStore holds that a bridge whose store fails under it rents nothing,
// serves notices all the same, and ends machines at their end.
func (w *world) withoutAStore() {
	w.t.Helper()
	t, made := w.t, w.a.made()+w.b.made()
	spot := w.a.of(bridge.Spot)
	w.cluster.submit("extra", 1, 8, time.Minute)
	time.Sleep(10 * time.Second)
	w.a.notice(spot)
	w.until(2*time.Minute+10*time.Second, "the spot job is off the noticed machine", func() bool { return w.job("spot").restarts == 1 })
	w.a.setup(func(c *cloud) { // the machines' own switch fails
		for _, m := range c.machines {
			m.launch.Expires = m.launch.Expires.Add(24 * time.Hour)
		}
	})
	w.until(3*time.Hour, "all machines are off at their end", func() bool { return len(w.a.live()) == 0 })
	if n := w.a.made() + w.b.made() - made; n != 0 || !w.engine.Health().Dark {
		t.Errorf("%d machines were rented, dark: %t", n, w.engine.Health().Dark)
	}
}

// of is the machine of a market that lives.
func (c *cloud) of(market bridge.Market) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, m := range c.machines {
		if m.Pool.Market == market && m.State == bridge.InstanceRunning {
			return id
		}
	}
	return ""
}

// mended holds that all goes on.
func (w *world) mended() {
	w.t.Helper()
	w.cluster.set(func(c *cluster) { c.jobs["endless"].state, c.jobs["endless"].on = "cancelled", nil })
	w.until(3*time.Hour, "the spot job is done", w.state("spot", "done"))
	w.until(time.Hour, "the waiting job is done", w.state("extra", "done"))
	w.settled(2 * time.Hour)
}

// onSmallDisk puts the store on a file system of its own.
func (w *world) onSmallDisk() (leave func()) {
	w.t.Helper()
	w.mount(0)
	return func() {
		w.kill()
		if err := syscall.Unmount(w.dir, 0); err != nil {
			w.t.Error(err)
		}
	}
}

func (w *world) mount(flags uintptr) {
	w.t.Helper()
	if err := syscall.Mount("tmpfs", w.dir, "tmpfs", flags, "mode=0700,size=8m"); err != nil {
		w.t.Fatalf("mount tmpfs (the test needs root): %v", err)
	}
}

func TestT14_StoreFailsUnderARunningBridge(t *testing.T) {
	remove := func(w *world) { w.must(os.Remove(w.database())) }
	for name, c := range map[string]struct {
		fail, mend func(*world)
	}{
		"its disk is full": {(*world).fillDisk, func(w *world) { w.must(os.Remove(filepath.Join(w.dir, "ballast"))) }},
		"it is deleted":    {remove, (*world).rebuilt},
		"it is replaced by an empty one": {
			func(w *world) { remove(w); w.must(os.WriteFile(w.database(), nil, 0o600)) }, (*world).rebuilt,
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(_ *testing.T, w *world) {
				defer w.onSmallDisk()()
				w.troop()
				c.fail(w)
				w.withoutAStore()
				c.mend(w)
				w.mended()
			})
		})
	}
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// rebuilt adopts what runs, and lets new money flow. What has ended meanwhile is
// in no book any more.
func (w *world) rebuilt() {
	w.t.Helper()
	w.kill()
	if _, err := w.adopt(""); err != nil {
		w.t.Fatal(err)
	}
	for _, c := range []*cloud{w.a, w.b} {
		c.setup(func(c *cloud) {
			maps.DeleteFunc(c.machines, func(_ string, m *machine) bool { return m.State == bridge.InstanceGone })
		})
	}
	w.start()
	w.thaw()
}

func (w *world) thaw() {
	w.t.Helper()
	w.must(w.engine.Remember(w.t.Context(), func(m *bridge.Marks) { m.Protected = "" }))
}

// fillDisk leaves no room for a single page.
func (w *world) fillDisk() {
	w.t.Helper()
	f, err := os.Create(filepath.Join(w.dir, "ballast"))
	w.must(err)
	for block := bytes.Repeat([]byte("x"), 4096); err == nil; {
		_, err = f.Write(block)
	}
	if !errors.Is(err, syscall.ENOSPC) {
		w.t.Fatal(err)
	}
	w.must(f.Close())
}

// TestT14_StoreIsFoundBroken is what a bridge finds at its start.
func TestT14_StoreIsFoundBroken(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(w *world, copied map[string][]byte)
		// want is why a bridge does not start on it; nil: it starts, and rents nothing
		// unless runsOn.
		want   error
		runsOn bool
		mend   func(w *world, whole map[string][]byte)
	}{
		"a header of garbage": {
			spoil: func(w *world, _ map[string][]byte) { w.scribble(0) },
			want:  store.ErrCorrupt, mend: (*world).readopt,
		},
		"a page of garbage": {
			spoil: func(w *world, _ map[string][]byte) { w.scribble(4096) },
			want:  store.ErrCorrupt, mend: (*world).readopt,
		},
		"half a file": {
			spoil: func(w *world, _ map[string][]byte) { w.must(os.Truncate(w.database(), 9000)) },
			want:  store.ErrCorrupt, mend: (*world).readopt,
		},
		"a log with a torn tail": {
			spoil:  func(w *world, _ map[string][]byte) { w.tear() },
			runsOn: true,
		},
		"a schema from tomorrow": {
			spoil: func(w *world, _ map[string][]byte) {
				w.exec("insert into goose_db_version (version_id, is_applied) values (99, 1)")
			},
			want: store.ErrNewer,
			mend: func(w *world, _ map[string][]byte) { w.exec("delete from goose_db_version where version_id = 99") },
		},
		"on a disk that is read-only": {
			spoil: func(w *world, _ map[string][]byte) { w.mount(syscall.MS_REMOUNT | syscall.MS_RDONLY) },
			want:  store.ErrReadOnly, mend: func(w *world, _ map[string][]byte) { w.mount(syscall.MS_REMOUNT) },
		},
		"deleted": {
			spoil: func(w *world, _ map[string][]byte) { w.put(nil) },
			mend:  (*world).readopt,
		},
		"a copy of before": {
			spoil: func(w *world, copied map[string][]byte) { w.put(copied) },
			mend:  (*world).readopt,
		},
		"put back whole": {
			spoil: func(w *world, _ map[string][]byte) { w.scribble(0) },
			want:  store.ErrCorrupt, mend: func(w *world, whole map[string][]byte) { w.put(whole) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				defer w.onSmallDisk()()
				w.start()
				copied := w.backup()
				w.kill()
				w.troop()
				w.kill()
				whole, made, before := w.files(), w.a.made()+w.b.made(), w.stored()
				c.spoil(w, copied)
				if c.want != nil {
					if _, err := store.Open(t.Context(), w.dir, store.Options{Now: w.now}); !errors.Is(err, c.want) {
						t.Fatalf("%v, want %v", err, c.want)
					}
				}
				w.cluster.submit("extra", 1, 8, time.Minute) // waits before the bridge is there
				if c.want == nil && !c.runsOn {
					w.start()
					time.Sleep(15 * time.Minute)
					w.kill()
				}
				if n := w.a.made() + w.b.made() - made; n != 0 {
					t.Errorf("%d machines were rented", n)
				}
				if c.mend != nil {
					c.mend(w, whole)
				}
				if got := w.stored(); len(got) != len(before) || c.want == nil && !c.runsOn && !sameMachines(before, got) {
					t.Errorf("%d rentals live, were %d", len(got), len(before))
				}
				w.start()
				w.thaw()
				for _, j := range []bridge.JobID{"spot", "endless"} {
					if n := w.cluster.started(j); n != 1 {
						t.Errorf("%s was started %d times", j, n)
					}
				}
				w.until(time.Hour, "the spot job is done", w.state("spot", "done"))
				w.mended()
			})
		})
	}
}

// readopt rebuilds or completes what is in place, nothing being said of the id.
func (w *world) readopt(map[string][]byte) {
	w.t.Helper()
	if _, err := w.adopt(""); err != nil {
		w.t.Fatal(err)
	}
}

func sameMachines(a, b []bridge.Rental) bool {
	ids := func(rs []bridge.Rental) (out []string) {
		for i := range rs {
			for _, m := range rs[i].Live() {
				out = append(out, m.ID)
			}
		}
		slices.Sort(out)
		return out
	}
	return slices.Equal(ids(a), ids(b))
}

// scribble writes garbage into the database.
func (w *world) scribble(at int64) {
	w.t.Helper()
	f, err := os.OpenFile(w.database(), os.O_RDWR, 0)
	w.must(err)
	_, err = f.WriteAt(bytes.Repeat([]byte("garbage!"), 4096), at)
	w.must(errors.Join(err, f.Close()))
}

func (w *world) exec(statement string) {
	w.t.Helper()
	db, err := sql.Open("sqlite", w.database())
	w.must(err)
	_, err = db.ExecContext(w.t.Context(), statement)
	w.must(errors.Join(err, db.Close()))
}

// tear breaks the last frame of a log as one that was being written.
func (w *world) tear() {
	w.t.Helper()
	w.start()
	time.Sleep(2 * time.Minute) // something is metered
	files := w.files()
	w.kill()
	log := files["spillway.db-wal"]
	if len(log) < 4096 {
		w.t.Fatalf("a log of %d bytes", len(log))
	}
	log[len(log)-100] ^= 0xff
	delete(files, "spillway.db-shm")
	w.put(files)
}

// TestT14_SecondStoreOfTheSameCluster holds that a bridge with an empty store of
// its own, beside one that works, rents nothing and touches nothing, also when
// a job waits already as it starts.
func TestT14_SecondStoreOfTheSameCluster(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.troop()
		w.kill()
		first, made, live := w.dir, w.a.made(), w.a.live()
		w.dir = t.TempDir()
		w.cluster.submit("extra", 1, 8, time.Minute)
		w.start()
		time.Sleep(15 * time.Minute)
		if w.a.made() != made || w.b.made() != 0 || !slices.Equal(w.a.live(), live) || w.a.called("Terminate") != 0 {
			t.Errorf("%d and %d machines made, %v live, %d terminate calls", w.a.made(), w.b.made(), w.a.live(), w.a.called("Terminate"))
		}
		if w.engine.Health().Protected == "" {
			t.Error("the breaker is closed")
		}
		w.kill()
		w.dir = first
		w.start()
		w.mended()
	})
}

// TestT14_CopyOfBeforeIsSeenForWhatItIs holds that a bridge on a copy of its
// store from before rents nothing, says what to do, and keeps the machines of
// jobs that run.
func TestT14_CopyOfBeforeIsSeenForWhatItIs(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.start()
		copied := w.backup()
		w.kill()
		w.troop()
		w.kill()
		made := w.a.made()
		w.put(copied)
		w.cluster.submit("extra", 1, 8, time.Minute)
		w.start()
		w.until(time.Minute, "protected", func() bool { return w.engine.Health().Protected != "" })
		time.Sleep(15 * time.Minute)
		if n := w.a.made() + w.b.made() - made; n != 0 || w.job("endless").state != "running" || w.job("spot").restarts != 0 {
			t.Errorf("%d machines were rented; the jobs are %s and %s", n, w.job("endless").state, w.job("spot").state)
		}
		w.kill()
		if f, err := w.adopt(""); err != nil || f.Plan == adopt.New {
			t.Errorf("%v: %v", f, err)
		}
		w.start()
		w.thaw()
		w.mended()
	})
}
