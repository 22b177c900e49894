package config

import (
	"time"

	"spillway.sh/spillway/bridge/config/strict"
)

// Limits are the engine's times and sizes.
type Limits struct {
	Read     time.Duration `json:"read"`  // of one scheduler read
	Write    time.Duration `json:"write"` // of one scheduler write
	Call     time.Duration `json:"call"`  // of one cloud call
	Lane     int           `json:"lane"`  // calls to one cloud at once
	QueueAge time.Duration `json:"max_queue_age"`

	ListEvery   time.Duration `json:"list_every"`   // between two lists of a cloud
	OffersEvery time.Duration `json:"offers_every"` // between two price lists

	Launch    time.Duration `json:"launch"`     // from intent to existing machines
	Join      time.Duration `json:"join"`       // from existing to registered
	AbsentGap time.Duration `json:"absent_gap"` // between two lists that prove absence
	OrphanAge time.Duration `json:"orphan_age"` // nothing younger is an orphan
	AskAgain  time.Duration `json:"ask_again"`  // a lapsed question rests this long

	Retry     time.Duration   `json:"retry"`      // first pause after a failed call, doubling
	RetryMost time.Duration   `json:"retry_most"` // and the longest
	PoolDown  time.Duration   `json:"pool_down"`  // first rest of a sold-out pool, doubling
	PoolMost  time.Duration   `json:"pool_most"`  // and the longest
	QuotaDown time.Duration   `json:"quota_down"` // first rest after a refusal for quota, price or rights
	Post      time.Duration   `json:"post"`       // between two posts of one rental
	Reserve   time.Duration   `json:"reserve"`    // jobs are requeued this long before a taking
	Warn      []time.Duration `json:"warn"`       // before the end of a rental with a running job
	Leap      time.Duration   `json:"leap"`       // a clock that moved further is not trusted at once

	Breaker Breaker `json:"breaker"`
}

// Breaker says when the bridge stops buying by itself.
type Breaker struct {
	Fails       int           `json:"fails"`        // failed joins within Window
	Window      time.Duration `json:"window"`       //
	CoolDown    time.Duration `json:"cool_down"`    // after which it closes by itself
	VanishMost  int           `json:"vanish_most"`  // machines gone at once, more than this
	VanishShare int           `json:"vanish_share"` // and more than this per cent
}

// DefaultLimits are safe on every cloud.
func DefaultLimits() Limits {
	return Limits{
		Read: 30 * time.Second, Write: 10 * time.Second, Call: time.Minute, Lane: 8, QueueAge: 30 * time.Second,
		ListEvery: 5 * time.Second, OffersEvery: 30 * time.Second,
		Launch: 5 * time.Minute, Join: 15 * time.Minute, AbsentGap: 2 * time.Minute, OrphanAge: 5 * time.Minute, AskAgain: time.Hour,
		Retry: 2 * time.Second, RetryMost: time.Minute, PoolDown: 30 * time.Second, PoolMost: 30 * time.Minute,
		QuotaDown: 5 * time.Minute, Post: time.Minute, Reserve: 10 * time.Second,
		Warn: []time.Duration{30 * time.Minute, 10 * time.Minute, 2 * time.Minute}, Leap: 10 * time.Minute,
		Breaker: Breaker{Fails: 10, Window: time.Hour, CoolDown: 30 * time.Minute, VanishMost: 3, VanishShare: 25},
	}
}

