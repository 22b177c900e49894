package engine_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/engine"
	"spillway.sh/spillway/bridge/store"
)

// takesNothing can be read and not written, as on a disk that is full.
type takesNothing struct {
	engine.Store
	full *atomic.Bool
}

func (s takesNothing) err() error {
	if s.full.Load() {
		return errFull
	}
	return nil
}

func (s takesNothing) NextID(ctx context.Context) (bridge.RentalID, error) {
	if err := s.err(); err != nil {
		return "", err
	}
	return s.Store.NextID(ctx)
}

func (s takesNothing) Reserve(ctx context.Context, r bridge.Rental, budgets []bridge.Budget, news ...bridge.News) (bridge.Rental, error) {
	if err := s.err(); err != nil {
		return r, err
	}
	return s.Store.Reserve(ctx, r, budgets, news...)
}

func (s takesNothing) Save(ctx context.Context, r bridge.Rental, news ...bridge.News) (bridge.Rental, error) {
	if err := s.err(); err != nil {
		return r, err
	}
	return s.Store.Save(ctx, r, news...)
}

func (s takesNothing) Post(ctx context.Context, r bridge.Rental, news ...bridge.News) (bridge.Rental, error) {
	if err := s.err(); err != nil {
		return r, err
	}
	return s.Store.Post(ctx, r, news...)
}

func (s takesNothing) Settle(ctx context.Context, r bridge.Rental, news ...bridge.News) (bridge.Rental, error) {
	if err := s.err(); err != nil {
		return r, err
	}
	return s.Store.Settle(ctx, r, news...)
}

func (s takesNothing) SaveMarks(ctx context.Context, m bridge.Marks, news ...bridge.News) error {
	if err := s.err(); err != nil {
		return err
	}
	return s.Store.SaveMarks(ctx, m, news...)
}

func (s takesNothing) Tell(ctx context.Context, news ...bridge.News) error {
	if err := s.err(); err != nil {
		return err
	}
	return s.Store.Tell(ctx, news...)
}

// A machine whose job has ended goes back after its idle time although nothing
// can be written meanwhile, and what was told late is told once.
func TestIdleMachineGoesBackWhileTheDiskIsFull(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		var full atomic.Bool
		w.ports = func(_ *world, s engine.Scheduler, c engine.Cloud, st engine.Store) (engine.Scheduler, engine.Cloud, engine.Store) {
			return s, c, takesNothing{st, &full}
		}
		w.cluster.submit("1", 1, 8, 5*time.Minute)
		w.start()
		w.until(time.Minute, "running", w.state("1", "running"))
		full.Store(true)
		made := w.a.made() + w.b.made()
		w.cluster.submit("2", 2, 8, time.Minute)
		w.until(10*time.Minute, "done", w.state("1", "done"))
		w.until(time.Minute, "given back", func() bool { return len(w.a.live()) == 0 })
		if n := w.a.made() + w.b.made() - made; n != 0 || !w.engine.Health().Dark {
			t.Errorf("%d machines made, dark: %t", n, w.engine.Health().Dark)
		}
		full.Store(false)
		w.cluster.set(func(c *cluster) { c.jobs["2"].state = "cancelled" })
		w.settled(10 * time.Minute)
		told, err := w.store.News(t.Context(), store.NewsFilter{Limit: 1000})
		if err != nil {
			t.Fatal(err)
		}
		var got []bridge.NewsKind
		for _, n := range told {
			if slices.Contains([]bridge.NewsKind{bridge.NewsFinished, bridge.NewsDraining, bridge.NewsReleasing, bridge.NewsGone, bridge.NewsSettled}, n.Kind) {
				got = append(got, n.Kind)
			}
		}
		want := []bridge.NewsKind{bridge.NewsFinished, bridge.NewsDraining, bridge.NewsReleasing, bridge.NewsGone, bridge.NewsSettled}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("news (-want +got):\n%s", diff)
		}
	})
}

// refusesOne never takes a change of one rental.
type refusesOne struct {
	engine.Store
	on *atomic.Bool
}

func (s refusesOne) Save(ctx context.Context, r bridge.Rental, news ...bridge.News) (bridge.Rental, error) {
	if s.on.Load() && r.ID == bridge.NewRentalID(1) {
		return r, errors.New("not this one")
	}
	return s.Store.Save(ctx, r, news...)
}

// A rental that alone cannot be saved does not keep others from being served.
func TestOneRentalThatCannotBeSavedStopsNoOther(t *testing.T) {
	inWorld(t, func(_ *testing.T, w *world) {
		var on atomic.Bool
		w.ports = func(_ *world, s engine.Scheduler, c engine.Cloud, st engine.Store) (engine.Scheduler, engine.Cloud, engine.Store) {
			return s, c, refusesOne{st, &on}
		}
		w.cluster.submit("1", 1, 8, 2*time.Hour)
		w.start()
		w.until(time.Minute, "running", w.state("1", "running"))
		on.Store(true)
		w.cluster.submit("2", 2, 8, time.Minute)
		w.until(10*time.Minute, "the other is done", w.state("2", "done"))
		on.Store(false)
		w.until(3*time.Hour, "the first is done", w.state("1", "done"))
		w.settled(10 * time.Minute)
	})
}
