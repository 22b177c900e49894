package bot_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"

	"spillway.sh/spillway/bot/slackd"
	"spillway.sh/spillway/bot/talk"
	"spillway.sh/spillway/bridge"
)

// A flood of cards under Slack's limits, which both sides run 120
// times faster: none is lost, Slack never has to refuse, and a decision in the middle
// does not wait for the reports.
func TestAFloodOfCardsLosesNoneAndDecisionsGoFirst(t *testing.T) {
	r := newRig(t, slackd.Options{Speed: 120})
	r.talker.tell = func(news []bridge.News) []talk.Effect {
		var out []talk.Effect
		for _, n := range news {
			c := card(n.Text, "shown")
			c.Lane = talk.Reports
			if n.Kind == bridge.NewsApproved {
				c.Lane = talk.Decisions
			}
			out = append(out, c)
		}
		return out
	}
	r.begin()
	cards := 1000
	if testing.Short() {
		cards = 200
	}
	var news []bridge.News
	for i := range cards {
		news = append(news, bridge.News{Kind: bridge.NewsReserved, Text: fmt.Sprintf("report-%04d", i)})
	}
	if err := r.store.Tell(t.Context(), news...); err != nil {
		t.Fatal(err)
	}
	shown := func() int { return len(r.texts(burst, mei)) }
	r.until("the flood is under way", func() bool { return shown() > 20 })
	began, before := time.Now(), shown()
	if err := r.store.Tell(t.Context(), bridge.News{Kind: bridge.NewsApproved, Text: "decision"}); err != nil {
		t.Fatal(err)
	}
	r.sees(mei, burst, "decision shown")
	t.Logf("the decision came %v later, after %d reports of %d", time.Since(began), before, cards)
	if n := shown(); n > cards/2 {
		t.Errorf("the decision came after %d reports", n)
	}
	end := time.Now().Add(60 * time.Second)
	for shown() < cards+1 && time.Now().Before(end) {
		time.Sleep(100 * time.Millisecond) // polling, with a deadline of its own
	}
	if n := shown(); n != cards+1 {
		t.Fatalf("%d messages are shown, want %d", n, cards+1)
	}
	if n := r.figure("spillway_slack_rate_limited_total"); n > 0 {
		t.Errorf("Slack had to refuse %v calls", n)
	}
	seen := map[string]bool{}
	for _, s := range r.texts(burst, mei) {
		if seen[s] {
			t.Errorf("%q is shown twice", s)
		}
		seen[s] = true
	}
}

// A card that changes many times at once is edited a few times, and shows the
// last state.
func TestManyChangesOfACardAreFewEdits(t *testing.T) {
	r := newRig(t, slackd.Options{})
	r.talker.tell = func(news []bridge.News) []talk.Effect {
		return []talk.Effect{card("rental/r-0015", news[len(news)-1].Text)}
	}
	r.begin()
	began := time.Now()
	for i := range 200 {
		if err := r.store.Tell(t.Context(), bridge.News{Kind: bridge.NewsStarted, Text: fmt.Sprintf("state %d", i)}); err != nil {
			t.Fatal(err)
		}
	}
	r.sees(mei, burst, "state 199")
	calls, err := r.Calls(t.Context(), "chat.update")
	if most := 2 + int(time.Since(began)/(5*time.Second)); err != nil || len(calls) > most {
		t.Errorf("%d edits for 200 changes within %v, %v", len(calls), time.Since(began), err)
	}
}

// After a whole run with faults, no secret is anywhere: not in the log, in
// errors, in figures, in messages or in the database.
func TestSecurityNoSecretIsAnywhere(t *testing.T) {
	r := newRig(t, slackd.Options{})
	d := &decision{}
	r.talker.hear = func(ctx context.Context, who talk.Asker, in talk.Interaction) ([]talk.Effect, error) {
		if in.Text == "fail" {
			return nil, errors.New("posting to " + in.Response + " with Bearer " + r.server.Tokens().Bot)
		}
		return d.hear(ctx, who, in)
	}
	r.begin()
	r.fault(slackd.Fault{On: "hooks", Kind: slackd.FaultHangUpAfter, Times: 1})
	r.fault(slackd.Fault{On: "chat.postMessage", Kind: slackd.FaultHangUpAfter, Times: 1})
	r.fault(slackd.Fault{On: "interactive", Kind: slackd.FaultDuplicate})
	ts := r.ask()
	r.command(ana, "/rent fail")
	r.sees(ana, burst, "Something went wrong")
	if _, err := r.Press(t.Context(), mei, burst, ts, "approve", nil); err != nil {
		t.Fatal(err)
	}
	r.sees(mei, burst, "approved")
	if err := r.Sockets(t.Context(), "cut", ""); err != nil {
		t.Fatal(err)
	}
	r.until("the connections are back", func() bool { return r.figure("spillway_slack_reconnects_total") >= 2 })
	r.delivered()

	tokens := r.server.Tokens()
	secrets := map[string]string{"bot token": tokens.Bot, "app token": tokens.App, "signing secret": tokens.Secret, "a ticket": "ticket="}
	ds, err := r.Deliveries(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i, delivery := range ds {
		var p struct {
			URL     string `json:"response_url"`
			Trigger string `json:"trigger_id"`
		}
		if json.Unmarshal(delivery.Payload, &p) == nil && p.URL != "" {
			secrets[fmt.Sprintf("response URL %d", i)] = p.URL[strings.LastIndexByte(p.URL, '/')+1:]
			secrets[fmt.Sprintf("trigger %d", i)] = p.Trigger
		}
	}
	if len(secrets) < 6 {
		t.Fatalf("only %d secrets are looked for", len(secrets))
	}
	for place, text := range map[string]string{
		"the log": r.log.String(), "problems": strings.Join(r.bot.Problems(), "\n"), "figures": r.exposed(), "messages": r.everything(), "the database": r.database(),
	} {
		for what, secret := range secrets {
			if strings.Contains(text, secret) {
				t.Errorf("%s is in %s", what, place)
			}
		}
	}
}

// exposed is what /metrics would show.
func (r *rig) exposed() string {
	families, err := r.metrics.Gather()
	if err != nil {
		r.t.Fatal(err)
	}
	var b strings.Builder
	enc := expfmt.NewEncoder(&b, expfmt.NewFormat(expfmt.TypeTextPlain))
	for _, f := range families {
		if err := enc.Encode(f); err != nil {
			r.t.Fatal(err)
		}
	}
	return b.String()
}

// everything is all that was said in the channel, to whomever.
func (r *rig) everything() string {
	ms, err := r.Messages(context.Background(), burst, "")
	if err != nil {
		r.t.Fatal(err)
	}
	text, err := json.Marshal(ms)
	if err != nil {
		r.t.Fatal(err)
	}
	return string(text)
}

func (r *rig) database() string {
	var all strings.Builder
	for _, name := range []string{"spillway.db", "spillway.db-wal"} {
		b, err := os.ReadFile(filepath.Join(r.dir, name))
		if err != nil {
			r.t.Fatal(err)
		}
		all.Write(b)
	}
	return all.String()
}
