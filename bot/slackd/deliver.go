package slackd

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// The kinds of deliveries, named as Socket Mode names its envelopes.
const (
	kindCommand     = "slash_commands"
	kindInteractive = "interactive"
	kindEvent       = "events_api"
	kindOptions     = "options" // an interactive envelope of its own kind
)

// Delivery is one thing sent to the bot, as the control interface tells it.
type Delivery struct {
	ID      string    `json:"id"` // envelope_id
	Kind    string    `json:"kind"`
	Mode    string    `json:"mode"`
	At      time.Time `json:"at"`
	Retry   int       `json:"retry,omitempty"`
	Outcome string    `json:"outcome"`
	AckMS   float64   `json:"ack_ms,omitempty"`
	Fault   string    `json:"fault,omitempty"`
	Link    string    `json:"connection,omitempty"`
	Payload rawJSON   `json:"payload"`

	reason string // why it is sent again
	stop   bool   // the bot wants no retry
}

// The outcomes of what a person does.
const (
	Acked       = "acked"
	TimedOut    = "timeout"
	Unreachable = "unreachable"
	Refused     = "refused"
	Sent        = "sent"
)

// deliver sends something to the bot and waits for the acknowledgement, three
// seconds at most. The answer is what the bot sent back.
func (s *Server) deliver(kind string, payload any) (*Delivery, rawJSON) {
	text, err := json.Marshal(payload)
	if err != nil {
		text = rawJSON("null") // payloads are plain data
	}
	d := &Delivery{ID: s.secret(16), Kind: kind, Payload: text, Outcome: TimedOut}
	return d, s.dispatch(d)
}

// dispatch sends a delivery by the way that is set.
func (s *Server) dispatch(d *Delivery) rawJSON {
	d.At, d.Mode = s.clock.now(), s.mode()
	fault := s.faults.take(d.Kind, "delivery")
	start := time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), s.opt.Ack)
	defer cancel()
	stop := context.AfterFunc(s.running, cancel)
	defer stop()
	var answer rawJSON
	if fault != nil {
		d.Fault = fault.Kind
	}
	if s.hold(ctx, fault) {
		if d.Mode == modeHTTP {
			answer = s.overHTTP(ctx, d, fault)
		} else {
			answer = s.overSocket(ctx, d, fault)
		}
	}
	if d.Outcome == Acked {
		d.AckMS = float64(time.Since(start).Microseconds()) / 1000
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deliveries = remember(s.deliveries, d)
	s.tell("delivery", d, "", "")
	return answer
}

// hold does the faults that keep a delivery back; false means it never goes.
func (s *Server) hold(ctx context.Context, f *Fault) bool {
	if f == nil {
		s.passed()
		return true
	}
	switch f.Kind {
	case FaultLose:
		<-ctx.Done()
		return false
	case FaultDelay:
		sleep(ctx, time.Duration(f.MS)*time.Millisecond)
		return ctx.Err() == nil
	case FaultReorder:
		return s.letPass(ctx)
	}
	s.passed()
	return true
}

// letPass waits until another delivery has gone. When one waits already, this
// is the one it waits for.
func (s *Server) letPass(ctx context.Context) bool {
	s.mu.Lock()
	if s.next != nil {
		s.mu.Unlock()
		s.passed()
		return true
	}
	next := make(chan struct{})
	s.next = next
	s.mu.Unlock()
	select {
	case <-next:
		sleep(ctx, 20*time.Millisecond) // the other is on its way by then
		return true
	case <-ctx.Done():
		return false
	}
}

// passed lets go what waits for another delivery.
func (s *Server) passed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next != nil {
		close(s.next)
		s.next = nil
	}
}

func sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// overSocket sends an envelope to one connection, whichever.
func (s *Server) overSocket(ctx context.Context, d *Delivery, f *Fault) rawJSON {
	kind := d.Kind
	if kind == kindOptions {
		kind = kindInteractive
	}
	envelope := object{"envelope_id": d.ID, "type": kind, "payload": d.Payload, "accepts_response_payload": d.Kind != kindEvent}
	if d.Kind == kindEvent {
		envelope["retry_attempt"], envelope["retry_reason"] = d.Retry, d.reason
	}
	heard := make(chan rawJSON, 1)
	s.mu.Lock()
	s.waiting[d.ID] = heard
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.waiting, d.ID)
		s.mu.Unlock()
	}()
	copies := 1
	if f != nil && f.Kind == FaultDuplicate {
		copies = 2
	}
	for range copies {
		l := s.pickLink()
		if l == nil {
			d.Outcome = Unreachable
			return nil
		}
		d.Link = l.id
		_ = l.send(envelope) // what is lost here is not sent again, as Slack does
	}
	if f != nil && f.Kind == FaultDropAck {
		<-ctx.Done()
		return nil
	}
	select {
	case payload := <-heard:
		d.Outcome = Acked
		return payload
	case <-ctx.Done():
		return nil
	}
}

