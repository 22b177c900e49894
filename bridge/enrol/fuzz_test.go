package enrol

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/sim/bulk"
)

// FuzzTickets holds that nothing is a ticket or a lease that this bridge did not
// write, and neither is the other.
func FuzzTickets(f *testing.F) {
	secret := []byte("secret of this bridge")
	now := time.Unix(1e9, 0)
	good := ticket{"r-0011", 1, now.Add(time.Hour)}.seal(secret)
	held := lease{"r-0011", "i-1"}.seal(secret)
	for _, s := range []string{good, held, good + "x", "." + good, good[1:], "", "."} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if got, err := openTicket(secret, s, now); err == nil && (s != good || got.rental != "r-0011") {
			t.Errorf("%q is a ticket for %+v", s, got)
		}
		if got, err := openLease(secret, s); err == nil && (s != held || got.instance != "i-1") {
			t.Errorf("%q is a lease for %+v", s, got)
		}
	})
}

// FuzzReport holds that what a machine says of itself is brought into bounds, or
// refused.
func FuzzReport(f *testing.F) {
	for _, s := range []string{
		`{"health":"fit","gpu_pm":500,"checks":[{"name":"mounts","ok":true,"took":-5}]}`, `{"health":"unfit","checks":[{"got":"\u001b[2J\u202e"}]}`,
		`{"health":"checking","gpu_pm":-9,"notice":{"source":"x","at":"2026-11-30T12:00:00+09:00"}}`, `{"health":"dead"}`, `null`, `[]`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var r bridge.Report
		if json.Unmarshal(text, &r) != nil || tidy(&r) != nil {
			return
		}
		if len(r.Checks) > checksMost || len(r.Stages) > checksMost || r.GPUPM < -1 || r.GPUPM > 1000 {
			t.Errorf("out of bounds: %+v", r)
		}
		for _, c := range r.Checks {
			// A byte that is no text becomes a sign, never a longer text than three of them.
			if len(c.Got) > 3*textMost || strings.ContainsAny(c.Got+c.Name+c.Want, "\x1b\x00\n\u202e\u2066") || c.Took < 0 {
				t.Errorf("a check says %q", c.Got)
			}
		}
	})
}

// nobody is a store without rentals.
type nobody struct{ claims int }

func (*nobody) Rental(context.Context, bridge.RentalID) (bridge.Rental, error) {
	return bridge.Rental{}, context.DeadlineExceeded
}

func (n *nobody) ClaimEnrolment(context.Context, bridge.RentalID, string, string) error {
	n.claims++
	return nil
}

// FuzzRequests holds that no stranger's request ends the server, or changes
// anything.
func FuzzRequests(f *testing.F) {
	for _, path := range []string{"/v1/enrol", "/v1/fault", "/v1/report", "/v1/agent", "/v1/lease", "/"} {
		f.Add(http.MethodPost, path, "Bearer x", []byte(`{"ticket":"x","instance":"i-1"}`))
		f.Add(http.MethodGet, path, "", []byte(nil))
	}
	f.Fuzz(func(t *testing.T, method, path, bearer string, body []byte) {
		who := &nobody{}
		s := strangersServer(t, who)
		req, err := http.NewRequestWithContext(t.Context(), method, "https://bridge"+path, bytes.NewReader(body))
		if err != nil {
			return
		}
		req.RemoteAddr = "10.0.0.7:1234"
		req.Header["Authorization"] = []string{bearer}
		w := httptest.NewRecorder()
		s.routes().ServeHTTP(w, req)
		if w.Code < http.StatusMovedPermanently || w.Code == http.StatusInternalServerError || who.claims > 0 {
			t.Errorf("%s %s gives a stranger %d: %s", method, path, w.Code, w.Body)
		}
	})
}

// strangersServer is a server that knows nobody, without its files.
func strangersServer(t testing.TB, who Rentals) *Server {
	t.Helper()
	o := Options{Rentals: who, Clock: time.Now, Wake: func() {}, Every: time.Second, Log: slog.New(slog.DiscardHandler)}
	return &Server{o: o, secret: []byte("secret"), gate: newGate(), beats: newBeats(), rentals: newRentalCache(who, time.Now), agents: &agents{}}
}

func TestALargeRequestIsReadInTime(t *testing.T) {
	s := strangersServer(t, &nobody{})
	for _, path := range []string{"/v1/enrol", "/v1/fault"} {
		body := append([]byte(`{"ticket":"`), bulk.Of("x")...)
		req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, bytes.NewReader(body))
		bulk.Read(t, path, func() {
			w := httptest.NewRecorder()
			if s.routes().ServeHTTP(w, req); w.Code != http.StatusBadRequest {
				t.Errorf("%s gives %d", path, w.Code)
			}
		})
	}
}
