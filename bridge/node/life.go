package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"
)

const (
	// lifeTick is how often the end is looked for, at least.
	lifeTick = 15 * time.Second
	// unheard is the least time that a machine whose own clock says that its
	// rental is over already waits for the bridge's word before it believes so.
	unheard = 5 * time.Minute
	// offAgain is the pause before a machine that is still on is switched off again.
	offAgain = 30 * time.Second
)

// life is the dead man's switch. Its times are of the boot clock.
type life struct {
	clock Clock
	stale time.Duration
	busy  func() bool
	off   func(why string)
	// file tells the boot script, which watches too, in whole seconds.
	file string

	mu    sync.Mutex
	end   time.Duration // off by then
	known time.Time     // the end as it was said last, by the day's clock
	heard time.Duration // when the bridge last spoke
	ended bool
	moved chan struct{} // holds one
}

// newLife starts from what the boot script was told. The day's clock may be
// wrong until the bridge says what time it is.
func newLife(a *Options, now time.Time) *life {
	left := a.Expires.Sub(now)
	return &life{
		clock: a.Clock, stale: a.Stale, busy: a.Member.Busy, off: a.Off, file: filepath.Join(a.Dir, "end"),
		end: a.Clock() + max(left, unheard), known: a.Expires, heard: a.Clock(), moved: make(chan struct{}, 1),
	}
}

// hear takes the bridge's word: when the rental ends, and what time it is there.
// Only the difference counts, so no clock of this machine can be wrong in it.
func (l *life) hear(expires, now time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.heard = l.clock()
	switch {
	case expires.IsZero():
		return nil
	case now.IsZero(): // A bridge that does not say: the end moves by as much as it says.
		l.end += expires.Sub(l.known)
	default:
		l.end = l.heard + expires.Sub(now)
	}
	l.known = expires
	return l.tell()
}

// tagged takes the word of the machine's own tags, for while the bridge is away.
func (l *life) tagged(expires time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if expires.IsZero() || expires.Equal(l.known) {
		return nil
	}
	l.end += expires.Sub(l.known)
	l.known = expires
	return l.tell()
}

// over ends the machine now: the bridge says that its rental has ended.
func (l *life) over() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
	l.stir()
}

func (l *life) tell() error {
	l.stir()
	text := strconv.FormatInt(int64(l.end/time.Second), 10) + "\n"
	if err := writeFile(l.file, []byte(text), 0o600); err != nil {
		return fmt.Errorf("tell the boot script the end: %w", err)
	}
	return nil
}

func (l *life) stir() {
	select {
	case l.moved <- struct{}{}:
	default:
	}
}

// silence is how long the bridge has not been heard.
func (l *life) silence() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.clock() - l.heard
}

// watch switches the machine off when its time has come.
func (l *life) watch(ctx context.Context) {
	for {
		wait, why := l.judge()
		if why != "" {
			l.off(why)
			if !sleep(ctx, offAgain) { // It takes a moment, or has failed.
				return
			}
			continue
		}
		t := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			t.Stop()
			return
		case <-l.moved:
			t.Stop()
		case <-t.C:
		}
	}
}

// judge says why the machine must be off now, or when to look again.
func (l *life) judge() (wait time.Duration, why string) {
	l.mu.Lock()
	now, end, heard, ended := l.clock(), l.end, l.heard, l.ended
	l.mu.Unlock()
	switch {
	case ended:
		return 0, "the rental has ended"
	case now >= end:
		return 0, "the rental is over"
	case now-heard >= l.stale && !l.busy():
		return 0, fmt.Sprintf("the bridge was not heard of for %s, and nothing runs", (now - heard).Round(time.Second))
	}
	return min(end-now, lifeTick), ""
}

// writeFile writes a whole file or none.
func writeFile(path string, data []byte, mode os.FileMode) error {
	f, err := os.OpenFile(path+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Chmod(mode), f.Close()); err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return os.Rename(f.Name(), path)
}
