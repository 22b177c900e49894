package local_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/cloud/cloudtest"
	"spillway.sh/spillway/bridge/cloud/cloudtest/killed"
	"spillway.sh/spillway/bridge/cloud/local"
	"spillway.sh/spillway/bridge/cloud/local/server"
	"spillway.sh/spillway/bridge/cloud/local/wire"
)

func TestMain(m *testing.M) {
	killed.Obey(openVictim)
	goleak.VerifyTestMain(m)
}

// world has one cloud with a pool for each shape of failure; those called gone
// have no stock.
const world = `
version: 1
clouds:
  - name: nimbus
    currency: USD
    notice: 10s
    boot: 30ms
    visibility: 30ms
    page: 4
    limits: 100
    accounts: [{name: default}]
    types:
      - {name: gpu8, cpus: 16, memory_mib: 64000, gpu_type: a100, gpus: 8, features: [nvlink]}
    regions:
      - name: east
        zones:
          - name: east-1
            pools:
              - {type: gpu8, on_demand: {rate: "12.80", stock: 6}, spot: {rate: "5.60", stock: 6, swing: 15}}
          - name: slow
            pools: [{type: gpu8, on_demand: {rate: "12.80", stock: 6}, failure: long-running, delay: 50ms}]
          - name: gone-error
            pools: [{type: gpu8, spot: {rate: "5.60"}, failure: error}]
          - name: gone-list
            pools: [{type: gpu8, spot: {rate: "5.60"}, failure: list}]
          - name: gone-operation
            pools: [{type: gpu8, spot: {rate: "5.60"}, failure: operation}]
          - name: gone-instances
            pools: [{type: gpu8, spot: {rate: "5.60"}, failure: instances}]
          - name: gone-long-running
            pools: [{type: gpu8, spot: {rate: "5.60"}, failure: long-running, delay: 100ms}]
`

// rig is a server with an adapter on it.
type rig struct {
	*testing.T
	dir    string
	world  server.World
	server *server.Server
	url    string
	cloud  *local.Cloud
}

func start(t *testing.T, text string, host server.Host) *rig {
	t.Helper()
	w, err := server.ParseWorld([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{T: t, dir: t.TempDir(), world: w}
	r.serve(host)
	t.Cleanup(func() {
		if err := r.server.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// restart closes the server and opens another on its directory.
func (r *rig) restart(host server.Host) {
	r.Helper()
	if err := r.server.Close(); err != nil {
		r.Fatal(err)
	}
	r.serve(host)
}

func (r *rig) serve(host server.Host) {
	r.Helper()
	s, err := server.Open(r.Context(), server.Options{Dir: r.dir, World: r.world, Host: host})
	if err != nil {
		r.Fatal(err)
	}
	r.server = s
	addr, err := s.Listen("127.0.0.1:0")
	if err != nil {
		r.Fatal(err)
	}
	r.url = "http://" + addr.String()
	r.cloud = r.open(r.T, local.Config{})
}

// open makes another adapter for nimbus.
func (r *rig) open(t *testing.T, c local.Config) *local.Cloud {
	t.Helper()
	c.Name, c.URL, c.TokenFile = "nimbus", r.url, r.server.TokenFile("nimbus", "default")
	if c.Limits == 0 {
		c.Limits = 100
	}
	cloud, err := local.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return cloud
}

// post sends a request as the holder of a token file and returns the answer.
func (r *rig) post(tokenFile, method, path string, body any) (int, string) {
	r.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		r.Fatal(err)
	}
	req, err := http.NewRequestWithContext(r.Context(), method, r.url+path, bytes.NewReader(text))
	if err != nil {
		r.Fatal(err)
	}
	token, err := os.ReadFile(tokenFile)
	if err != nil {
		r.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		r.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		r.Fatal(err)
	}
	return resp.StatusCode, string(answer)
}

// fault sets faults or gives commands, in order.
func (r *rig) fault(faults ...wire.Fault) {
	r.Helper()
	if status, answer := r.post(r.server.AdminTokenFile(), http.MethodPost, "/v1/faults", wire.Faults{Faults: faults}); status != http.StatusOK {
		r.Fatalf("faults: %d %s", status, answer)
	}
}

// heal takes all faults away.
func (r *rig) heal() {
	r.Helper()
	if status, answer := r.post(r.server.AdminTokenFile(), http.MethodDelete, "/v1/faults", nil); status != http.StatusOK {
		r.Fatalf("faults: %d %s", status, answer)
	}
}

// launch is a create of the store "st" for the cluster "cl".
func (r *rig) launch(count int, zone string, market bridge.Market) bridge.Launch {
	l := bridge.Launch{
		Rental: bridge.NewRentalID(1), Attempt: 1, Count: count,
		Pool: bridge.Pool{Cloud: "nimbus", Region: "east", Zone: zone, Type: "gpu8", Market: market},
		Tags: map[string]string{
			bridge.TagStore: "st", bridge.TagCluster: "cl", bridge.TagRental: "r-0011", bridge.TagAttempt: "1",
		},
		UserData: "#!/bin/sh\n", Expires: time.Now().UTC().Add(time.Hour).Truncate(time.Second),
	}
	l.Token = bridge.Token("st", l)
	return l
}

// patience is the longest that anything of the rig's may take.
const patience = 15 * time.Second

// await polls until a thing is so.
func (r *rig) await(what string, done func() bool) {
	r.Helper()
	cloudtest.Await(r, patience, what, done)
}

// running creates machines and waits until they run.
func (r *rig) running(l bridge.Launch) []bridge.Instance {
	r.Helper()
	h, err := r.cloud.Create(r.Context(), l)
	if err != nil {
		r.Fatal(err)
	}
	return cloudtest.Running(r, patience, r.cloud, l, h)
}

// list is whatever a listing of our store says.
func (r *rig) list() bridge.Listing {
	r.Helper()
	l, err := r.cloud.List(r.Context(), "st", "cl")
	if err != nil {
		r.Fatal(err)
	}
	return l
}

// replace changes one place of a text and fails if it is not there once.
func replace(t *testing.T, text, from, to string) string {
	t.Helper()
	if strings.Count(text, from) != 1 {
		t.Fatalf("%q is there %d times", from, strings.Count(text, from))
	}
	return strings.Replace(text, from, to, 1)
}
