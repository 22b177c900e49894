package server

import (
	"math"
	"time"

	"golang.org/x/time/rate"
)

// The rate limits of an account's API calls, per second and at once; the world
// file scales the first. They are those that Karpenter's authors found at EC2.
const (
	CreateRate     = 2
	CreateBurst    = 5
	TerminateRate  = 5
	TerminateBurst = 100
	ChangeRate     = 5
	ChangeBurst    = 50
	ReadRate       = 20
	ReadBurst      = 100
	// TagRate is that of EC2's dialect, which has calls of its own for tags.
	TagRate  = 10
	TagBurst = 100
)

// limits are the buckets of one account.
type limits struct {
	create, terminate, change, read, tag *rate.Limiter
}

func newLimits(scale float64) limits {
	bucket := func(perSecond float64, burst int) *rate.Limiter {
		return rate.NewLimiter(rate.Limit(perSecond*scale), int(math.Ceil(float64(burst)*max(scale, 1))))
	}
	return limits{
		create:    bucket(CreateRate, CreateBurst),
		terminate: bucket(TerminateRate, TerminateBurst),
		change:    bucket(ChangeRate, ChangeBurst),
		read:      bucket(ReadRate, ReadBurst),
		tag:       bucket(TagRate, TagBurst),
	}
}

// admit takes a call of an operation, or says when to come back.
func (l *limits) admit(op string, now time.Time) (retry time.Duration, ok bool) {
	bucket := l.read
	switch op {
	case opCreate:
		bucket = l.create
	case opTerminate:
		bucket = l.terminate
	case opUpdate:
		bucket = l.change
	case opTag:
		bucket = l.tag
	}
	r := bucket.ReserveN(now, 1)
	if d := r.DelayFrom(now); d > 0 {
		r.CancelAt(now)
		return d, false
	}
	return 0, true
}
