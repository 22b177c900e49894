package bot

import (
	"slices"
	"sync"
	"time"

	"github.com/slack-go/slack"

	"spillway.sh/spillway/bot/talk"
	"spillway.sh/spillway/bridge"
)

const (
	// flyingMost is how many calls are under way at once.
	flyingMost = 8
	// cardEvery is the least time between two edits of one card.
	cardEvery = 5 * time.Second
	// callFor is how long one call may take.
	callFor = 10 * time.Second
	// listMost is how many undelivered messages are looked at.
	listMost = 5000
	// triesMost ends what Slack refuses for a reason that is none of the known.
	triesMost = 5
	// placeFor is how long a channel that cannot be posted to is waited for.
	placeFor = 24 * time.Hour
)

// outbox is what of the deliveries is in memory.
type outbox struct {
	wake chan struct{}

	mu      sync.Mutex
	changed bool                // the list in the box is not the one in memory
	flying  map[string]bool     // targets that a call is under way for
	need    map[int64]need      // what a parcel needs next, as its last try found out
	landed  map[int64]int64     // the revision of those that are off the list, until the box says so too
	urls    map[string]response // by the key of the interaction
	plain   map[int64]int       // how many looks of a parcel's message Slack has refused
	files   map[int64][]slack.FileSummary
}

// need is one call of a method in a channel, not before a time.
type need struct {
	method, channel string
	at              time.Time
	paid            bool
}

// response is a URL by which an interaction may be answered. It never leaves
// the memory.
type response struct {
	url  string
	at   time.Time
	left int
}

const (
	responseFor  = 29 * time.Minute // Slack's 30
	responseUses = 5
)

func newOutbox() *outbox {
	return &outbox{wake: make(chan struct{}, 1), changed: true, flying: map[string]bool{}, need: map[int64]need{}, landed: map[int64]int64{}, urls: map[string]response{}, plain: map[int64]int{}, files: map[int64][]slack.FileSummary{}}
}

// nudge says that there is more to deliver.
func (x *outbox) nudge() {
	x.mu.Lock()
	x.changed = true
	x.mu.Unlock()
	x.stir()
}

func (x *outbox) stir() {
	select {
	case x.wake <- struct{}{}:
	default:
	}
}

// remember keeps the response URL of an interaction.
func (x *outbox) remember(in *talk.Interaction, now time.Time) {
	if in.Response == "" {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for key, r := range x.urls {
		if now.Sub(r.at) > responseFor {
			delete(x.urls, key)
		}
	}
	x.urls[in.Key] = response{in.Response, now, responseUses}
}

// use takes one use of a response URL; empty when there is none left.
func (x *outbox) use(key string, now time.Time) string {
	x.mu.Lock()
	defer x.mu.Unlock()
	r, ok := x.urls[key]
	if !ok || r.left == 0 || now.Sub(r.at) > responseFor {
		delete(x.urls, key)
		return ""
	}
	r.left--
	x.urls[key] = r
	return r.url
}

// giveBack returns a use that came to nothing.
func (x *outbox) giveBack(key string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if r, ok := x.urls[key]; ok {
		r.left++
		x.urls[key] = r
	}
}

// stale reports whether the list has to be read again. What landed before this
// reading is not in it, so that those that land from now on are all that has to
// be remembered.
func (x *outbox) stale() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	was := x.changed
	if was {
		x.changed = false
		clear(x.landed)
	}
	return was
}

// waiting is a list without what is off it.
func (x *outbox) waiting(list []bridge.Parcel) []bridge.Parcel {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.DeleteFunc(list, func(p bridge.Parcel) bool {
		rev, off := x.landed[p.ID]
		return off && rev == p.Rev
	})
}

// refused notes that Slack refused one more look of a parcel's message, so that
// the next flight does not begin with it; looks says how many it refused.
func (x *outbox) refused(id int64, looks int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.plain[id] = looks
}

func (x *outbox) looks(id int64) int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.plain[id]
}

// uploaded are a parcel's files that are up and not shown yet; keepUploaded
// notes them, so that a flight that has to wait begins behind them.
func (x *outbox) uploaded(id int64) []slack.FileSummary {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Clone(x.files[id])
}

func (x *outbox) keepUploaded(id int64, fs []slack.FileSummary) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.files[id] = slices.Clone(fs)
}

// knows reports whether it is known what a parcel needs.
func (x *outbox) knows(id int64) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	_, ok := x.need[id]
	return ok
}
