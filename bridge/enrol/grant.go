package enrol

import (
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"spillway.sh/spillway/bridge"
)

// enrol answers one machine.
func (s *Server) enrol(w http.ResponseWriter, r *http.Request) {
	var ask struct {
		Ticket   string `json:"ticket"`
		Instance string `json:"instance"`
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 4<<10)).Decode(&ask); err != nil || ask.Instance == "" {
		refuse(w, http.StatusBadRequest, `want a body like {"ticket": "...", "instance": "i-0123"}`)
		return
	}
	t, err := openTicket(s.secret, ask.Ticket, s.o.Clock())
	if err != nil {
		refuse(w, http.StatusUnauthorized, err.Error())
		return
	}
	rental, err := s.o.Rentals.Rental(r.Context(), t.rental)
	if err != nil {
		s.o.Wake()
		notYet(w, http.StatusServiceUnavailable, "the rental cannot be read")
		return
	}
	m, status, why := admissible(&rental, t, ask.Instance, addressOf(r))
	switch {
	case status == http.StatusServiceUnavailable:
		s.o.Wake()
		notYet(w, status, why)
		return
	case status != http.StatusOK:
		s.o.Log.Warn("enrolment refused", "rental", t.rental, "instance", ask.Instance, "address", addressOf(r), "why", why)
		refuse(w, status, why)
		return
	}
	switch err := s.o.Rentals.ClaimEnrolment(r.Context(), t.rental, m.ID, addressOf(r)); {
	case errors.Is(err, bridge.ErrClaimed):
		s.o.Log.Warn("enrolment refused", "rental", t.rental, "instance", ask.Instance, "address", addressOf(r), "err", err)
		refuse(w, http.StatusForbidden, "the ticket was used for this machine from elsewhere")
		return
	case err != nil: // a disk that is full is no fault of the machine's
		s.o.Log.Warn("enrolment put off", "rental", t.rental, "instance", ask.Instance, "address", addressOf(r), "err", err)
		notYet(w, http.StatusServiceUnavailable, "the use of the ticket cannot be written down")
		return
	}
	s.give(w, r, &rental, m)
}

// admissible finds the machine that asks. A machine not known yet may be
// known in a moment; a wrong one never will.
func admissible(r *bridge.Rental, t ticket, instance, address string) (*bridge.Machine, int, string) {
	switch r.State {
	case bridge.StateLaunching, bridge.StateJoining, bridge.StateAdmitted:
	case bridge.StateWaiting, bridge.StateDraining, bridge.StateReleasing, bridge.StateSettled, bridge.StateClosed:
		return nil, http.StatusForbidden, "the rental is " + string(r.State)
	}
	if r.Attempt != t.attempt {
		return nil, http.StatusForbidden, "the ticket is of another attempt"
	}
	for i := range r.Machines {
		m := &r.Machines[i]
		switch {
		case m.ID != instance:
			continue
		case m.State != bridge.MachineCreated && m.State != bridge.MachineJoined:
			return nil, http.StatusForbidden, "the machine is " + string(m.State)
		case m.Address == "":
			return nil, http.StatusServiceUnavailable, "the cloud does not show the machine's address yet"
		case !sameAddress(m.Address, address):
			return nil, http.StatusForbidden, "the machine does not come from the address its cloud shows"
		}
		return m, http.StatusOK, ""
	}
	if len(r.Machines) > 0 && !slices.ContainsFunc(r.Machines, func(m bridge.Machine) bool { return m.ID == "" }) {
		return nil, http.StatusForbidden, "the rental has no such machine"
	}
	return nil, http.StatusServiceUnavailable, "the cloud does not show the machine yet"
}

func sameAddress(a, b string) bool {
	x, y := net.ParseIP(a), net.ParseIP(b)
	return x != nil && x.Equal(y)
}

// give sends the secrets. Nothing of them is logged.
func (s *Server) give(w http.ResponseWriter, r *http.Request, rental *bridge.Rental, m *bridge.Machine) {
	c := s.o.Clusters[rental.Cluster]
	if c == nil {
		refuse(w, http.StatusForbidden, "the cluster is not configured any more")
		return
	}
	fields, err := c.Enrolment(r.Context(), rental, m)
	if err != nil {
		s.o.Log.Warn("enrolment failed", "rental", rental.ID, "node", m.Node, "err", err)
		notYet(w, http.StatusServiceUnavailable, "the cluster's keys cannot be read")
		return
	}
	grant := map[string]any{}
	for name, value := range fields {
		grant[name] = value
	}
	wants := s.wants(rental, fields[ownerField])
	delete(grant, ownerField)
	grant["node"], grant["wants"] = m.Node, wants
	grant["expires"] = rental.Expires.UTC().Format(time.RFC3339)
	grant["now"] = s.o.Clock().UTC().Format(time.RFC3339Nano)
	grant["lease"] = lease{rental.ID, m.ID}.seal(s.secret)
	s.o.Log.Info("enrolled", "rental", rental.ID, "node", m.Node, "instance", m.ID)
	answer(w, grant)
}

// ownerField is the job's owner in what a scheduler's Enrolment adds, written
// NAME:UID:GID as the cluster knows it. It becomes a part of the wants.
const ownerField = "owner"

// wants is what the machine must show: what the site asks of all, and what this
// rental was paid for.
func (s *Server) wants(r *bridge.Rental, owner string) bridge.Wants {
	w := s.o.Wants[r.Cluster]
	w.GPUs, w.GPUType = r.Shape.GPUs, r.Shape.GPUType
	if parts := strings.Split(owner, ":"); len(parts) == 3 {
		uid, err1 := strconv.Atoi(parts[1])
		gid, err2 := strconv.Atoi(parts[2])
		if err1 == nil && err2 == nil {
			w.Owner = &bridge.Owner{Name: parts[0], UID: uid, GID: gid}
		}
	}
	return w
}

// lease answers a running machine's question when it has to be off.
func (s *Server) lease(w http.ResponseWriter, r *http.Request) {
	if _, rental, ok := s.holder(w, r); ok {
		answer(w, map[string]any{"expires": rental.Expires.UTC().Format(time.RFC3339), "now": s.o.Clock().UTC().Format(time.RFC3339Nano)})
	}
}

// answer writes an object of which nothing may be kept on the way.
func answer(w http.ResponseWriter, fields map[string]any) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Type", "application/json")
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	_ = e.Encode(fields) // a machine that went away asks again
}

func bearer(r *http.Request) string {
	t, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return strings.TrimSpace(t)
}

func refuse(w http.ResponseWriter, status int, why string) {
	w.Header().Set("Cache-Control", "no-store")
	http.Error(w, why, status)
}

// notYet asks the machine to come again in a second.
func notYet(w http.ResponseWriter, status int, why string) {
	w.Header().Set("Retry-After", "1")
	refuse(w, status, why)
}
