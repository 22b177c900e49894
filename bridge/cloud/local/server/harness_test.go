package server_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"spillway.sh/spillway/bridge/cloud/local/server"
	"spillway.sh/spillway/bridge/cloud/local/wire"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(victimVariable); dir != "" {
		beVictim(dir)
		return
	}
	goleak.VerifyTestMain(m)
}

// plain is a world with one pool of each market and two accounts.
const plain = `
version: 1
clouds:
  - name: nimbus
    currency: USD
    notice: 2m
    boot: 1m
    stop: 10s
    billing: {step: 1m, minimum: 5m}
    limits: 1000
    accounts:
      - {name: alpha, quotas: [{machines: 4}, {market: spot, gpus: 16}]}
      - {name: beta}
    types:
      - {name: gpu8, cpus: 16, memory_mib: 64000, gpu_type: a100, gpus: 8}
    regions:
      - name: east
        zones:
          - name: east-1
            pools: [{type: gpu8, on_demand: {rate: "12.00", stock: 6}, spot: {rate: "6.00", stock: 6}}]
`

// clock is a time that only the test moves.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// rig is a server without a network, and a clock.
type rig struct {
	*testing.T
	dir    string
	world  server.World
	clock  *clock
	host   *server.NullHost
	server *server.Server
}

func start(t *testing.T, text string) *rig {
	t.Helper()
	w, err := server.ParseWorld([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{T: t, dir: t.TempDir(), world: w, clock: newClock(), host: server.NewNullHost()}
	r.open()
	t.Cleanup(r.close)
	return r
}

func (r *rig) open() {
	r.Helper()
	s, err := server.Open(r.Context(), server.Options{Dir: r.dir, World: r.world, Host: r.host, Now: r.clock.Now})
	if err != nil {
		r.Fatal(err)
	}
	r.server = s
}

func (r *rig) close() {
	if err := r.server.Close(); err != nil {
		r.Error(err)
	}
}

func (r *rig) restart() {
	r.Helper()
	r.close()
	r.open()
}

// raw sends a request with a token and returns the whole answer.
func (r *rig) raw(token, method, path, body string) *httptest.ResponseRecorder {
	r.Helper()
	req := httptest.NewRequestWithContext(r.Context(), method, path, strings.NewReader(body))
	req.Header.Set("Authorization", "Bearer "+token)
	w := httptest.NewRecorder()
	r.server.Handler().ServeHTTP(w, req)
	return w
}

func token(t testing.TB, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

// as calls as an account of nimbus and reads the answer into out; it returns
// status and error code.
func (r *rig) as(account, method, path string, body, out any) (int, string) {
	r.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		r.Fatal(err)
	}
	w := r.raw(token(r, r.server.TokenFile("nimbus", account)), method, "/v1/nimbus"+path, string(text))
	if w.Code > 299 {
		var f wire.Failure
		if err := json.Unmarshal(w.Body.Bytes(), &f); err != nil {
			r.Fatalf("%s %s: %d %s", method, path, w.Code, w.Body)
		}
		return w.Code, f.Error.Code
	}
	if out != nil {
		if err := json.NewDecoder(bytes.NewReader(w.Body.Bytes())).Decode(out); err != nil {
			r.Fatalf("%s %s: %v in %s", method, path, err, w.Body)
		}
	}
	return w.Code, ""
}

// operator gives commands and sets faults.
func (r *rig) operator(faults ...wire.Fault) {
	r.Helper()
	text, err := json.Marshal(wire.Faults{Faults: faults})
	if err != nil {
		r.Fatal(err)
	}
	if w := r.raw(token(r, r.server.AdminTokenFile()), http.MethodPost, "/v1/faults", string(text)); w.Code != http.StatusOK {
		r.Fatalf("faults: %d %s", w.Code, w.Body)
	}
}

// order is a create of spot or on-demand machines.
func order(market string, count int) wire.Create {
	return wire.Create{
		Token: "token-" + market, Count: count, UserData: "#!/bin/sh\n", Tags: map[string]string{"owner": "us"},
		Pool: wire.Pool{Region: "east", Zone: "east-1", Type: "gpu8", Market: market},
	}
}

// rent creates machines for alpha and returns their ids.
func (r *rig) rent(q wire.Create) []string {
	r.Helper()
	var made wire.Created
	if status, code := r.as("alpha", http.MethodPost, "/instances", q, &made); status != http.StatusAccepted || made.Operation == nil {
		r.Fatalf("create: %d %s %+v", status, code, made)
	}
	return made.Operation.Instances
}

// machine asks for one machine of alpha's.
func (r *rig) machine(id string) wire.Instance {
	r.Helper()
	var m wire.Instance
	if status, code := r.as("alpha", http.MethodGet, "/instances/"+id, nil, &m); status != http.StatusOK {
		r.Fatalf("get %s: %d %s", id, status, code)
	}
	return m
}

// await polls until a machine is in a state; the host works in real time.
func (r *rig) await(id string, state wire.State) wire.Instance {
	r.Helper()
	deadline := time.Now().Add(15 * time.Second)
	for {
		m := r.machine(id)
		if m.State == state {
			return m
		}
		if time.Now().After(deadline) {
			r.Fatalf("machine %s is %s, want %s", id, m.State, state)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// ledger reads and judges the ledger, at the rig's time.
func (r *rig) ledger() ([]wire.Entry, server.Judgement) {
	r.Helper()
	entries, err := server.ReadLedger(r.server.LedgerFile())
	if err != nil {
		r.Fatal(err)
	}
	j, err := server.Judge(entries, r.clock.Now())
	if err != nil {
		r.Fatal(err)
	}
	return entries, j
}

// metadata asks the metadata service as a machine does.
func (r *rig) metadata(id, path string) (int, string) {
	r.Helper()
	g, ok := r.host.Guest(id)
	if !ok {
		r.Fatalf("machine %s is not on", id)
	}
	w := httptest.NewRecorder()
	g.Metadata.ServeHTTP(w, httptest.NewRequestWithContext(r.Context(), http.MethodGet, "/latest/"+path, nil))
	text, err := io.ReadAll(w.Result().Body)
	if err != nil {
		r.Fatal(err)
	}
	return w.Code, strings.TrimSpace(string(text))
}
