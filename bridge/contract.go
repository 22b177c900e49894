package bridge

import (
	"math"
	"time"
)

// left is how long an offer's contract still lasts, in whole minutes, so that
// what was found out about it holds for a minute.
func (o *Offer) left(now time.Time) time.Duration {
	if o.Until.IsZero() {
		return math.MaxInt64
	}
	return o.Until.Sub(now).Truncate(time.Minute)
}

// minutes notes until when what is left of contracts stays what it is.
func (l *look) minutes() {
	for i, o := range l.catalog.offers {
		if o.Until.IsZero() {
			continue
		}
		left := l.catalog.state[i].left
		l.span.reached(nanos(o.Until, -left-time.Minute) + 1)
		l.span.reached(nanos(o.Until, -left) + 1)
	}
}
