package enrol

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"spillway.sh/spillway/bridge"
)

// Sizes of a report. A report of a fit machine has about 2 kB.
const (
	reportMost = 64 << 10
	checksMost = 64  // checks, and stages
	textMost   = 400 // bytes of each text
)

// report takes a machine's word about itself, and tells it until when it may run.
func (s *Server) report(w http.ResponseWriter, r *http.Request) {
	l, rental, ok := s.holder(w, r)
	if !ok {
		return
	}
	var said bridge.Report
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, reportMost)).Decode(&said); err != nil {
		refuse(w, http.StatusBadRequest, fmt.Sprintf("want a report of at most %d bytes as JSON", reportMost))
		return
	}
	if err := tidy(&said); err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	s.greet(l, r.UserAgent())
	if err := s.o.Hear(r.Context(), l.rental, l.instance, said); err != nil {
		s.o.Log.Warn("a report is not taken", "rental", l.rental, "instance", l.instance, "err", err)
		notYet(w, http.StatusServiceUnavailable, "the report cannot be taken now")
		return
	}
	now := s.o.Clock().UTC()
	answer(w, map[string]any{
		"expires": rental.Expires.UTC().Format(time.RFC3339), "now": now.Format(time.RFC3339Nano),
		"every": s.beats.every(s.o.Every), "version": s.o.Version,
	})
}

// holder finds out which machine speaks, and whether it may: it holds its own
// lease, comes from its own address, and is not gone. Otherwise it is answered.
func (s *Server) holder(w http.ResponseWriter, r *http.Request) (lease, bridge.Rental, bool) {
	l, err := openLease(s.secret, bearer(r))
	if err != nil {
		if !s.gate.allow(r) {
			notYet(w, http.StatusTooManyRequests, "too many requests")
			return l, bridge.Rental{}, false
		}
		s.o.Log.Warn("a lease that is not ours is refused", "address", addressOf(r), "path", r.URL.Path)
		refuse(w, http.StatusUnauthorized, err.Error())
		return l, bridge.Rental{}, false
	}
	if !s.beats.allow(l, time.Now()) {
		notYet(w, http.StatusTooManyRequests, "too many requests")
		return l, bridge.Rental{}, false
	}
	rental, err := s.rentals.get(r.Context(), l.rental)
	if err != nil {
		notYet(w, http.StatusServiceUnavailable, "the rental cannot be read")
		return l, rental, false
	}
	i := slices.IndexFunc(rental.Machines, func(m bridge.Machine) bool { return m.ID == l.instance })
	if i < 0 || rental.State.Ended() || rental.Machines[i].State == bridge.MachineGone {
		refuse(w, http.StatusGone, "the rental has ended")
		return l, rental, false
	}
	if m := &rental.Machines[i]; m.Address != "" && !sameAddress(m.Address, addressOf(r)) {
		s.o.Log.Warn("a machine speaks with another's lease", "rental", l.rental, "instance", l.instance, "address", addressOf(r), "want", m.Address)
		refuse(w, http.StatusForbidden, "the lease is another machine's")
		return l, rental, false
	}
	return l, rental, true
}

// fault takes the word of a boot script that could not start its agent, and so
// has no lease: it is the machine of the ticket's rental that has its address.
func (s *Server) fault(w http.ResponseWriter, r *http.Request) {
	var ask struct {
		Ticket string `json:"ticket"`
		Text   string `json:"text"`
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 8<<10)).Decode(&ask); err != nil {
		refuse(w, http.StatusBadRequest, `want a body like {"ticket": "...", "text": "what is wrong"}`)
		return
	}
	t, err := openTicket(s.secret, ask.Ticket, s.o.Clock())
	if err != nil {
		refuse(w, http.StatusUnauthorized, err.Error())
		return
	}
	rental, err := s.o.Rentals.Rental(r.Context(), t.rental)
	if err != nil {
		notYet(w, http.StatusServiceUnavailable, "the rental cannot be read")
		return
	}
	i := slices.IndexFunc(rental.Machines, func(m bridge.Machine) bool { return m.ID != "" && sameAddress(m.Address, addressOf(r)) })
	if i < 0 {
		s.o.Wake()
		notYet(w, http.StatusServiceUnavailable, "the cloud does not show the machine yet")
		return
	}
	if m, status, why := admissible(&rental, t, rental.Machines[i].ID, addressOf(r)); m == nil {
		refuse(w, status, why)
		return
	}
	instance := rental.Machines[i].ID
	said := bridge.Report{
		At: s.o.Clock().UTC(), Health: bridge.HealthUnfit, GPUPM: -1,
		Checks: []bridge.Check{{Name: "agent", Got: clip(ask.Text), Want: "the agent runs"}},
	}
	s.o.Log.Warn("a machine cannot run its agent", "rental", t.rental, "instance", instance, "text", said.Checks[0].Got)
	if err := s.o.Hear(r.Context(), t.rental, instance, said); err != nil {
		notYet(w, http.StatusServiceUnavailable, "the report cannot be taken now")
		return
	}
	answer(w, map[string]any{})
}

// greet says once for each machine that its agent is of another version.
func (s *Server) greet(l lease, agent string) {
	_, version, _ := strings.Cut(agent, "/")
	if s.beats.heard(l, version) && version != s.o.Version {
		s.o.Log.Info("a machine's agent is of another version", "rental", l.rental, "instance", l.instance, "agent", clip(version), "bridge", s.o.Version)
	}
}

// tidy brings a report into bounds: what machines say is shown to people.
func tidy(r *bridge.Report) error {
	switch r.Health {
	case bridge.HealthChecking, bridge.HealthFit, bridge.HealthUnfit:
	default:
		return fmt.Errorf("health %.20q is none of checking, fit, unfit", string(r.Health))
	}
	r.Checks, r.Stages = r.Checks[:min(len(r.Checks), checksMost)], r.Stages[:min(len(r.Stages), checksMost)]
	for i := range r.Checks {
		c := &r.Checks[i]
		c.Name, c.Got, c.Want, c.Took = clip(c.Name), clip(c.Got), clip(c.Want), max(c.Took, 0)
	}
	for i := range r.Stages {
		st := &r.Stages[i]
		st.Name, st.Text, st.Took = clip(st.Name), clip(st.Text), max(st.Took, 0)
	}
	r.GPUPM = min(max(r.GPUPM, -1), 1000)
	if n := r.Notice; n != nil {
		n.Source = clip(n.Source)
		n.At, n.Seen = n.At.UTC(), n.Seen.UTC()
	}
	r.At = r.At.UTC()
	return nil
}

// clip shortens a text and takes what moves a cursor out of it.
func clip(s string) string {
	if len(s) > textMost {
		s = s[:textMost]
	}
	s = strings.ToValidUTF8(s, "?")
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r == utf8.RuneError {
			return '?'
		}
		return r
	}, s)
}
