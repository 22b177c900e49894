package socket

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/desk"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// shelf is a store with nothing in it, whose marks can be slow or broken.
type shelf struct {
	desk.Reader
	marks func() (bridge.Marks, error)
}

func (s *shelf) Marks(context.Context) (bridge.Marks, error) { return s.marks() }
func (s *shelf) Live(context.Context) ([]bridge.Rental, error) {
	return nil, nil
}
func (s *shelf) Recent(context.Context, int) ([]bridge.Rental, error) { return nil, nil }

type noRules struct{}

func (noRules) Approval() bridge.Approval                         { return bridge.Approval{} }
func (noRules) Budgets() []bridge.Budget                          { return nil }
func (noRules) Terms(*bridge.Demand, *bridge.Facts) *bridge.Terms { return &bridge.Terms{} }

// serve starts a server and returns its client and the path of its socket.
func serve(t *testing.T, marks func() (bridge.Marks, error), accounts Accounts) (*Client, string) {
	t.Helper()
	if marks == nil {
		marks = func() (bridge.Marks, error) { return bridge.Marks{Frozen: true}, nil }
	}
	if accounts == nil {
		accounts = HostAccounts(time.Now)
	}
	path := filepath.Join(t.TempDir(), "s")
	l, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	d := desk.New(desk.Config{Version: "1.2", Reader: &shelf{marks: marks}, Rules: noRules{}, Now: time.Now})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- New(d, accounts, slog.New(slog.DiscardHandler)).Serve(ctx, l) }()
	c := NewClient(path)
	t.Cleanup(func() {
		c.Close()
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return c, path
}

func TestTheKernelSaysWhoAsks(t *testing.T) {
	c, _ := serve(t, nil, nil)
	a, err := Call(t.Context(), c, desk.AskWhoAmI, desk.WhoAmIRequest{})
	if err != nil {
		t.Fatal(err)
	}
	name, _, err := HostAccounts(time.Now)(t.Context(), os.Getuid())
	if err != nil {
		t.Fatal(err)
	}
	if a.Person.UID != os.Getuid() || a.Person.Name != name || len(a.Person.Groups) == 0 {
		t.Errorf("taken for %+v", a.Person)
	}
}

func TestWhoHasNoAccountIsRefused(t *testing.T) {
	c, _ := serve(t, nil, func(context.Context, int) (string, []string, error) { return "", nil, errors.New("no such uid") })
	_, err := Call(t.Context(), c, desk.AskStatus, desk.StatusRequest{})
	if e := desk.AsError(err); e == nil || e.Kind != desk.Forbidden {
		t.Errorf("got %v", err)
	}
}

func TestHostAccountsAreAskedOnceAMinute(t *testing.T) {
	now := time.Now()
	of := HostAccounts(func() time.Time { return now })
	if _, _, err := of(t.Context(), os.Getuid()); err != nil {
		t.Fatal(err)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel() // whoever asks the host now fails
	if _, _, err := of(cancelled, os.Getuid()); err != nil {
		t.Errorf("within a minute the host was asked again: %v", err)
	}
	now = now.Add(time.Minute)
	if _, _, err := of(cancelled, os.Getuid()); err == nil {
		t.Error("after a minute an old answer was given")
	}
}

func TestErrorsKeepTheirKindAndWords(t *testing.T) {
	c, _ := serve(t, nil, nil)
	_, err := Call(t.Context(), c, desk.AskQueue, desk.QueueRequest{})
	e := desk.AsError(err)
	if e.Kind != desk.Unavailable || e.Try != "spillway rentals" || errors.Is(err, ErrDown) {
		t.Errorf("got %+v", e)
	}
	_, err = Call(t.Context(), c, desk.AskRental, desk.RentalRequest{Rental: "r-0014"})
	if e := desk.AsError(err); e.Kind != desk.BadRequest || !strings.Contains(e.Wrong, "mistyped") {
		t.Errorf("got %+v", e)
	}
}

// raw sends a request of its own making.
func raw(t *testing.T, path, target, protocol, body string) (int, desk.Error) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", path)
	}}}
	defer client.CloseIdleConnections()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://x"+target, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set(headerProtocol, protocol)
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var e desk.Error
	_ = json.NewDecoder(res.Body).Decode(&e) // not every refusal is one of the desk
	return res.StatusCode, e
}

