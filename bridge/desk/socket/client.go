package socket

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	"spillway.sh/spillway/bridge/desk"
)

// ErrDown says that no daemon answers on the socket.
var ErrDown = errors.New("no daemon answers")

// Client asks a daemon.
type Client struct {
	path string
	http *http.Client
}

// NewClient returns a client for a socket. It connects when it is used.
func NewClient(path string) *Client {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", path)
	}
	return &Client{path, &http.Client{Transport: &http.Transport{DialContext: dial, MaxIdleConns: 1}}}
}

// Close lets go of the connection.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Call asks one thing. All errors are *desk.Error; ErrDown is inside when no
// daemon answers.
func Call[Q, A any](ctx context.Context, c *Client, ask desk.Ask[Q, A], q Q) (answer A, err error) {
	body, err := json.Marshal(q)
	if err != nil {
		return answer, &desk.Error{Kind: desk.BadRequest, Wrong: err.Error(), Err: err}
	}
	ctx, cancel := context.WithTimeout(ctx, patience(ask.Name)+5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://spillway/"+ask.Name, bytes.NewReader(body))
	if err != nil {
		return answer, &desk.Error{Kind: desk.Internal, Wrong: err.Error(), Err: err}
	}
	req.Header.Set(headerProtocol, strconv.Itoa(Protocol))
	res, err := c.http.Do(req)
	if err != nil {
		return answer, c.down(err)
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode == http.StatusOK {
		if err := json.NewDecoder(res.Body).Decode(&answer); err != nil {
			return answer, &desk.Error{Kind: desk.Unavailable, Wrong: "the answer broke off: " + err.Error(), Try: "spillway status", Err: err}
		}
		return answer, nil
	}
	return answer, refusal(res)
}

func (c *Client) down(err error) error {
	e := &desk.Error{Kind: desk.Unavailable, Wrong: "the daemon did not answer: " + err.Error(), Try: "spillway status", Err: err}
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "dial" {
		e.Wrong, e.Try = fmt.Sprintf("no daemon answers on %s", c.path), "systemctl start spillway"
		e.Err = errors.Join(ErrDown, err)
	}
	return e
}

// refusal reads an error of the desk, or says what else came back.
func refusal(res *http.Response) error {
	text, err := io.ReadAll(io.LimitReader(res.Body, mostBody))
	e := &desk.Error{}
	if err == nil && json.Unmarshal(text, e) == nil && e.Kind != "" {
		return e
	}
	theirs := res.Header.Get(headerProtocol)
	if theirs != strconv.Itoa(Protocol) {
		return &desk.Error{
			Kind: desk.Conflict, Wrong: fmt.Sprintf("what answers on the socket is no spillway of this version (it speaks %q, this command %d)", theirs, Protocol),
			Try: "install the same version of both",
		}
	}
	if res.StatusCode == http.StatusNotFound {
		return &desk.Error{Kind: desk.Conflict, Wrong: "the daemon does not know this question; it is of another version (" + res.Header.Get(headerVersion) + ")", Try: "install the same version of both"}
	}
	return &desk.Error{Kind: desk.Unavailable, Wrong: "the daemon answered " + res.Status, Try: "spillway status"}
}
