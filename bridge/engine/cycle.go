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

// cycle is one look at the world and what came of it.
type cycle struct {
	now    time.Time
	gentle bool // the clock leapt: nothing is ended for reasons of time
	begun  time.Time

	lists   map[string]*listing      // that arrived since the last cycle, by cloud
	looks   map[bridge.RentalID]look // at single creates
	offers  []bridge.Offer
	queues  map[string]*sight // newest known, by cluster
	live    map[bridge.RentalID]bridge.Rental
	stored  map[bridge.RentalID]bridge.State // of the same, in the store
	marks   bridge.Marks
	budgets []bridge.Balance

	dark  bool // the store cannot be read or written: no new money, ends from memory
	plan  bridge.Plan
	snap  bridge.Snapshot
	steps map[string]error
	taken int  // machines that went without notice in this cycle
	again bool // something changed that the next cycle should see at once
}

// look is what a cloud said of one create.
type look struct {
	instances []bridge.Instance
	err       error
}

// memory is what the engine knows and may forget: after a crash all of it is
// found again, at worst one call later.
type memory struct {
	last    time.Time     // of the cycle before
	begun   time.Time     // of the cycle before, by the host's own count
	ahead   time.Duration // of the host's clock, since that stepped back; else zero
	started bool          // the store's highest time has been compared
	live    map[bridge.RentalID]bridge.Rental
	unsaved map[bridge.RentalID]unsaved
	queues  map[string]*sight
	offers  map[string][]bridge.Offer
	listed  map[string]time.Time // when the last list of a cloud was asked for
	priced  map[string]time.Time
	read    map[string]time.Time     // when the last read of a cluster began
	regular bool                     // this cycle came by the clock; nothing asked for it
	took    map[string]time.Duration // that the last read of a cluster cost it

	unsent     map[bridge.RentalID]bool                       // reserved by this process and never sent
	doubt      map[bridge.RentalID]bool                       // a create may have had an effect we were not told
	sentAt     map[bridge.RentalID]time.Time                  // last create call
	puzzles    map[bridge.RentalID]puzzle                     // words of a cloud that say neither yes nor no
	launches   map[string][]time.Time                         // of the last minute, by cloud
	pause      map[string]pause                               // calls that failed, by key
	routed     map[bridge.RentalID]map[bridge.JobID]time.Time // when last written
	drained    map[string]bool                                // node: drained and signalled after a notice
	members    map[bridge.RentalID][]string                   // nodes last written into the overlay
	memberAt   map[bridge.RentalID]time.Time
	postponed  map[bridge.RentalID]time.Time // the end its cloud was last told
	posted     map[bridge.RentalID]time.Time
	warned     map[string]bool
	comments   map[string]comment            // on jobs, as last written
	limits     map[string]time.Duration      // of a running job when first seen
	demands    map[string]bridge.Demand      // of jobs with a rental, as they were queued
	estimates  map[string]time.Time          // when a job with a rental would start at home, as said before it was let in
	where      map[string][]string           // nodes of jobs on rented machines, as last seen
	nudges     map[string]nudge              // of jobs set aside by the scheduler
	requeued   map[string]bool               // by this process, and still running at the last look
	back       map[string]time.Time          // cluster: when its scheduler last answered after not doing so
	buried     map[string]bool               // node: set down since its machine went
	gone       map[bridge.RentalID]time.Time // when its last machine was judged gone
	owners     map[string]owner              // accounts, as the host said last
	disputed   map[bridge.RentalID]bool      // a list shows what a direct look called gone
	ghosts     map[string]int
	health     map[string]string
	replies    replies
	looks      looks  // at checkpoints
	complaint  string // last logged
	complained time.Time
}

type pause struct {
	until time.Time
	tries int
}