// limits reads the section. The least values are those that tests and demos
// need; the defaults are what clouds need.
func (r *reader) limits(n strict.Node) {
	l := &r.config.Limits
	span := func(key, example string, dst *time.Duration, least, most time.Duration) strict.Field {
		return strict.May(key, key+": "+example, strict.Span(dst, least, most))
	}
	n.Object(
		span("read", "30s", &l.Read, time.Second, 10*time.Minute),
		span("write", "10s", &l.Write, time.Second, 10*time.Minute),
		span("call", "1m", &l.Call, time.Second, 10*time.Minute),
		strict.May("lane", "lane: 8", strict.Whole(&l.Lane, 1, 256)),
		span("max_queue_age", "30s", &l.QueueAge, time.Second, 10*time.Minute),
		span("list_every", "5s", &l.ListEvery, 100*time.Millisecond, 10*time.Minute),
		span("offers_every", "30s", &l.OffersEvery, 100*time.Millisecond, time.Hour),
		span("launch", "5m", &l.Launch, time.Second, time.Hour),
		span("join", "15m", &l.Join, time.Second, 4*time.Hour),
		span("absent_gap", "2m", &l.AbsentGap, time.Second, time.Hour),
		span("orphan_age", "5m", &l.OrphanAge, time.Second, 24*time.Hour),
		span("ask_again", "1h", &l.AskAgain, time.Second, 7*24*time.Hour),
		span("retry", "2s", &l.Retry, 100*time.Millisecond, 10*time.Minute),
		span("retry_most", "1m", &l.RetryMost, 100*time.Millisecond, time.Hour),
		span("pool_down", "30s", &l.PoolDown, time.Second, 24*time.Hour),
		span("pool_most", "30m", &l.PoolMost, time.Second, 24*time.Hour),
		span("quota_down", "5m", &l.QuotaDown, time.Second, 24*time.Hour),
		span("post", "1m", &l.Post, time.Second, time.Hour),
		span("reserve", "10s", &l.Reserve, time.Second, 10*time.Minute),
		strict.May("warn", "warn: [30m, 10m, 2m]", warnings(&l.Warn)),
		span("leap", "10m", &l.Leap, time.Second, 24*time.Hour),
		strict.May("breaker", "breaker: {fails: 10, window: 1h}", breaker(&l.Breaker)),
	)
	notMore := func(key string, less time.Duration, than string, more time.Duration) {
		if c, ok := n.Get(key); ok && less > more {
			c.With(key + ": " + strict.FormatSpan(more)).Fault("longer than " + than + ", which is " + strict.FormatSpan(more))
		} else if c, ok := n.Get(than); ok && less > more {
			c.With(than + ": " + strict.FormatSpan(less)).Fault("shorter than " + key + ", which is " + strict.FormatSpan(less))
		}
	}
	notMore("retry", l.Retry, "retry_most", l.RetryMost)
	notMore("pool_down", l.PoolDown, "pool_most", l.PoolMost)
	notMore("list_every", l.ListEvery, "absent_gap", l.AbsentGap)
	notMore("absent_gap", l.AbsentGap, "orphan_age", l.OrphanAge)
}

func warnings(dst *[]time.Duration) func(strict.Node) {
	return func(n strict.Node) {
		var out []time.Duration
		strict.Each(func(e strict.Node) {
			var d time.Duration
			if !e.Sound(strict.Span(&d, time.Second, 24*time.Hour)) {
				return
			}
			if len(out) > 0 && d >= out[len(out)-1] {
				e.Fault("each warning is nearer to the end than the one before it")
			}
			out = append(out, d)
		})(n)
		*dst = out
	}
}

func breaker(b *Breaker) func(strict.Node) {
	return func(n strict.Node) {
		n.Object(
			strict.May("fails", "fails: 10", strict.Whole(&b.Fails, 1, 10_000)),
			strict.May("window", "window: 1h", strict.Span(&b.Window, time.Second, 7*24*time.Hour)),
			strict.May("cool_down", "cool_down: 30m", strict.Span(&b.CoolDown, time.Second, 7*24*time.Hour)),
			strict.May("vanish_most", "vanish_most: 3", strict.Whole(&b.VanishMost, 1, 10_000)),
			strict.May("vanish_share", "vanish_share: 25", strict.Whole(&b.VanishShare, 1, 100)),
		)
	}
}
