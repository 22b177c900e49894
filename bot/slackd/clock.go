package slackd

import (
	"fmt"
	"sync"
	"time"
)

// clock is Slack's time. A jump moves all of it; speed makes the waits that
// are Slack's own shorter (rate limits, event retries), and nothing that a
// person or the bot has to keep.
type clock struct {
	mu    sync.Mutex
	real  func() time.Time
	skew  time.Duration
	speed float64
	last  int64 // last stamp, microseconds
}

func newClock(read func() time.Time, speed float64) *clock {
	if read == nil {
		read = time.Now
	}
	if speed <= 0 {
		speed = 1
	}
	return &clock{real: read, speed: speed}
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.real().Add(c.skew)
}

// stamp is a new ts: seconds with six digits, unique in the workspace and
// never falling.
func (c *clock) stamp() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := max(c.real().Add(c.skew).UnixMicro(), c.last+1)
	c.last = at
	return fmt.Sprintf("%d.%06d", at/1e6, at%1e6)
}

// seen keeps stamps above one that an earlier run gave.
func (c *clock) seen(ts string) {
	var s, us int64
	if _, err := fmt.Sscanf(ts, "%d.%06d", &s, &us); err != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = max(c.last, s*1e6+us)
}

func (c *clock) jump(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.skew += d
}

func (c *clock) setSpeed(s float64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s > 0 {
		c.speed = s
	}
}

func (c *clock) rate() float64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.speed
}

// wait is a wait of Slack's own at the present speed.
func (c *clock) wait(d time.Duration) time.Duration {
	return time.Duration(float64(d) / c.rate())
}
