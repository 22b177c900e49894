package enrol

import (
	"context"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"spillway.sh/spillway/bridge"
)

// Reports that one machine may send: so many at once when much changes, and so
// many a second after that. All machines together send about beatsPerServer a
// second; when there are more of them, each is told to report less often.
const (
	perMachine, burstOfMachine = 2, 20
	beatsPerServer             = 400
	// forgotten is how long a machine that reports no more is remembered.
	forgotten = 15 * time.Minute
)

// beats limits what machines that hold a lease may ask.
type beats struct {
	mu    sync.Mutex
	one   map[lease]*speaker
	swept time.Time
}

type speaker struct {
	*rate.Limiter
	last    time.Time
	version string
	known   bool
}

func newBeats() *beats { return &beats{one: map[lease]*speaker{}} }

// allow spends one request of a machine.
func (b *beats) allow(l lease, now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if now.Sub(b.swept) > forgotten {
		b.swept = now
		for k, s := range b.one {
			if now.Sub(s.last) > forgotten {
				delete(b.one, k)
			}
		}
	}
	s := b.one[l]
	if s == nil {
		s = &speaker{Limiter: rate.NewLimiter(perMachine, burstOfMachine)}
		b.one[l] = s
	}
	s.last = now
	return s.AllowN(now, 1)
}

// heard reports whether this version is news of a machine.
func (b *beats) heard(l lease, version string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.one[l]
	if s == nil || s.known && s.version == version {
		return false
	}
	s.known, s.version = true, version
	return true
}

// every is how often a machine is to report.
func (b *beats) every(least time.Duration) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return max(least, time.Duration(len(b.one))*time.Second/beatsPerServer).Round(time.Second)
}

// rentalAge is how long a rental that was read is good for: many machines of
// one rental ask, and a rental of thousands is long.
const rentalAge = time.Second

// rentalCache remembers rentals for a moment.
type rentalCache struct {
	from  Rentals
	clock func() time.Time
	mu    sync.Mutex
	read  map[bridge.RentalID]readRental
}

type readRental struct {
	rental bridge.Rental
	at     time.Time
}

func newRentalCache(from Rentals, clock func() time.Time) *rentalCache {
	return &rentalCache{from: from, clock: clock, read: map[bridge.RentalID]readRental{}}
}

// get returns a rental, which must not be changed.
func (c *rentalCache) get(ctx context.Context, id bridge.RentalID) (bridge.Rental, error) {
	c.mu.Lock()
	defer c.mu.Unlock() // The others want the same, or the same file.
	now := c.clock()
	fresh := func(r readRental) bool { age := now.Sub(r.at); return age >= 0 && age < rentalAge }
	if r, ok := c.read[id]; ok && fresh(r) {
		return r.rental, nil
	}
	for k, r := range c.read {
		if !fresh(r) {
			delete(c.read, k)
		}
	}
	rental, err := c.from.Rental(ctx, id)
	if err == nil {
		c.read[id] = readRental{rental, now}
	}
	return rental, err
}
