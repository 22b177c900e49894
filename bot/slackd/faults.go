package slackd

import (
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"
)

// Fault is something that goes wrong on purpose; doc.go lists what there is.
type Fault struct {
	ID         string `json:"id"`
	On         string `json:"on"`
	Kind       string `json:"kind"`
	MS         int    `json:"ms,omitempty"`
	RetryAfter int    `json:"retry_after,omitempty"` // seconds
	Status     int    `json:"status,omitempty"`
	Error      string `json:"error,omitempty"`
	Every      int    `json:"every,omitempty"`
	Times      int    `json:"times,omitempty"`
	Hits       int    `json:"hits"`

	seen int
}

// The kinds of faults.
const (
	FaultDelay       = "delay"
	FaultRate        = "rate"
	FaultFail        = "fail"
	FaultFailAfter   = "fail-after"
	FaultHangUpAfter = "hang-up-after"
	FaultRefuse      = "refuse"
	FaultLose        = "lose"
	FaultDuplicate   = "duplicate"
	FaultReorder     = "reorder"
	FaultDropAck     = "drop-ack"
	FaultSkew        = "skew"
)

var (
	methodFaults   = []string{FaultDelay, FaultRate, FaultFail, FaultFailAfter, FaultHangUpAfter, FaultRefuse}
	deliveryFaults = []string{FaultDelay, FaultLose, FaultDuplicate, FaultReorder, FaultDropAck, FaultSkew}
	deliveryKinds  = []string{kindCommand, kindInteractive, kindEvent, kindOptions}
)

// wrong says what is wrong with a fault that somebody wants.
func (f *Fault) wrong() string {
	list := methodFaults
	_, method := methods[f.On]
	switch {
	case f.On == "delivery" || slices.Contains(deliveryKinds, f.On):
		list = deliveryFaults
	case f.On != "api" && f.On != "hooks" && !method:
		return "there is no method or delivery " + strconv.Quote(f.On)
	}
	if !slices.Contains(list, f.Kind) {
		return strconv.Quote(f.Kind) + " is no fault of " + f.On
	}
	return ""
}

// faults are the switches. They have a lock of their own: they are asked while
// nothing else is held.
type faults struct {
	mu   sync.Mutex
	list []*Fault
	next int
}

func (l *faults) add(f Fault) Fault {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.next++
	f.ID, f.Hits, f.seen = "f"+strconv.Itoa(l.next), 0, 0
	l.list = append(l.list, &f)
	return f
}

// remove takes one fault away, or all of them when the id is empty.
func (l *faults) remove(id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	before := len(l.list)
	l.list = slices.DeleteFunc(l.list, func(f *Fault) bool { return id == "" || f.ID == id })
	return id == "" || len(l.list) < before
}

func (l *faults) all() []Fault {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := []Fault{}
	for _, f := range l.list {
		out = append(out, *f)
	}
	return out
}

// take is the fault that strikes now, if one does.
func (l *faults) take(on ...string) *Fault {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, f := range l.list {
		if !slices.Contains(on, f.On) || f.Times > 0 && f.Hits >= f.Times {
			continue
		}
		f.seen++
		if f.Every > 0 && f.seen%f.Every != 0 {
			continue
		}
		f.Hits++
		hit := *f
		return &hit
	}
	return nil
}

// before does what goes wrong before a method did anything; true means that
// the answer is given.
func (s *Server) before(w http.ResponseWriter, r *http.Request, f *Fault, rec *Call) bool {
	switch f.Kind {
	case FaultDelay:
		return !s.pause(r, time.Duration(f.MS)*time.Millisecond)
	case FaultRate:
		s.tooMany(w, time.Duration(max(1, f.RetryAfter))*time.Second, rec)
		return true
	case FaultFail:
		s.broken(w, f, rec)
		return true
	case FaultRefuse:
		rec.Error = f.Error
		writeJSON(w, http.StatusOK, object{"ok": false, "error": f.Error})
		return true
	}
	return false
}

// after does what goes wrong after a method did its work.
func (s *Server) after(w http.ResponseWriter, f *Fault, rec *Call) bool {
	switch f.Kind {
	case FaultFailAfter:
		s.broken(w, f, rec)
		return true
	case FaultHangUpAfter:
		rec.Status, rec.Error = 0, "hung up"
		panic(http.ErrAbortHandler) // ends the connection without an answer
	}
	return false
}

func (s *Server) broken(w http.ResponseWriter, f *Fault, rec *Call) {
	rec.Status, rec.Error = f.Status, "broken"
	if rec.Status == 0 {
		rec.Status = http.StatusInternalServerError
	}
	http.Error(w, "upstream connect error", rec.Status)
}

// pause waits; false means that the caller left or the server stops.
func (s *Server) pause(r *http.Request, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-r.Context().Done():
	case <-s.stopped:
	}
	return false
}
