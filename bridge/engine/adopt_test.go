package engine_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/adopt"
	"spillway.sh/spillway/bridge/store"
)

// fleet rents in every way there is, and leaves each rental somewhere else in
// its life: a gang of two that works, one of which a machine is late, a spot
// machine, one that was extended, one asked for by hand that a job uses, one by
// hand that nobody uses, and one that is to go when its job has ended.
func (w *world) fleet(moment func(string)) (jobs []bridge.JobID) {
	w.t.Helper()
	w.terms.Idle = 40 * time.Minute
	w.a.sell(bridge.Spot, 3, 100)
	w.start()
	work := func(d time.Duration) func(*job) { return func(j *job) { j.work, j.limit = d, d+30*time.Minute } }
	moment("when nothing is rented")
	w.cluster.submit("gang", 2, 8, 0, work(60*time.Minute))
	w.until(5*time.Minute, "the gang joins", w.inState(bridge.StateJoining))
	moment("when the gang joins")
	w.until(5*time.Minute, "the gang runs", w.state("gang", "running"))
	moment("when the gang runs")
	w.terms.Markets = []bridge.Market{bridge.Spot}
	w.cluster.submit("spot", 1, 8, 0, work(70*time.Minute))
	w.until(5*time.Minute, "the spot job runs", w.state("spot", "running"))
	moment("when the spot job runs")
	w.terms.Markets = []bridge.Market{bridge.OnDemand}
	w.cluster.submit("longer", 1, 8, 0, work(50*time.Minute))
	w.until(5*time.Minute, "the longer one runs", w.state("longer", "running"))
	w.cluster.set(func(c *cluster) { c.jobs["longer"].limit = 3 * time.Hour })
	w.until(5*time.Minute, "it is extended", func() bool { return w.told(bridge.NewsExtended) == 1 })
	moment("when it is extended")
	w.byHand("ann/thesis", "hand")
	moment("when somebody has asked")
	w.byHand("ann/spare", "")
	w.cluster.submit("leaving", 1, 8, 0, work(30*time.Minute))
	w.until(5*time.Minute, "the leaving one runs", w.state("leaving", "running"))
	w.change("leaving", func(r *bridge.Rental) { r.ReleaseAt = w.now() })
	w.until(5*time.Minute, "it drains", w.inState(bridge.StateDraining))
	moment("when it drains")
	w.a.setup(func(c *cloud) { c.boot = time.Hour }) // the engine waits a quarter of one
	w.cluster.submit("late", 2, 8, 0, work(10*time.Minute))
	w.until(5*time.Minute, "the late gang's machines are there", w.inState(bridge.StateJoining))
	w.a.setup(func(c *cloud) { c.boot = 5 * time.Second })
	time.Sleep(time.Minute)
	return []bridge.JobID{"gang", "spot", "longer", "hand", "leaving"}
}

