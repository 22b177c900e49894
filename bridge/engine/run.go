package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"spillway.sh/spillway/bridge"
)

// Run looks at the world until ctx ends, or until another bridge has taken
// over the store. What it was doing is found again at the next start.
func (e *Engine) Run(ctx context.Context) error {
	defer e.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(ctx, e.cancel)
	defer stop()
	e.listen()
	for {
		begun := time.Now()
		err := e.Cycle(ctx, e.o.Clock())
		if errors.Is(err, bridge.ErrEpoch) {
			return fmt.Errorf("stop: %w", err)
		}
		if ctx.Err() != nil {
			return nil
		}
		e.complain(err)
		if !e.pause(ctx, begun) {
			return nil
		}
	}
}

// pause waits for the next cycle: for a wake, or the clock; false when ctx has
// ended. Two cycles are never closer than the gap.
func (e *Engine) pause(ctx context.Context, begun time.Time) bool {
	clock := time.NewTimer(e.limits.Cycle - time.Since(begun))
	defer clock.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-clock.C:
		e.memory.regular = true
	case <-e.wake:
		e.memory.regular = false
	}
	gap := e.limits.Gap - time.Since(begun)
	select {
	case <-ctx.Done():
		return false
	case <-time.After(gap):
		return true
	}
}

// complain logs what went wrong once, and again each minute while it lasts.
func (e *Engine) complain(err error) {
	m := e.memory
	text := ""
	if err != nil {
		text = err.Error()
	}
	switch {
	case text == m.complaint && (text == "" || time.Since(m.complained) < time.Minute):
		return
	case text == "":
		e.log.Info("all steps work again")
	default:
		e.log.Warn("steps to repeat", "err", text)
	}
	m.complaint, m.complained = text, time.Now()
}

// listen follows the clouds that tell of changes.
func (e *Engine) listen() {
	for name, cloud := range e.clouds {
		if t, ok := cloud.(Teller); ok {
			e.calls.wg.Go(func() { e.hear(e.calls.ctx, name, t) })
		}
	}
}

// hear has a cloud listed, and the next cycle start, whenever it tells of a
// change. What it tells is never believed by itself: the list is.
func (e *Engine) hear(ctx context.Context, name string, t Teller) {
	cursor := ""
	for ctx.Err() == nil {
		next, err := t.Changed(ctx, cursor)
		if err != nil {
			select {
			case <-ctx.Done():
			case <-time.After(e.limits.Retry):
			}
			continue
		}
		if next != cursor {
			cursor = next
			e.told.Store(name, true)
			e.Wake()
		}
	}
}

// Remember changes the marks in one piece with the loop's own changes of them,
// and has the next cycle see it at once.
func (e *Engine) Remember(ctx context.Context, change func(*bridge.Marks), news ...bridge.News) error {
	defer e.Wake()
	_, err := e.changeMarks(ctx, change, news...)
	return err
}
