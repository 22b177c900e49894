package demo

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"spillway.sh/spillway/bridge"
)

// story prints what happens, a line each, with the time since it began.
type story struct {
	mu    sync.Mutex
	w     io.Writer
	began time.Time
	// names of the jobs by id, so that people read train-3 and not 3.
	names map[bridge.JobID]string
	// accepted are the rentals whose machines were told to boot: news come one a machine.
	accepted map[bridge.RentalID]bool
}

func newStory(w io.Writer, began time.Time) *story {
	return &story{w: w, began: began, names: map[bridge.JobID]string{}, accepted: map[bridge.RentalID]bool{}}
}

// tell prints one line at a moment.
func (s *story) tell(at time.Time, who, format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := max(at.Sub(s.began), 0).Truncate(100 * time.Millisecond)
	text := strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", "\n"+strings.Repeat(" ", 21))
	fmt.Fprintf(s.w, "%3d:%04.1f  %-9s  %s\n", int(d.Minutes()), d.Seconds()-60*float64(int(d.Minutes())), who, text)
}

func (s *story) name(id bridge.JobID) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := s.names[id]; n != "" {
		return n
	}
	return "job " + string(id)
}

func (s *story) call(id bridge.JobID, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.names[id] = name
}

// news prints one line of Spillway's own record, if it is part of the story.
func (s *story) news(n bridge.News) {
	who, text := s.line(n)
	if text != "" {
		s.tell(n.At, who, "%s", text)
	}
}

// line is the teller and the text of a piece of news; empty for what a reader
// of the story need not see.
func (s *story) line(n bridge.News) (who, text string) { //nolint:gocyclo // One case for each kind of news.
	pool := "a cloud"
	if n.Pool != nil {
		pool = fmt.Sprintf("%s (%s, %s)", n.Pool.Cloud, n.Pool.Type, n.Pool.Market)
	}
	switch n.Kind {
	case bridge.NewsReserved:
		return "money", fmt.Sprintf("%s: %s held at the worst case, before anything is rented at %s", n.Rental, n.Cost, pool)
	case bridge.NewsAsked:
		return "question", fmt.Sprintf("%s would take up to %s at %s, more than the budget has left; nothing is held yet", n.Rental, n.Cost, pool)
	case bridge.NewsApproved:
		return "person", fmt.Sprintf("%s approved by %s: overage and hold written together, %s", n.Rental, n.Who, n.Cost)
	case bridge.NewsDenied:
		return "person", fmt.Sprintf("%s denied by %s", n.Rental, n.Who)
	case bridge.NewsCreated:
		if s.accepted[n.Rental] {
			return "", ""
		}
		s.accepted[n.Rental] = true
		return "cloud", fmt.Sprintf("%s accepted by %s: machines boot", n.Rental, pool)
	case bridge.NewsRefused:
		return "cloud", fmt.Sprintf("%s refused by %s: the hold goes back, the next offer is tried", n.Rental, pool)
	case bridge.NewsAdmitted:
		return "slurm", fmt.Sprintf("%s complete: its machines are let in, all at once", n.Rental)
	case bridge.NewsStarted:
		return "slurm", fmt.Sprintf("%s runs on %s", s.name(n.Job), n.Rental)
	case bridge.NewsFinished:
		return "slurm", fmt.Sprintf("%s has left %s", s.name(n.Job), n.Rental)
	case bridge.NewsNotice:
		return "notice", fmt.Sprintf("the cloud takes %s of %s back", n.Node, n.Rental)
	case bridge.NewsDrained:
		return "reclaim", fmt.Sprintf("%s drained and its job told to save, %.2f s after the notice", n.Node, n.Took.Seconds())
	case bridge.NewsRequeued:
		return "reclaim", fmt.Sprintf("%s requeued before its script could end", s.name(n.Job))
	case bridge.NewsEligible:
		return "reclaim", fmt.Sprintf("%s may start again, %.2f s after its steps were dead", s.name(n.Job), n.Took.Seconds())
	case bridge.NewsReclaimed:
		return "cloud", fmt.Sprintf("%s of %s is gone", n.Node, n.Rental)
	case bridge.NewsReleasing:
		if n.Node != "" {
			return "release", fmt.Sprintf("%s of %s is given back (%s)", n.Node, n.Rental, n.Why)
		}
		return "release", fmt.Sprintf("%s is given back (%s)", n.Rental, n.Why)
	case bridge.NewsSettled:
		return "money", fmt.Sprintf("%s settled: %s posted, the rest of its hold returned", n.Rental, n.Cost)
	case bridge.NewsOrphan, bridge.NewsForeign, bridge.NewsProtected, bridge.NewsWarning, bridge.NewsUnknown, bridge.NewsWithdrawn, bridge.NewsLapsed:
		return "warning", strings.TrimSpace(fmt.Sprintf("%s %s %s %s", n.Kind, n.Rental, n.Why, n.Text))
	default: // All others are no part of the story.
		return "", ""
	}
}