// byHand rents one machine as a person does, and has a job use it.
func (w *world) byHand(key string, job bridge.JobID) {
	w.t.Helper()
	id, err := w.store.NextID(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	o := w.order(job)
	o.Jobs, o.Class, o.Account, o.Requester, o.Idle = nil, bridge.P2, "org/team/proj/ann", "ann", 50*time.Minute
	if job != "" {
		w.cluster.submit(job, 1, 8, 40*time.Minute)
		o.Jobs = []bridge.JobID{job}
	}
	r := bridge.Draw(id, &o, w.now())
	r.Key, r.Most, r.Until = key, usd(40), w.now().Add(100*time.Minute).Truncate(time.Second)
	if _, err := w.store.Reserve(w.t.Context(), r, w.budgets); err != nil {
		w.t.Fatal(err)
	}
	w.engine.Wake()
	w.until(5*time.Minute, key+" is let in", func() bool {
		return slices.ContainsFunc(w.live(), func(r bridge.Rental) bool { return r.ID == id && r.State == bridge.StateAdmitted })
	})
	if job != "" {
		w.until(5*time.Minute, "its job runs", w.state(job, "running"))
	}
}

// change changes the rental of a job.
func (w *world) change(job bridge.JobID, f func(*bridge.Rental)) {
	w.t.Helper()
	for {
		i := slices.IndexFunc(w.live(), func(r bridge.Rental) bool { return slices.Contains(r.Jobs, job) })
		r := w.live()[i]
		f(&r)
		_, err := w.store.Save(w.t.Context(), r)
		if err == nil {
			return
		}
		if !errors.Is(err, bridge.ErrVersion) {
			w.t.Fatal(err)
		}
	}
}

// site is where adopt looks.
func (w *world) site() *adopt.Site {
	return &adopt.Site{
		Dir: w.dir, Clouds: []adopt.Cloud{w.a, w.b}, Clusters: map[string]adopt.Scheduler{"c1": w.cluster}, Now: w.now,
	}
}

// adopt looks and takes.
func (w *world) adopt(storeID string) (*adopt.Found, error) {
	f, err := adopt.Look(w.t.Context(), w.site(), storeID)
	if err == nil {
		_, err = f.Take(w.t.Context())
	}
	return f, err
}

// known is what tags, clouds and schedulers say of rentals: all but what stands
// in deploy/docs/lost-store.md.
func known(rs []bridge.Rental) []bridge.Rental {
	out := slices.Clone(rs)
	for i := range out {
		r := &out[i]
		r.Version, r.Since, r.Why, r.Note, r.Handle, r.Launch.UserData = 0, time.Time{}, "", "", "", ""
		r.Cost.Micro, r.IdleSince, r.ReleaseAt, r.Most = 0, time.Time{}, time.Time{}, bridge.Money{}
		r.Machines = slices.Clone(r.Machines)
		for k := range r.Machines {
			m := &r.Machines[k]
			m.Joined, m.IdleSince, m.IdleTold, m.Absent, m.AbsentAt = time.Time{}, time.Time{}, time.Time{}, 0, time.Time{}
		}
	}
	return out
}

// stored are the live rentals of the store that nobody has open.
func (w *world) stored() []bridge.Rental {
	w.t.Helper()
	s, err := store.OpenReadOnly(w.t.Context(), w.dir, store.Options{Now: w.now})
	if err != nil {
		w.t.Fatal(err)
	}
	rs, err := s.Live(w.t.Context())
	if err := errors.Join(err, s.Close()); err != nil {
		w.t.Fatal(err)
	}
	return rs
}

// files are the store's, by name.
func (w *world) files() map[string][]byte {
	w.t.Helper()
	out := map[string][]byte{}
	for _, tail := range []string{"", "-wal", "-shm"} {
		b, err := os.ReadFile(filepath.Join(w.dir, "spillway.db"+tail))
		if err == nil {
			out["spillway.db"+tail] = b
		} else if !errors.Is(err, os.ErrNotExist) {
			w.t.Fatal(err)
		}
	}
	return out
}

func (w *world) put(files map[string][]byte) {
	w.t.Helper()
	for _, tail := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(filepath.Join(w.dir, "spillway.db"+tail)); err != nil && !errors.Is(err, os.ErrNotExist) {
			w.t.Fatal(err)
		}
	}
	for name, b := range files {
		if err := os.WriteFile(filepath.Join(w.dir, name), b, 0o600); err != nil {
			w.t.Fatal(err)
		}
	}
}

// backup ends the daemon and starts it again; the files are of in between.
func (w *world) backup() map[string][]byte {
	w.kill()
	files := w.files()
	w.start()
	return files
}

func TestLostStoreIsRebuiltExactly(t *testing.T) {
	for name, c := range map[string]struct {
		before bool // a copy is made before the fleet
		whole  bool // it is played to the end
		lose   func(w *world, copied map[string][]byte)
		plan   adopt.Plan
	}{
		"deleted": {whole: true, lose: func(w *world, _ map[string][]byte) { w.put(nil) }, plan: adopt.New},
		"a header of garbage": {lose: func(w *world, _ map[string][]byte) {
			w.put(map[string][]byte{"spillway.db": bytes.Repeat([]byte("garbage!"), 4096)})
		}, plan: adopt.Replace},
		"pages of garbage": {lose: func(w *world, _ map[string][]byte) {
			files := w.files()
			b := files["spillway.db"]
			copy(b[4096*2:], bytes.Repeat([]byte{0xff}, len(b)-4096*2))
			w.put(files)
		}, plan: adopt.Replace},
		"a copy of before": {before: true, whole: true, lose: func(w *world, copied map[string][]byte) { w.put(copied) }, plan: adopt.Complete},
		"an empty one in its place, whose daemon has run": {lose: func(w *world, _ map[string][]byte) {
			w.put(nil)
			w.start()
			w.until(time.Minute, "protected", func() bool { return w.engine.Health().Protected != "" })
			w.kill()
		}, plan: adopt.New},
		"nothing is lost": {lose: func(*world, map[string][]byte) {}, plan: adopt.Nothing},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				var copied map[string][]byte
				if c.before {
					w.start()
					copied = w.backup()
					w.kill()
				}
				jobs := w.fleet(func(string) {})
				id := w.store.StoreID()
				w.kill()
				before, made := w.stored(), w.a.made()+w.b.made()
				c.lose(w, copied)
				f, err := w.adopt("")
				if err != nil {
					t.Fatal(err)
				}
				if f.Plan != c.plan || f.StoreID != id || len(f.Left) > 0 {
					t.Errorf("store %s: %s, left %v; want %s: %s", f.StoreID, f.Plan, f.Left, id, c.plan)
				}
				if diff := cmp.Diff(known(before), known(w.stored()), sorted); diff != "" {
					t.Errorf("live set (-before +after):\n%s", diff)
				}
				again, err := w.adopt("")
				if err != nil || again.Plan != adopt.Nothing {
					t.Errorf("once more: %v, %v", again.Plan, err)
				}
				if c.whole {
					w.goesOn(jobs, made)
				}
			})
		})
	}
}

