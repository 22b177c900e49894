package slackd

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/slack-go/slack"
)

// endpoint is a bot behind a request URL. It checks signatures with slack-go.
type endpoint struct {
	*httptest.Server
	mu      sync.Mutex
	got     []*http.Request
	invalid int
	answer  func(w http.ResponseWriter, r *http.Request)
}

func (e *endpoint) requests() []*http.Request {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.got)
}

// behind puts the rig's bot behind a request URL.
func (r *rig) behind(answer func(http.ResponseWriter, *http.Request)) *endpoint {
	r.t.Helper()
	e := &endpoint{answer: answer}
	e.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, _ := io.ReadAll(q.Body)
		v, err := slack.NewSecretsVerifier(q.Header, r.server.Tokens().Secret)
		if err == nil {
			_, _ = v.Write(body)
			err = v.Ensure()
		}
		e.mu.Lock()
		if err != nil {
			e.invalid++
		}
		e.mu.Unlock()
		if err != nil {
			http.Error(w, err.Error(), http.StatusUnauthorized)
			return
		}
		var challenge struct{ Type, Challenge string }
		if json.Unmarshal(body, &challenge) == nil && challenge.Type == "url_verification" {
			_, _ = io.WriteString(w, challenge.Challenge)
			return
		}
		q.Body = io.NopCloser(bytes.NewReader(body))
		_ = q.ParseForm()
		if q.Form.Get("payload") == "" && q.Form.Get("command") == "" {
			q.Form.Set("event", string(body))
		}
		e.mu.Lock()
		e.got = append(e.got, q)
		e.mu.Unlock()
		if e.answer != nil {
			e.answer(w, q)
		}
	}))
	r.t.Cleanup(e.Close)
	var out struct{ Verified bool }
	if err := r.do(r.t.Context(), "delivery", map[string]string{"mode": "http", "url": e.URL}, &out); err != nil || !out.Verified {
		r.t.Fatalf("verified %v, %v", out.Verified, err)
	}
	return e
}

func TestDeliveriesOverHTTPAreSigned(t *testing.T) {
	r := start(t, Options{})
	e := r.behind(func(w http.ResponseWriter, q *http.Request) {
		if q.Form.Get("command") != "" {
			_, _ = io.WriteString(w, "understood")
		}
	})
	out, err := r.Command(t.Context(), wei, burst, "/rent 8xh100")
	if err != nil || out.Outcome != Acked {
		t.Fatalf("%+v %v", out, err)
	}
	if list, _ := r.Messages(t.Context(), burst, wei); len(list) != 1 || list[0].Text != "understood" {
		t.Errorf("wei sees %v", list)
	}
	ts := r.post(burst, slack.MsgOptionBlocks(buttonBlock("go")))
	if out, err = r.Press(t.Context(), wei, burst, ts, "go", nil); err != nil || out.Outcome != Acked {
		t.Fatalf("%+v %v", out, err)
	}
	got := e.requests()
	cmd, err := slack.SlashCommandParse(got[0])
	if err != nil || cmd.Command != "/rent" || cmd.Text != "8xh100" || cmd.UserID != wei || cmd.TriggerID == "" || cmd.ResponseURL == "" || cmd.APIAppID != "A0SPILL01" {
		t.Errorf("%+v %v", cmd, err)
	}
	var cb slack.InteractionCallback
	if err := json.Unmarshal([]byte(got[1].Form.Get("payload")), &cb); err != nil || cb.Message.Timestamp != ts || cb.ActionCallback.BlockActions[0].ActionID != "go" {
		t.Errorf("%+v %v", cb, err)
	}
}

func TestEventsOverHTTPAreSentAgain(t *testing.T) {
	r := start(t, Options{})
	var stop sync.Once
	e := r.behind(func(w http.ResponseWriter, q *http.Request) {
		if q.Header.Get("X-Slack-Retry-Num") == "2" {
			stop.Do(func() { w.Header().Set("X-Slack-No-Retry", "1") })
		}
		http.Error(w, "no", http.StatusInternalServerError)
	})
	if err := r.Event(t.Context(), map[string]any{"type": "user_change"}, "Ev1"); err != nil {
		t.Fatal(err)
	}
	r.eventually("three tries", func() bool {
		list, _ := r.Deliveries(t.Context())
		return len(list) == 3
	})
	var nums []string
	for _, q := range e.requests() {
		nums = append(nums, q.Header.Get("X-Slack-Retry-Num")+q.Header.Get("X-Slack-Retry-Reason"))
	}
	if !slices.Equal(nums, []string{"", "1http_error", "2http_error"}) {
		t.Errorf("tries %q", nums)
	}
}

func TestASlowRequestURLTimesOut(t *testing.T) {
	r := start(t, Options{Ack: 50 * time.Millisecond})
	r.behind(func(_ http.ResponseWriter, q *http.Request) { <-q.Context().Done() })
	if out, _ := r.Command(t.Context(), ana, burst, "/rent ls"); out.Outcome != TimedOut || out.Error != "operation_timeout" {
		t.Errorf("%+v", out)
	}
}

func TestASkewedSignatureIsRefusedByTheBot(t *testing.T) {
	r := start(t, Options{})
	e := r.behind(nil)
	if _, err := r.AddFault(t.Context(), Fault{On: "slash_commands", Kind: FaultSkew, MS: -301_000}); err != nil {
		t.Fatal(err)
	}
	if out, _ := r.Command(t.Context(), ana, burst, "/rent ls"); out.Outcome != Unreachable {
		t.Errorf("%+v", out)
	}
	if len(e.requests()) != 0 || e.invalid != 1 {
		t.Errorf("%d taken, %d refused", len(e.requests()), e.invalid)
	}
}

func TestAnAddressThatDoesNotAnswerTheChallengeIsNotVerified(t *testing.T) {
	r := start(t, Options{})
	var out struct{ Verified bool }
	if err := r.do(t.Context(), "delivery", map[string]string{"mode": "http", "url": "http://127.0.0.1:1/"}, &out); err != nil || out.Verified {
		t.Errorf("%v %v", out, err)
	}
}
