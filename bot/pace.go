package bot

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Slack's methods that the bot paces itself.
const (
	methodPost      = "chat.postMessage"
	methodUpdate    = "chat.update"
	methodEphemeral = "chat.postEphemeral"
	methodPublish   = "views.publish"
	methodResponse  = "response_url"
	methodAddress   = "files.getUploadURLExternal"
	methodUploaded  = "files.completeUploadExternal"
)

// tier is what Slack allows of a method: so many a minute, so many at once.
type tier struct{ perMinute, burst int }

// tiers keep a little below Slack's own figures, for the calls of the command
// line's doctor and of people come on top.
var tiers = map[string]tier{
	methodPost:      {240, 20}, // all channels together; each of them 60, see below
	methodUpdate:    {48, 10},
	methodEphemeral: {95, 20},
	methodPublish:   {95, 20},
	methodResponse:  {240, 30},
	methodAddress:   {95, 20},
	methodUploaded:  {95, 20},
}

// perChannel is Slack's one message a second in a channel. The second counts
// from the end of the call before: when it arrived is not known better.
var perChannel = tier{60, 1}

// pace keeps Slack's limits: a token bucket for each method, one more for each
// channel, and what Slack itself asked to be left alone for. It is safe for use
// by several goroutines.
type pace struct {
	now   func() time.Time
	speed float64 // 1 in life; tests and a local Slack may run their limits faster

	mu      sync.Mutex
	buckets map[string]*rate.Limiter
	resting map[string]time.Time // by Slack's own word
	busy    map[string]time.Time // channels that a message is on its way to, or just came to
}

func newPace(now func() time.Time, speed float64) *pace {
	if speed <= 0 {
		speed = 1
	}
	return &pace{now: now, speed: speed, buckets: map[string]*rate.Limiter{}, resting: map[string]time.Time{}, busy: map[string]time.Time{}}
}

// take uses up one call of a method in a channel; when it may not be made now,
// nothing is used and the time is when to look again.
func (p *pace) take(method, channel string) (ok bool, at time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	names := []string{method}
	if method == methodPost && channel != "" {
		names = append(names, method+" "+channel)
	}
	for _, name := range names {
		for _, m := range []map[string]time.Time{p.resting, p.busy} {
			if until := m[name]; until.After(now) {
				return false, until
			}
		}
	}
	var taken []*rate.Reservation
	for i, name := range names {
		r := p.bucket(name, i > 0).ReserveN(now, 1)
		taken = append(taken, r)
		if d := r.DelayFrom(now); d > 0 {
			for _, t := range taken {
				t.CancelAt(now)
			}
			return false, now.Add(d)
		}
	}
	if len(names) > 1 {
		p.busy[names[1]] = now.Add(callFor) // until it is done
	}
	return true, now
}

func (p *pace) bucket(name string, channel bool) *rate.Limiter {
	if b := p.buckets[name]; b != nil {
		return b
	}
	t := perChannel
	if !channel {
		t = tiers[name]
	}
	b := rate.NewLimiter(rate.Limit(float64(t.perMinute)/60*p.speed), t.burst)
	p.buckets[name] = b
	return b
}

// done notes the end of a call, or that it was not made after all.
func (p *pace) done(method, channel string) {
	if method != methodPost || channel == "" {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.busy[method+" "+channel] = p.now().Add(time.Duration(float64(time.Minute) / float64(perChannel.perMinute) / p.speed))
}

// rest leaves a method, or for messages one channel, alone for as long as Slack
// says.
func (p *pace) rest(method, channel string, d time.Duration) (until time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	name := method
	if method == methodPost && channel != "" {
		name += " " + channel
	}
	until = p.now().Add(d)
	if until.After(p.resting[name]) {
		p.resting[name] = until
	}
	return until
}
