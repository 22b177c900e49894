package enrol_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"spillway.sh/spillway/bridge"
)

// send makes one request with a bearer's token.
func (w *world) send(t *testing.T, c *http.Client, method, path, token string, body []byte) (int, map[string]string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, w.base+path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("User-Agent", "spillway-node/v1")
	resp, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	return read(t, resp)
}

func asJSON(t *testing.T, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// enrolled returns a world with the lease of its first machine, and its client.
func enrolled(t *testing.T) (*world, string, *http.Client) {
	t.Helper()
	w := newWorld(t)
	b := w.boot(t, w.rental)
	c := client(t, b.CA, "127.0.0.1")
	_, grant := ask(t, c, b, "i-1")
	if grant["lease"] == "" {
		t.Fatal("not enrolled")
	}
	return w, grant["lease"], c
}

var aFit = bridge.Report{Health: bridge.HealthFit, GPUPM: 900, Busy: true}

func TestAReportIsHeardAndAnswered(t *testing.T) {
	w, lease, c := enrolled(t)
	for range 2 {
		status, got := w.send(t, c, http.MethodPost, "/v1/report", lease, asJSON(t, aFit))
		want := map[string]string{
			"expires": w.rental.Expires.Format(time.RFC3339), "now": w.now.Format(time.RFC3339Nano), "every": fmt.Sprint(int64(5 * time.Second)), "version": "v2",
		}
		if diff := cmp.Diff(want, got); diff != "" || status != http.StatusOK {
			t.Errorf("status %d, -want +got:\n%s", status, diff)
		}
	}
	me := string(w.rental.ID) + "/i-1"
	if diff := cmp.Diff([]string{me, me}, w.heard); diff != "" || w.said.GPUPM != 900 || !w.said.Busy {
		t.Errorf("heard %+v, -want +got:\n%s", w.said, diff)
	}
	if n := strings.Count(w.log.String(), "of another version"); n != 1 {
		t.Errorf("another version of the agent is told %d times:\n%s", n, w.log.String())
	}
}

// A machine can speak only of itself, and only while it is ours.
func TestReportsThatAreRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		from   string // address
		token  func(lease string, b bridge.Boot) string
		change func(*bridge.Rental)
		want   int
		logged string
	}{
		"a forged lease":                {token: func(l string, _ bridge.Boot) string { return "x" + l[1:] }, want: http.StatusUnauthorized, logged: "not ours"},
		"a forged seal":                 {token: func(l string, _ bridge.Boot) string { return l[:len(l)-6] + "AAAAAA" }, want: http.StatusUnauthorized, logged: "not ours"},
		"no lease":                      {token: func(string, bridge.Boot) string { return "" }, want: http.StatusUnauthorized, logged: "not ours"},
		"a ticket in place of a lease":  {token: func(_ string, b bridge.Boot) string { return b.Ticket }, want: http.StatusUnauthorized, logged: "not ours"},
		"another machine's lease":       {from: "127.0.0.2", want: http.StatusForbidden, logged: "another's lease"},
		"a lease that is replayed":      {from: "127.0.0.9", want: http.StatusForbidden, logged: "another's lease"},
		"a machine that is gone":        {change: func(r *bridge.Rental) { r.Machines[0].State = bridge.MachineGone }, want: http.StatusGone},
		"a rental that is over":         {change: func(r *bridge.Rental) { r.State = bridge.StateSettled }, want: http.StatusGone},
		"a machine that is not there":   {change: func(r *bridge.Rental) { r.Machines = r.Machines[1:] }, want: http.StatusGone},
		"a rental that is another's":    {change: func(r *bridge.Rental) { r.ID = bridge.NewRentalID(8) }, want: http.StatusServiceUnavailable},
		"a machine given back just now": {change: func(r *bridge.Rental) { r.Machines[0].State = bridge.MachineReleasing }, want: http.StatusOK},
	} {
		t.Run(name, func(t *testing.T) {
			w, lease, c := enrolled(t)
			if tc.change != nil {
				w.change(tc.change)
			}
			b := w.boot(t, w.rental)
			if tc.token != nil {
				lease = tc.token(lease, b)
			}
			if tc.from != "" {
				c = client(t, b.CA, tc.from)
			}
			for _, route := range []struct{ method, path string }{{http.MethodPost, "/v1/report"}, {http.MethodGet, "/v1/lease"}} {
				if status, _ := w.send(t, c, route.method, route.path, lease, asJSON(t, aFit)); status != tc.want {
					t.Errorf("%s: %d, want %d", route.path, status, tc.want)
				}
			}
			if heard := len(w.heard) > 0; heard != (tc.want == http.StatusOK) {
				t.Errorf("heard %v", w.heard)
			}
			if log := w.log.String(); !strings.Contains(log, tc.logged) || strings.Contains(log, lease) && lease != "" {
				t.Errorf("the log lacks %q, or holds the lease:\n%s", tc.logged, log)
			}
		})
	}
}

