package local

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/cloud/local/wire"
	"spillway.sh/spillway/bridge/sim/bulk"
)

// always answers every call with the same.
type always struct {
	status int
	retry  string
	body   []byte
}

// RoundTrip gives the answer.
func (a always) RoundTrip(r *http.Request) (*http.Response, error) {
	header := http.Header{"Content-Type": {"application/json"}}
	if a.retry != "" {
		header.Set("Retry-After", a.retry)
	}
	return &http.Response{
		StatusCode: a.status, Status: strconv.Itoa(a.status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: header, Body: io.NopCloser(bytes.NewReader(a.body)), ContentLength: int64(len(a.body)), Request: r,
	}, nil
}

// cloudAnswering is a cloud that always answers the same.
func cloudAnswering(t testing.TB, a always) *Cloud {
	t.Helper()
	secret := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := New(Config{Name: "nimbus", URL: "http://127.0.0.1:1", TokenFile: secret, Limits: 1e9, Transport: a})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// calls makes one of each kind and returns how each ended.
func calls(t testing.TB, c *Cloud) map[string]error {
	t.Helper()
	l := bridge.Launch{Rental: "r-0013", Token: "tok", Count: 1, Pool: bridge.Pool{Cloud: "nimbus", Region: "east", Zone: "east-1", Type: "gpu8", Market: bridge.Spot}}
	out := map[string]error{}
	h, err := c.Create(t.Context(), l)
	if out["create"] = err; (err == nil) == (h == "") {
		t.Errorf("create gives handle %q and %v", h, err)
	}
	_, out["observe"] = c.Observe(t.Context(), l, "op-1")
	_, out["found"] = c.Observe(t.Context(), l, "")
	list, err := c.List(t.Context(), "store", "c1")
	if out["list"] = err; err != nil && list.Complete {
		t.Errorf("a list that failed with %v is called complete", err)
	}
	out["terminate"] = c.Terminate(t.Context(), []string{"i-1"})
	out["extend"] = c.Extend(t.Context(), []string{"i-1"}, time.Unix(1e9, 0))
	offers, err := c.Offers(t.Context())
	out["offers"] = err
	for _, o := range offers {
		if o.Rate.Micro <= 0 {
			t.Errorf("an offer costs %d", o.Rate.Micro)
		}
	}
	return out
}

// FuzzAnswers holds that no answer of a cloud ends the bridge, that all errors
// are of the kind the engine knows, and that a refusal, which proves that
// nothing was created, is only what the protocol says in so many words.
func FuzzAnswers(f *testing.F) {
	machine := `{"id":"i-1","token":"tok","state":"running","rate":{"micro":1,"currency":"USD"},"launched":"2026-11-30T12:00:00Z"}`
	for _, seed := range []struct {
		status int
		retry  string
		body   string
	}{
		{201, "", `{"operation":{"id":"op-1","status":"done","instances":["i-1"]}}`},
		{200, "", `{"errors":[{"code":"` + wire.CodeNoCapacity + `","message":"none left"}]}`},
		{200, "", `{"operation":{"id":""},"errors":[]}`},
		{200, "", `{"total":1,"instances":[` + machine + `]}`},
		{200, "", `{"total":2,"instances":[` + machine + `],"next":"p2"}`},
		{200, "", `{"offers":[{"rate":{"micro":0,"currency":"USD"}},{"rate":{"micro":-5,"currency":"USD"}}]}`},
		{409, "", `{"error":{"code":"` + wire.CodeNoCapacity + `","message":"none left"}}`},
		{429, "99999999999999", `{"error":{"code":"` + wire.CodeThrottled + `"}}`},
		{500, "", `{"error":{"code":"` + wire.CodeInternal + `"}}`},
		{503, "", `{"error":{"code":"` + wire.CodeNoCapacity + `"}}`}, // as some clouds say that they are sold out
		{502, "", `<html>bad gateway</html>`},
		{403, "", `forbidden`},
		{204, "", ``},
		{302, "", ``},
		{200, "", `null`},
		{200, "", `[]`},
		{200, "", `{"operation":null`},
	} {
		f.Add(seed.status, seed.retry, []byte(seed.body))
	}
	f.Fuzz(func(t *testing.T, status int, retry string, body []byte) {
		if status < 200 || status > 599 || bytes.ContainsAny([]byte(retry), "\r\n\x00") {
			return
		}
		if bytes.Contains(body, []byte(`next`)) && len(body) < 1000 {
			return // a listing that never ends is another test's
		}
		said := map[string]bool{}
		var failure wire.Failure
		var made wire.Created
		if status > 299 && json.Unmarshal(body, &failure) == nil {
			said[failure.Error.Code] = true
		}
		if status < 300 && json.Unmarshal(body, &made) == nil {
			for _, e := range made.Errors {
				said[e.Code] = true
			}
		}
		for op, err := range calls(t, cloudAnswering(t, always{status, retry, body})) {
			if err == nil {
				continue
			}
			e, ok := errors.AsType[*bridge.CloudError](err)
			if !ok {
				t.Errorf("%s ends with %T: %v", op, err, err)
				continue
			}
			if e.RetryAfter < 0 || e.RetryAfter > time.Hour {
				t.Errorf("%s is to be repeated after %s", op, e.RetryAfter)
			}
			if op == "create" && e.Kind.Refused() && !said[e.Code] {
				t.Errorf("a create is called refused (%s) by status %d and\n%s", e.Kind, status, body)
			}
		}
	})
}

// TestALargeAnswerIsReadInTime holds that ten megabytes of a cloud's offers, or
// of nothing that makes sense, hold nobody up.
func TestALargeAnswerIsReadInTime(t *testing.T) {
	const offer = `{"pool":{"region":"east","zone":"east-1","type":"gpu8","market":"spot"},"cpus":96,"gpus":8,"gpu_type":"a100","rate":{"micro":1,"currency":"USD"}},`
	list := bulk.Of(offer)
	for name, body := range map[string][]byte{
		"offers, cut short": append([]byte(`{"offers":[`), list...),
		"one long text":     append([]byte(`{"offers":"`), list...),
		"open brackets":     bulk.Of("["),
	} {
		t.Run(name, func(t *testing.T) {
			c := cloudAnswering(t, always{200, "", body})
			bulk.Read(t, name, func() {
				if _, err := c.Offers(t.Context()); bridge.KindOf(err) != bridge.CloudUnknown || err == nil {
					t.Errorf("it is read with %v", err)
				}
			})
		})
	}
	t.Run("machines", func(t *testing.T) {
		machine := []byte(`{"id":"i-1","token":"tok","state":"running","rate":{"micro":1,"currency":"USD"},"tags":{"spillway-note":"` + strings.Repeat("x", 400) + `"}},`)
		list := append([]byte(`{"total":1,"instances":[`), bytes.Repeat(machine, bulk.Size/len(machine))...)
		c := cloudAnswering(t, always{200, "", append(bytes.TrimSuffix(list, []byte(",")), "]}"...)})
		bulk.Read(t, "machines", func() {
			if found, _, err := c.pages(t.Context(), "list", nil); err != nil || len(found) != 1 {
				t.Errorf("%d machines, %v", len(found), err)
			}
		})
	})
}
