package sim

import (
	"context"
	"slices"
	"sync"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/sim/crash"
	"spillway.sh/spillway/bridge/sim/invariant"
)

// calls are those that ended since the latest sight, and what they wrote.
type calls struct {
	mu      sync.Mutex
	ended   []invariant.Call
	rentals map[bridge.RentalID]bool // written since
	wrote   int64                    // writes of the store so far
}

// unheard are calls that change nothing and say nothing that is judged.
var unheard = map[string]bool{
	"Cloud.Changed": true, "Store.Live": true, "Store.Marks": true, "Store.Balances": true, "Loop.View": true, "Loop.Wake": true, "Rentals.Rental": true,
}

// writes are the ports whose calls go to the store at once.
var writes = map[string]bool{"Store": true, "Writer": true, "Rentals": true}

// around is put round every call of a life: it lets none through once the bridge
// is dead, and writes down those that came through.
func (l *life) around(ctx context.Context, c *crash.Call, do func(context.Context) error) error {
	if l.pass() {
		return crash.ErrKilled
	}
	err := l.heard(ctx, c, do)
	if l.pass() {
		return crash.ErrKilled
	}
	return err
}

// heard makes a call and writes it down. What a call has changed in the store and
// that it did are seen together, or neither.
func (l *life) heard(ctx context.Context, c *crash.Call, do func(context.Context) error) error {
	if writes[c.Port] {
		l.w.books.Lock()
		defer l.w.books.Unlock()
	}
	begun := time.Now().UTC()
	err := l.through(ctx, writes[c.Port], do)
	if !unheard[c.Port+"."+c.Method] {
		l.w.record(l, c, begun, err)
	}
	return err
}

// through makes a call; one to the store has its whole effect or none.
func (l *life) through(ctx context.Context, whole bool, do func(context.Context) error) error {
	if !whole {
		return do(ctx)
	}
	l.mu.RLock()
	defer l.mu.RUnlock()
	if l.dead {
		return crash.ErrKilled
	}
	// What the dead bridge had begun is rolled back or done; its context is gone
	// either way only after the call.
	return do(ctx)
}

// pass comes to a point of a call, and reports whether the bridge is dead there.
func (l *life) pass() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fuse > 0 {
		if l.fuse--; l.fuse == 0 {
			l.dead = true
			close(l.struck)
		}
	}
	return l.dead
}

// light has the bridge die at the n-th point of a call from now on.
func (l *life) light(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fuse == 0 && !l.dead {
		l.fuse = n
	}
}

// record writes down a call that came through.
func (w *World) record(l *life, c *crash.Call, begun time.Time, err error) {
	call := invariant.Call{Begun: begun, Ended: time.Now().UTC(), Life: l.n, Epoch: l.store.Epoch(), Port: c.Port, Method: c.Method, Of: c.Of, Err: err}
	fill(&call, c)
	w.calls.mu.Lock()
	w.calls.ended = append(w.calls.ended, call)
	if writes[c.Port] {
		w.calls.wrote++
		for _, a := range c.Args { // some calls write two
			if r, ok := a.(bridge.Rental); ok {
				w.calls.rentals[r.ID] = true
			}
		}
		if call.Rental != "" {
			w.calls.rentals[call.Rental] = true
		}
	}
	w.calls.mu.Unlock()
	w.story.feed("%s %s.%s %s %v %v %s %s %s %d %t %s", w.story.stamp(begun), call.Port, call.Method, call.Of, call.IDs, call.Nodes, call.Job, call.Rental, call.State, call.Version, err == nil, bridge.KindOf(err))
}

// fill reads what a call was about from what it was called with and answered.
func fill(call *invariant.Call, c *crash.Call) {
	for _, a := range c.Args {
		switch v := a.(type) {
		case bridge.Launch:
			call.Launch, call.Rental = &v, v.Rental
		case *bridge.Rental:
			call.Rental, call.State, call.Version = v.ID, v.State, v.Version
		case bridge.Rental:
			call.Rental, call.State, call.Version, call.Token = v.ID, v.State, v.Version, v.Launch.Token
		case bridge.RentalID:
			call.Rental = v
		case bridge.JobID:
			call.Job = v
		case []bridge.JobID:
			if len(v) > 0 {
				call.Job = v[0]
			}
		case []string:
			if c.Port == "Cloud" {
				call.IDs = slices.Clone(v)
			} else {
				call.Nodes = slices.Clone(v)
			}
		}
	}
	switch v := c.Out.(type) {
	case bridge.Rental:
		if call.Err == nil {
			call.Rental, call.State, call.Version = v.ID, v.State, v.Version
		}
	case bridge.Listing:
		call.Listing = &v
	}
}

// take hands over what was recorded since the last time.
func (c *calls) take() (ended []invariant.Call, rentals map[bridge.RentalID]bool, wrote int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	ended, rentals = c.ended, c.rentals
	c.ended, c.rentals = nil, map[bridge.RentalID]bool{}
	return ended, rentals, c.wrote
}