func newMemory() *memory {
	return &memory{
		live: map[bridge.RentalID]bridge.Rental{}, unsaved: map[bridge.RentalID]unsaved{}, queues: map[string]*sight{},
		offers: map[string][]bridge.Offer{}, listed: map[string]time.Time{}, priced: map[string]time.Time{}, read: map[string]time.Time{}, took: map[string]time.Duration{},
		unsent: map[bridge.RentalID]bool{}, doubt: map[bridge.RentalID]bool{}, sentAt: map[bridge.RentalID]time.Time{}, puzzles: map[bridge.RentalID]puzzle{}, launches: map[string][]time.Time{},
		pause: map[string]pause{}, routed: map[bridge.RentalID]map[bridge.JobID]time.Time{}, drained: map[string]bool{},
		members: map[bridge.RentalID][]string{}, memberAt: map[bridge.RentalID]time.Time{}, postponed: map[bridge.RentalID]time.Time{}, posted: map[bridge.RentalID]time.Time{}, warned: map[string]bool{}, comments: map[string]comment{}, limits: map[string]time.Duration{},
		demands: map[string]bridge.Demand{}, estimates: map[string]time.Time{}, where: map[string][]string{}, nudges: map[string]nudge{}, requeued: map[string]bool{}, back: map[string]time.Time{}, buried: map[string]bool{}, gone: map[bridge.RentalID]time.Time{}, disputed: map[bridge.RentalID]bool{}, ghosts: map[string]int{},
		health: map[string]string{}, replies: replies{}, looks: newLooks(), owners: map[string]owner{},
	}
}

// failed notes a step's error. Somebody else's change of a rental is none: the
// next cycle sees it and goes on from there.
func (c *cycle) failed(name string, err error) {
	if err != nil {
		c.steps[name] = err
	}
}

// rentals returns copies of the rentals in the given states that may be
// changed, in the order of their ids.
func (c *cycle) rentals(states ...bridge.State) []bridge.Rental {
	var out []bridge.Rental
	for _, id := range slices.Sorted(maps.Keys(c.live)) {
		if r := c.live[id]; slices.Contains(states, r.State) {
			out = append(out, copyRental(r))
		}
	}
	return out
}

// copyRental copies what a step may change in place.
func copyRental(r bridge.Rental) bridge.Rental {
	r.Machines = slices.Clone(r.Machines)
	r.Jobs = slices.Clone(r.Jobs)
	r.Running = slices.Clone(r.Running)
	return r
}

// queue returns the newest view of a cluster and whether it may be acted on.
func (c *cycle) queue(cluster string) (*sight, bool) {
	q := c.queues[cluster]
	if q == nil {
		return newSight(bridge.Queue{Cluster: cluster}), false
	}
	return q, !c.snap.Stale(&q.Queue)
}

// save stores the next version of a rental and makes it the cycle's. A
// rental somebody changed meanwhile is left to the next cycle. A change that the
// store cannot take is gone on with, and saved as soon as it can.
func (e *Engine) save(ctx context.Context, c *cycle, r *bridge.Rental, news ...bridge.News) error {
	news = e.memory.saving(r, news)
	saved, err := e.store.Save(ctx, *r, news...)
	err = e.kept(c, r, saved, err)
	if err != nil && !settles(err) {
		e.unsave(c, r, news)
	}
	return err
}

// settles reports whether an error of the store says that a write is not to be
// tried again as it is.
func settles(err error) bool {
	return errors.Is(err, bridge.ErrVersion) || errors.Is(err, bridge.ErrEpoch) || errors.Is(err, bridge.ErrOverBudget)
}

func (e *Engine) kept(c *cycle, r *bridge.Rental, saved bridge.Rental, err error) error {
	switch {
	case err == nil:
		*r = saved
		e.keep(c, saved)
		return nil
	case errors.Is(err, bridge.ErrVersion):
		delete(c.live, r.ID)
		c.again = true
		return fmt.Errorf("save rental %s: %w", r.ID, err)
	case errors.Is(err, bridge.ErrEpoch), errors.Is(err, bridge.ErrOverBudget):
		return fmt.Errorf("save rental %s: %w", r.ID, err)
	}
	c.dark = true
	return fmt.Errorf("save rental %s: %w", r.ID, err)
}

