package bot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/slack-go/slack"
)

const (
	// bodyMost is the largest request that is read.
	bodyMost = 1 << 20
	// signedFor is how old or how far ahead a signature may be.
	signedFor = 5 * time.Minute
)

// paths are those that Slack's settings may name. What came is told from the
// body, so that one of them may stand for all, as with Slack's own libraries.
var paths = []string{"/slack/events", "/slack/commands", "/slack/interactions", "/slack/options"}

// serve answers signed HTTP until ctx ends.
func (b *Bot) serve(ctx context.Context) error {
	l, err := b.o.Listen()
	if err != nil {
		return fmt.Errorf("listen for Slack: %w", err)
	}
	srv := &http.Server{
		Handler: b.handler(), ReadHeaderTimeout: 3 * time.Second, ReadTimeout: 5 * time.Second, WriteTimeout: 10 * time.Second,
		IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10,
	}
	closed := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(closed)
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*time.Second)
		defer cancel()
		if srv.Shutdown(end) != nil {
			_ = srv.Close()
		}
	})
	err = srv.Serve(l)
	if !stop() {
		<-closed
		return over(ctx)
	}
	return fmt.Errorf("serve Slack's requests: %w", err)
}

// handler is what answers Slack's requests.
func (b *Bot) handler() http.Handler {
	mux := http.NewServeMux()
	for _, path := range paths {
		mux.HandleFunc("POST "+path, b.receive)
	}
	return mux
}

// errForged is a request that is not Slack's, or not for this app. Who sent it
// learns no more.
type errForged struct{ why string }

func (e *errForged) Error() string { return "refused: " + e.why }

func (b *Bot) receive(w http.ResponseWriter, r *http.Request) {
	began := b.o.Clock()
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, bodyMost))
	if err != nil {
		http.Error(w, "too large or unreadable", http.StatusRequestEntityTooLarge)
		return
	}
	if err := b.signed(r, body); err != nil {
		b.refuseRequest(w, r, err)
		return
	}
	f, payload, err := payloadOf(r, body)
	if err != nil {
		b.figure.received.WithLabelValues("http", "unreadable").Inc()
		b.log.WarnContext(r.Context(), "a signed request cannot be read", "path", r.URL.Path, "error", err)
		http.Error(w, "not understood", http.StatusBadRequest)
		return
	}
	if challenge, ok := challengeOf(f, payload); ok {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = io.WriteString(w, challenge) // Slack asks again when it did not arrive
		return
	}
	b.takeRequest(w, r, f, payload)
	b.figure.acks.Observe(b.o.Clock().Sub(began).Seconds())
}

func (b *Bot) takeRequest(w http.ResponseWriter, r *http.Request, f form, payload []byte) {
	// What was begun is stored, whether or not the other side still listens.
	answer, err := b.take(context.WithoutCancel(r.Context()), f, payload, b.ours)
	if forged, ok := errors.AsType[*errForged](err); ok {
		b.refuseRequest(w, r, forged)
		return
	}
	if err != nil {
		b.log.ErrorContext(r.Context(), "a request was not taken", "path", r.URL.Path, "error", err)
		http.Error(w, "not taken", http.StatusInternalServerError)
		return
	}
	if answer == nil {
		w.WriteHeader(http.StatusOK)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(answer); err != nil {
		b.log.WarnContext(r.Context(), "a request was stored and could not be acknowledged", "error", err)
	}
}

// ours refuses what is not for this app in this workspace. Over Socket Mode the
// connection itself says so of the app.
func (b *Bot) ours(a *arrival) error {
	if a.app != b.o.App {
		return &errForged{"for another app"}
	}
	if _, foreign := b.who.foreign(a.in.Team, a.in.Enterprise); foreign {
		return &errForged{"from another workspace"}
	}
	return nil
}

// signed checks Slack's signature over the body as it came. Only the body is
// signed: nothing else of the request is believed.
func (b *Bot) signed(r *http.Request, body []byte) error {
	secret, err := b.o.Secret()
	if err != nil {
		return &errForged{"the signing secret cannot be read"}
	}
	if secret == "" {
		return &errForged{"there is no signing secret"}
	}
	stamp, err := strconv.ParseInt(r.Header.Get("X-Slack-Request-Timestamp"), 10, 64)
	if err != nil {
		return &errForged{"no time"}
	}
	if age := b.o.Clock().Sub(time.Unix(stamp, 0)); age > signedFor || age < -signedFor {
		return &errForged{"too old or too new"}
	}
	v, err := slack.NewSecretsVerifier(r.Header, secret)
	if err != nil {
		return &errForged{"no signature"}
	}
	if _, err := v.Write(body); err != nil {
		return &errForged{"no signature"}
	}
	if v.Ensure() != nil {
		return &errForged{"a wrong signature"}
	}
	return nil
}

func (b *Bot) refuseRequest(w http.ResponseWriter, r *http.Request, err error) {
	why := err.Error()
	if f, ok := errors.AsType[*errForged](err); ok {
		why = f.why
	}
	b.figure.refused.WithLabelValues(why).Inc()
	b.log.WarnContext(r.Context(), "a request was refused", "path", r.URL.Path, "from", r.RemoteAddr, "why", why)
	w.Header().Set("X-Slack-No-Retry", "1")
	http.Error(w, "refused", http.StatusUnauthorized)
}

// payloadOf is the JSON of a request and what it is. A command is a form of its
// own fields, a click a form with one field, and events are JSON. The query is
// not signed and is not read.
func payloadOf(r *http.Request, body []byte) (form, []byte, error) {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err == nil && kind == "application/json" {
		return formEvent, body, nil
	}
	if err != nil || kind != "application/x-www-form-urlencoded" {
		return "", nil, errors.New("read request: neither JSON nor a form")
	}
	values, err := url.ParseQuery(string(body))
	if err != nil {
		return "", nil, errors.New("read request: not a form")
	}
	if p := values.Get("payload"); p != "" {
		return formInteractive, []byte(p), nil
	}
	if values.Get("command") == "" {
		return "", nil, errors.New("read request: neither a command nor a payload")
	}
	flat := map[string]string{}
	for k := range values {
		flat[k] = values.Get(k)
	}
	text, err := json.Marshal(flat)
	if err != nil {
		return "", nil, fmt.Errorf("read request: %w", err)
	}
	return formCommand, text, nil
}

// challengeOf is what Slack wants to hear back when the address is set.
func challengeOf(f form, payload []byte) (string, bool) {
	var c struct {
		Type      string `json:"type"`
		Challenge string `json:"challenge"`
	}
	if f != formEvent || json.Unmarshal(payload, &c) != nil || c.Type != "url_verification" {
		return "", false
	}
	return c.Challenge, true
}
