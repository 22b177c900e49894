package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"strings"
	"sync"
	"time"
)

const (
	leaseFile = "lease"
	grantFile = "grant.json"
)

// secretFields are never written to the agent's folder: the Member keeps them
// where the scheduler's daemons read them.
var secretFields = []string{"munge_key"}

// skew is how far the machine's clock was from the bridge's when last heard.
type skew struct {
	mu    sync.Mutex
	by    time.Duration // positive: ours is ahead
	known bool
}

func (s *skew) set(ours, theirs time.Time) {
	if theirs.IsZero() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.by, s.known = ours.Sub(theirs), true
}

func (s *skew) get() (time.Duration, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.by, s.known
}

// enrol fetches the grant, or takes up the one that an earlier run of the agent
// was given. A refusal for good ends the machine.
func (a *Agent) enrol(ctx context.Context, instance string) error {
	if err := a.recall(); err == nil {
		a.o.Log.Info("goes on", "node", a.grant.Node)
		return nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		a.o.Log.Warn("what was granted before cannot be read; enrolling anew", "err", err)
	}
	ticket, err := os.ReadFile(a.o.TicketFile)
	if err != nil {
		return fmt.Errorf("read ticket: %w", err)
	}
	err = again(ctx, func() error {
		sent := a.o.Now()
		g, err := a.o.Bridge.Enrol(ctx, strings.TrimSpace(string(ticket)), instance)
		switch {
		case errors.Is(err, ErrRefused):
			a.o.Off(err.Error())
			return err
		case err != nil:
			a.o.Log.Warn("enrolment", "err", err)
			return err
		}
		a.grant = g
		a.skew.set(middle(sent, a.o.Now()), g.Now)
		return nil
	})
	if err != nil {
		return err
	}
	if err := a.life.hear(a.grant.Expires, a.grant.Now); err != nil {
		a.o.Log.Warn("enrolment", "err", err)
	}
	a.o.Log.Info("enrolled", "node", a.grant.Node, "expires", a.grant.Expires)
	a.remember()
	return nil
}

// middle is when a question that was sent at one time and answered at another
// was most likely read.
func middle(sent, answered time.Time) time.Time { return sent.Add(answered.Sub(sent) / 2) }

// remember keeps the grant for the agent's next run. The lease is written
// first: without it the rest is of no use.
func (a *Agent) remember() {
	g := a.grant
	g.Lease, g.Fields = "", map[string]string{}
	maps.Copy(g.Fields, a.grant.Fields)
	for _, name := range secretFields {
		delete(g.Fields, name)
	}
	text, err := json.MarshalIndent(g, "", "  ")
	if err == nil {
		err = writeFile(a.path(leaseFile), []byte(a.grant.Lease+"\n"), 0o600)
	}
	if err == nil {
		err = writeFile(a.path(grantFile), text, 0o600)
	}
	if err != nil {
		// It can go on; only a restart of the agent would have to enrol again.
		a.o.Log.Warn("keep what was granted", "err", err)
	}
}

// forgetTicket removes the ticket once all is written that it was good for.
func (a *Agent) forgetTicket() {
	if _, err := os.Stat(a.path(grantFile)); err != nil {
		return // Not kept: the ticket may be needed again.
	}
	if err := os.Remove(a.o.TicketFile); err != nil && !errors.Is(err, fs.ErrNotExist) {
		a.o.Log.Warn("remove the used ticket", "err", err)
	}
}

// recall takes up what was granted before. A grant whose secrets may not have
// been written yet still has its ticket, and is fetched anew.
func (a *Agent) recall() error {
	if _, err := os.Stat(a.o.TicketFile); err == nil {
		return fs.ErrNotExist
	}
	lease, err := os.ReadFile(a.path(leaseFile))
	if err != nil {
		return err
	}
	text, err := os.ReadFile(a.path(grantFile))
	if err != nil {
		return err
	}
	var g Grant
	if err := json.Unmarshal(text, &g); err != nil {
		return err
	}
	g.Lease = strings.TrimSpace(string(lease))
	if g.Lease == "" || g.Node == "" {
		return errors.New("the kept grant lacks its lease or node")
	}
	g.Now = time.Time{}
	a.grant = g
	return nil
}
