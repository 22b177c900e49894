package slackd

import (
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slack-go/slack"
)

// hands is a clock that tests move by hand.
type hands struct{ at atomic.Int64 }

func newHands() *hands {
	h := &hands{}
	h.at.Store(time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC).UnixNano())
	return h
}

func (h *hands) now() time.Time        { return time.Unix(0, h.at.Load()).UTC() }
func (h *hands) move(by time.Duration) { h.at.Add(int64(by)) }

func TestMethodsAreLimitedByTheirTier(t *testing.T) {
	for name, c := range map[string]struct {
		method string
		form   url.Values
		calls  int
	}{
		"tier 2":  {"users.list", nil, 20},
		"tier 3":  {"conversations.info", url.Values{"channel": {burst}}, 50},
		"tier 4":  {"users.info", url.Values{"user": {ana}}, 100},
		"special": {"auth.test", nil, 100},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHands()
			r := start(t, Options{Speed: 1, Now: h.now})
			for i := range c.calls {
				if got, _ := r.raw(c.method, c.form); got["ok"] != true {
					t.Fatalf("call %d: %v", i, got)
				}
			}
			got, answer := r.raw(c.method, c.form)
			after, err := strconv.Atoi(answer.Header.Get("Retry-After"))
			if answer.StatusCode != http.StatusTooManyRequests || got["error"] != "ratelimited" || err != nil || after < 1 {
				t.Fatalf("%d %v, Retry-After %q", answer.StatusCode, got, answer.Header.Get("Retry-After"))
			}
			if name == "special" {
				return
			}
			h.move(time.Duration(after) * time.Second)
			if got, _ := r.raw(c.method, c.form); got["ok"] != true {
				t.Errorf("after the time it said: %v", got)
			}
		})
	}
}

func TestOnePostASecondInAChannel(t *testing.T) {
	h := newHands()
	r := start(t, Options{Speed: 1, Now: h.now})
	r.post(burst, slack.MsgOptionText("one", false))
	_, _, err := r.api.PostMessage(burst, slack.MsgOptionText("two", false))
	var limited *slack.RateLimitedError
	if !errors.As(err, &limited) || limited.RetryAfter != time.Second {
		t.Fatalf("the second post: %v", err)
	}
	r.post("C0LEADS01", slack.MsgOptionText("another channel has its own", false))
	h.move(time.Second)
	r.post(burst, slack.MsgOptionText("two", false))
}

func TestSpeedMakesLimitsShorter(t *testing.T) {
	h := newHands()
	r := start(t, Options{Speed: 1, Now: h.now})
	if err := r.Speed(t.Context(), 60); err != nil {
		t.Fatal(err)
	}
	r.post(burst, slack.MsgOptionText("one", false))
	h.move(time.Second / 60)
	r.post(burst, slack.MsgOptionText("two", false))
}

func TestAJumpMovesStampsTriggersAndLimits(t *testing.T) {
	r := start(t, Options{Speed: 1})
	before := r.post(burst, slack.MsgOptionText("one", false))
	if err := r.Advance(t.Context(), time.Hour); err != nil {
		t.Fatal(err)
	}
	after := r.post(burst, slack.MsgOptionText("two", false))
	a, _ := strconv.ParseFloat(before, 64)
	b, _ := strconv.ParseFloat(after, 64)
	if d := b - a; d < 3600 || d > 3700 {
		t.Errorf("stamps are %v s apart", d)
	}
	if err := r.Advance(t.Context(), -2*time.Hour); err != nil {
		t.Fatal(err)
	}
	if compareTS(r.server.clock.stamp(), after) <= 0 {
		t.Error("a stamp fell")
	}
}