func TestReportsOutOfBounds(t *testing.T) {
	w, lease, c := enrolled(t)
	for name, tc := range map[string]struct {
		body string
		want int
	}{
		"no JSON":             {"hello", http.StatusBadRequest},
		"no health":           {"{}", http.StatusBadRequest},
		"a health of its own": {`{"health":"splendid"}`, http.StatusBadRequest},
		"a time that is none": {`{"health":"fit","at":"now"}`, http.StatusBadRequest},
		"far too long":        {`{"health":"fit","checks":[{"name":"` + strings.Repeat("x", 1<<17) + `"}]}`, http.StatusBadRequest},
		"of a newer agent":    {`{"health":"fit","gpu_pm":5,"weather":{"rain":[1]}}`, http.StatusOK},
	} {
		t.Run(name, func(t *testing.T) {
			if status, _ := w.send(t, c, http.MethodPost, "/v1/report", lease, []byte(tc.body)); status != tc.want {
				t.Errorf("status %d, want %d", status, tc.want)
			}
		})
	}
	r := bridge.Report{Health: bridge.HealthUnfit, GPUPM: 1 << 40}
	for range 200 {
		r.Checks = append(r.Checks, bridge.Check{Name: "disk", Got: "a\x1b[2Jb\u202ec", Took: -time.Second})
	}
	if status, _ := w.send(t, c, http.MethodPost, "/v1/report", lease, asJSON(t, r)); status != http.StatusOK {
		t.Fatalf("status %d", status)
	}
	if got := w.said; len(got.Checks) != 64 || got.Checks[0].Got != "a?[2Jb?c" || got.Checks[0].Took != 0 || got.GPUPM != 1000 {
		t.Errorf("%d checks, GPU %d, the first %+v", len(got.Checks), got.GPUPM, got.Checks[0])
	}
}

func TestAReportThatCannotBeTakenComesAgain(t *testing.T) {
	w, lease, c := enrolled(t)
	w.mu.Lock()
	w.deaf = errors.New("the store is away")
	w.mu.Unlock()
	if status, _ := w.send(t, c, http.MethodPost, "/v1/report", lease, asJSON(t, aFit)); status != http.StatusServiceUnavailable {
		t.Errorf("status %d", status)
	}
}

func TestOneMachineCannotFloodAndOthersDoNotPay(t *testing.T) {
	w, lease, c := enrolled(t)
	b := w.boot(t, w.rental)
	turned := 0
	for range 40 {
		if status, _ := w.send(t, c, http.MethodPost, "/v1/report", lease, asJSON(t, aFit)); status == http.StatusTooManyRequests {
			turned++
		}
	}
	if turned < 10 {
		t.Errorf("%d of 40 reports at once were turned away", turned)
	}
	other := client(t, b.CA, "127.0.0.2")
	_, grant := ask(t, other, b, "i-2")
	if status, _ := w.send(t, other, http.MethodPost, "/v1/report", grant["lease"], asJSON(t, aFit)); status != http.StatusOK {
		t.Errorf("another machine: %d", status)
	}
}

