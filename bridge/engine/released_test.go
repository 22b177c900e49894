package engine_test

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/store"
)

// TestReleasedStoresRunOn upgrades the store of each released version, with
// rentals in every state, and runs on it until all is given back: the running
// jobs are not disturbed, what was sent is not bought twice, and the books are
// the cloud's.
func TestReleasedStoresRunOn(t *testing.T) {
	files, err := filepath.Glob("../store/testdata/released/*.sql")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d released stores: %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			inWorld(t, func(_ *testing.T, w *world) {
				w.load(file)
				w.released()
				w.limits.Cycle, w.limits.ListEvery = 5*time.Second, 10*time.Second
				w.start()
				for _, j := range []bridge.JobID{"works", "leaves", "joins", "sent", "approved"} {
					w.until(5*time.Hour, string(j)+" is done", w.state(j, "done"))
					if n := w.cluster.started(j); n > 1 {
						t.Errorf("%s was started %d times", j, n)
					}
				}
				w.cluster.set(func(c *cluster) { c.jobs["asks"].state = "cancelled" })
				w.until(5*time.Hour, "all over", w.over)
				w.balanced()
			})
		})
	}
}

// load puts a store that was kept as text in place.
func (w *world) load(file string) {
	w.t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		w.t.Fatal(err)
	}
	db, err := sql.Open("sqlite", filepath.Join(w.dir, "spillway.db"))
	if err != nil {
		w.t.Fatal(err)
	}
	_, err = db.ExecContext(w.t.Context(), string(text))
	if err := errors.Join(err, db.Close()); err != nil {
		w.t.Fatal(err)
	}
}

// released makes cloud and cluster what the store says of them.
func (w *world) released() {
	w.t.Helper()
	s, err := store.Open(w.t.Context(), w.dir, store.Options{Now: w.now})
	if err != nil {
		w.t.Fatal(err)
	}
	rs, err := s.Live(w.t.Context())
	if err := errors.Join(err, s.Close()); err != nil {
		w.t.Fatal(err)
	}
	for i := range rs {
		r := &rs[i]
		j := w.cluster.submit(r.Jobs[0], r.Gang, 8, 30*time.Minute)
		w.a.mu.Lock()
		for _, m := range r.Machines {
			if m.ID == "" {
				continue
			}
			one := w.a.add(r.Launch, m.Ordinal, r.Rate)
			delete(w.a.machines, one.ID)
			one.ID, one.Launched = m.ID, m.Started
			w.a.machines[m.ID] = one
			w.a.accepted[r.Launch.Token] = r.Handle
		}
		w.a.mu.Unlock()
		w.cluster.set(func(c *cluster) {
			if r.State != bridge.StateAdmitted && r.State != bridge.StateDraining {
				return
			}
			part := bridge.PartitionName(r.ID)
			for _, m := range r.Machines {
				c.nodes[m.Node] = &node{name: m.Node, gpus: 8, memory: 64000}
				c.overlays[part] = append(c.overlays[part], m.Node)
			}
			j.state, j.on, j.began, j.routed[part] = "running", c.overlays[part], time.Now(), true
			c.starts[j.id]++
		})
	}
}

// balanced checks the ledger against the clouds' own books, as far as these go
// back.
func (w *world) balanced() {
	w.t.Helper()
	report, err := w.store.CheckLedger(w.t.Context())
	if err != nil || len(report.Faults) > 0 || report.OpenHolds != 0 {
		w.t.Errorf("ledger: %v, %d open, %v", report.Faults, report.OpenHolds, err)
	}
	const before = 7 * bridge.Micro // of the rental that was settled in the store
	var posted int64 = -before
	for _, m := range report.Posted {
		posted += m.Micro
	}
	if bill := w.a.cost().Micro + w.b.cost().Micro; abs(posted-bill) > int64(w.a.made()+w.b.made())*2*bridge.Micro/360 {
		w.t.Errorf("posted %d, the clouds' books say %d", posted, bill)
	}
}
