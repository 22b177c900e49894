package engine

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"spillway.sh/spillway/bridge"
)

// Engine runs the flow. Its loop goroutine alone changes rentals; calls to
// clouds run beside it and are picked up by the next cycle.
type Engine struct {
	o      Options
	store  Store
	clouds map[string]Cloud
	limits Limits
	log    *slog.Logger

	calls   *calls
	cancel  context.CancelFunc
	wake    chan struct{}
	memory  *memory // what may be lost at a crash; of the loop goroutine
	witness witness
	gauges  *gauges
	heard   map[string]bool // clouds that were listed since the start; of the loop goroutine

	reports reports    // of machines' agents
	told    sync.Map   // clouds, by name, that told of a change
	marksMu sync.Mutex // between the loop and the desk
	shown   atomic.Pointer[shown]
}

// step is one sentence of the recipe. What it could not do it returns; the
// next cycle does it again.
type step struct {
	name string
	do   func(context.Context, *cycle) error
}

// Cycle looks once at the world and does what is to be done. Each step is safe
// to repeat, and an error of one never stops another, unless it says that this
// bridge has been replaced.
func (e *Engine) Cycle(ctx context.Context, now time.Time) error {
	c := e.begin(e.sober(now)) // the clock: never backwards, never trusted after a leap
	for _, s := range []step{
		{"observe", e.observe},     // clouds, then store, then queues: what is true now
		{"sweep", e.sweep},         // lists against store: found, noticed, gone, orphaned
		{"reclaim", e.reclaim},     // a notice does not wait: drain, signal, requeue, resume
		{"resume", e.checkpoints},  // what jobs would start again from, and what was lost
		{"decide", e.decide},       // pure; every yes and no has a reason
		{"reserve", e.reserve},     // hold and intent in one transaction, or a question
		{"approve", e.approve},     // questions that were not answered, or not needed any more
		{"provision", e.provision}, // create until created or refused; unknown is neither
		{"join", e.join},           // registered in time, whole gangs admitted, or given back
		{"watch", e.watch},         // jobs come and go; membership, meter, warnings, extension
		{"route", e.route},         // idle machines serve the next job that fits
		{"release", e.release},     // drain, dismiss, terminate until the cloud says gone
		{"idle", e.idle},           // machines without a job are named, once a spell
		{"settle", e.settle},       // post what it cost, give the rest of the hold back
		{"explain", e.explain},     // owners of jobs that never leave are told why
		{"breaker", e.breaker},     // too much fails at once: no new money
	} {
		err := s.do(ctx, c)
		c.failed(s.name, err)
		if errors.Is(err, bridge.ErrEpoch) {
			break // another bridge does all of it now
		}
	}
	return e.report(c)
}

// Wake makes the next cycle start now.
func (e *Engine) Wake() {
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

// Close stops all calls under way and waits for their goroutines. What they
// might still have done is found again by token and tag.
func (e *Engine) Close() {
	e.cancel()
	e.calls.wait()
}