func TestTheAgentIsHandedToTicketHolders(t *testing.T) {
	w := newWorld(t)
	b := w.boot(t, w.rental)
	program, err := os.ReadFile(w.agent)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(program)
	if b.Agent != hex.EncodeToString(sum[:]) || b.Arch == "" {
		t.Fatalf("boot scripts pin %q for %q", b.Agent, b.Arch)
	}
	asked := 0
	get := func(token, sum string) (int, string) {
		asked++
		c := client(t, b.CA, fmt.Sprintf("127.0.1.%d", asked)) // Any machine of the site, and none too often.
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.base+"/v1/agent?sum="+sum, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
		resp, err := c.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(text)
	}
	if status, got := get(b.Ticket, b.Agent); status != http.StatusOK || got != string(program) {
		t.Errorf("status %d, %q", status, got)
	}
	for name, tc := range map[string]struct {
		token, sum string
		want       int
	}{
		"no ticket":          {"", b.Agent, http.StatusUnauthorized},
		"a forged ticket":    {"x" + b.Ticket[1:], b.Agent, http.StatusUnauthorized},
		"a sum of no agent":  {b.Ticket, strings.Repeat("0", 64), http.StatusNotFound},
		"a path in its sum":  {b.Ticket, "../enrol.secret", http.StatusBadRequest},
		"an upper-case path": {b.Ticket, strings.Repeat("A", 64), http.StatusBadRequest},
	} {
		if status, got := get(tc.token, tc.sum); status != tc.want || strings.Contains(got, string(program)) {
			t.Errorf("%s: %d, want %d", name, status, tc.want)
		}
	}
}

// Machines that boot while the bridge is renewed pin the agent of the old one.
func TestTheAgentBeforeAnUpgradeIsKeptForADay(t *testing.T) {
	w := newWorld(t)
	old := w.boot(t, w.rental)
	if err := os.WriteFile(w.agent, []byte("a newer one"), 0o600); err != nil {
		t.Fatal(err)
	}
	newer, err := w.open(t).Boot(&w.rental, w.now)
	if err != nil {
		t.Fatal(err)
	}
	kept := func() (out []string) {
		entries, err := os.ReadDir(filepath.Join(w.dir, "agents"))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			out = append(out, e.Name())
		}
		return out
	}
	if got := kept(); newer.Agent == old.Agent || len(got) != 2 {
		t.Errorf("kept: %v", got)
	}
	w.change(func(*bridge.Rental) { w.now = w.now.Add(25 * time.Hour) })
	w.open(t)
	if diff := cmp.Diff([]string{newer.Agent}, kept()); diff != "" {
		t.Errorf("a day later, -want +got:\n%s", diff)
	}
}

// A machine that cannot run the agent has no lease; it is known by its ticket
// and its address.
func TestAMachineWithoutAnAgentSaysWhy(t *testing.T) {
	w := newWorld(t)
	b := w.boot(t, w.rental)
	say := func(from, ticket, text string) int {
		status, _ := w.send(t, client(t, b.CA, from), http.MethodPost, "/v1/fault", "", asJSON(t, map[string]string{"ticket": ticket, "text": text}))
		return status
	}
	if status := say("127.0.0.2", b.Ticket, "the agent is for x86_64, this machine is aarch64"); status != http.StatusOK {
		t.Errorf("status %d", status)
	}
	want := bridge.Check{Name: "agent", Got: "the agent is for x86_64, this machine is aarch64", Want: "the agent runs"}
	if len(w.heard) != 1 || w.heard[0] != string(w.rental.ID)+"/i-2" || w.said.Health != bridge.HealthUnfit || !cmp.Equal(w.said.Checks, []bridge.Check{want}) {
		t.Errorf("heard %v: %+v", w.heard, w.said)
	}
	if status := say("127.0.0.9", b.Ticket, "x"); status != http.StatusServiceUnavailable {
		t.Errorf("from an address of none of its machines: %d", status)
	}
	if status := say("127.0.0.2", "x"+b.Ticket[1:], "x"); status != http.StatusUnauthorized {
		t.Errorf("with a forged ticket: %d", status)
	}
	w.change(func(r *bridge.Rental) { r.Attempt = 2 })
	if status := say("127.0.0.2", b.Ticket, "x"); status != http.StatusForbidden {
		t.Errorf("with the ticket of an attempt before: %d", status)
	}
	if len(w.heard) != 1 {
		t.Errorf("heard %v", w.heard)
	}
}
