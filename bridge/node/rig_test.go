package node_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/node"
)

// rig is an agent with a bridge, a scheduler and a cloud that do as they are
// told, in a bubble of time.
type rig struct {
	t     *testing.T
	dir   string
	began time.Time
	site  node.Site
	every time.Duration

	mu       sync.Mutex
	grant    node.Grant
	down     bool          // the bridge cannot be reached
	refuses  bool          // enrolment, for good
	gone     bool          // the rental has ended
	ahead    time.Duration // of the bridge's clock
	wrong    time.Duration // of the machine's
	enrols   int
	reports  []bridge.Report
	at       []time.Duration // when each came
	prepares int
	broken   error // of Prepare
	runs     []time.Duration
	busy     bool
	notice   *bridge.Warning
	blind    error // of the cloud's metadata service
	tag      time.Time
	off      []string
	stuck    bool // it stays on when it is switched off
	offAt    time.Duration
	stopping bool
	stop     context.CancelFunc
	done     chan error
}

// in runs a test in a bubble. The rental ends in an hour.
func in(t *testing.T, test func(r *rig)) {
	t.Helper()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		r := &rig{t: t, dir: dir, began: time.Now(), every: 5 * time.Second}
		r.site = node.Site{
			Dev: r.path("dev"), Kmsg: r.path("kmsg"), Disks: []string{dir}, Mounts: r.path("mounts"),
			Ready: r.path("ready"), Stages: r.path("stage.d"),
		}
		r.grant = node.Grant{Node: "sw-1-0", Lease: "lease", Expires: r.began.Add(time.Hour), Fields: map[string]string{"munge_key": "secret", "hosts": "h"}}
		r.write("ticket", "a-ticket\n")
		r.write("mounts", "1 0 8:1 / / rw - ext4 /dev/sda rw\n")
		if err := os.Mkdir(r.path("dev"), 0o755); err != nil {
			t.Fatal(err)
		}
		test(r)
		if r.stop != nil {
			r.end()
		}
	})
}

func (r *rig) path(name string) string { return filepath.Join(r.dir, name) }

func (r *rig) write(name, text string) {
	r.t.Helper()
	if err := os.WriteFile(r.path(name), []byte(text), 0o700); err != nil {
		r.t.Fatal(err)
	}
}

// start starts an agent.
func (r *rig) start() {
	ctx, cancel := context.WithCancel(r.t.Context())
	a := node.New(node.Options{
		Bridge: r, Member: r, Clouds: [][]node.Cloud{{cloud{r}}}, Dir: r.path("agent"), TicketFile: r.path("ticket"), Expires: r.began.Add(time.Hour),
		Every: r.every, Site: r.site, Clock: r.up, Now: r.now,
		Off: func(why string) {
			r.mu.Lock()
			r.off, r.offAt = append(r.off, why), r.up()
			stuck := r.stuck
			r.mu.Unlock()
			if !stuck {
				cancel()
			}
		},
		Stopping: func() bool { r.mu.Lock(); defer r.mu.Unlock(); return r.stopping },
	})
	r.stop, r.done = cancel, make(chan error, 1)
	go func() { r.done <- a.Run(ctx) }()
}

// end stops the agent and waits for it.
func (r *rig) end() {
	r.t.Helper()
	r.stop()
	if err := <-r.done; err != nil && len(r.off) == 0 {
		r.t.Errorf("the agent ended: %v", err)
	}
	r.stop = nil
}

// pass lets time pass.
func (r *rig) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// set changes the world.
func (r *rig) set(change func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change()
}

func (r *rig) up() time.Duration { return time.Since(r.began) }

func (r *rig) now() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return time.Now().Add(r.wrong)
}

// last is the latest report.
func (r *rig) last() bridge.Report {
	r.t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.reports) == 0 {
		r.t.Fatal("nothing was reported")
	}
	return r.reports[len(r.reports)-1]
}

// isOff checks that the machine was switched off, once, at about a time.
func (r *rig) isOff(at time.Duration, why string) {
	r.t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.off) != 1 || r.off[0] != why && why != "" || (r.offAt-at).Abs() > 16*time.Second {
		r.t.Errorf("off %q after %s; want %q after %s", r.off, r.offAt, why, at)
	}
}

func (r *rig) isOn() {
	r.t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.off) > 0 {
		r.t.Errorf("switched off after %s: %s", r.offAt, r.off)
	}
}

func (r *rig) started() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.runs)
}

var errDown = errors.New("no route to the bridge")

// Enrol implements node.Bridge.
func (r *rig) Enrol(_ context.Context, ticket, instance string) (node.Grant, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.enrols++
	switch {
	case r.down:
		return node.Grant{}, errDown
	case r.refuses || ticket != "a-ticket" || instance != "i-1":
		return node.Grant{}, node.ErrRefused
	}
	g := r.grant
	g.Now = time.Now().Add(r.ahead)
	g.Expires = g.Expires.Add(r.ahead)
	return g, nil
}

// Report implements node.Bridge.
func (r *rig) Report(_ context.Context, lease string, said *bridge.Report) (node.Term, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.down:
		return node.Term{}, errDown
	case r.gone:
		return node.Term{}, node.ErrEnded
	case lease != "lease":
		return node.Term{}, errors.New("not a lease")
	}
	c := *said
	c.Checks, c.Stages = slices.Clone(said.Checks), slices.Clone(said.Stages)
	r.reports, r.at = append(r.reports, c), append(r.at, r.up())
	return node.Term{Expires: r.grant.Expires.Add(r.ahead), Now: time.Now().Add(r.ahead)}, nil
}

// Prepare implements node.Member.
func (r *rig) Prepare(context.Context, string, map[string]string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.prepares++
	return r.broken
}

// Run implements node.Member.
func (r *rig) Run(ctx context.Context, _ string, _ map[string]string, _ func(bridge.Stage)) error {
	r.mu.Lock()
	r.runs = append(r.runs, r.up())
	r.mu.Unlock()
	<-ctx.Done()
	return nil
}

// Busy implements node.Member.
func (r *rig) Busy() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.busy
}

// cloud is a metadata service without a network.
type cloud struct{ r *rig }

func (cloud) Name() string                             { return "played" }
func (cloud) Every() time.Duration                     { return time.Second }
func (cloud) Identify(context.Context) (string, error) { return "i-1", nil }
func (c cloud) Look(context.Context) (*bridge.Warning, error) {
	c.r.mu.Lock()
	defer c.r.mu.Unlock()
	return c.r.notice, c.r.blind
}

func (c cloud) Expires(context.Context) (time.Time, error) {
	c.r.mu.Lock()
	defer c.r.mu.Unlock()
	return c.r.tag, nil
}