func TestRequestsThatAreRefused(t *testing.T) {
	_, path := serve(t, nil, nil)
	for name, c := range map[string]struct {
		target, protocol, body string
		status                 int
		says                   string
	}{
		"another version of the protocol": {"/status", "2", "{}", http.StatusConflict, "speaks version 1"},
		"no version at all":               {"/status", "", "{}", http.StatusConflict, "speaks version 1"},
		"a question nobody knows":         {"/fortune", "1", "{}", http.StatusNotFound, ""},
		"no JSON":                         {"/status", "1", "{", http.StatusBadRequest, "not what was expected"},
		"a key nobody knows":              {"/rental", "1", `{"rental": "r-0013", "force": true}`, http.StatusBadRequest, "force"},
		"a body without end":              {"/rental", "1", `{"rental": "` + strings.Repeat("x", mostBody) + `"}`, http.StatusBadRequest, "not what was expected"},
	} {
		t.Run(name, func(t *testing.T) {
			status, e := raw(t, path, c.target, c.protocol, c.body)
			if status != c.status || !strings.Contains(e.Wrong, c.says) {
				t.Errorf("got %d, %q; want %d about %q", status, e.Wrong, c.status, c.says)
			}
		})
	}
}

func TestAPanicIsOneRequestsOwn(t *testing.T) {
	first := true
	c, _ := serve(t, func() (bridge.Marks, error) {
		if first {
			first = false
			panic("broken")
		}
		return bridge.Marks{}, nil
	}, nil)
	_, err := Call(t.Context(), c, desk.AskStatus, desk.StatusRequest{})
	if e := desk.AsError(err); e.Kind != desk.Internal {
		t.Errorf("got %v", err)
	}
	if _, err := Call(t.Context(), c, desk.AskStatus, desk.StatusRequest{}); err != nil {
		t.Errorf("the next request: %v", err)
	}
}

func TestOnePersonCannotTakeAllPlaces(t *testing.T) {
	hold, started := make(chan struct{}), make(chan struct{}, mostAtOnce)
	c, path := serve(t, func() (bridge.Marks, error) {
		started <- struct{}{}
		<-hold
		return bridge.Marks{}, nil
	}, nil)
	var wg sync.WaitGroup
	for range mostAtOnce {
		wg.Go(func() {
			if _, err := Call(context.Background(), c, desk.AskStatus, desk.StatusRequest{}); err != nil {
				t.Error(err)
			}
		})
	}
	for range mostAtOnce {
		<-started
	}
	status, e := raw(t, path, "/status", "1", "{}")
	if status != http.StatusServiceUnavailable || !strings.Contains(e.Wrong, "being answered already") {
		t.Errorf("got %d, %q", status, e.Wrong)
	}
	close(hold)
	wg.Wait()
	if _, err := Call(t.Context(), c, desk.AskStatus, desk.StatusRequest{}); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

func TestNobodyAnswers(t *testing.T) {
	c := NewClient(filepath.Join(t.TempDir(), "s"))
	defer c.Close()
	_, err := Call(t.Context(), c, desk.AskStatus, desk.StatusRequest{})
	if !errors.Is(err, ErrDown) || desk.AsError(err).Kind != desk.Unavailable {
		t.Errorf("got %v", err)
	}
}

func TestListen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "folder", "s")
	l, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o666 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if other, err := Listen(path); err == nil {
		_ = other.Close()
		t.Error("a second daemon took the socket of the first")
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	if err := l.Close(); err != nil { // as a killed daemon leaves it
		t.Fatal(err)
	}
	again, err := Listen(path)
	if err != nil {
		t.Fatalf("after a killed daemon: %v", err)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
}

func TestWhomTheHostKnows(t *testing.T) {
	for name, want := range map[string]bool{"root": true, "nobody-of-that-name": false, "-x": false} {
		if got, err := KnownAccount(t.Context(), name); got != want || err != nil {
			t.Errorf("%s is known: %t, %v; want %t", name, got, err, want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := KnownAccount(ctx, "nobody-of-that-name"); err == nil {
		t.Error("a host that was not asked knows nobody, and says so")
	}
}
