package engine

import (
	"context"
	"sync"
	"time"

	"spillway.sh/spillway/bridge"
)

// calls owns the goroutines of calls that may take long: one at a time for
// each key, a bounded number for each lane. Results wait until taken.
type calls struct {
	ctx  context.Context
	wake func()
	lane int

	mu    sync.Mutex
	wg    sync.WaitGroup
	under map[string]chan struct{} // by key; closed when done
	done  map[string]result
	lanes map[string]chan struct{}
}

// result is how a call ended.
type result struct {
	value any
	err   error
	sent  time.Duration // from asked to sent: time spent waiting for the lane
	took  time.Duration
}

func newCalls(ctx context.Context, lane int, wake func()) *calls {
	return &calls{
		ctx: ctx, wake: wake, lane: lane,
		under: map[string]chan struct{}{}, done: map[string]result{}, lanes: map[string]chan struct{}{},
	}
}

// rouse says whether the end of a call makes the next cycle start early. A
// definite no always does: what is to be done elsewhere does not wait.
type rouse bool

// start begins a call unless one of that key is under way or not taken yet.
func (s *calls) start(key, lane string, limit time.Duration, wakes rouse, f func(context.Context) (any, error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.done[key]; ok || s.under[key] != nil || s.ctx.Err() != nil {
		return
	}
	if s.lanes[lane] == nil {
		s.lanes[lane] = make(chan struct{}, s.lane)
	}
	slot, over, asked := s.lanes[lane], make(chan struct{}), time.Now()
	s.under[key] = over
	s.wg.Go(func() {
		var r result
		defer func() {
			close(over)
			if bool(wakes) || bridge.KindOf(r.err).Refused() {
				s.wake()
			}
		}()
		select {
		case slot <- struct{}{}:
			r = s.run(limit, f)
			r.sent = time.Since(asked) - r.took
			<-slot
		case <-s.ctx.Done():
			r = result{err: s.ctx.Err()}
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.under, key)
		s.done[key] = r
	})
}

func (s *calls) run(limit time.Duration, f func(context.Context) (any, error)) result {
	ctx, cancel := context.WithTimeout(s.ctx, limit)
	defer cancel()
	begun := time.Now()
	v, err := f(ctx)
	return result{value: v, err: err, took: time.Since(begun)}
}

// busy reports whether a call of that key is under way.
func (s *calls) busy(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.under[key] != nil
}

// await returns when none of the keys is under way any more, or after d.
func (s *calls) await(ctx context.Context, d time.Duration, keys []string) {
	limit := time.NewTimer(d)
	defer limit.Stop()
	for _, k := range keys {
		s.mu.Lock()
		over := s.under[k]
		s.mu.Unlock()
		if over == nil {
			continue
		}
		select {
		case <-over:
		case <-limit.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// wait returns when no goroutine is left. The caller has ended the context.
func (s *calls) wait() { s.wg.Wait() }

// take hands a finished call over, once. A value that is not there, because
// the call failed, is the zero T.
func take[T any](s *calls, key string) (value T, r result, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok = s.done[key]
	delete(s.done, key)
	if r.err == nil && ok {
		value, _ = r.value.(T)
	}
	return value, r, ok
}
