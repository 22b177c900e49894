package node

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"spillway.sh/spillway/bridge"
)

// The bridge's final answers.
var (
	ErrRefused = errors.New("refused for good")
	ErrEnded   = errors.New("the rental has ended")
)

// Grant is what a machine is given when it enrols.
type Grant struct {
	Node    string       `json:"node"`
	Lease   string       `json:"lease"` // the machine's own word for itself from then on
	Expires time.Time    `json:"expires"`
	Now     time.Time    `json:"now"` // by the bridge's clock; zero: not said
	Wants   bridge.Wants `json:"wants"`
	// Fields are the rest: what the scheduler's Member understands.
	Fields map[string]string `json:"fields"`
}

// Term is the bridge's answer to a report.
type Term struct {
	Expires time.Time `json:"expires"`
	Now     time.Time `json:"now"`
	// Every is how often it wants to hear of the machine; zero: as before.
	Every   time.Duration `json:"every"`
	Version string        `json:"version"`
}

// Bridge is who the agent speaks to.
type Bridge interface {
	// Enrol may return ErrRefused.
	Enrol(ctx context.Context, ticket, instance string) (Grant, error)
	// Report may return ErrEnded.
	Report(ctx context.Context, lease string, r *bridge.Report) (Term, error)
}

// Link is the bridge over TLS, with the authority pinned.
type Link struct {
	url     string
	version string
	client  *http.Client
}

// NewLink makes a link to a bridge's enrolment service, https://HOST:PORT. The
// version is the agent's own.
func NewLink(url, ca, version string) (*Link, error) {
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM([]byte(ca)) {
		return nil, errors.New("read the bridge's authority: no certificate in it")
	}
	t := &http.Transport{
		// No proxy: the way to the bridge is the site's network.
		TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS13},
		MaxIdleConns:    2, IdleConnTimeout: 50 * time.Second, ForceAttemptHTTP2: true,
	}
	return &Link{url: strings.TrimSuffix(url, "/"), version: version, client: &http.Client{Transport: t}}, nil
}

// Close ends idle connections.
func (l *Link) Close() { l.client.CloseIdleConnections() }

const (
	enrolLimit  = 20 * time.Second
	reportLimit = 5 * time.Second
	answerMost  = 4 << 20
)

// Enrol fetches what the machine is given.
func (l *Link) Enrol(ctx context.Context, ticket, instance string) (Grant, error) {
	ctx, cancel := context.WithTimeout(ctx, enrolLimit)
	defer cancel()
	text, err := l.post(ctx, "/v1/enrol", "", map[string]string{"ticket": ticket, "instance": instance})
	if err != nil {
		return Grant{}, fmt.Errorf("enrol: %w", err)
	}
	g, err := readGrant(text)
	if err != nil {
		return Grant{}, fmt.Errorf("enrol: %w", err)
	}
	return g, nil
}

// readGrant reads one object: what the agent itself needs, and strings for the
// scheduler's Member. What it does not know it leaves alone.
func readGrant(text []byte) (Grant, error) {
	var g Grant
	all := map[string]json.RawMessage{}
	if err := errors.Join(json.Unmarshal(text, &g), json.Unmarshal(text, &all)); err != nil {
		return g, fmt.Errorf("read answer: %w", err)
	}
	if g.Node == "" || g.Expires.IsZero() || g.Lease == "" {
		return g, errors.New("read answer: it lacks node, lease or expires")
	}
	g.Fields = map[string]string{}
	for name, raw := range all {
		var s string
		if json.Unmarshal(raw, &s) == nil && name != "lease" {
			g.Fields[name] = s
		}
	}
	return g, nil
}

// Report says how the machine is, and hears until when it may run.
func (l *Link) Report(ctx context.Context, lease string, r *bridge.Report) (Term, error) {
	ctx, cancel := context.WithTimeout(ctx, reportLimit)
	defer cancel()
	text, err := l.post(ctx, "/v1/report", lease, r)
	if err != nil {
		return Term{}, fmt.Errorf("report: %w", err)
	}
	var t Term
	if err := json.Unmarshal(text, &t); err != nil {
		return Term{}, fmt.Errorf("report: read answer: %w", err)
	}
	return t, nil
}

func (l *Link) post(ctx context.Context, path, lease string, body any) ([]byte, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, l.url+path, bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "spillway-node/"+l.version)
	if lease != "" {
		req.Header.Set("Authorization", "Bearer "+lease)
	}
	resp, err := l.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, answerMost))
	if err != nil {
		return nil, err
	}
	return answer, judgeStatus(resp.StatusCode, path, answer)
}

// judgeStatus tells what is final from what may pass. A lease that is not known
// may be known again once the bridge has its state back: that is not final.
func judgeStatus(status int, path string, answer []byte) error {
	said := fmt.Sprintf("%d: %.300s", status, bytes.TrimSpace(answer))
	switch {
	case status == http.StatusOK:
		return nil
	case status == http.StatusGone:
		return fmt.Errorf("%w (%s)", ErrEnded, said)
	case path == "/v1/enrol" && (status == http.StatusUnauthorized || status == http.StatusForbidden):
		return fmt.Errorf("%w (%s)", ErrRefused, said)
	}
	return fmt.Errorf("answered %s", said)
}
