package engine_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/engine"
)

// posting notes when each rental is posted.
type posting struct {
	engine.Store
	mu *sync.Mutex
	at map[bridge.RentalID][]time.Time
}

func (p posting) Post(ctx context.Context, r bridge.Rental, news ...bridge.News) (bridge.Rental, error) {
	p.mu.Lock()
	p.at[r.ID] = append(p.at[r.ID], time.Now())
	p.mu.Unlock()
	return p.Store.Post(ctx, r, news...)
}

func TestRentalsMadeTogetherAreNotPostedTogether(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		const rentals = 20
		p := posting{mu: &sync.Mutex{}, at: map[bridge.RentalID][]time.Time{}}
		w.ports = func(_ *world, s engine.Scheduler, c engine.Cloud, st engine.Store) (engine.Scheduler, engine.Cloud, engine.Store) {
			if p.Store == nil {
				p.Store = st
			}
			return s, c, p
		}
		w.terms.Most = 2 * rentals
		for i := range rentals {
			w.cluster.submit(bridge.JobID(fmt.Sprint(i+1)), 2, 8, 20*time.Minute)
		}
		w.start()
		w.until(time.Minute, "all running", func() bool { return w.told(bridge.NewsStarted) == rentals })
		time.Sleep(10 * time.Minute)
		p.mu.Lock()
		looks, longest := map[time.Time]int{}, time.Duration(0)
		for id, at := range p.at {
			for i, when := range at {
				looks[when.Truncate(time.Second)]++
				if i > 0 {
					longest = max(longest, when.Sub(at[i-1]))
				}
			}
			if len(at) < 9 || len(at) > 11 {
				t.Errorf("%s was posted %d times in ten minutes", id, len(at))
			}
		}
		if len(p.at) != rentals {
			t.Errorf("%d rentals were posted, want %d", len(p.at), rentals)
		}
		p.mu.Unlock()
		most := 0
		for _, n := range looks {
			most = max(most, n)
		}
		if most > rentals/3 || longest > 63*time.Second {
			t.Errorf("up to %d of %d rentals were posted in one second; the longest time between two posts of one was %s", most, rentals, longest)
		}
	})
}