// overHTTP sends a signed request to the request URL.
func (s *Server) overHTTP(ctx context.Context, d *Delivery, f *Fault) rawJSON {
	body, contentType := httpBody(d)
	at := s.clock.now()
	if f != nil && f.Kind == FaultSkew {
		at = at.Add(time.Duration(f.MS) * time.Millisecond)
	}
	if f != nil && f.Kind == FaultDuplicate {
		s.postCopy(*d, body, contentType, at)
	}
	answer, err := s.post(ctx, d, body, contentType, at)
	if f != nil && f.Kind == FaultDropAck {
		<-ctx.Done()
		return nil
	}
	switch {
	case err == nil:
		d.Outcome = Acked
	case ctx.Err() == nil:
		d.Outcome = Unreachable
	}
	return answer
}

// postCopy sends a request a second time; its answer is nobody's.
func (s *Server) postCopy(d Delivery, body []byte, contentType string, at time.Time) {
	s.jobs.Go(func() {
		ctx, cancel := context.WithTimeout(s.running, s.opt.Ack)
		defer cancel()
		_, _ = s.post(ctx, &d, body, contentType, at)
	})
}

// httpBody is the body of a delivery: a command is a form, other interactions
// are JSON in a form, events are JSON.
func httpBody(d *Delivery) (body []byte, contentType string) {
	const form = "application/x-www-form-urlencoded"
	switch d.Kind {
	case kindEvent:
		return d.Payload, "application/json"
	case kindCommand:
		var fields map[string]string
		_ = json.Unmarshal(d.Payload, &fields) // made here, strings only
		values := url.Values{}
		for k, v := range fields {
			values.Set(k, v)
		}
		return []byte(values.Encode()), form
	}
	return []byte(url.Values{"payload": {string(d.Payload)}}.Encode()), form
}

// sign is Slack's v0 signature of a body.
func sign(secret string, at time.Time, body []byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte("v0:" + strconv.FormatInt(at.Unix(), 10) + ":"))
	mac.Write(body)
	return "v0=" + hex.EncodeToString(mac.Sum(nil))
}

var errNotOK = errors.New("the request URL answered with an error")

func (s *Server) post(ctx context.Context, d *Delivery, body []byte, contentType string, at time.Time) (rawJSON, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.requestURL(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", contentType)
	r.Header.Set("User-Agent", "Slackbot 1.0 (+https://api.slack.com/robots)")
	r.Header.Set("X-Slack-Request-Timestamp", strconv.FormatInt(at.Unix(), 10))
	r.Header.Set("X-Slack-Signature", sign(s.tokens.Secret, at, body))
	if d.Retry > 0 {
		r.Header.Set("X-Slack-Retry-Num", strconv.Itoa(d.Retry))
		r.Header.Set("X-Slack-Retry-Reason", d.reason)
	}
	answer, err := s.client.Do(r)
	if err != nil {
		d.reason = "connection_failed"
		if ctx.Err() != nil {
			d.reason = "http_timeout"
		}
		return nil, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxBody))
	if err != nil {
		d.reason = "http_timeout"
		return nil, err
	}
	if answer.StatusCode/100 != 2 {
		d.reason, d.stop = "http_error", answer.Header.Get("X-Slack-No-Retry") == "1"
		return nil, errNotOK
	}
	if d.Kind == kindCommand && len(bytes.TrimSpace(text)) > 0 && !strings.HasPrefix(answer.Header.Get("Content-Type"), "application/json") {
		text, _ = json.Marshal(object{"text": string(text)}) // plain text is a message, too
	}
	return bytes.TrimSpace(text), nil
}

// eventRetries are the waits before an event that was not acknowledged is sent
// again.
var eventRetries = []time.Duration{0, time.Minute, 5 * time.Minute}

// event sends an event, again when it is not acknowledged. It does not wait.
func (s *Server) event(event object, id string) {
	s.jobs.Go(func() {
		if id == "" {
			id = s.newID("Ev")
		}
		payload := object{
			"token": "local", "team_id": s.work.Team.ID, "api_app_id": s.work.App.ID, "event": event, "type": "event_callback", "event_id": id,
			"event_time": s.clock.now().Unix(), "event_context": "4-" + id,
			"authorizations": []object{{"team_id": s.work.Team.ID, "user_id": s.work.App.BotUser, "is_bot": true, "is_enterprise_install": s.work.Team.OrgInstall}},
		}
		if s.work.Team.EnterpriseID != "" {
			payload["enterprise_id"] = s.work.Team.EnterpriseID
		}
		d, _ := s.deliver(kindEvent, payload)
		for n, wait := range eventRetries {
			if d.Outcome == Acked || d.stop {
				return
			}
			sleep(s.running, s.clock.wait(wait))
			if s.running.Err() != nil {
				return
			}
			reason := d.reason
			if reason == "" {
				reason = "timeout"
			}
			d = &Delivery{ID: s.secret(16), Kind: kindEvent, Payload: d.Payload, Outcome: TimedOut, Retry: n + 1, reason: reason}
			s.dispatch(d)
		}
	})
}
