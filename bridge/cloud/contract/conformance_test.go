package contract_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/cloud/cloudtest"
	"spillway.sh/spillway/bridge/cloud/contract"
	"spillway.sh/spillway/bridge/cloud/local"
	"spillway.sh/spillway/bridge/cloud/local/server"
	"spillway.sh/spillway/bridge/cloud/local/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

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
      - {name: gpu8, cpus: 16, memory_mib: 64000, gpu_type: a100, gpus: 8}
    regions:
      - name: east
        zones:
          - {name: east-1, pools: [{type: gpu8, on_demand: {rate: "12.80", stock: 20}, spot: {rate: "5.60", stock: 6}}]}
          - {name: gone, pools: [{type: gpu8, spot: {rate: "5.60"}}]}
`

// paid is a contract of six machines that are paid for anyway.
var paid = bridge.Capacity{
	Name: "east-2027", Kind: bridge.Contract, GPU: "a100", GPUs: 48, Rate: bridge.Rate{Micro: 1_100_000, Currency: "USD"},
	Cloud: "nimbus", Type: "gpu8", Machines: 6,
}

func serve(t *testing.T) (*server.Server, string) {
	t.Helper()
	w, err := server.ParseWorld([]byte(world))
	if err != nil {
		t.Fatal(err)
	}
	s, err := server.Open(t.Context(), server.Options{Dir: t.TempDir(), World: w, Host: server.NewNullHost()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	addr, err := s.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return s, "http://" + addr.String()
}

// TestConformance runs the suite of every cloud on machines of a contract, through
// an adapter whose machines exist as rows only.
func TestConformance(t *testing.T) {
	s, url := serve(t)
	pool := bridge.Pool{Cloud: "nimbus", Region: "east", Zone: "east-1", Type: "gpu8", Market: bridge.Reserved}
	cloudtest.Run(t, cloudtest.Provider{
		Open: func(t cloudtest.T) cloudtest.Cloud {
			inner, err := local.New(local.Config{Name: "nimbus", URL: url, TokenFile: s.TokenFile("nimbus", "default"), Limits: 100})
			if err != nil {
				t.Fatal(err)
			}
			return contract.New(inner, []bridge.Capacity{paid}, time.Now)
		},
		Idempotency: cloudtest.ByToken,
		Pool:        pool, Stock: 6, Exact: true, Pages: true, UserData: "#!/bin/sh\ntrue\n",
		Patience: 20 * time.Second, Expiry: time.Second,
		SoldOut: map[string]bridge.Pool{"error": {Cloud: "nimbus", Region: "east", Zone: "gone", Type: "gpu8", Market: bridge.Spot}},
		LoseAnswer: func(cloudtest.T) {
			post(t, url+"/v1/faults", s.AdminTokenFile(), wire.Faults{Faults: []wire.Fault{{Kind: wire.FaultTimeoutAfter, Op: "create", Count: 1, Delay: wire.Duration(10 * time.Millisecond)}}})
		},
	})
}

func post(t *testing.T, url, tokenFile string, body any) {
	t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	token, err := os.ReadFile(tokenFile)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("post %s: %s", url, resp.Status)
	}
}
