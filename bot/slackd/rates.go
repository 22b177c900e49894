package slackd

import (
	"fmt"
	"time"

	"golang.org/x/time/rate"
)

// tier is how often a method may be called, per minute.
type tier struct {
	name  string
	rate  int // calls a minute
	burst int
}

// Slack documents "N+ a minute" for its tiers, a little burst being tolerated,
// and "hundreds" for the special ones. As a judge this takes N as it is.
var (
	tier1   = tier{"tier 1", 1, 5}
	tier2   = tier{"tier 2", 20, 20}
	tier3   = tier{"tier 3", 50, 50}
	tier4   = tier{"tier 4", 100, 100}
	special = tier{"special", 300, 100}

	perChannel = tier{"posts to a channel", 60, 1}
)

// tooFast is a call that came before its time.
type tooFast struct{ wait time.Duration }

func (e *tooFast) Error() string { return fmt.Sprintf("ratelimited for %s", e.wait) }

// limits hold the rates per method, and per channel for posts. The server's
// lock guards them.
type limits struct {
	clock *clock
	speed float64
	byKey map[string]*rate.Limiter
}

func newLimits(c *clock) *limits {
	return &limits{clock: c, byKey: map[string]*rate.Limiter{}}
}

// take is one call; the answer is how long to wait, zero for go ahead.
func (l *limits) take(name string, t tier, c *call) time.Duration {
	if s := l.clock.rate(); s != l.speed {
		l.speed = s
		clear(l.byKey)
	}
	wait := l.one(name, t, c.now)
	if name == "chat.postMessage" {
		wait = max(wait, l.one(name+" "+c.str("channel"), perChannel, c.now))
	}
	return wait
}

func (l *limits) one(key string, t tier, now time.Time) time.Duration {
	lim := l.byKey[key]
	if lim == nil {
		lim = rate.NewLimiter(rate.Limit(float64(t.rate)/60*l.speed), t.burst)
		l.byKey[key] = lim
	}
	r := lim.ReserveN(now, 1)
	wait := r.DelayFrom(now)
	if wait > 0 {
		r.CancelAt(now)
	}
	return wait
}
