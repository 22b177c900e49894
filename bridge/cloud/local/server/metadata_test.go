package server_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/cloud/local/server"
	"spillway.sh/spillway/bridge/cloud/local/wire"
	"spillway.sh/spillway/bridge/node"
)

// TestMachinesAgentsUnderstandTheMetadata asks as the agent of a machine does.
func TestMachinesAgentsUnderstandTheMetadata(t *testing.T) {
	r := start(t, plain)
	q := order("spot", 1)
	end := r.clock.Now().Add(time.Hour)
	q.Tags = map[string]string{"spillway-expires": end.Format(time.RFC3339)}
	id := r.rent(q)[0]
	r.clock.advance(time.Minute)
	r.await(id, wire.StateRunning)
	g, ok := r.host.Guest(id)
	if !ok {
		t.Fatal("the machine is off")
	}
	s := httptest.NewServer(g.Metadata)
	defer s.Close()
	c := node.NewEC2(s.URL)
	if got, err := c.Identify(t.Context()); err != nil || got != id {
		t.Errorf("it is %q, %v; want %s", got, err, id)
	}
	if got, err := c.Expires(t.Context()); err != nil || !got.Equal(end) {
		t.Errorf("it ends at %s, %v; want %s", got, err, end)
	}
	if w, err := c.Look(t.Context()); err != nil || w != nil {
		t.Errorf("a notice before there is one: %+v, %v", w, err)
	}
	r.operator(wire.Fault{Kind: wire.CommandNotice, Instance: id})
	w, err := c.Look(t.Context())
	want := &bridge.Warning{Source: "spot/instance-action", At: r.machine(id).ReclaimAt.UTC()}
	if diff := cmp.Diff(want, w); err != nil || diff != "" {
		t.Errorf("%v, -want +got:\n%s", err, diff)
	}
}

func TestMetadataTokens(t *testing.T) {
	r := start(t, plain)
	id := r.rent(order("spot", 1))[0]
	r.clock.advance(time.Minute)
	r.await(id, wire.StateRunning)
	g, _ := r.host.Guest(id)
	do := func(method, path, header, value string) (int, string) {
		return askMetadata(t, g, method, path, header, value)
	}
	const life, token = "X-aws-ec2-metadata-token-ttl-seconds", "X-aws-ec2-metadata-token"
	for _, bad := range []string{"", "0", "21601", "long"} {
		if status, _ := do(http.MethodPut, "api/token", life, bad); status != http.StatusBadRequest {
			t.Errorf("a token for %q seconds: %d", bad, status)
		}
	}
	status, good := do(http.MethodPut, "api/token", life, "60")
	if status != http.StatusOK || good == "" {
		t.Fatalf("%d %q", status, good)
	}
	for value, want := range map[string]int{good: http.StatusOK, "": http.StatusOK, "made-up": http.StatusUnauthorized} {
		if status, _ := do(http.MethodGet, "meta-data/instance-id", token, value); status != want {
			t.Errorf("with token %q: %d, want %d", value, status, want)
		}
	}
}

func askMetadata(t *testing.T, g server.Guest, method, path, header, value string) (int, string) {
	t.Helper()
	w := httptest.NewRecorder()
	req := httptest.NewRequestWithContext(t.Context(), method, "/latest/"+path, nil)
	if value != "" {
		req.Header.Set(header, value)
	}
	g.Metadata.ServeHTTP(w, req)
	return w.Code, w.Body.String()
}
