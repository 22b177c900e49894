package engine

import "time"

// How long the clouds' clocks are heard against the host's: as long as they say
// otherwise, and, where they do not answer, until it cannot be helped.
const (
	disputeMost = 24 * time.Hour
	silenceMost = 30 * time.Minute
)

// witness is what is known of a leap of the host's clock that is not believed
// yet. It is the loop goroutine's.
type witness struct {
	asked  time.Time // when the time was last asked for, by a clock that nobody sets
	since  time.Time // that the leap is in dispute; zero: there is none
	newest time.Time // of what the clouds said when it began
}

// sober is the time to go by. A clock that leaps far ahead, and not with the
// clouds' own clocks, is not believed: else a fleet would be ended by it, nothing
// rented for as long as it was wrong, and all of that remembered. Time goes on as
// before it, until the clouds confirm it. Where no cloud says what time it is,
// the host is believed.
func (e *Engine) sober(wall time.Time) time.Time {
	m, x := e.memory, &e.witness
	on := m.last.Add(time.Since(x.asked))
	x.asked = time.Now()
	if m.last.IsZero() {
		return wall
	}
	newest := e.newestSample()
	if wall.Sub(on) <= e.limits.Leap || wall.Sub(newest).Abs() <= e.limits.Leap {
		x.since = noTime
		return wall
	}
	if x.since.IsZero() {
		if on.Sub(newest) > e.limits.Leap+e.limits.OffersEvery {
			return wall // They do not say what time it is.
		}
		x.since, x.newest = x.asked, newest
	}
	clear(m.priced) // They are asked at once, and at each look.
	most := silenceMost
	if newest.After(x.newest) {
		most = disputeMost
	}
	if time.Since(x.since) > most {
		return wall
	}
	return on
}

// newestSample is the latest time that a cloud has said.
func (e *Engine) newestSample() time.Time {
	var newest time.Time
	for _, offers := range e.memory.offers {
		for i := range offers {
			newest = later(newest, offers[i].SampledAt)
		}
	}
	return newest
}
