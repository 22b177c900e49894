package metadatatest

import (
	"net/http"
	"strings"
	"time"
)

// Azure is Azure's service with its Scheduled Events.
type Azure struct {
	Service
	events      []Event
	incarnation int
}

// Event is an entry of the list of events, as it is written there.
type Event struct {
	EventID      string `json:"EventId"`
	EventStatus  string
	EventType    string
	ResourceType string
	Resources    []string
	NotBefore    string
	Description  string
	EventSource  string
	Duration     int `json:"DurationInSeconds"`
}

// NewAzure makes the service of a machine.
func NewAzure(resourceID, name, tags string) *Azure {
	return &Azure{Service: newService(map[string]string{"resourceId": resourceID, "name": name, "tags": tags}), incarnation: 1}
}

// Preempt makes the event that takes a machine at a time, and one that has
// started when the time is zero.
func Preempt(at time.Time, machines ...string) Event {
	e := Event{
		EventID: "602d9444-d2cd-49c7-8624-8643e7171297", EventStatus: "Scheduled", EventType: "Preempt", ResourceType: "VirtualMachine",
		Resources: machines, EventSource: "Platform", Duration: -1,
	}
	if at.IsZero() {
		e.EventStatus = "Started"
		return e
	}
	e.NotBefore = at.UTC().Format(http.TimeFormat)
	return e
}

// Schedule replaces the list of events.
func (s *Azure) Schedule(events ...Event) {
	s.change(func() { s.events, s.incarnation = events, s.incarnation+1 })
}

// ServeHTTP answers a machine.
func (s *Azure) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.broken(w, r) {
		return
	}
	what, instance := strings.CutPrefix(r.URL.Path, "/metadata/instance/compute/")
	switch {
	case r.Header.Get("Metadata") != "true":
		http.Error(w, `{"error":"Bad request. Required metadata header not specified"}`, http.StatusBadRequest)
	case r.URL.Query().Get("api-version") == "":
		http.Error(w, `{"error":"Bad request. api-version was not specified in the request"}`, http.StatusBadRequest)
	case r.URL.Path == "/metadata/scheduledevents":
		s.list(w)
	case instance && r.URL.Query().Get("format") == "text":
		s.say(w, what)
	default:
		http.Error(w, `{"error":"Not found"}`, http.StatusNotFound)
	}
}

func (s *Azure) list(w http.ResponseWriter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	events := s.events
	if events == nil {
		events = []Event{}
	}
	w.Header().Set("Content-Type", "application/json")
	write(w, asJSON(map[string]any{"DocumentIncarnation": s.incarnation, "Events": events}))
}
