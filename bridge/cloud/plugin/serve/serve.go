package serve

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/cloud/plugin/wire"
)

// requestMost is how long a request may be; user data is the longest in it.
const requestMost = 4 << 20

// Cloud is what a plugin does, one call each. Errors that are no *Refusal are
// told as unknown: the effect may exist.
type Cloud interface {
	Describe() wire.Description
	Offers(ctx context.Context) ([]wire.Offer, error)
	Create(ctx context.Context, c *wire.Create) (handle string, err error)
	Observe(ctx context.Context, o *wire.Observe) ([]wire.Machine, error)
	List(ctx context.Context, l *wire.List) (machines []wire.Machine, complete bool, err error)
	Terminate(ctx context.Context, ids []string) error
	Extend(ctx context.Context, ids []string, expires time.Time) error
}

// Refusal is an error whose kind a plugin stands for.
type Refusal struct {
	Kind    bridge.CloudErrorKind
	Code    string
	Message string
	After   time.Duration // not before; zero: not said
}

// Error is its message.
func (r *Refusal) Error() string { return r.Message }

// Refuse makes a refusal.
func Refuse(kind bridge.CloudErrorKind, code, format string, args ...any) error {
	return &Refusal{Kind: kind, Code: code, Message: fmt.Sprintf(format, args...)}
}

// Answer reads one request and answers it. Open makes the cloud for the name and
// the settings that the request has.
func Answer(ctx context.Context, in io.Reader, out io.Writer, open func(name string, settings json.RawMessage) (Cloud, error)) error {
	var q wire.Request
	d := json.NewDecoder(io.LimitReader(in, requestMost))
	if err := d.Decode(&q); err != nil {
		return fmt.Errorf("read a request from standard input: %w", err)
	}
	a := wire.Answer{Version: wire.Version}
	if err := answer(ctx, &q, &a, open); err != nil {
		a = wire.Answer{Version: wire.Version, Error: told(err)}
	}
	if err := json.NewEncoder(out).Encode(a); err != nil {
		return fmt.Errorf("write the answer: %w", err)
	}
	return nil
}

func told(err error) *wire.Error {
	var r *Refusal
	if errors.As(err, &r) {
		return &wire.Error{Kind: string(r.Kind), Code: r.Code, Message: r.Message, RetryAfter: wire.Duration(r.After)}
	}
	return &wire.Error{Kind: string(bridge.CloudUnknown), Message: err.Error()}
}

func answer(ctx context.Context, q *wire.Request, a *wire.Answer, open func(string, json.RawMessage) (Cloud, error)) error {
	if q.Version != wire.Version {
		return Refuse(bridge.CloudInvalid, "Version", "spillway: %d, want %d", q.Version, wire.Version)
	}
	c, err := open(q.Cloud, q.Settings)
	if err != nil {
		return Refuse(bridge.CloudDenied, "Configuration", "%v", err)
	}
	switch {
	case q.Call == wire.CallDescribe:
		about := c.Describe()
		a.Describe = &about
	case q.Call == wire.CallOffers:
		a.Offers, err = c.Offers(ctx)
	case q.Call == wire.CallCreate && q.Create != nil:
		if err = checkCreate(q.Create); err == nil {
			a.Handle, err = c.Create(ctx, q.Create)
		}
	case q.Call == wire.CallObserve && q.Observe != nil:
		a.Machines, err = c.Observe(ctx, q.Observe)
	case q.Call == wire.CallList && q.List != nil:
		a.Machines, a.Complete, err = c.List(ctx, q.List)
	case q.Call == wire.CallTerminate && q.Terminate != nil:
		err = c.Terminate(ctx, q.Terminate.IDs)
	case q.Call == wire.CallExtend && q.Extend != nil:
		err = c.Extend(ctx, q.Extend.IDs, q.Extend.Expires)
	default:
		return Refuse(bridge.CloudInvalid, "Call", "call %q is not known, or its part of the request is missing", q.Call)
	}
	return err
}

// Bounds of a create.
const (
	tokenMost = 64
	tagMost   = 1024
	countMost = 1000
)

// checkCreate refuses what no cloud can do.
func checkCreate(c *wire.Create) error {
	invalid := func(format string, args ...any) error { return Refuse(bridge.CloudInvalid, "Create", format, args...) }
	switch {
	case c.Token == "" || len(c.Token) > tokenMost:
		return invalid("token: want 1 to %d letters, it has %d", tokenMost, len(c.Token))
	case c.Count < 1 || c.Count > countMost:
		return invalid("count: want 1 to %d, it is %d", countMost, c.Count)
	case c.Expires.IsZero():
		return invalid("expires: a machine without an end is not given")
	case c.Market != string(bridge.OnDemand):
		return invalid("market: %q is not offered; these machines are on-demand", c.Market)
	}
	for k, v := range c.Tags {
		if k == "" || len(k) > tagMost || len(v) > tagMost {
			return invalid("tags: %.20q has %d letters, at most %d are kept", k, len(v), tagMost)
		}
	}
	return nil
}

// Sum is what tells one create's parameters from another's.
func Sum(c *wire.Create) string {
	text, err := json.Marshal(c) // maps are written in order
	if err != nil {
		return "" // it was read from JSON
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// Ours reports whether tags are of what a list asks for.
func Ours(tags map[string]string, l *wire.List) bool {
	return l.Store != "" && tags[bridge.TagStore] == l.Store || l.Cluster != "" && tags[bridge.TagCluster] == l.Cluster
}
