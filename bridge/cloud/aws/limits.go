package aws

import (
	"math"
	"sync"

	"golang.org/x/time/rate"
)

// Limits are the rates at which accounts are asked, by account and region. One
// is enough for all clouds of a process, and more than one too many: clouds that
// share an account share what EC2 allows it.
type Limits struct {
	scale float64

	mu   sync.Mutex
	have map[string]*lanes
}

// NewLimits returns EC2's own limits, times scale; 1 for zero.
func NewLimits(scale float64) *Limits {
	if scale <= 0 {
		scale = 1
	}
	return &Limits{scale: scale, have: map[string]*lanes{}}
}

// lanes are the limits of one account in one region, by kind of call.
type lanes struct {
	run, terminate, tag, read, list *rate.Limiter
}

// What EC2 refills in a second and holds at most, as far as it is known from
// those who met it. Prices and quotas have services of their own, which are
// narrower.
const (
	runRate, runBurst             = 2, 5
	terminateRate, terminateBurst = 5, 100
	tagRate, tagBurst             = 10, 100
	readRate, readBurst           = 20, 100
	listRate, listBurst           = 5, 10
)

// of returns the limits that an account has in a region.
func (l *Limits) of(account, region string) *lanes {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := account + "\x00" + region
	if l.have[key] == nil {
		bucket := func(perSecond float64, burst int) *rate.Limiter {
			// A little below: calls bunch up on their way.
			return rate.NewLimiter(rate.Limit(0.95*perSecond*l.scale), int(math.Ceil(float64(burst-1)*max(l.scale, 1))))
		}
		l.have[key] = &lanes{
			run: bucket(runRate, runBurst), terminate: bucket(terminateRate, terminateBurst), tag: bucket(tagRate, tagBurst),
			read: bucket(readRate, readBurst), list: bucket(listRate, listBurst),
		}
	}
	return l.have[key]
}
