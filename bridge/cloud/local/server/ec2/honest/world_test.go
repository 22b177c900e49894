package honest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"spillway.sh/spillway/bridge/cloud/local/server"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	cloudName = "cumulus"
	account   = "lab"
	region    = "us-east-1"
)

// world has types of Amazon's own, so that others know them, and of each reason
// to refuse a pool that has it.
const world = `
version: 1
clouds:
  - name: cumulus
    currency: USD
    notice: 2m
    boot: 20ms
    page: 5
    limits: 1000
    accounts:
      - name: lab
        quotas: [{market: spot, family: g, vcpus: 16}]
    types:
      - {name: p4d.24xlarge, cpus: 96, memory_mib: 1179648, gpu_type: a100, gpus: 8, network: rdma}
      - {name: g6.xlarge, cpus: 4, memory_mib: 16384, gpu_type: l4, gpus: 1}
      - {name: m5.large, cpus: 2, memory_mib: 8192}
    regions:
      - name: us-east-1
        zones:
          - name: us-east-1a
            pools:
              - {type: p4d.24xlarge, on_demand: {rate: "32.77", stock: 2}, spot: {rate: "9.80", stock: 2}, failure: error}
              - {type: g6.xlarge, on_demand: {rate: "0.80", stock: 50}, spot: {rate: "0.30", stock: 50}, failure: error}
              - {type: m5.large, on_demand: {rate: "0.096", stock: 50}, failure: error}
          - name: us-east-1b
            pools:
              - {type: p4d.24xlarge, on_demand: {rate: "32.77", stock: 0}, failure: error}
              - {type: g6.xlarge, on_demand: {rate: "0.80", stock: 50}, failure: error}
`

// asked is one request as it came over the wire, without what is each client's
// own: its name, its date, its signature.
type asked struct {
	Service, Action string
	Said            []string // sorted
}

// desk is a server that notes what it is asked.
type desk struct {
	t      *testing.T
	url    string // of the cloud
	secret string
	key    string

	mu     sync.Mutex
	asked  []asked
	bodies []string // of answers to RunInstances
}

func open(t *testing.T, text string) *desk {
	t.Helper()
	w, err := server.ParseWorld([]byte(text))
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
	secret, err := os.ReadFile(s.TokenFile(cloudName, account))
	if err != nil {
		t.Fatal(err)
	}
	d := front(t, s.Handler())
	d.url += "/aws/" + cloudName
	d.key, d.secret = cloudName+"-"+account, strings.TrimSpace(string(secret))
	return d
}

// front notes what something that speaks EC2 is asked.
func front(t *testing.T, h http.Handler) *desk {
	t.Helper()
	d := &desk{t: t}
	s := httptest.NewServer(d.note(h))
	t.Cleanup(s.Close)
	d.url = s.URL
	return d
}

var scope = regexp.MustCompile(`Credential=[^/]+/\d+/[^/]*/([^/]+)/aws4_request`)

// note passes calls on and writes them down.
func (d *desk) note(next http.Handler) http.Handler {
	return http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			d.t.Error(err)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		a := asked{}
		if m := scope.FindStringSubmatch(r.Header.Get("Authorization")); m != nil {
			a.Service = m[1]
		}
		a.Action, a.Said = words(r.Header.Get("X-Amz-Target"), body)
		kept := httptest.NewRecorder()
		next.ServeHTTP(kept, r)
		d.write(a, kept) // before the answer goes out: who has it may look at once
		maps.Copy(out.Header(), kept.Header())
		out.WriteHeader(kept.Code)
		_, _ = out.Write(kept.Body.Bytes()) // A client that is gone is no concern.
	})
}

func (d *desk) write(a asked, kept *httptest.ResponseRecorder) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asked = append(d.asked, a)
	if a.Action == "RunInstances" && kept.Code == http.StatusOK {
		d.bodies = append(d.bodies, kept.Body.String())
	}
}

// words are what a body says, in order, whichever way it was written.
func words(target string, body []byte) (action string, said []string) {
	if target != "" {
		_, action, _ = strings.Cut(target, ".")
		var v any
		if err := json.Unmarshal(body, &v); err != nil {
			return action, []string{"not JSON: " + err.Error()}
		}
		return action, flat("", v)
	}
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return "", []string{"not a form: " + err.Error()}
	}
	for k, vs := range form {
		for _, v := range vs {
			if k != "Action" {
				said = append(said, k+"="+v)
			}
		}
	}
	slices.Sort(said)
	return form.Get("Action"), said
}

// flat writes a value as lines of path and leaf, without what is empty.
func flat(path string, v any) []string {
	var out []string
	switch v := v.(type) {
	case map[string]any:
		for k, one := range v {
			out = append(out, flat(path+"."+k, one)...)
		}
	case []any:
		for i, one := range v {
			out = append(out, flat(fmt.Sprintf("%s[%d]", path, i), one)...)
		}
	case nil:
	case string:
		if v != "" {
			out = append(out, path+"="+v)
		}
	default:
		out = append(out, fmt.Sprintf("%s=%v", path, v))
	}
	slices.Sort(out)
	return out
}

var machineID = regexp.MustCompile(`<instanceId>(i-[0-9a-f]+)</instanceId>`)

// machines are the ids of all that were started, in order.
func (d *desk) machines() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var out []string
	for _, body := range d.bodies {
		for _, m := range machineID.FindAllStringSubmatch(body, -1) {
			if !slices.Contains(out, m[1]) {
				out = append(out, m[1])
			}
		}
	}
	return out
}

// take returns what was asked since it was last called.
func (d *desk) take() []asked {
	d.mu.Lock()
	defer d.mu.Unlock()
	out := d.asked
	d.asked = nil
	return out
}
