package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"spillway.sh/spillway/bridge"
)

// unsaved is what became of a rental that the store could not take, with the
// news of it. Idle machines are to go back although a disk is full, which takes
// several cycles; so the next one goes on from here, and saves it first.
type unsaved struct {
	rental bridge.Rental
	from   bridge.State // as stored
	news   []bridge.News
	tries  int
}

const (
	newsKept    = 100 // news that wait with one rental, at most
	triesEnough = 5   // after which the store is asked whether it takes anything at all
)

// saving is the news to be saved with a rental: first those that wait.
func (m *memory) saving(r *bridge.Rental, news []bridge.News) []bridge.News {
	if u, ok := m.unsaved[r.ID]; ok {
		return append(slices.Clone(u.news), news...)
	}
	return news
}

// unsave keeps a change that the store did not take, if it can take it as one
// step later. What ends a rental, and what would need two steps, is found again.
func (e *Engine) unsave(c *cycle, r *bridge.Rental, news []bridge.News) {
	if e.memory.resting(hopelessKey(r), c.now) {
		return
	}
	u, ok := e.memory.unsaved[r.ID]
	if !ok {
		stored, known := c.stored[r.ID]
		if !known {
			return
		}
		u = unsaved{from: stored}
	}
	if !r.State.Held() || !u.from.Held() || !u.from.Reaches(r.State) {
		return
	}
	u.rental, u.news = copyRental(*r), news[max(0, len(news)-newsKept):]
	e.memory.unsaved[r.ID] = u
	c.live[r.ID] = copyRental(*r)
}

// resave goes on from what could not be saved, and tries to save it now. What
// somebody changed in the store meanwhile counts instead. Money is the store's
// alone.
func (e *Engine) resave(ctx context.Context, c *cycle) error {
	var errs []error
	for _, id := range slices.Sorted(maps.Keys(e.memory.unsaved)) {
		r, now := copyRental(e.memory.unsaved[id].rental), c.live[id]
		if now.ID == "" || now.Version != r.Version {
			delete(e.memory.unsaved, id)
			continue
		}
		r.Hold, r.Cost = now.Hold, now.Cost
		if c.dark { // it cannot even be read
			c.live[id] = r
			continue
		}
		if err := e.save(ctx, c, &r); err != nil {
			errs = append(errs, fmt.Errorf("once more: %w", err))
			e.despair(ctx, c, &r, err)
		}
	}
	return errors.Join(errs...)
}

// despair drops a change that will never be saved: somebody was quicker, or the
// store takes other things and not this one. It is found again.
func (e *Engine) despair(ctx context.Context, c *cycle, r *bridge.Rental, cause error) {
	u := e.memory.unsaved[r.ID]
	u.tries++
	e.memory.unsaved[r.ID] = u
	hopeless := settles(cause)
	if !hopeless && u.tries >= triesEnough {
		n := c.tell(bridge.NewsWarning, r)
		n.Text = "what became of it cannot be saved and is looked at anew: " + cause.Error()
		if hopeless = e.store.Tell(ctx, n) == nil; hopeless {
			e.memory.rest(hopelessKey(r), c.now, time.Minute, time.Hour, 0)
		}
	}
	if hopeless {
		delete(e.memory.unsaved, r.ID)
	}
}

func hopelessKey(r *bridge.Rental) string { return "save/" + string(r.ID) }
