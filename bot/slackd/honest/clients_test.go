package honest

import (
	"context"
	"net"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"spillway.sh/spillway/bot/slackd"
	"spillway.sh/spillway/bot/slackd/web"
)

// local is a local Slack that serves until the test ends.
type local struct {
	url    string
	tokens slackd.Tokens
}

func serve(t *testing.T) local {
	t.Helper()
	s, err := slackd.New(slackd.Options{State: t.TempDir(), Page: web.Page()})
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
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return local{url: "http://" + l.Addr().String(), tokens: s.Tokens()}
}

func (l local) env() []string {
	return []string{"SLACKD_URL=" + l.url, "SLACKD_TOKENS=" + l.tokens.Dir}
}

var passed = regexp.MustCompile(`(?m)^ℹ pass (\d+)$`)

// TestSlacksOwnClients runs each program against a local Slack of its own. A
// program that runs no test proves nothing, so the numbers are checked too.
func TestSlacksOwnClients(t *testing.T) {
	for program, least := range map[string]int{"socket.test.mjs": 13, "http.test.mjs": 11, "webapi.test.mjs": 27} {
		t.Run(program, func(t *testing.T) {
			out := Judge(t, program, serve(t).env()...)
			t.Log(out)
			n := passed.FindStringSubmatch(out)
			if n == nil {
				t.Fatalf("no count of tests")
			}
			if got, _ := strconv.Atoi(n[1]); got < least {
				t.Errorf("%d tests ran, want %d at least", got, least)
			}
		})
	}
}

// The programs are refused when the local Slack is not what they expect: a
// check of the check.
func TestSlacksOwnClientsNotice(t *testing.T) {
	l := serve(t)
	l.tokens.Dir = filepath.Join(t.TempDir(), "nowhere")
	if out, err := try(t, workshop(t), l.env(), time.Minute, node(t), "--test", "webapi.test.mjs"); err == nil {
		t.Errorf("the program passed without tokens:\n%s", out)
	}
}
