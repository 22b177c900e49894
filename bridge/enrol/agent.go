package enrol

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"time"
)

const (
	agentsFolder = "agents"
	// agentKept is how long an agent that newer boot scripts do not name is kept:
	// machines that boot while the bridge is renewed still pin it.
	agentKept = 24 * time.Hour
	// agentLimit is how long one download may take, agentsAtOnce how many there
	// are at once; further machines come again.
	agentLimit   = 10 * time.Minute
	agentsAtOnce = 32
)

// agents are the machine's agents that can be fetched, by their sums.
type agents struct {
	dir  string
	sum  string // of the one that boot scripts name; empty: there is none
	arch string // in the words of uname -m
	slot chan struct{}
}

// loadAgents keeps a copy of a program by its sum, and forgets old ones.
func loadAgents(dir, program string, now time.Time) (*agents, error) {
	a := &agents{dir: filepath.Join(dir, agentsFolder), arch: machineOf(runtime.GOARCH), slot: make(chan struct{}, agentsAtOnce)}
	if program == "" {
		return a, nil
	}
	if err := os.MkdirAll(a.dir, 0o700); err != nil {
		return nil, fmt.Errorf("keep the machines' agent: %w", err)
	}
	if err := a.keep(program, now); err != nil {
		return nil, fmt.Errorf("keep the machines' agent: %w", err)
	}
	a.forget(now)
	return a, nil
}

// machineOf is an architecture in the words of uname -m.
func machineOf(goarch string) string {
	switch goarch {
	case "amd64":
		return "x86_64"
	case "arm64":
		return "aarch64"
	}
	return goarch
}

func (a *agents) keep(program string, now time.Time) error {
	f, err := os.Open(program)
	if err != nil {
		return err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return err
	}
	a.sum = hex.EncodeToString(h.Sum(nil))
	path := filepath.Join(a.dir, a.sum)
	if err := os.Chtimes(path, now, now); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	copied, err := os.OpenFile(path+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(copied, f)
	if err = errors.Join(err, copied.Close()); err != nil {
		return err
	}
	return os.Rename(copied.Name(), path)
}

// forget removes agents that no booting machine can name any more.
func (a *agents) forget(now time.Time) {
	entries, err := os.ReadDir(a.dir)
	if err != nil {
		return // Room is all that is lost.
	}
	for _, e := range entries {
		info, err := e.Info()
		if err == nil && e.Name() != a.sum && now.Sub(info.ModTime()) > agentKept {
			_ = os.Remove(filepath.Join(a.dir, e.Name())) // As above.
		}
	}
}

var aSum = regexp.MustCompile(`^[0-9a-f]{64}$`)

// agent hands out the program that a boot script names by its sum, to whoever
// holds a ticket.
func (s *Server) agent(w http.ResponseWriter, r *http.Request) {
	if _, err := openTicket(s.secret, bearer(r), s.o.Clock()); err != nil {
		refuse(w, http.StatusUnauthorized, err.Error())
		return
	}
	sum := r.URL.Query().Get("sum")
	if !aSum.MatchString(sum) {
		refuse(w, http.StatusBadRequest, "want ?sum= with the SHA-256 that the boot script names")
		return
	}
	select {
	case s.agents.slot <- struct{}{}:
		defer func() { <-s.agents.slot }()
	default:
		notYet(w, http.StatusServiceUnavailable, "too many machines fetch their agent at once")
		return
	}
	f, err := os.Open(filepath.Join(s.agents.dir, sum))
	if err != nil {
		s.o.Log.Warn("an agent is asked for that is not kept", "sum", sum, "address", addressOf(r), "err", err)
		refuse(w, http.StatusNotFound, "this agent is not kept any more")
		return
	}
	defer f.Close()
	// The server's own limit is for short answers.
	if err := http.NewResponseController(w).SetWriteDeadline(time.Now().Add(agentLimit)); err != nil {
		s.o.Log.Warn("give an agent its time", "err", err)
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("ETag", `"`+sum+`"`)
	http.ServeContent(w, r, "", time.Time{}, f)
}
