package policies

import (
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/config/strict"
)

// Watch is what the file says of machines without a job.
func (f *File) Watch() bridge.Watch { return f.watch.OrDefault() }

// readWatch reads the patience with machines that have no job:
//
//	watch:
//	  idle_tell: 20m   # named to its owner after so long; sooner, if it would be given back sooner
//	  unowned: 15m     # what nobody owns goes so long after the owner of its budget was told
//
// When they go back is each rule's idle.
func (r *reader) readWatch(n strict.Node) {
	w := &r.file.watch
	n.Object(
		strict.May("idle_tell", "idle_tell: 20m", strict.Span(&w.Tell, time.Minute, maxWait)),
		strict.May("unowned", "unowned: 15m", strict.Span(&w.Unowned, time.Minute, maxWait)),
	)
}
