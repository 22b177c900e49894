package enrol_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/enrol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const secret = "munge-key-that-must-not-leak"

// world is a store of one rental, a cluster and a server with its log.
type world struct {
	mu     sync.Mutex
	rental bridge.Rental
	claims map[string]string
	now    time.Time
	log    bytes.Buffer
	woken  int
	base   string
	server *enrol.Server
	dir    string
	agent  string // file of the agent
	heard  []string
	said   bridge.Report // the latest
	deaf   error
	full   bool // nothing can be written down
}

func (w *world) Rental(_ context.Context, id bridge.RentalID) (bridge.Rental, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if id != w.rental.ID {
		return bridge.Rental{}, errors.New("no such rental")
	}
	return w.rental, nil
}

func (w *world) ClaimEnrolment(_ context.Context, _ bridge.RentalID, machine, address string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if first, ok := w.claims[machine]; ok && first != address {
		return fmt.Errorf("claimed by %s: %w", first, bridge.ErrClaimed)
	}
	if w.full {
		return errors.New("disk is full")
	}
	w.claims[machine] = address
	return nil
}

func (w *world) Enrolment(_ context.Context, _ *bridge.Rental, m *bridge.Machine) (map[string]string, error) {
	return map[string]string{"node": m.Node, "munge_key": secret, "slurmd_conf": "CPUs=8", "owner": "alice:5001:5002"}, nil
}

func (w *world) clock() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

func (w *world) hear(_ context.Context, rental bridge.RentalID, instance string, r bridge.Report) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.heard, w.said = append(w.heard, string(rental)+"/"+instance), r
	return w.deaf
}