// TestCopyOfAnyMomentIsCompleted holds that whatever copy of the store is put
// back, the live set is the present one after it was completed.
func TestCopyOfAnyMomentIsCompleted(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		copies := map[string]map[string][]byte{}
		w.fleet(func(name string) { copies[name] = w.backup() })
		w.kill()
		now, before := w.files(), w.stored()
		for name, files := range copies {
			w.put(files)
			f, err := w.adopt("")
			if err != nil || f.Plan != adopt.Complete {
				t.Errorf("%s: %v, %v", name, f, err)
			}
			if diff := cmp.Diff(known(before), known(w.stored()), sorted); diff != "" {
				t.Errorf("%s: live set (-before +after):\n%s", name, diff)
			}
			s, err := store.OpenReadOnly(t.Context(), w.dir, store.Options{Now: w.now})
			if err != nil {
				t.Fatal(err)
			}
			report, err := s.CheckLedger(t.Context())
			if err := errors.Join(err, s.Close()); err != nil || len(report.Faults) > 0 {
				t.Errorf("%s: %v %v", name, err, report.Faults)
			}
		}
		w.put(now)
	})
}

// sorted puts rentals in the order of their ids: that of the books is the order
// in which they came into them.
var sorted = cmp.Transformer("sorted", func(rs []bridge.Rental) map[bridge.RentalID]bridge.Rental {
	out := map[bridge.RentalID]bridge.Rental{}
	for _, r := range rs {
		out[r.ID] = r
	}
	return out
})

// TestAdoptIsRunAgain holds that one that was killed, wherever it was, is made
// whole by the next.
func TestAdoptIsRunAgain(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.start()
		copied := w.backup()
		w.kill()
		w.fleet(func(string) {})
		w.kill()
		before := w.stored()
		beside := filepath.Join(w.dir, "adopting")
		for name, cut := range map[string]func(){
			"a half of a store beside": func() {
				w.put(nil)
				w.must(os.MkdirAll(beside, 0o700))
				w.must(os.WriteFile(filepath.Join(beside, "spillway.db"), []byte("half of a store"), 0o600))
			},
			"a store beside, and none in place": func() {
				whole := w.files()
				w.put(nil)
				w.must(os.MkdirAll(beside, 0o700))
				w.must(os.WriteFile(filepath.Join(beside, "spillway.db"), whole["spillway.db"], 0o600))
			},
			"none of the rentals": func() { w.put(copied); w.halfway(0) },
			"some of the rentals": func() { w.put(copied); w.halfway(3) },
		} {
			cut()
			if _, err := w.adopt(""); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if diff := cmp.Diff(known(before), known(w.stored()), sorted); diff != "" {
				t.Errorf("%s: live set (-before +after):\n%s", name, diff)
			}
			if _, err := os.Stat(beside); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("%s: the store beside is there: %v", name, err)
			}
		}
	})
}

// halfway adopts so many rentals and is killed then.
func (w *world) halfway(n int) {
	w.t.Helper()
	f, err := adopt.Look(w.t.Context(), w.site(), "")
	w.must(err)
	f.Rentals = f.Rentals[:n]
	_, err = f.Take(w.t.Context())
	w.must(err)
}

