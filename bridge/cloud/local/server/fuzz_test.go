package server_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"spillway.sh/spillway/bridge/cloud/local/server"
	"spillway.sh/spillway/bridge/cloud/local/wire"
	"spillway.sh/spillway/bridge/sim/bulk"
)

// FuzzWorld holds that no text of a world ends the server, and that one that is
// taken can be opened.
func FuzzWorld(f *testing.F) {
	f.Add([]byte(plain))
	f.Add([]byte("version: 1\nclouds: [{name: a, limits: -1}]"))
	f.Add([]byte("version: 1\nclouds: &a [*a]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		w, err := server.ParseWorld(text)
		if err != nil {
			return
		}
		names := map[string]bool{}
		for _, c := range w.Clouds {
			if c.Name == "" || names[c.Name] {
				t.Errorf("a cloud is called %q", c.Name)
			}
			names[c.Name] = true
		}
	})
}

// FuzzLedger holds that a ledger is read whole or not at all.
func FuzzLedger(f *testing.F) {
	f.Add([]byte(`{"seq":1,"at":"2026-11-30T12:00:00Z"}` + "\n"))
	f.Add([]byte("\n\n{}{}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if entries, err := server.ParseLedger(text); err != nil && entries != nil {
			t.Errorf("%d entries beside %v", len(entries), err)
		}
	})
}

// FuzzRequests holds that no request ends the server, and that one that is
// refused changes nothing.
func FuzzRequests(f *testing.F) {
	create := `{"token":"t1","pool":{"region":"east","zone":"east-1","type":"gpu8","market":"spot"},"count":1,"max_rate":{"micro":6000000,"currency":"USD"},"tags":{"a":"b"},"expires":"2026-11-30T13:00:00Z"}`
	for _, seed := range [][3]string{
		{http.MethodPost, "/v1/nimbus/instances", create},
		{http.MethodPost, "/v1/nimbus/instances", `{"count":-1}`},
		{http.MethodPost, "/v1/nimbus/instances", `{"token":"t","count":4611686018427387904,"pool":{"region":"east","zone":"east-1","type":"gpu8","market":"spot"}}`},
		{http.MethodGet, "/v1/nimbus/instances?page=1&tag=a%3Db", ""},
		{http.MethodGet, "/v1/nimbus/instances?id=x&token=y", ""},
		{http.MethodPatch, "/v1/nimbus/instances/i-1", `{"expires":"9999-12-31T23:59:59Z","tags":{"":""}}`},
		{http.MethodDelete, "/v1/nimbus/instances/%2e%2e", ""},
		{http.MethodGet, "/v1/nimbus/events?cursor=x&wait=-1s", ""},
	} {
		f.Add(seed[0], seed[1], seed[2])
	}
	f.Fuzz(func(t *testing.T, method, path, body string) {
		req, err := http.NewRequestWithContext(t.Context(), method, "http://x"+path, nil)
		if err != nil || req.URL.Path == "" || req.URL.Query().Has("wait") {
			return // no request, or one that waits for what never comes
		}
		r := start(t, plain)
		secret := token(t, r.dir+"/tokens/nimbus-alpha")
		before := r.raw(secret, http.MethodGet, "/v1/nimbus/instances", "").Body.String()
		w := r.raw(secret, method, req.URL.RequestURI(), body)
		if w.Code >= http.StatusInternalServerError {
			t.Errorf("%s %s gives %d: %s", method, path, w.Code, w.Body)
		}
		if w.Code < http.StatusBadRequest {
			return
		}
		if after := r.raw(secret, http.MethodGet, "/v1/nimbus/instances", "").Body.String(); after != before {
			t.Errorf("%s %s is refused with %d and changed\n%s\nto\n%s", method, path, w.Code, before, after)
		}
		var f wire.Failure
		if w.Header().Get("Content-Type") == "application/json" && json.Unmarshal(w.Body.Bytes(), &f) != nil {
			t.Errorf("%s %s is refused with %s", method, path, w.Body)
		}
	})
}

func TestALargeWorldIsReadInTime(t *testing.T) {
	for name, text := range map[string][]byte{"words": bulk.Of("a: b\n"), "brackets": bulk.Of("["), "one line": bulk.Of("x")} {
		bulk.Read(t, name, func() {
			if _, err := server.ParseWorld(text); err == nil {
				t.Errorf("%s are a world", name)
			}
		})
	}
}
