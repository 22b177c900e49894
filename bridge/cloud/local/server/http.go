package server

import (
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"spillway.sh/spillway/bridge/cloud/local/server/ec2"
	"spillway.sh/spillway/bridge/cloud/local/wire"
)

// The operations, as limits and faults name them.
const (
	opCreate    = "create"
	opOperation = "operation"
	opList      = "list"
	opGet       = "get"
	opTerminate = "terminate"
	opUpdate    = "update"
	opOffers    = "offers"
	opEvents    = "events"
	opTag       = "tag" // of limits alone
)

// bodyLimit is the largest request.
const bodyLimit = 256 << 10

// call is one request of a customer on its way through.
type call struct {
	cloud   *cloud
	account *account
	op      string
	req     *http.Request
	body    []byte
	create  wire.Create // of creates
	order   *ec2.Order  // of those that came in EC2's words
	action  string      // of the dialect, RunInstances for instance
	hit     *hit        // the fault that hits it, if any
	again   bool        // a create of before, asked for again
}

// hit is the fault that hits a call, as it was when it did.
type hit struct {
	wire.Fault
	frozen []wire.Instance // of stale lists
}

// is says whether the call is hit by one of the given faults.
func (c *call) is(kinds ...wire.FaultKind) bool {
	for _, k := range kinds {
		if c.hit != nil && c.hit.Kind == k {
			return true
		}
	}
	return false
}

// refusal is an error answer.
type refusal struct {
	status int
	wire.Error
	retry time.Duration
	quota string // what there is too much of: machines, gpus or vcpus
}

func refuse(status int, code, format string, args ...any) *refusal {
	return &refusal{status: status, Error: wire.Error{Code: code, Message: fmt.Sprintf(format, args...)}}
}

// answer is a success.
type answer struct {
	status int
	body   any
}

func (s *Server) routes() *http.ServeMux {
	mux := http.NewServeMux()
	handle := func(pattern, op string, do func(*call) (answer, *refusal)) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) { s.serve(w, r, op, do) })
	}
	handle("POST /v1/{cloud}/instances", opCreate, s.create)
	handle("GET /v1/{cloud}/operations/{id}", opOperation, s.operation)
	handle("GET /v1/{cloud}/instances", opList, s.list)
	handle("GET /v1/{cloud}/instances/{id}", opGet, s.get)
	handle("DELETE /v1/{cloud}/instances/{id}", opTerminate, s.terminate)
	handle("PATCH /v1/{cloud}/instances/{id}", opUpdate, s.update)
	handle("GET /v1/{cloud}/offers", opOffers, s.offers)
	handle("GET /v1/{cloud}/events", opEvents, s.events)
	s.adminRoutes(mux)
	dialect := ec2.Handler(dialect{s})
	mux.Handle("/aws/{cloud}", dialect)
	mux.Handle("/aws/{cloud}/{$}", dialect)
	return mux
}

// serve takes a call through what every call passes: who, how often, which
// fault, and only then what it asks for.
func (s *Server) serve(w http.ResponseWriter, r *http.Request, op string, do func(*call) (answer, *refusal)) {
	c := &call{op: op, req: r}
	no := s.enter(c)
	if no == nil {
		no = s.before(c)
	}
	if no != nil {
		writeRefusal(w, no)
		return
	}
	ok, no := do(c)
	if lost := s.after(c); lost != nil {
		no = lost
	}
	if no != nil {
		writeRefusal(w, no)
		return
	}
	writeJSON(w, ok.status, ok.body)
}

