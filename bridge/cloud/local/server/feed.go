package server

import (
	"crypto/rand"
	"fmt"
	"sync"
	"time"

	"spillway.sh/spillway/bridge/cloud/local/wire"
)

// feedLength is how many events are kept for readers that come back.
const feedLength = 1000

// feed tells waiting customers of changes. It does not outlive the server: its
// cursors carry the server's run, and one of another run is answered at once.
type feed struct {
	run string

	mu      sync.Mutex
	seq     int64
	events  []wire.Event
	changed chan struct{} // closed at the next event
}

func newFeed() *feed { return &feed{run: rand.Text()[:8], changed: make(chan struct{})} }

func (f *feed) tell(at time.Time, kind, machine string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seq++
	f.events = append(f.events, wire.Event{Seq: f.seq, At: at, Kind: kind, Instance: machine})
	if len(f.events) > feedLength {
		f.events = f.events[len(f.events)-feedLength:]
	}
	close(f.changed)
	f.changed = make(chan struct{})
}

// since returns what happened after a cursor. If that is nothing it returns a
// channel that is closed when something does.
func (f *feed) since(cursor string) (wire.Events, <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := wire.Events{Cursor: fmt.Sprintf("%s:%d", f.run, f.seq), Events: []wire.Event{}}
	var run string
	var seq int64
	if len(cursor) > len(f.run) {
		run = cursor[:len(f.run)]
		if _, err := fmt.Sscanf(cursor[len(f.run):], ":%d", &seq); err != nil {
			run = ""
		}
	}
	if run != f.run {
		return out, nil
	}
	for _, e := range f.events {
		if e.Seq > seq {
			out.Events = append(out.Events, e)
		}
	}
	if seq == f.seq {
		return out, f.changed
	}
	return out, nil
}
