package sim_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/adopt"
	"spillway.sh/spillway/bridge/sim"
	"spillway.sh/spillway/bridge/store"
)

// TestStoreIsLostInAWorld has the store of a working site deleted and adopted,
// in the middle of things: the live set is the one before, no job is disturbed,
// and from there all promises hold to the end.
func TestStoreIsLostInAWorld(t *testing.T) {
	played, lost := 0, 0
	for n := range rounds(2, 100, 5*time.Minute) {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			s := sim.Setup{Seed: n, Length: 5 * time.Hour, Jobs: 250}
			play(t, s, func(ctx context.Context, w *sim.World) {
				l := &loss{t: t, w: w, last: time.Now().Add(s.Length - 15*time.Minute)}
				w.Errand(time.Hour, l.lose)
				if err := w.Play(ctx); err != nil {
					t.Error(err)
				}
				if l.done {
					lost++
				}
			})
		})
		played++
	}
	t.Logf("%d runs, in %d of them there was something to lose", played, lost)
	if *seed == 0 && lost*2 < played {
		t.Errorf("in %d of %d worlds a store was lost", lost, played)
	}
}

// loss is one store that goes.
type loss struct {
	t      *testing.T
	w      *sim.World
	last   time.Time // when it is too late
	before []bridge.Rental
	done   bool
}

// lose ends the bridge and deletes its store, as soon as there is enough to lose.
func (l *loss) lose(ctx context.Context) {
	live, err := l.w.Store.Live(ctx)
	if err != nil {
		l.t.Error(err)
	}
	working := slices.ContainsFunc(live, func(r bridge.Rental) bool { return len(r.Running) > 0 })
	switch {
	case time.Now().After(l.last):
		return
	case !working || len(live) < 3:
		l.w.Errand(time.Minute, l.lose)
		return
	}
	l.before = live
	l.w.Errand(5*time.Minute, l.adopt) // after the slowest of lists
	l.w.Kill()
	site, err := l.w.Books()
	if err != nil {
		l.t.Fatal(err)
	}
	for _, tail := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(filepath.Join(site.Dir, "spillway.db"+tail)); err != nil && !errors.Is(err, os.ErrNotExist) {
			l.t.Error(err)
		}
	}
}

// adopt rebuilds the store and starts the next life on it.
func (l *loss) adopt(ctx context.Context) {
	site, err := l.w.Books()
	if err != nil {
		l.t.Fatal(err)
	}
	f, err := adopt.Look(ctx, site, "")
	if err != nil {
		l.t.Fatal(err)
	}
	if _, err := f.Take(ctx); err != nil {
		l.t.Fatal(err)
	}
	s, err := store.OpenReadOnly(ctx, site.Dir, store.Options{Now: l.w.Now})
	if err != nil {
		l.t.Fatal(err)
	}
	after, err := s.Live(ctx)
	if err := errors.Join(err, s.Close()); err != nil {
		l.t.Fatal(err)
	}
	if diff := cmp.Diff(terms(known(l.before, l.before), after), terms(known(after, l.before), after)); diff != "" {
		l.t.Errorf("live set (-before +after):\n%s", diff)
	}
	l.w.Forget()
	if err := l.w.Start(ctx); err != nil {
		l.t.Fatal(err)
	}
	if err := l.w.Engine.Remember(ctx, func(m *bridge.Marks) { m.Protected = "" }); err != nil {
		l.t.Error(err)
	}
	l.done = len(after) > 0
}

// known are those of some rentals but the ones whose create call was under way
// before: there the machines were not known.
func known(rs, before []bridge.Rental) []bridge.Rental {
	return slices.DeleteFunc(slices.Clone(rs), func(r bridge.Rental) bool {
		return slices.ContainsFunc(before, func(b bridge.Rental) bool {
			return b.ID == r.ID && b.Launch.Token == r.Launch.Token && b.State == bridge.StateLaunching
		})
	})
}

// terms are what rentals whose machines live are for and cost at most, in lines;
// those of them whose machines are among the living ones.
func terms(rs, living []bridge.Rental) []string {
	alive := map[string]bool{}
	for i := range living {
		for _, m := range living[i].Live() {
			alive[m.ID] = true
		}
	}
	var out []string
	for i := range rs {
		r := &rs[i]
		for _, m := range r.Live() {
			if alive[m.ID] {
				out = append(out, fmt.Sprint(r.ID, " ", r.Account, " ", r.Requester, " ", r.Class, " ", r.Gang, " of ", r.Count, " in ", r.Pool, " for ", r.Hold,
					" until ", r.Expires, " by ", r.Launch.Token, ": ", m.ID, " is ", m.Node, " at ", m.Rate))
			}
		}
	}
	slices.Sort(out)
	return out
}
