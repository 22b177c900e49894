package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"spillway.sh/spillway/bridge/sandbox"
)

const (
	// metadataAddress is where machines find the metadata service. It is an
	// address of each machine's own loopback link, so the host's network, which
	// may have a metadata service of its own there, never sees it.
	metadataAddress = "169.254.169.254"
	// readyFile appears in a machine when its metadata service answers.
	readyFile = "/run/cloud-ready"
	// scriptFile holds the user-data in a machine, byte for byte.
	scriptFile = "/var/lib/cloud/user-data"
)

// firmware is what a machine does before its user-data.
const firmware = `#!/bin/sh
until [ -e ` + readyFile + ` ]; do sleep 0.05; done
cd /
exec %s` + scriptFile + "\n"

// SandboxHost runs machines as sandboxes: sets of Linux namespaces with a root
// of their own. It needs root.
type SandboxHost struct {
	// Dir holds the machines' folders; it lies in the rig's folder.
	Dir     string
	Image   sandbox.Image
	Network *sandbox.Network
	// Hosts are names that machines can resolve.
	Hosts map[string]netip.Addr
	// Binds are folders of the host that all machines share.
	Binds []sandbox.Bind

	mu      sync.Mutex
	servers map[string]*http.Server // the machines' metadata services, by id
	work    sync.WaitGroup
}

// Boot starts a machine, puts its metadata service in place and lets it run
// its user-data.
func (h *SandboxHost) Boot(ctx context.Context, g Guest) (string, error) {
	if err := h.Kill(ctx, g.ID); err != nil {
		return "", fmt.Errorf("boot machine %s: %w", g.ID, err)
	}
	shell := "/bin/sh "
	if strings.HasPrefix(g.UserData, "#!") {
		shell = ""
	}
	m, err := sandbox.Start(ctx, sandbox.Spec{
		Dir: h.Dir, Name: g.ID, Image: h.Image, Network: h.Network, Hosts: h.Hosts, Binds: h.Binds,
		GPUs: g.GPUs, Detached: true,
		Init:  fmt.Appendf(nil, firmware, shell),
		Files: []sandbox.File{{Path: scriptFile, Data: []byte(g.UserData), Mode: 0o700}},
	})
	if err != nil {
		return "", fmt.Errorf("boot machine %s: %w", g.ID, err)
	}
	if err := h.attach(ctx, m, g); err != nil {
		return "", errors.Join(fmt.Errorf("boot machine %s: %w", g.ID, err), h.Kill(ctx, g.ID))
	}
	return m.Address().String(), nil
}

// Attach serves the metadata of a machine that runs already.
func (h *SandboxHost) Attach(ctx context.Context, g Guest) error {
	m, err := h.open(g.ID)
	if err != nil || m == nil || !m.Alive() {
		return err
	}
	return h.attach(ctx, m, g)
}

// attach makes the metadata address in the machine, listens there, and tells
// the machine so.
func (h *SandboxHost) attach(ctx context.Context, m *sandbox.Machine, g Guest) error {
	set := []string{"ip", "address", "replace", metadataAddress + "/32", "dev", "lo"}
	if _, err := m.Output(ctx, sandbox.Command{Args: set, Dir: "/"}); err != nil {
		return fmt.Errorf("give %s the metadata address: %w", g.ID, err)
	}
	listener, err := listenInside(m.PID(), metadataAddress+":80")
	if err != nil {
		return fmt.Errorf("serve metadata of %s: %w", g.ID, err)
	}
	srv := &http.Server{Handler: g.Metadata, ReadHeaderTimeout: 10 * time.Second}
	h.mu.Lock()
	if h.servers == nil {
		h.servers = map[string]*http.Server{}
	}
	h.servers[g.ID] = srv
	h.mu.Unlock()
	// Until the machine is killed or the host closed.
	h.work.Go(func() { _ = srv.Serve(listener) })
	if err := os.WriteFile(m.Path(readyFile), nil, 0o644); err != nil { //nolint:gosec // A mark without content, for everybody in the machine.
		return fmt.Errorf("tell %s that it is ready: %w", g.ID, err)
	}
	return nil
}

// listenInside opens a listener in the network namespace of a process. The
// socket stays there; only its making needs a thread of that namespace, which
// ends with the goroutine because it is never unlocked.
func listenInside(pid int, address string) (net.Listener, error) {
	type result struct {
		listener net.Listener
		err      error
	}
	done := make(chan result)
	go func() {
		runtime.LockOSThread()
		done <- func() (r result) {
			fd, err := unix.Open(fmt.Sprintf("/proc/%d/ns/net", pid), unix.O_RDONLY|unix.O_CLOEXEC, 0)
			if err != nil {
				return result{nil, fmt.Errorf("open network namespace: %w", err)}
			}
			defer unix.Close(fd) // Only read from.
			if err := unix.Setns(fd, unix.CLONE_NEWNET); err != nil {
				return result{nil, fmt.Errorf("enter network namespace: %w", err)}
			}
			listener, err := net.Listen("tcp4", address)
			return result{listener, err}
		}()
	}()
	r := <-done
	return r.listener, r.err
}

// Kill switches a machine off and removes it.
func (h *SandboxHost) Kill(ctx context.Context, id string) error {
	h.mu.Lock()
	srv := h.servers[id]
	delete(h.servers, id)
	h.mu.Unlock()
	if srv != nil {
		srv.Close() // The socket goes with the machine.
	}
	m, err := h.open(id)
	if err != nil {
		return err
	}
	if m == nil {
		// A boot that was cut short leaves a folder without a record.
		return os.RemoveAll(filepath.Join(h.Dir, id))
	}
	return m.Stop(ctx)
}

// Alive says whether a machine is switched on.
func (h *SandboxHost) Alive(id string) bool {
	m, err := h.open(id)
	return err == nil && m != nil && m.Alive()
}

// Machine returns a machine for a look inside, nil if there is none.
func (h *SandboxHost) Machine(id string) (*sandbox.Machine, error) { return h.open(id) }

func (h *SandboxHost) open(id string) (*sandbox.Machine, error) {
	m, err := sandbox.Open(filepath.Join(h.Dir, id))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	return m, err
}

// Close stops serving metadata; the machines live on.
func (h *SandboxHost) Close() error {
	h.mu.Lock()
	for _, srv := range h.servers {
		srv.Close() // Nobody can be told.
	}
	h.servers = nil
	h.mu.Unlock()
	h.work.Wait()
	return nil
}
