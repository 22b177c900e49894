package bot_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"spillway.sh/spillway/bot"
	"spillway.sh/spillway/bot/slackd"
)

// door is a bot that is reached by signed HTTP.
func door(t *testing.T) (*rig, string) {
	t.Helper()
	r := newRig(t, slackd.Options{})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r.options.Socket = nil
	r.options.Listen = func() (net.Listener, error) { return l, nil }
	r.options.Secret = func() (string, error) { return r.server.Tokens().Secret, nil }
	r.begin()
	base := "http://" + l.Addr().String()
	r.until("the door answers", func() bool {
		res, err := r.HTTP.Get(base + "/") //nolint:noctx // a look
		if err != nil {
			return false
		}
		_ = res.Body.Close()
		return true
	})
	r.until("the bot has signed in", func() bool { return strings.Contains(r.log.String(), "signed in") })
	return r, base
}

// knock is a signed request with everything right, for tests to spoil.
type knock struct {
	path, body, kind, query string
	secret                  string
	at                      time.Time
	signature               string // in place of the right one
}

func (r *rig) request(base string, k *knock) *http.Response {
	r.t.Helper()
	req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, base+k.path+k.query, strings.NewReader(k.body))
	if err != nil {
		r.t.Fatal(err)
	}
	stamp := strconv.FormatInt(k.at.Unix(), 10)
	mac := hmac.New(sha256.New, []byte(k.secret))
	fmt.Fprintf(mac, "v0:%s:%s", stamp, k.body)
	req.Header.Set("Content-Type", k.kind)
	req.Header.Set("X-Slack-Request-Timestamp", stamp)
	req.Header.Set("X-Slack-Signature", "v0="+hex.EncodeToString(mac.Sum(nil)))
	if k.signature != "" {
		req.Header.Set("X-Slack-Signature", k.signature)
	}
	res, err := r.HTTP.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	text, _ := io.ReadAll(res.Body)
	res.Body = io.NopCloser(bytes.NewReader(text))
	return res
}

const aForm = "application/x-www-form-urlencoded"

// rightly is a command as Slack sends it.
func (r *rig) rightly(trigger string) *knock {
	v := url.Values{
		"team_id": {team}, "user_id": {ana}, "channel_id": {burst}, "command": {"/rent"}, "text": {"ls"},
		"trigger_id": {trigger}, "api_app_id": {app}, "response_url": {"https://hooks.slack.com/commands/T/1/x"},
	}
	return &knock{path: "/slack/commands", body: v.Encode(), kind: aForm, secret: r.server.Tokens().Secret, at: time.Now()}
}