func (w *world) change(f func(*bridge.Rental)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f(&w.rental)
	w.now = w.now.Add(time.Second) // An answer may be a moment old.
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{claims: map[string]string{}, now: time.Now().UTC(), dir: t.TempDir()}
	w.agent = filepath.Join(t.TempDir(), "agent")
	if err := os.WriteFile(w.agent, []byte("#!/bin/sh\necho agent\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	id := bridge.NewRentalID(7)
	w.rental = bridge.Rental{
		ID: id, State: bridge.StateJoining, Cluster: "c1", Attempt: 1, Shape: bridge.Shape{GPUs: 8, GPUType: "a100"}, Expires: w.now.Add(time.Hour).Truncate(time.Second),
		Machines: []bridge.Machine{
			{State: bridge.MachineCreated, ID: "i-1", Node: bridge.NodeName(id, 0), Address: "127.0.0.1"},
			{Ordinal: 1, State: bridge.MachineCreated, ID: "i-2", Node: bridge.NodeName(id, 1), Address: "127.0.0.2"},
		},
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w.base = "https://" + l.Addr().String()
	w.server = w.open(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- w.server.Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return w
}

func (w *world) open(t *testing.T) *enrol.Server {
	t.Helper()
	s, err := enrol.New(enrol.Options{
		Dir: w.dir, URL: w.base, Rentals: w, Clusters: map[string]enrol.Cluster{"c1": w},
		Wants: map[string]bridge.Wants{"c1": {Mounts: []string{"/home"}}}, Agent: w.agent, Version: "v2", Hear: w.hear,
		Wake: func() { w.mu.Lock(); w.woken++; w.mu.Unlock() }, Clock: w.clock,
		Log: slog.New(slog.NewTextHandler(&w.log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (w *world) boot(t *testing.T, r bridge.Rental) bridge.Boot {
	t.Helper()
	b, err := w.server.Boot(&r, w.now)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// client pins the CA, and comes from an address of the loopback network.
func client(t *testing.T, ca, from string) *http.Client {
	t.Helper()
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM([]byte(ca)) {
		t.Fatal("the authority is no certificate")
	}
	d := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	tr := &http.Transport{DialContext: d.DialContext, TLSClientConfig: &tls.Config{RootCAs: pool}}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, Timeout: 10 * time.Second}
}

func ask(t *testing.T, c *http.Client, b bridge.Boot, instance string) (int, map[string]string) {
	t.Helper()
	body, _ := json.Marshal(map[string]string{"ticket": b.Ticket, "instance": instance})
	resp, err := c.Post(b.URL, "application/json", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	return read(t, resp)
}

func read(t *testing.T, resp *http.Response) (int, map[string]string) {
	t.Helper()
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	if resp.StatusCode == http.StatusOK {
		all := map[string]json.RawMessage{}
		if err := json.Unmarshal(text, &all); err != nil {
			t.Fatalf("answer %q: %v", text, err)
		}
		for name, raw := range all {
			var word string
			if json.Unmarshal(raw, &word) != nil {
				word = string(raw)
			}
			out[name] = word
		}
	} else if strings.Contains(string(text), secret) {
		t.Errorf("a refusal carries the secret: %s", text)
	}
	return resp.StatusCode, out
}

func TestMachineEnrolsOnceAndAgainFromTheSameAddress(t *testing.T) {
	w := newWorld(t)
	b := w.boot(t, w.rental)
	c := client(t, b.CA, "127.0.0.1")
	for range 2 {
		status, got := ask(t, c, b, "i-1")
		lease := got["lease"]
		delete(got, "lease")
		want := map[string]string{
			"node": w.rental.Machines[0].Node, "munge_key": secret, "slurmd_conf": "CPUs=8", "expires": w.rental.Expires.Format(time.RFC3339),
			"now": w.now.Format(time.RFC3339Nano), "wants": `{"gpus":8,"gpu_type":"a100","mounts":["/home"],"owner":{"name":"alice","uid":5001,"gid":5002}}`,
		}
		if diff := cmp.Diff(want, got); diff != "" || status != http.StatusOK || lease == "" {
			t.Fatalf("status %d, lease %q, -want +got:\n%s", status, lease, diff)
		}
	}
	if log := w.log.String(); strings.Contains(log, secret) || strings.Contains(log, b.Ticket) || !strings.Contains(log, "enrolled") {
		t.Errorf("INV-I28: the log tells too much, or nothing:\n%s", log)
	}
}

// A ticket whose use cannot be written down is not given out, and the machine
// is told to come again: it is no fault of its own.
func TestMachineComesAgainWhileTheDiskIsFull(t *testing.T) {
	w := newWorld(t)
	b := w.boot(t, w.rental)
	c := client(t, b.CA, "127.0.0.1")
	set := func(full bool) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.full = full
	}
	set(true)
	if status, got := ask(t, c, b, "i-1"); status != http.StatusServiceUnavailable || len(got) > 0 {
		t.Errorf("it is answered %d and gets %v", status, got)
	}
	set(false)
	if status, got := ask(t, c, b, "i-1"); status != http.StatusOK || got["munge_key"] != secret {
		t.Errorf("it comes again and is answered %d", status)
	}
}

func TestRefusals(t *testing.T) {
	for name, tt := range map[string]struct {
		from, instance string
		change         func(*world, *bridge.Boot)
		want           int
		wakes          bool
	}{
		"another machine takes the address of the first": {from: "127.0.0.1", instance: "i-2", want: http.StatusForbidden},
		"a machine the rental does not have":             {from: "127.0.0.1", instance: "i-9", want: http.StatusForbidden},
		"claimed from elsewhere before": {from: "127.0.0.1", instance: "i-1", want: http.StatusForbidden, change: func(w *world, _ *bridge.Boot) {
			w.claims["i-1"] = "127.0.0.9"
		}},
		"the cloud does not show it yet": {from: "127.0.0.1", instance: "i-3", want: http.StatusServiceUnavailable, wakes: true, change: func(w *world, _ *bridge.Boot) {
			w.rental.Machines[1].ID = ""
		}},
		"its address is not known yet": {from: "127.0.0.1", instance: "i-1", want: http.StatusServiceUnavailable, wakes: true, change: func(w *world, _ *bridge.Boot) {
			w.rental.Machines[0].Address = ""
		}},
		"the rental goes back": {from: "127.0.0.1", instance: "i-1", want: http.StatusForbidden, change: func(w *world, _ *bridge.Boot) {
			w.rental.State = bridge.StateReleasing
		}},
		"the machine is being given back": {from: "127.0.0.1", instance: "i-1", want: http.StatusForbidden, change: func(w *world, _ *bridge.Boot) {
			w.rental.Machines[0].State = bridge.MachineReleasing
		}},
		"a later attempt": {from: "127.0.0.1", instance: "i-1", want: http.StatusForbidden, change: func(w *world, _ *bridge.Boot) {
			w.rental.Attempt = 2
		}},
		"the ticket is too old": {from: "127.0.0.1", instance: "i-1", want: http.StatusUnauthorized, change: func(w *world, _ *bridge.Boot) {
			w.now = w.now.Add(time.Hour)
		}},
		"the ticket is forged": {from: "127.0.0.1", instance: "i-1", want: http.StatusUnauthorized, change: func(_ *world, b *bridge.Boot) {
			b.Ticket = "x" + b.Ticket[1:]
		}},
		"no ticket": {from: "127.0.0.1", instance: "i-1", want: http.StatusUnauthorized, change: func(_ *world, b *bridge.Boot) {
			b.Ticket = ""
		}},
		"no machine": {from: "127.0.0.1", want: http.StatusBadRequest},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			b := w.boot(t, w.rental)
			if tt.change != nil {
				tt.change(w, &b)
			}
			status, _ := ask(t, client(t, b.CA, tt.from), b, tt.instance)
			if status != tt.want || (w.woken > 0) != tt.wakes {
				t.Errorf("status %d, woken %d; want %d, %t", status, w.woken, tt.want, tt.wakes)
			}
		})
	}
}

func TestLeaseTellsTheEndUntilTheMachineIsGone(t *testing.T) {
	w := newWorld(t)
	b := w.boot(t, w.rental)
	c := client(t, b.CA, "127.0.0.1")
	_, grant := ask(t, c, b, "i-1")
	get := func(token string) (int, map[string]string) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.base+"/v1/lease", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
		resp, err := c.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		return read(t, resp)
	}
	later := w.rental.Expires.Add(time.Hour)
	w.change(func(r *bridge.Rental) { r.Expires = later })
	if status, got := get(grant["lease"]); status != http.StatusOK || got["expires"] != later.Format(time.RFC3339) {
		t.Errorf("lease: %d %v, want %s", status, got, later)
	}
	if status, _ := get(b.Ticket); status != http.StatusUnauthorized {
		t.Errorf("a ticket passes for a lease: %d", status)
	}
	w.change(func(r *bridge.Rental) { r.Machines[0].State = bridge.MachineGone })
	if status, _ := get(grant["lease"]); status != http.StatusGone {
		t.Errorf("lease of a machine that is gone: %d", status)
	}
}

func TestRestartKeepsAuthorityAndTickets(t *testing.T) {
	w := newWorld(t)
	before := w.boot(t, w.rental)
	again, err := w.open(t).Boot(&w.rental, w.now)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, again); diff != "" {
		t.Errorf("a restart changes what machines were given, -before +after:\n%s", diff)
	}
	for _, name := range []string{"enrol-ca.pem", "enrol.secret"} {
		info, err := os.Stat(filepath.Join(w.dir, name))
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v; want it for its owner alone", name, info.Mode(), err)
		}
	}
}

func TestStrangerCannotPlayTheBridge(t *testing.T) {
	w, other := newWorld(t), newWorld(t)
	mine, theirs := w.boot(t, w.rental), other.boot(t, other.rental)
	theirs.CA = mine.CA // pinned: mine
	_, err := client(t, mine.CA, "127.0.0.1").Post(theirs.URL, "application/json", strings.NewReader("{}"))
	if _, unknown := errors.AsType[x509.UnknownAuthorityError](err); !unknown {
		t.Errorf("a server of another authority is believed: %v", err)
	}
}

func TestFloodIsTurnedAway(t *testing.T) {
	w := newWorld(t)
	b := w.boot(t, w.rental)
	b.Ticket = "guess"
	c := client(t, b.CA, "127.0.0.1")
	turned := 0
	for range 20 {
		if status, _ := ask(t, c, b, "i-1"); status == http.StatusTooManyRequests {
			turned++
		}
	}
	if turned < 10 {
		t.Errorf("%d of 20 guesses were turned away", turned)
	}
	if status, _ := ask(t, client(t, b.CA, "127.0.0.3"), b, "i-1"); status != http.StatusUnauthorized {
		t.Errorf("another address pays for it: %d", status)
	}
}

func TestBadURLIsExplained(t *testing.T) {
	for _, url := range []string{"", "http://10.0.0.1:1", "10.0.0.1:6820"} {
		if _, err := enrol.New(enrol.Options{Dir: t.TempDir(), URL: url, Clock: time.Now}); err == nil || !strings.Contains(err.Error(), "https://") {
			t.Errorf("URL %q: %v", url, err)
		}
	}
}
