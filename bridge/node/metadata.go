package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

var (
	errNoCloud = errors.New("no cloud's metadata service answers")
	// errAbsent is a metadata service's "there is nothing here".
	errAbsent = errors.New("nothing there")
)

const (
	// metadataLimit is how long a metadata service may take; it is next door.
	metadataLimit = 2 * time.Second
	metadataMost  = 64 << 10
)

// metadata is a machine's metadata service over HTTP.
type metadata struct {
	base   string // http://HOST
	client http.Client
}

func newMetadata(base string) *metadata {
	return &metadata{base: base, client: http.Client{
		// No proxy, and no redirect: the service answers itself.
		Transport:     &http.Transport{DialContext: (&net.Dialer{Timeout: metadataLimit}).DialContext, MaxIdleConns: 2, IdleConnTimeout: 30 * time.Second},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// answer is what a metadata service said.
type answer struct {
	status int
	header http.Header
	body   string
}

// ask sends one request, with header names and values in turn.
func (m *metadata) ask(ctx context.Context, method, path string, limit time.Duration, headers ...string) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, m.base+path, nil)
	if err != nil {
		return answer{}, err
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := m.client.Do(req)
	if err != nil {
		return answer{}, fmt.Errorf("ask the metadata service: %w", err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, metadataMost))
	if err != nil {
		return answer{}, fmt.Errorf("read from the metadata service: %w", err)
	}
	return answer{resp.StatusCode, resp.Header, strings.TrimSpace(string(text))}, nil
}

// value is the body of a good answer, errAbsent for a 404.
func (a answer) value() (string, error) {
	switch a.status {
	case http.StatusOK:
		return a.body, nil
	case http.StatusNotFound:
		return "", errAbsent
	}
	return "", fmt.Errorf("the metadata service answered %d: %.120q", a.status, a.body)
}

// first asks clouds together which of them the machine is in; nil: none.
func first(ctx context.Context, clouds []Cloud) (Cloud, string) {
	ctx, cancel := context.WithTimeout(ctx, 2*metadataLimit)
	defer cancel()
	type found struct {
		cloud Cloud
		id    string
	}
	ids := make(chan found, len(clouds))
	for _, c := range clouds {
		go func() {
			id, err := c.Identify(ctx)
			if err != nil || !plainID(id) {
				ids <- found{}
				return
			}
			ids <- found{c, id}
		}()
	}
	var best found
	for range clouds {
		if f := <-ids; f.cloud != nil && best.cloud == nil {
			best = f
			cancel() // The others need not go on; each is waited for.
		}
	}
	return best.cloud, best.id
}

// plainID keeps the page of a portal that answers for everybody from passing
// for an id.
func plainID(id string) bool {
	return id != "" && len(id) <= 512 && !strings.ContainsAny(id, "<>{}\" \t\r\n")
}

// tokened is a metadata service that hands out session tokens: EC2's IMDSv2 and
// those made after it. Where it knows none, it is asked without.
type tokened struct {
	*metadata
	lifeHeader, header string

	token   string
	renewAt time.Time
	plain   bool // it knows no tokens
}

const tokenLife = 6 * time.Hour

// get returns a value, errAbsent where there is none. A token that ran out is
// renewed at once.
func (t *tokened) get(ctx context.Context, path string) (string, error) {
	for try := 0; ; try++ {
		if err := t.renew(ctx); err != nil {
			return "", err
		}
		var headers []string
		if t.token != "" {
			headers = []string{t.header, t.token}
		}
		a, err := t.ask(ctx, http.MethodGet, path, metadataLimit, headers...)
		if err != nil {
			return "", err
		}
		if a.status == http.StatusUnauthorized && try == 0 {
			t.token, t.plain = "", false
			continue
		}
		return a.value()
	}
}

func (t *tokened) renew(ctx context.Context) error {
	if t.plain || t.token != "" && time.Now().Before(t.renewAt) {
		return nil
	}
	a, err := t.ask(ctx, http.MethodPut, "/latest/api/token", metadataLimit, t.lifeHeader, fmt.Sprint(int(tokenLife.Seconds())))
	switch {
	case err != nil:
		return err
	case a.status == http.StatusNotFound || a.status == http.StatusMethodNotAllowed:
		t.token, t.plain = "", true
		return nil
	case a.status != http.StatusOK || !plainID(a.body):
		return fmt.Errorf("get a token: the metadata service answered %d: %.120q", a.status, a.body)
	}
	t.token, t.renewAt = a.body, time.Now().Add(tokenLife/2)
	return nil
}
