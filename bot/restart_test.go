package bot_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"spillway.sh/spillway/bot"
	"spillway.sh/spillway/bot/slackd"
	"spillway.sh/spillway/bot/talk"
)

// The connection is cut between the acknowledgement and the work, and then the
// process ends: what was acknowledged is done once by the next one, and told
// without the address that only the first one knew.
func TestWhatWasAcknowledgedIsDoneByTheNextProcess(t *testing.T) {
	r := newRig(t, slackd.Options{})
	r.options.Workers = 1
	blocked, release := make(chan struct{}), make(chan struct{})
	r.talker.hear = func(_ context.Context, _ talk.Asker, in talk.Interaction) ([]talk.Effect, error) {
		if in.Text == "first" {
			close(blocked)
			<-release
		}
		return reply("done: %s", in.Text), nil
	}
	r.begin()
	r.command(ana, "/rent first")
	<-blocked
	r.command(ana, "/rent second")
	if err := r.Sockets(t.Context(), "cut", ""); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { defer close(ended); r.end() }()
	r.until("one is left in the box", func() bool {
		ks, err := r.store.Knocks(context.Background(), 10)
		return err == nil && len(ks) == 2
	})
	close(release)
	<-ended
	r.begin()
	r.sees(ana, burst, "done: first")
	r.sees(ana, burst, "done: second")
	r.delivered()
	if n := r.talker.times(); n != 2 {
		t.Errorf("%d were worked on, want each once", n)
	}
	calls, err := r.Calls(t.Context(), "chat.postEphemeral")
	if err != nil || len(calls) == 0 {
		t.Errorf("the answer after the restart came by %v, %v", calls, err)
	}
}

// Every method answers once with 500 after it did what it was asked. Nothing is
// lost; a message may be there twice.
func TestEveryCallMayFailOnceAfterItWasDone(t *testing.T) {
	r := newRig(t, slackd.Options{})
	d := &decision{}
	r.talker.hear = d.hear
	r.begin()
	for _, method := range []string{"chat.postMessage", "chat.update", "users.info", "usergroups.users.list", "chat.postEphemeral"} {
		r.fault(slackd.Fault{On: method, Kind: slackd.FaultFailAfter, Status: 500, Times: 1})
	}
	r.fault(slackd.Fault{On: "hooks", Kind: slackd.FaultFailAfter, Status: 500, Times: 1})
	ts := r.ask()
	r.until("the card is there twice", func() bool { return len(r.texts(burst, ana)) == 2 })
	if out, err := r.Press(t.Context(), mei, burst, ts, "approve", nil); err != nil || out.Outcome != "acked" {
		t.Fatalf("%+v, %v", out, err)
	}
	r.sees(mei, burst, "approved")
	r.until("both copies say so", func() bool {
		return !slices.ContainsFunc(r.texts(burst, ana), func(s string) bool { return s != "ask/r-0015 approved by mei" })
	})
	if _, times := d.result(); times != 1 {
		t.Errorf("%d decisions", times)
	}
}

// A token that Slack does not take ends the bot with a clear error, and what
// waits stays in the box.
func TestARevokedTokenStopsTheBotAndLosesNothing(t *testing.T) {
	r := newRig(t, slackd.Options{})
	r.begin()
	if err := r.Revoke(t.Context(), "all"); err != nil {
		t.Fatal(err)
	}
	r.until("the bot says so", func() bool { return len(r.bot.Problems()) > 0 })
	if err := r.stop(); !errors.Is(err, bot.ErrEnded) {
		t.Errorf("it ended with %v", err)
	}
	r.stop = nil
	if s := strings.Join(r.bot.Problems(), " "); !strings.Contains(s, "refuses") {
		t.Errorf("problems: %s", s)
	}
}

// An address for the answer that is not Slack's is not used, whoever signed it.
func TestSecurityAForeignResponseURLIsNotUsed(t *testing.T) {
	r, base := door(t)
	k := r.rightly("ssrf")
	k.body = strings.Replace(k.body, "hooks.slack.com", "slack.com.example.org", 1)
	r.request(base, k)
	r.sees(ana, burst, "you said") // by the Web API
	if n := r.figure("spillway_slack_refused_total", "reason=response-url"); n != 1 {
		t.Errorf("%v refused addresses are counted", n)
	}
}
