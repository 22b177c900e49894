package sim

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/cloud/local/wire"
)

// errCut is what a call gets whose caller, or whose other end, is gone.
var errCut = errors.New("connection reset by peer")

// travel waits for one way of a call.
func (w *World) travel(ctx context.Context, name string) error {
	timer := time.NewTimer(w.setup.span(w.ways.next(name)))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// line carries a life's requests to the clouds' own handler.
type line struct {
	w *World
	l *life
}

// RoundTrip brings a request there and its answer back. A dead bridge's request
// never arrives, and an answer to it reaches nobody.
func (t line) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, name := req.Context(), nameOf(req)
	if err := t.w.travel(ctx, name); err != nil {
		return nil, err
	}
	if t.l.isDead() {
		return nil, errCut
	}
	resp, err := t.ask(req)
	if err != nil {
		return nil, err
	}
	if err := t.w.travel(ctx, name+" back"); err != nil {
		return nil, err
	}
	if t.l.isDead() {
		return nil, errCut
	}
	return resp, nil
}

// listen is how long a question for what has changed stays open. It is asked
// again and again on the way, which costs less than the bridge asking.
const listen = 10 * time.Minute

func (t line) ask(req *http.Request) (*http.Response, error) {
	cursor := req.URL.Query().Get("cursor")
	for end := time.Now().Add(listen); ; {
		resp, err := serve(t.w.Cloud.Handler(), req)
		if err != nil || cursor == "" || !strings.HasSuffix(req.URL.Path, "/events") || resp.StatusCode != http.StatusOK || !time.Now().Before(end) {
			return resp, err
		}
		text, err := io.ReadAll(resp.Body)
		if err != nil || !bytes.Contains(text, []byte(`"`+cursor+`"`)) || req.Context().Err() != nil || t.l.isDead() {
			resp.Body = io.NopCloser(bytes.NewReader(text))
			return resp, err
		}
	}
}

// nameOf names a request so that no two of a name are under way at once.
func nameOf(req *http.Request) string {
	name := req.Method + " " + req.URL.Path
	if req.Method == http.MethodGet {
		q := req.URL.Query()
		q.Del("cursor")
		return name + "?" + q.Encode()
	}
	if req.GetBody == nil {
		return name
	}
	var tagged struct {
		Tags map[string]string `json:"tags"`
	}
	if body, err := req.GetBody(); err == nil && json.NewDecoder(body).Decode(&tagged) == nil {
		name += " " + tagged.Tags[bridge.TagRental]
	}
	return name
}

// answer collects what a handler writes.
type answer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header implements http.ResponseWriter.
func (a *answer) Header() http.Header { return a.header }

// WriteHeader implements http.ResponseWriter.
func (a *answer) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
	}
}

// Write implements http.ResponseWriter; it never fails.
func (a *answer) Write(p []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	return a.body.Write(p)
}

// serve has a handler answer a request, in this goroutine. A handler that breaks
// the connection is an error.
func serve(h http.Handler, req *http.Request) (resp *http.Response, err error) {
	a := &answer{header: http.Header{}}
	defer func() {
		switch r := recover(); r {
		case nil:
		case http.ErrAbortHandler:
			resp, err = nil, errCut
		default:
			panic(r)
		}
	}()
	in := req.WithContext(req.Context())
	if in.Body == nil {
		in.Body = http.NoBody
	}
	h.ServeHTTP(a, in)
	a.WriteHeader(http.StatusOK)
	return &http.Response{
		Status: http.StatusText(a.status), StatusCode: a.status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: a.header,
		Body: io.NopCloser(&a.body), ContentLength: int64(a.body.Len()), Request: req,
	}, nil
}

// operator carries out commands of who runs the clouds, and sets faults.
func (w *World) operator(fs []wire.Fault) error {
	return w.admin(http.MethodPost, wire.Faults{Faults: fs})
}

// heal takes all faults away.
func (w *World) heal() error { return w.admin(http.MethodDelete, nil) }

func (w *World) admin(method string, body any) error {
	token, err := os.ReadFile(w.Cloud.AdminTokenFile())
	if err != nil {
		return fmt.Errorf("ask the clouds' operator: %w", err)
	}
	text, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("ask the clouds' operator: %w", err)
	}
	req, err := http.NewRequestWithContext(w.ctx, method, "http://clouds/v1/faults", bytes.NewReader(text))
	if err != nil {
		return fmt.Errorf("ask the clouds' operator: %w", err)
	}
	req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	resp, err := serve(w.Cloud.Handler(), req)
	if err != nil {
		return fmt.Errorf("ask the clouds' operator: %w", err)
	}
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(resp.Body)
		return fmt.Errorf("ask the clouds' operator: %s", text)
	}
	return nil
}
