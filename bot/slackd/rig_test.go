package slackd

import (
	"context"
	"encoding/json"
	"log"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/slack-go/slack"
	"github.com/slack-go/slack/socketmode"
	"go.uber.org/goleak"
)

const (
	ana, wei, tom, kim, lea = "U0ANA0001", "U0WEI0001", "U0TOM0001", "U0KIM0001", "U0LEA0001"
	general, burst          = "C0GENERAL", "C0BURST01"
	bot                     = "U0SPILL01"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is a local Slack with a client of the control interface and slack-go as
// the bot's client.
type rig struct {
	*Client
	t      *testing.T
	server *Server
	api    *slack.Client
}

// fast is a speed at which rate limits are out of the way.
const fast = 1e6

func start(t *testing.T, opt Options) *rig {
	t.Helper()
	if opt.State == "" {
		opt.State = t.TempDir()
	}
	if opt.Speed == 0 {
		opt.Speed = fast
	}
	s, err := New(opt)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	transport := &http.Transport{}
	base := "http://" + l.Addr().String()
	r := &rig{t: t, server: s, Client: &Client{Base: base, Token: s.Tokens().Control, HTTP: &http.Client{Transport: transport}}}
	r.api = slack.New(s.Tokens().Bot, slack.OptionAPIURL(base+"/api/"), slack.OptionAppLevelToken(s.Tokens().App), slack.OptionHTTPClient(r.HTTP))
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		stop()
		if err := <-done; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return r
}

// raw calls a method with a form and returns the answer as it is.
func (r *rig) raw(method string, form url.Values) (map[string]any, *http.Response) {
	r.t.Helper()
	q, err := http.NewRequestWithContext(r.t.Context(), http.MethodPost, r.Base+"/api/"+method, strings.NewReader(form.Encode()))
	if err != nil {
		r.t.Fatal(err)
	}
	q.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if form.Get("token") == "" {
		q.Header.Set("Authorization", "Bearer "+r.server.Tokens().Bot)
	}
	return r.answer(q)
}

func (r *rig) answer(q *http.Request) (map[string]any, *http.Response) {
	r.t.Helper()
	a, err := r.HTTP.Do(q)
	if err != nil {
		r.t.Fatal(err)
	}
	defer a.Body.Close()
	out := map[string]any{}
	if err := json.NewDecoder(a.Body).Decode(&out); err != nil {
		r.t.Fatal(err)
	}
	return out, a
}

// refuses wants a method to say no, with this name.
func (r *rig) refuses(want, method string, form url.Values) map[string]any {
	r.t.Helper()
	got, _ := r.raw(method, form)
	if got["ok"] != false || got["error"] != want {
		r.t.Errorf("%s %v: want %s, got %v", method, form, want, got)
	}
	return got
}

// post posts a message and returns its ts.
func (r *rig) post(channel string, options ...slack.MsgOption) string {
	r.t.Helper()
	_, ts, err := r.api.PostMessage(channel, options...)
	if err != nil {
		r.t.Fatal(err)
	}
	return ts
}

// shown is a message as a person sees it; nil when they do not.
func (r *rig) shown(channel, ts, user string) *Message {
	r.t.Helper()
	list, err := r.Messages(r.t.Context(), channel, user)
	if err != nil {
		r.t.Fatal(err)
	}
	if i := slices.IndexFunc(list, func(m *Message) bool { return m.TS == ts }); i >= 0 {
		return list[i]
	}
	return nil
}

// eventually polls until something holds.
func (r *rig) eventually(what string, holds func() bool) {
	r.t.Helper()
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if holds() {
			return
		}
	}
	r.t.Fatalf("did not happen: %s", what)
}

// listener is a bot on slack-go's socketmode: it acknowledges what comes with
// what reply says, and remembers it.
type listener struct {
	mu    sync.Mutex
	got   []socketmode.Event
	reply func(*socketmode.Client, socketmode.Event)
}

func (l *listener) events(kind socketmode.EventType) []socketmode.Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []socketmode.Event
	for _, e := range l.got {
		if e.Type == kind {
			out = append(out, e)
		}
	}
	return out
}

// listen connects a bot and waits for its hello.
func (r *rig) listen(reply func(*socketmode.Client, socketmode.Event)) *listener {
	r.t.Helper()
	l := &listener{reply: reply}
	if reply == nil {
		l.reply = func(c *socketmode.Client, e socketmode.Event) { _ = c.Ack(*e.Request) }
	}
	client := socketmode.New(r.api, socketmode.OptionLog(log.New(os.Stderr, "socketmode ", 0)))
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = client.RunContext(ctx) })
	running.Go(func() {
		for {
			select {
			case <-ctx.Done():
				return
			case e := <-client.Events:
				l.mu.Lock()
				l.got = append(l.got, e)
				l.mu.Unlock()
				if e.Request != nil && e.Request.EnvelopeID != "" {
					l.reply(client, e)
				}
			}
		}
	})
	r.t.Cleanup(func() { stop(); running.Wait() })
	r.eventually("the bot is connected", func() bool { return len(l.events(socketmode.EventTypeHello)) > 0 })
	return l
}