// goesOn runs the daemon on what was adopted: no job is disturbed, nothing is
// rented before a person says so, and in the end all is given back and the books
// are the clouds'.
func (w *world) goesOn(jobs []bridge.JobID, made int) {
	t := w.t
	w.limits.Cycle, w.limits.ListEvery, w.limits.QueueAge = 5*time.Second, 10*time.Second, time.Minute
	w.start()
	w.cluster.submit("next", 2, 8, time.Minute)
	time.Sleep(20 * time.Minute)
	if n := w.a.made() + w.b.made(); n != made {
		t.Errorf("%d machines were rented before anybody looked", n-made)
	}
	if err := w.engine.Remember(t.Context(), func(m *bridge.Marks) { m.Protected = "" }); err != nil {
		t.Fatal(err)
	}
	for _, j := range jobs {
		w.until(8*time.Hour, string(j)+" is done", w.state(j, "done"))
		if n := w.cluster.started(j); n != 1 {
			t.Errorf("job %s was started %d times", j, n)
		}
	}
	for _, j := range []bridge.JobID{"late", "next"} {
		w.until(8*time.Hour, string(j)+" is done", w.state(j, "done"))
	}
	w.settled(8 * time.Hour)
}

// What cannot be seen whole is not acted on.
func TestAdoptDoesNothingByHalves(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.cluster.submit("1", 1, 8, 2*time.Hour).limit = 3 * time.Hour
		w.start()
		w.until(time.Minute, "running", w.state("1", "running"))
		refused := func(want error) {
			t.Helper()
			if _, err := w.adopt(""); !errors.Is(err, want) {
				t.Errorf("%v, want %v", err, want)
			}
		}
		refused(store.ErrLocked)
		w.kill()
		w.put(nil)
		w.a.fault("List", "partial")
		refused(adopt.ErrUnseen)
		w.b.fault("List", "denied")
		refused(adopt.ErrUnseen)
		w.cluster.set(func(c *cluster) { c.down = errDown })
		refused(adopt.ErrUnseen)
		w.cluster.set(func(c *cluster) { c.down = nil })
		other := w.stray("another-store", func(m *machine) { m.never = true })
		refused(adopt.ErrWhich)
		if files := w.files(); len(files) > 0 {
			t.Errorf("%d files were made", len(files))
		}
		w.a.setup(func(c *cloud) {
			w.b.machines[other] = c.machines[other]
			delete(c.machines, other)
			delete(w.b.machines, other)
		})
		ctx, cancel := context.WithCancel(t.Context())
		f, err := adopt.Look(ctx, w.site(), "")
		if err != nil {
			t.Fatal(err)
		}
		cancel()
		if _, err := f.Take(ctx); err == nil {
			t.Error("it was not stopped")
		}
		if _, err := w.adopt(""); err != nil || len(w.stored()) != 1 {
			t.Errorf("run again: %v, %d rentals", err, len(w.stored()))
		}
	})
}

// TestCopyWithAQuestionThatWasAnswered holds that a rental which only asks in the
// copy, and runs by its machines, is held once.
func TestCopyWithAQuestionThatWasAnswered(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.tight()
		w.cluster.submit("1", 1, 8, 30*time.Minute)
		w.start()
		r := w.question()
		copied := w.backup()
		if err := w.yes(w.rental()); err != nil {
			t.Fatal(err)
		}
		w.until(5*time.Minute, "running", w.state("1", "running"))
		time.Sleep(10 * time.Second)
		w.kill()
		before := w.stored()
		w.put(copied)
		f, err := w.adopt("")
		if err != nil || len(f.Rentals) != 1 || f.Rentals[0].Was != bridge.StateWaiting || f.Rentals[0].Rental.ID != r.ID {
			t.Fatalf("%+v, %v", f, err)
		}
		after := w.stored()
		for _, rs := range [][]bridge.Rental{before, after} { // who said yes is not known any more
			rs[0].ApprovedBy, rs[0].Yeses, rs[0].Digest, rs[0].Revision, rs[0].AskUntil = "", nil, "", 0, time.Time{}
		}
		if diff := cmp.Diff(known(before), known(after)); diff != "" {
			t.Errorf("live set (-before +after):\n%s", diff)
		}
		w.start()
		w.until(time.Hour, "done", w.state("1", "done"))
		w.settled(time.Hour)
	})
}
