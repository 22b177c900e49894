package usage

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"spillway.sh/spillway/bridge"
)

// Store keeps usage by the hour.
type Store interface {
	AddUsage(ctx context.Context, us ...bridge.Usage) error
}

// Gauge knows how busy nodes' GPUs are.
type Gauge interface {
	// Utilisation is per mille by node, of those of the given nodes that are known.
	Utilisation(ctx context.Context, nodes []string, at time.Time) (map[string]int, error)
}

// Options are what a recorder works with.
type Options struct {
	View  func() (bridge.Snapshot, bool) // the engine's latest look
	Store Store
	Gauge Gauge // nil: nothing is measured
	Now   func() time.Time
	Log   *slog.Logger
}

// Recorder adds up what GPUs do. Its methods are safe for use by several
// goroutines.
type Recorder struct {
	o Options

	run     sync.Mutex // one sample at a time
	prev    time.Time
	problem struct {
		sync.Mutex
		text string
	}
}

// New returns a recorder. What was before its first sample is not counted, so
// that a restart counts nothing twice.
func New(o Options) *Recorder { return &Recorder{o: o} }

// Sample adds what GPUs did since the last call. A call that fails is not made
// good: time may be missing from the books, and is never there twice.
func (r *Recorder) Sample(ctx context.Context) error {
	r.run.Lock()
	defer r.run.Unlock()
	now := r.o.Now().Truncate(time.Second)
	prev := r.prev
	if now.Sub(prev) < time.Second && !now.Before(prev) {
		return nil
	}
	r.prev = now
	if now.Before(prev) {
		return nil // the clock was put back: that time was counted already
	}
	s, ok := r.o.View()
	if !ok {
		return nil
	}
	us := Sample(prev, now, &s, r.utilisation(ctx, &s, now))
	if len(us) == 0 {
		return nil
	}
	if err := r.o.Store.AddUsage(ctx, us...); err != nil {
		return fmt.Errorf("record usage of GPUs: %w", err)
	}
	return nil
}

// utilisation asks the gauge, where there is one and something to ask for. What
// it cannot say is said once, until that changes.
func (r *Recorder) utilisation(ctx context.Context, s *bridge.Snapshot, now time.Time) map[string]int {
	nodes := Rented(s)
	if r.o.Gauge == nil || len(nodes) == 0 {
		return nil
	}
	got, err := r.o.Gauge.Utilisation(ctx, nodes, now)
	text := ""
	if err != nil {
		text = err.Error()
	}
	r.problem.Lock()
	defer r.problem.Unlock()
	switch text {
	case r.problem.text:
	case "":
		r.o.Log.Info("the utilisation of GPUs is known again")
	default:
		r.o.Log.Warn("the utilisation of GPUs is not known; what is allocated counts", "error", text)
	}
	r.problem.text = text
	return got
}

// Problem says why utilisation is not known just now; empty: it is, or nobody
// asked.
func (r *Recorder) Problem() string {
	r.problem.Lock()
	defer r.problem.Unlock()
	return r.problem.text
}
