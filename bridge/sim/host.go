package sim

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"spillway.sh/spillway/bridge/cloud/local/server"
)

// host is where the clouds' machines run: as a slurmd that starts and stops, and
// an agent that asks the bridge's door for it.
type host struct {
	w  *World
	mu sync.Mutex
	// made counts machines and operations, which are named by their number.
	made   int
	guests map[string]*guest
}

// guest is one machine.
type guest struct {
	id, address, ticket string
	off                 bool
	node                string // empty: it has not joined yet
	lease               string
	end                 context.CancelFunc
}

func newHost(w *World) *host { return &host{w: w, guests: map[string]*guest{}} }

// name is the next machine's or operation's.
func (h *host) name() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.made++
	return fmt.Sprintf("%06d", h.made)
}

// Boot starts a machine. Its agent asks the bridge for what it needs to join, as
// long as the machine runs.
func (h *host) Boot(ctx context.Context, g server.Guest) (string, error) {
	if err := h.w.travel(ctx, "boot "+g.ID); err != nil {
		return "", err
	}
	n, err := strconv.Atoi(strings.TrimPrefix(g.ID, "i-"))
	if err != nil {
		return "", fmt.Errorf("boot machine %s: %w", g.ID, err)
	}
	ctx, cancel := context.WithCancel(h.w.ctx)
	m := &guest{id: g.ID, address: fmt.Sprintf("10.%d.%d.%d", n>>16&255, n>>8&255, n&255), ticket: ticketIn(g.UserData), end: cancel}
	h.mu.Lock()
	h.guests[g.ID] = m
	h.mu.Unlock()
	if m.ticket != "" {
		h.w.working.Go(func() { h.join(ctx, m) })
	}
	return m.address, nil
}

// ticketIn finds the enrolment's ticket in a boot script; empty: there is none.
func ticketIn(script string) string {
	for line := range strings.Lines(script) {
		if rest, ok := strings.CutPrefix(line, `printf '%s\n' '`); ok {
			if ticket, file, ok := strings.Cut(rest, "'"); ok && strings.Contains(file, "/ticket") {
				return ticket
			}
		}
	}
	return ""
}

// Attach does nothing: machines do not outlive the world.
func (h *host) Attach(context.Context, server.Guest) error { return nil }

// Kill ends a machine, and with it its slurmd and what runs on it.
func (h *host) Kill(ctx context.Context, id string) error {
	if err := h.w.travel(ctx, "kill "+id); err != nil {
		return err
	}
	h.mu.Lock()
	m := h.guests[id]
	delete(h.guests, id)
	h.mu.Unlock()
	if m != nil {
		h.stop(m)
	}
	return nil
}

func (h *host) stop(m *guest) {
	m.end()
	h.mu.Lock()
	node := m.node
	m.off, m.node = true, ""
	h.mu.Unlock()
	if node != "" {
		h.w.Slurm.Lose(node)
	}
}

// Alive says whether a machine is switched on.
func (h *host) Alive(id string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	m := h.guests[id]
	return m != nil && !m.off
}

// Close ends all machines' agents.
func (h *host) Close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, m := range h.guests {
		m.end()
	}
	return nil
}

// on are the machines that are switched on, by their ids.
func (h *host) on() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []string
	for id, m := range h.guests {
		if !m.off {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return out
}

// die is a machine that fails.
func (h *host) die(id string) {
	h.mu.Lock()
	m := h.guests[id]
	h.mu.Unlock()
	if m != nil {
		h.stop(m)
	}
}

// Times of an agent.
const (
	agentStart = 8 * time.Second  // from a machine's boot until its agent asks
	agentAgain = 10 * time.Second // until it asks again
)

// join asks the bridge until it lets the machine in, and then starts slurmd.
func (h *host) join(ctx context.Context, m *guest) {
	wait := func(d time.Duration) bool {
		timer := time.NewTimer(h.w.setup.span(d + h.w.ways.next("agent "+m.id)))
		defer timer.Stop()
		select {
		case <-timer.C:
			return true
		case <-ctx.Done():
			return false
		}
	}
	var grant grant
	for ok := wait(agentStart); ; ok = wait(agentAgain) {
		if !ok {
			return
		}
		status, err := h.w.knock(ctx, m, "/v1/enrol", map[string]string{"ticket": m.ticket, "instance": m.id}, &grant)
		if err == nil && status == http.StatusOK {
			break
		}
	}
	node, err := grant.spec()
	if err != nil {
		panic(fmt.Sprintf("machine %s: %v", m.id, err)) // The bridge's own answer.
	}
	for h.w.Slurm.Register(node) != nil {
		if !wait(agentAgain) {
			return
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	m.node, m.lease = node.Name, grant.Lease
	if m.off || ctx.Err() != nil {
		m.node = ""
		h.w.Slurm.Lose(node.Name)
	}
}