func TestSecurityForgedStaleAndForeignRequestsAreRefusedAndLogged(t *testing.T) {
	r, base := door(t)
	cases := map[string]struct {
		spoil func(k *knock)
		want  int
		log   string
	}{
		"another secret":          {func(k *knock) { k.secret = "guess" }, 401, "a wrong signature"},
		"an empty secret":         {func(k *knock) { k.secret = "" }, 401, "a wrong signature"},
		"no signature":            {func(k *knock) { k.signature = "v0=" }, 401, "signature"},
		"old form of a signature": {func(k *knock) { k.signature = "v1=" + strings.Repeat("0", 64) }, 401, "no signature"},
		"from six minutes ago":    {func(k *knock) { k.at = k.at.Add(-6 * time.Minute) }, 401, "too old or too new"},
		"from six minutes ahead":  {func(k *knock) { k.at = k.at.Add(6 * time.Minute) }, 401, "too old or too new"},
		"of another app":          {func(k *knock) { k.body = strings.Replace(k.body, app, "A0OTHER01", 1) }, 401, "for another app"},
		"of no app":               {func(k *knock) { k.body = strings.Replace(k.body, "api_app_id="+app, "", 1) }, 401, "for another app"},
		"of another team":         {func(k *knock) { k.body = strings.Replace(k.body, team, "T0OTHER01", 1) }, 401, "from another workspace"},
		"an interaction of a query": {func(k *knock) {
			k.path, k.query, k.body = "/slack/interactions", "?payload="+url.QueryEscape(`{"type":"block_actions"}`), "x=y"
		}, 400, "neither a command nor a payload"},
		"larger than a megabyte": {func(k *knock) { k.body += strings.Repeat("x", 1<<20) }, 413, ""},
		"not a form":             {func(k *knock) { k.kind = "text/plain" }, 400, "neither JSON nor a form"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			k := r.rightly(name)
			c.spoil(k)
			before := len(r.log.String())
			if res := r.request(base, k); res.StatusCode != c.want {
				t.Errorf("status %d, want %d", res.StatusCode, c.want)
			}
			if said := r.log.String()[before:]; !strings.Contains(said, c.log) {
				t.Errorf("the log says %q, want %q in it", said, c.log)
			}
			if n := r.talker.times(); n != 0 {
				t.Fatalf("it was heard")
			}
		})
	}
	if n := r.figure("spillway_slack_refused_total"); n < 8 {
		t.Errorf("%v refusals are counted", n)
	}
	if res := r.request(base, r.rightly("right")); res.StatusCode != http.StatusOK {
		t.Errorf("a right request: status %d", res.StatusCode)
	}
	r.until("the right one is heard", func() bool { return r.talker.times() == 1 })
}

// A captured request within the five minutes is known again, whatever headers
// it comes with now.
func TestSecurityAReplayedRequestIsAnsweredOnce(t *testing.T) {
	r, base := door(t)
	k := r.rightly("once")
	for i := range 4 {
		if i == 1 {
			r.answered(1) // from here on only the box knows it
		}
		if res := r.request(base, k); res.StatusCode != http.StatusOK {
			t.Errorf("status %d", res.StatusCode)
		}
		k.at = k.at.Add(time.Second)
	}
	r.until("it is heard", func() bool { return r.talker.times() > 0 })
	r.delivered()
	if n := r.talker.times(); n != 1 {
		t.Errorf("heard %d times", n)
	}
	if n := r.figure("spillway_slack_received_total", "outcome=duplicate"); n != 3 {
		t.Errorf("%v duplicates are counted, want 3", n)
	}
}

// The local Slack delivers by signed HTTP as Slack does, its handshake
// included.
func TestSignedHTTPWorksAsSocketModeDoes(t *testing.T) {
	r, base := door(t)
	body := strings.NewReader(fmt.Sprintf(`{"mode":"http","url":%q}`, base+"/slack/events"))
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.Base+"/control/delivery", body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+r.Token)
	res, err := r.HTTP.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(res.Body)
	if err = errors.Join(err, res.Body.Close()); err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("switch to HTTP: %s %s %v", res.Status, text, err)
	}
	r.command(ana, "/rent ls")
	r.sees(ana, burst, `you said "ls"`)
	if _, err := r.OpenHome(t.Context(), ana); err != nil {
		t.Fatal(err)
	}
	r.until("home is heard", func() bool { return r.talker.times() == 2 })
}

func TestSecurityStartUpRefusesWhatLetsAnybodyIn(t *testing.T) {
	good := func() bot.Options {
		return bot.Options{
			Accounts: accounts(), App: app, Listen: func() (net.Listener, error) { return nil, nil }, Secret: func() (string, error) { return "s", nil },
		}
	}
	if _, err := bot.New(good()); err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(o *bot.Options){
		"an empty signing secret": func(o *bot.Options) { o.Secret = func() (string, error) { return "", nil } },
		"no table of users":       func(o *bot.Options) { o.Accounts = bot.Accounts{} },
		"no app id over HTTP":     func(o *bot.Options) { o.App = "" },
		"no way in":               func(o *bot.Options) { o.Listen = nil },
	} {
		o := good()
		spoil(&o)
		if _, err := bot.New(o); err == nil {
			t.Errorf("%s: it starts", name)
		}
	}
}