func (e *Engine) keep(c *cycle, r bridge.Rental) {
	delete(e.memory.unsaved, r.ID)
	c.stored[r.ID] = r.State
	if r.State.Ended() {
		delete(c.live, r.ID)
		e.memory.forget(&r)
		return
	}
	c.live[r.ID] = copyRental(r)
}

// forget drops what is only about a rental that ended.
func (m *memory) forget(r *bridge.Rental) {
	delete(m.live, r.ID)
	delete(m.unsaved, r.ID)
	delete(m.unsent, r.ID)
	delete(m.doubt, r.ID)
	delete(m.sentAt, r.ID)
	delete(m.puzzles, r.ID)
	delete(m.routed, r.ID)
	delete(m.posted, r.ID)
	delete(m.gone, r.ID)
	delete(m.disputed, r.ID)
	delete(m.members, r.ID)
	delete(m.memberAt, r.ID)
	delete(m.postponed, r.ID)
	for i := range r.Machines {
		delete(m.drained, r.Machines[i].Node)
	}
	for _, kind := range []string{"create", "observe", "terminate", "postpone", "extend", "save"} {
		delete(m.pause, kind+"/"+string(r.ID))
	}
}

// move takes a rental to its next state.
func move(r *bridge.Rental, ev bridge.Event, why bridge.Reason, now time.Time) error {
	next, err := bridge.Advance(r.State, ev)
	if err != nil {
		return fmt.Errorf("move rental %s: %w", r.ID, err)
	}
	r.State, r.Since, r.Why = next, now, why
	return nil
}

// tell makes one line of news about a rental.
func (c *cycle) tell(kind bridge.NewsKind, r *bridge.Rental) bridge.News {
	pool := r.Pool
	return bridge.News{
		At: c.now, Kind: kind, Cluster: r.Cluster, Rental: r.ID, Why: r.Why, Pool: &pool, Cost: r.Cost,
	}
}

// tellMachine makes one line about a machine.
func (c *cycle) tellMachine(kind bridge.NewsKind, r *bridge.Rental, m *bridge.Machine) bridge.News {
	n := c.tell(kind, r)
	n.Machine, n.Node = m.ID, m.Node
	return n
}

// remember changes the marks.
func (e *Engine) remember(ctx context.Context, c *cycle, change func(*bridge.Marks), news ...bridge.News) error {
	m, err := e.changeMarks(ctx, func(m *bridge.Marks) {
		change(m)
		m.HighWater = later(m.HighWater, c.now)
	}, news...)
	if err != nil {
		c.dark = true
		return err
	}
	c.marks = m
	return nil
}

// changeMarks reads the marks anew and writes them changed, so that neither
// the loop nor the desk overwrites what the other has just written.
func (e *Engine) changeMarks(ctx context.Context, change func(*bridge.Marks), news ...bridge.News) (bridge.Marks, error) {
	e.marksMu.Lock()
	defer e.marksMu.Unlock()
	m, err := e.store.Marks(ctx)
	if err == nil {
		change(&m)
		err = e.store.SaveMarks(ctx, m, news...)
	}
	if err != nil {
		return m, fmt.Errorf("save marks: %w", err)
	}
	return m, nil
}

// resting reports whether a failed call of that key must still pause.
func (m *memory) resting(key string, now time.Time) bool { return now.Before(m.pause[key].until) }

// rest makes a call of that key pause, twice as long each time.
func (m *memory) rest(key string, now time.Time, first, most, atLeast time.Duration) {
	p := m.pause[key]
	d := min(first<<min(p.tries, 20), most)
	m.pause[key] = pause{now.Add(max(d, atLeast)), p.tries + 1}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// nodesOf returns the node names of the machines in the given states.
func nodesOf(r *bridge.Rental, states ...bridge.MachineState) []string {
	var out []string
	for i := range r.Machines {
		if slices.Contains(states, r.Machines[i].State) {
			out = append(out, r.Machines[i].Node)
		}
	}
	return out
}
