package sim

import (
	"hash/fnv"
	"math/rand/v2"
	"sync"
	"time"
)

// draw returns a stream of chance of its own for one concern, so that one more
// draw in one does not shift the others.
func (w *World) draw(concern string) *rand.Rand {
	return rand.New(rand.NewPCG(w.setup.Seed, hashOf(concern))) //nolint:gosec // A world that comes again with its seed; no secret.
}

func hashOf(text string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(text)) // A hash never fails to write.
	return h.Sum64()
}

// between is a time from least to most.
func between(r *rand.Rand, least, most time.Duration) time.Duration {
	return least + time.Duration(r.Int64N(int64(most-least)+1))
}

// after is the time until the next of events that come by themselves, mean apart.
func after(r *rand.Rand, mean time.Duration) time.Duration {
	return time.Duration(min(r.ExpFloat64(), 10)*float64(mean)) + time.Millisecond
}

// pick is one of several.
func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

// ways is how long things take on their way through a simulated socket: each
// call a time of its own, to the nanosecond, so that those who wait wake one
// after the other, in an order that the seed gives.
type ways struct {
	seed uint64
	mu   sync.Mutex
	n    map[string]uint64 // calls by name
}

const (
	leastWay = 3 * time.Millisecond
	mostWay  = 90 * time.Millisecond
)

// next is the time that the next call of a name is under way, one way.
func (w *ways) next(name string) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.n[name]++
	r := rand.NewPCG(w.seed^hashOf(name), w.n[name])
	return leastWay + time.Duration(r.Uint64()%uint64(mostWay-leastWay))
}
