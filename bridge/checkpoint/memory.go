package checkpoint

import (
	"sync"
	"time"

	"spillway.sh/spillway/bridge"
)

// mostRemembered bounds the memory. An emptied one costs a second look.
const mostRemembered = 50_000

// memory is what earlier looks saw, by the full name of a checkpoint.
type memory struct {
	mu   sync.Mutex
	seen map[string]sighting
}

// sighting is how a checkpoint looked.
type sighting struct {
	bytes int64
	at    time.Time
	since time.Time // seen so since
	// begun is when it was first seen incomplete, ended when the one before it
	// under the same name was complete.
	begun time.Time
	ended time.Time
	every time.Duration
}

// settled reports, as a flaw, a checkpoint that did not look the same some time
// ago: its writer may still be at work.
func (l *look) settled(c *candidate) error {
	l.memory.mu.Lock()
	defer l.memory.mu.Unlock()
	key := l.place.at(c.name)
	s, ok := l.memory.seen[key]
	if !ok || s.bytes != c.bytes || !s.at.Equal(c.at) {
		s.bytes, s.at, s.since = c.bytes, c.at, l.now
		l.memory.put(key, s)
	}
	if l.now.Sub(s.since) < l.settle {
		return &flaw{bridge.FlawUnsettled, "seen with this size for " + l.now.Sub(s.since).Round(time.Second).String()}
	}
	return nil
}

// unfinishedNow notes that a checkpoint was seen before it was complete.
func (l *look) unfinishedNow(c *candidate) {
	l.memory.mu.Lock()
	defer l.memory.mu.Unlock()
	key := l.place.at(c.name)
	s := l.memory.seen[key]
	if s.begun.IsZero() {
		s.begun = l.now
		l.memory.put(key, s)
	}
}

// complete notes a complete one, and returns how long its writing took at least
// as far as looks have seen, and the time since the one before it of this name.
func (l *look) complete(c *candidate) (save, every time.Duration) {
	l.memory.mu.Lock()
	defer l.memory.mu.Unlock()
	key := l.place.at(c.name)
	s := l.memory.seen[key]
	if !s.begun.IsZero() && c.at.After(s.begun) {
		save = c.at.Sub(s.begun)
	}
	s.begun = time.Time{}
	if !s.ended.IsZero() && c.at.After(s.ended) {
		s.every = c.at.Sub(s.ended)
	}
	s.ended = c.at
	l.memory.put(key, s)
	return save, s.every
}

func (m *memory) put(key string, s sighting) {
	if len(m.seen) >= mostRemembered {
		clear(m.seen)
	}
	m.seen[key] = s
}
