package sim

import (
	"sync"
	"time"
)

// clock is the bridge's: true time, and what is wrong with it.
type clock struct {
	mu    sync.Mutex
	skew  time.Duration
	drift int64 // per mille of true time that it runs fast
	since time.Time
}

// Now is what the clock shows.
func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().UTC().Add(c.skew + c.drifted()).Round(0)
}

func (c *clock) drifted() time.Duration {
	if c.drift == 0 {
		return 0
	}
	return time.Duration(int64(time.Since(c.since)) / 1000 * c.drift)
}

// jump sets it by so much.
func (c *clock) jump(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.skew += d
}

// run makes it fast by so many per mille from now on, slow by negative ones.
func (c *clock) run(drift int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.skew += c.drifted()
	c.drift, c.since = drift, time.Now()
}

// right sets it right again, as somebody who noticed does.
func (c *clock) right() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.skew, c.drift = 0, 0
}

// Jump sets the bridge's clock by so much.
func (w *World) Jump(d time.Duration) {
	w.clock.jump(d)
	w.story.tell(time.Now(), "the bridge's clock jumps by %s", d)
}

// Drift makes the bridge's clock run fast by so many per mille; a negative one
// makes it slow.
func (w *World) Drift(perMille int64) {
	w.clock.run(perMille)
	w.story.tell(time.Now(), "the bridge's clock is fast by %d per mille", perMille)
}

// Right sets the bridge's clock right.
func (w *World) Right() {
	w.clock.right()
	w.story.tell(time.Now(), "the bridge's clock is set right")
}
