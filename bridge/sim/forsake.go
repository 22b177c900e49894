package sim

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"spillway.sh/spillway/bridge"
)

// Forsaken is a bridge that the world has forgotten: it lives on, and people and
// machines talk to another one.
type Forsaken struct{ l *life }

// Forsake leaves the present bridge to itself, with its lock on the store lost,
// as on a file system that forgets locks. Start begins another beside it.
func (w *World) Forsake() (*Forsaken, error) {
	l := w.life
	if l == nil {
		return nil, errors.New("forsake bridge: none lives")
	}
	if err := os.Remove(filepath.Join(w.stateDir(), "spillway.lock")); err != nil {
		return nil, fmt.Errorf("forsake bridge: %w", err)
	}
	w.setLife(nil)
	w.Store, w.Desk, w.Engine = nil, nil, nil
	w.story.tell(time.Now(), "life %d of the bridge is forsaken", l.n)
	return &Forsaken{l}, nil
}

// Ended is closed when its loop has ended.
func (f *Forsaken) Ended() <-chan struct{} { return f.l.done }

// Replaced reports whether its loop has ended because another bridge has taken
// over the store.
func (f *Forsaken) Replaced() bool {
	select {
	case <-f.l.done:
		return errors.Is(f.l.err, bridge.ErrEpoch)
	default:
		return false
	}
}

// End ends it, if it has not ended by itself.
func (f *Forsaken) End() error {
	f.l.die()
	f.l.end()
	<-f.l.done
	return f.l.store.Close()
}
