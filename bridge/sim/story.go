package sim

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"spillway.sh/spillway/bridge"
)

// storyMost is how many lines of a story are kept.
const storyMost = 4000

// story is all that happened, in short lines, and a digest of it.
type story struct {
	born  time.Time
	mu    sync.Mutex
	lines []string
	sum   hash.Hash
	out   io.Writer // of all that is summed
}

func newStory(born time.Time, trace io.Writer) *story {
	s := &story{born: born, sum: sha256.New()}
	s.out = s.sum
	if trace != nil {
		s.out = io.MultiWriter(s.sum, trace)
	}
	return s
}

// tell adds a line to the story and to the digest.
func (s *story) tell(at time.Time, format string, args ...any) {
	line := s.stamp(at) + " " + fmt.Sprintf(format, args...)
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintln(s.out, line)
	if s.lines = append(s.lines, line); len(s.lines) > 2*storyMost {
		s.lines = slices.Clone(s.lines[len(s.lines)-storyMost:])
	}
}

// feed adds a line to the digest alone.
func (s *story) feed(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintf(s.out, format+"\n", args...)
}

// stamp is a time since the world's birth: days, and the time of day.
func (s *story) stamp(at time.Time) string {
	d := at.Sub(s.born)
	return fmt.Sprintf("%dd %s", d/(24*time.Hour), time.Time{}.Add(d%(24*time.Hour)).Format("15:04:05.000"))
}

// news tells what the bridge told.
func (s *story) news(at time.Time, n *bridge.News) {
	line := []string{"news", string(n.Kind)}
	for _, part := range []string{string(n.Rental), n.Machine, n.Node, string(n.Job), n.Who, string(n.Why), n.Text} {
		if part != "" {
			line = append(line, part)
		}
	}
	s.tell(at, "%s", strings.Join(line, " "))
}

// Digest is of all that happened: the same seed gives the same one.
func (w *World) Digest() string {
	w.story.mu.Lock()
	defer w.story.mu.Unlock()
	return hex.EncodeToString(w.story.sum.Sum(nil))
}

// Story is what happened, in short lines, the latest few thousand.
func (w *World) Story() []string {
	w.story.mu.Lock()
	defer w.story.mu.Unlock()
	return slices.Clone(w.story.lines)
}
