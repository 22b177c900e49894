package local

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/time/rate"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/cloud/local/wire"
)

// Config names one account of one cloud of a server.
type Config struct {
	// Name is the cloud's name at the server, and ours for it.
	Name string
	// URL is the server's, for example http://127.0.0.1:7070.
	URL string
	// TokenFile holds the account's secret. It is read for each call, so that a
	// new secret needs no restart.
	TokenFile string
	// Timeout is how long one call may take; 30 seconds unless set.
	Timeout time.Duration
	// Limits scales the account's rate limits; 1 unless set.
	Limits float64
	// Transport carries the calls; nil: the network does.
	Transport http.RoundTripper
}

// The server's limits, per second and at once, which the adapter keeps by
// itself so that it is not refused.
const (
	createRate, createBurst       = 2, 5
	terminateRate, terminateBurst = 5, 100
	changeRate, changeBurst       = 5, 50
	readRate, readBurst           = 20, 100
)

const (
	answerLimit = 32 << 20 // bytes of one answer
	pagesLimit  = 10_000   // of one listing; a server that never ends one is broken
	// retryMost is the longest pause that a cloud may ask for: one that asks for
	// years is broken, and its machines are looked for all the same.
	retryMost = time.Hour
)

// Cloud is one account of one cloud. It is safe for concurrent use.
type Cloud struct {
	config Config
	base   string
	client *http.Client

	create, terminate, change, read *rate.Limiter
}

// New returns the cloud that c names; it does not call it yet.
func New(c Config) (*Cloud, error) {
	u, err := url.Parse(c.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("local cloud %q: url %q is not like http://127.0.0.1:7070", c.Name, c.URL)
	}
	if c.Name == "" || c.TokenFile == "" {
		return nil, fmt.Errorf("local cloud %q: name and token file must be given", c.Name)
	}
	c.Timeout = cmp.Or(c.Timeout, 30*time.Second)
	c.Limits = cmp.Or(c.Limits, 1)
	bucket := func(perSecond float64, burst int) *rate.Limiter {
		return rate.NewLimiter(rate.Limit(perSecond*c.Limits), int(math.Ceil(float64(burst)*max(c.Limits, 1))))
	}
	if c.Transport == nil {
		// The transport repeats a read by itself when a kept connection breaks; on
		// a connection of its own each call is sent once and its failure is seen.
		c.Transport = &http.Transport{DisableKeepAlives: true, Proxy: http.ProxyFromEnvironment}
	}
	return &Cloud{
		config: c, base: strings.TrimSuffix(c.URL, "/") + "/v1/" + url.PathEscape(c.Name),
		client:    &http.Client{Transport: c.Transport},
		create:    bucket(createRate, createBurst),
		terminate: bucket(terminateRate, terminateBurst),
		change:    bucket(changeRate, changeBurst),
		read:      bucket(readRate, readBurst),
	}, nil
}

// Name returns the cloud's name.
func (c *Cloud) Name() string { return c.config.Name }

// ask is one request.
type ask struct {
	op     string // in our words, for errors
	limit  *rate.Limiter
	method string
	path   string // below the cloud
	query  url.Values
	body   any           // nil: none
	wait   time.Duration // the server may take longer by this
}

// do sends a request once and reads its answer into out. All its errors are
// *bridge.CloudError.
func (c *Cloud) do(ctx context.Context, a ask, out any) error {
	fail := func(kind bridge.CloudErrorKind, err error) error {
		return &bridge.CloudError{Kind: kind, Op: a.op, Cloud: c.config.Name, Err: err}
	}
	secret, err := os.ReadFile(c.config.TokenFile)
	if err != nil {
		// Nothing was sent: with this secret nothing can be.
		return fail(bridge.CloudDenied, fmt.Errorf("read token: %w", err))
	}
	if err := a.limit.Wait(ctx); err != nil {
		// Nothing was sent.
		return fail(bridge.CloudThrottled, fmt.Errorf("wait for the rate limit: %w", err))
	}
	ctx, cancel := context.WithTimeout(ctx, c.config.Timeout+a.wait)
	defer cancel()
	req, err := c.request(ctx, a)
	if err != nil {
		return fail(bridge.CloudInvalid, err)
	}
	req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(secret)))
	resp, err := c.client.Do(req)
	if err != nil {
		return fail(bridge.CloudUnknown, err)
	}
	defer resp.Body.Close() // Only read from.
	text, err := io.ReadAll(io.LimitReader(resp.Body, answerLimit))
	if err != nil {
		return fail(bridge.CloudUnknown, fmt.Errorf("read answer: %w", err))
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return c.failure(a.op, resp, text)
	}
	if err := json.Unmarshal(text, out); err != nil {
		return fail(bridge.CloudUnknown, fmt.Errorf("understand answer: %w", err))
	}
	return nil
}

func (c *Cloud) request(ctx context.Context, a ask) (*http.Request, error) {
	var body io.Reader
	if a.body != nil {
		text, err := json.Marshal(a.body)
		if err != nil {
			return nil, fmt.Errorf("write request: %w", err)
		}
		body = bytes.NewReader(text)
	}
	target := c.base + a.path
	if len(a.query) > 0 {
		target += "?" + a.query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, a.method, target, body)
	if err != nil {
		return nil, fmt.Errorf("write request: %w", err)
	}
	return req, nil
}

// failure turns an answer that is no success into an error.
func (c *Cloud) failure(op string, resp *http.Response, text []byte) error {
	var f wire.Failure
	if err := json.Unmarshal(text, &f); err != nil || f.Error.Code == "" {
		return &bridge.CloudError{
			Kind: bridge.CloudUnknown, Op: op, Cloud: c.config.Name,
			Code: strconv.Itoa(resp.StatusCode), Err: errors.New("the answer is no failure of this protocol"),
		}
	}
	e := c.fault(op, f.Error)
	if seconds, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && seconds > 0 {
		e.RetryAfter = time.Duration(min(seconds, int(retryMost/time.Second))) * time.Second
	}
	return e
}

// fault is an error of the cloud in our words.
func (c *Cloud) fault(op string, e wire.Error) *bridge.CloudError {
	return &bridge.CloudError{Kind: kindOf(e.Code), Op: op, Cloud: c.config.Name, Code: e.Code, Message: e.Message}
}

// kindOf maps the codes that are known. All others may hide an effect.
func kindOf(code string) bridge.CloudErrorKind {
	switch code {
	case wire.CodeNoCapacity:
		return bridge.CloudNoCapacity
	case wire.CodeQuota:
		return bridge.CloudQuota
	case wire.CodePrice:
		return bridge.CloudPrice
	case wire.CodeUnauthorised, wire.CodeForbidden:
		return bridge.CloudDenied
	case wire.CodeInvalid, wire.CodeBadPage:
		return bridge.CloudInvalid
	case wire.CodeMismatch:
		return bridge.CloudMismatch
	case wire.CodeThrottled:
		return bridge.CloudThrottled
	case wire.CodeNotFound:
		return bridge.CloudNotFound
	}
	return bridge.CloudUnknown
}