// enter finds the call's cloud, account and body and asks the limits.
func (s *Server) enter(c *call) *refusal {
	c.cloud = s.clouds[c.req.PathValue("cloud")]
	if c.cloud == nil {
		return refuse(http.StatusNotFound, wire.CodeNotFound, "there is no cloud %q here", c.req.PathValue("cloud"))
	}
	token := bearer(c.req)
	for secret, a := range c.cloud.accounts {
		if subtle.ConstantTimeCompare([]byte(token), []byte(secret)) == 1 {
			c.account = a
		}
	}
	if c.account == nil {
		return refuse(http.StatusUnauthorized, wire.CodeUnauthorised, "the token is not one of an account of %s", c.cloud.spec.Name)
	}
	if retry, ok := c.account.limits.admit(c.op, time.Now()); !ok {
		no := refuse(http.StatusTooManyRequests, wire.CodeThrottled, "too many %s calls", c.op)
		no.retry = retry
		return no
	}
	body, err := io.ReadAll(io.LimitReader(c.req.Body, bodyLimit+1))
	if err != nil || len(body) > bodyLimit {
		return refuse(http.StatusBadRequest, wire.CodeInvalid, "the body cannot be read or is larger than %d bytes", bodyLimit)
	}
	c.body = body
	if c.op == opCreate {
		if err := decode(body, &c.create); err != nil {
			return refuse(http.StatusBadRequest, wire.CodeInvalid, "the body: %v", err)
		}
	}
	return nil
}

// before applies the faults that come ahead of any effect.
func (s *Server) before(c *call) *refusal {
	s.mu.Lock()
	c.hit = s.take(c)
	s.mu.Unlock()
	if c.hit == nil {
		return nil
	}
	delay := time.Duration(c.hit.Delay)
	switch c.hit.Kind {
	case wire.FaultTimeoutBefore:
		s.hang(c)
	case wire.FaultSlow:
		if delay == 0 {
			delay = 30 * time.Second
		}
		s.pause(c, delay)
	case wire.FaultThrottle:
		no := refuse(http.StatusTooManyRequests, wire.CodeThrottled, "too many %s calls", c.op)
		no.retry = max(delay, time.Second)
		return no
	case wire.FaultErrorBefore:
		return refuse(http.StatusInternalServerError, wire.CodeInternal, "an internal error has occurred")
	case wire.FaultAuth:
		return refuse(http.StatusUnauthorized, wire.CodeUnauthorised, "the token has expired")
	case wire.FaultCode:
		return refuse(http.StatusBadRequest, c.hit.Code, "set by a fault")
	case wire.FaultQuota:
		return refuse(http.StatusForbidden, wire.CodeQuota, "the account's quota is exceeded")
	default: // It comes with the effect or after it, or is a command.
	}
	return nil
}

// after applies the faults that come when the effect is there.
func (s *Server) after(c *call) *refusal {
	switch {
	case c.is(wire.FaultTimeoutAfter):
		s.hang(c)
	case c.is(wire.FaultErrorAfter):
		return refuse(http.StatusInternalServerError, wire.CodeInternal, "an internal error has occurred")
	}
	return nil
}

// hang answers nothing until the customer gives up, then breaks the connection.
func (s *Server) hang(c *call) {
	delay := time.Duration(c.hit.Delay)
	if delay == 0 {
		delay = time.Minute
	}
	s.pause(c, delay)
	panic(http.ErrAbortHandler)
}

func (s *Server) pause(c *call, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-c.req.Context().Done():
	case <-s.ctx.Done():
	}
}

func bearer(r *http.Request) string {
	return strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
}

// decode reads strict JSON: unknown members and a second value are errors.
func decode(body []byte, v any) error {
	dec := json.NewDecoder(strings.NewReader(string(body)))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more than one JSON value")
	}
	return nil
}

func writeRefusal(w http.ResponseWriter, no *refusal) {
	if no.retry > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(no.retry.Seconds()))))
	}
	writeJSON(w, no.status, wire.Failure{Error: no.Error})
}

func writeJSON(w http.ResponseWriter, status int, body any) {
	text, err := json.Marshal(body)
	if err != nil {
		panic(err) // All bodies are types of package wire.
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(text, '\n')) // A customer that is gone is no concern.
}
