package killed

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"spillway.sh/spillway/bridge"
)

// Kills is how many creates are struck.
const Kills = 50

// patience bounds one process.
const patience = 2 * time.Minute

// Cloud is the part of a driver that a create needs.
type Cloud interface {
	Create(ctx context.Context, l bridge.Launch) (bridge.Handle, error)
	Observe(ctx context.Context, l bridge.Launch, h bridge.Handle) ([]bridge.Instance, error)
}

// variable names the file that tells a process of a test's own program what to do.
const variable = "SPILLWAY_TEST_CREATE"

// task is that file.
type task struct {
	URL    string
	Launch bridge.Launch
}

// Obey makes the one create that this process was started for, with the driver
// that open makes for a server's address, and ends the process. In any other
// process it does nothing. It belongs at the head of a package's TestMain.
func Obey(open func(url string) (Cloud, error)) {
	path := os.Getenv(variable)
	if path == "" {
		return
	}
	if err := obey(path, open); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func obey(path string, open func(url string) (Cloud, error)) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var k task
	if err := json.Unmarshal(text, &k); err != nil {
		return err
	}
	c, err := open(k.URL)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	h, err := c.Create(ctx, k.Launch)
	if err != nil {
		return err
	}
	var ids []string
	for len(ids) < k.Launch.Count { // some clouds show what they made a little later
		seen, err := c.Observe(ctx, k.Launch, h)
		if err != nil {
			return err
		}
		ids = ids[:0]
		for i := range seen {
			ids = append(ids, seen[i].ID)
		}
		if ctx.Err() != nil {
			return fmt.Errorf("%d of %d machines are seen: %w", len(ids), k.Launch.Count, ctx.Err())
		}
	}
	if text, err = json.Marshal(ids); err != nil {
		return err
	}
	return os.WriteFile(path+".made", text, 0o600)
}

// Rig is a driver in front of a cloud that keeps a ledger.
type Rig struct {
	// Handler is the cloud, and Creates says which requests create machines.
	Handler http.Handler
	Creates func(r *http.Request, body []byte) bool
	// Env is what the driver finds around it, beside PATH.
	Env []string
	// Launch is the create of a round.
	Launch func(round int) bridge.Launch
	// Started reads the ledger: all machines that were ever started.
	Started func() ([]Start, error)
}

// Start is one machine's line in the cloud's ledger.
type Start struct {
	ID   string
	Tags map[string]string
}

// gate holds the answers to creates back.
type gate struct {
	rig      *Rig
	hold     atomic.Bool
	accepted chan chan struct{} // closed when the driver is dead
	over     chan struct{}
}

func (g *gate) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	if !g.hold.Load() || !g.rig.Creates(r, body) {
		g.rig.Handler.ServeHTTP(out, r)
		return
	}
	kept := httptest.NewRecorder()
	g.rig.Handler.ServeHTTP(kept, r)
	if kept.Code/100 != 2 {
		out.WriteHeader(kept.Code)
		_, _ = out.Write(kept.Body.Bytes()) // The driver tells of it.
		return
	}
	dead := make(chan struct{})
	select {
	case g.accepted <- dead:
	case <-g.over:
	}
	select {
	case <-dead:
	case <-g.over:
	}
	panic(http.ErrAbortHandler)
}

// Run strikes a driver Kills times; every fifth is struck again while it
// recovers.
func Run(t *testing.T, rig *Rig) {
	t.Helper()
	g := &gate{rig: rig, accepted: make(chan chan struct{}), over: make(chan struct{})}
	s := httptest.NewServer(g)
	defer s.Close()
	defer close(g.over)
	dir, want, kills := t.TempDir(), map[bridge.RentalID][]string{}, 0
	for n := range Kills {
		l := rig.Launch(n)
		path := filepath.Join(dir, fmt.Sprintf("create-%d", n))
		text, err := json.Marshal(task{s.URL, l})
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		g.hold.Store(true)
		if !rig.strike(t, g, path) {
			t.Fatalf("create %d had its answer before it could be struck", n)
		}
		kills++
		if n%5 == 4 && rig.strike(t, g, path) { // a driver that looks first creates nothing again
			kills++
		}
		g.hold.Store(false)
		want[l.Rental] = rig.recover(t, path)
	}
	rig.judge(t, want)
	t.Logf("%d kills between accept and reply of %d creates", kills, Kills)
}

// process starts the test's own program on a task.
func (rig *Rig) process(t *testing.T, path string, said *bytes.Buffer) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Dir(path), variable + "=" + path}, rig.Env...)
	cmd.Stderr = said
	cmd.WaitDelay = 10 * time.Second // what it started itself ends without it
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd
}

// strike has a process create, and kills it between its cloud's accepting that
// and its learning of it. It reports whether there was such a moment.
func (rig *Rig) strike(t *testing.T, g *gate, path string) bool {
	t.Helper()
	var said bytes.Buffer
	cmd := rig.process(t, path, &said)
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	var dead chan struct{}
	select {
	case dead = <-g.accepted:
	case err := <-ended:
		if err != nil {
			t.Fatalf("the driver ended by itself: %v: %s", err, &said)
		}
		return false
	case <-time.After(patience):
		_ = cmd.Process.Kill() // The test fails either way.
		t.Fatalf("nothing was created: %v: %s", <-ended, &said)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	gone := <-ended
	close(dead)
	if gone == nil || !strings.Contains(gone.Error(), "killed") && !errors.Is(gone, exec.ErrWaitDelay) {
		t.Fatalf("it was not killed: %v", gone)
	}
	return true
}

// recover has another process make the create again, and returns the machines
// that it has then.
func (rig *Rig) recover(t *testing.T, path string) []string {
	t.Helper()
	var said bytes.Buffer
	if err := rig.process(t, path, &said).Wait(); err != nil {
		t.Fatalf("the next process does not get its machines: %v: %s", err, &said)
	}
	text, err := os.ReadFile(path + ".made")
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	if err := json.Unmarshal(text, &ids); err != nil {
		t.Fatal(err)
	}
	return ids
}

// judge compares what drivers have with what the cloud has started.
func (rig *Rig) judge(t *testing.T, want map[bridge.RentalID][]string) {
	t.Helper()
	all, err := rig.Started()
	if err != nil {
		t.Fatal(err)
	}
	got := map[bridge.RentalID][]string{}
	for _, s := range all {
		id := bridge.RentalID(s.Tags[bridge.TagRental])
		if _, ours := want[id]; !ours || s.Tags[bridge.TagStore] == "" || s.Tags[bridge.TagAttempt] == "" {
			t.Errorf("machine %s is nobody's: %v", s.ID, s.Tags)
		}
		got[id] = append(got[id], s.ID)
	}
	for id, have := range want {
		slices.Sort(have)
		slices.Sort(got[id])
		if len(got[id]) != 1 || !slices.Equal(got[id], have) {
			t.Errorf("rental %s has %q; the ledger has %q, want one", id, have, got[id])
		}
	}
	t.Logf("%d machines for %d creates", len(all), len(want))
}
