package server

import (
	"context"
	"net/http"
	"sync"
)

// Host is where machines really run.
type Host interface {
	// Boot starts a machine and returns its address once it runs. A machine of
	// the same id that is left over from before is replaced.
	Boot(ctx context.Context, g Guest) (address string, err error)
	// Attach takes over a machine that an earlier process booted: it serves the
	// machine's metadata again. A machine that is off is no error.
	Attach(ctx context.Context, g Guest) error
	// Kill ends a machine and removes all of it. Killing one that is gone is no
	// error.
	Kill(ctx context.Context, id string) error
	// Alive says whether a machine is switched on.
	Alive(id string) bool
	// Close lets go of the machines, which live on.
	Close() error
}

// Guest is what a host must know of a machine.
type Guest struct {
	ID       string
	UserData string
	GPUs     int
	// Metadata answers the machine's own requests to 169.254.169.254, and no
	// other machine's.
	Metadata http.Handler
}

// NullHost runs nothing: its machines exist as rows only. It needs no rights.
type NullHost struct {
	mu     sync.Mutex
	guests map[string]Guest
	off    map[string]bool
}

// NewNullHost returns a host without machines.
func NewNullHost() *NullHost {
	return &NullHost{guests: map[string]Guest{}, off: map[string]bool{}}
}

// Boot notes the machine.
func (h *NullHost) Boot(_ context.Context, g Guest) (string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.guests[g.ID] = g
	delete(h.off, g.ID)
	return "192.0.2.1", nil // Of the block for documentation: it leads nowhere.
}

// Attach notes the machine.
func (h *NullHost) Attach(_ context.Context, g Guest) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.guests[g.ID] = g
	return nil
}

// Kill forgets the machine.
func (h *NullHost) Kill(_ context.Context, id string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.guests, id)
	return nil
}

// Alive says whether the machine was booted and neither killed nor powered off.
func (h *NullHost) Alive(id string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	_, ok := h.guests[id]
	return ok && !h.off[id]
}

// Close does nothing.
func (h *NullHost) Close() error { return nil }

// PowerOff is what a machine does that switches itself off.
func (h *NullHost) PowerOff(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.off[id] = true
}

// Guest returns what a running machine was booted with.
func (h *NullHost) Guest(id string) (Guest, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	g, ok := h.guests[id]
	return g, ok
}
