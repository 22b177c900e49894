package bot_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slack-go/slack"
	"github.com/slack-go/slack/socketmode"

	"spillway.sh/spillway/bot"
	"spillway.sh/spillway/bot/slackd"
	"spillway.sh/spillway/bot/talk"
	"spillway.sh/spillway/bridge"
)

// decision is a question that one person decides, as the desk's are.
type decision struct {
	mu    sync.Mutex
	by    string
	times int
	slow  time.Duration
}

// hear answers the buttons of the card.
func (d *decision) hear(_ context.Context, who talk.Asker, _ talk.Interaction) ([]talk.Effect, error) {
	d.mu.Lock()
	by := d.by
	if by == "" {
		d.by, d.times = who.Person.Name, d.times+1
	}
	d.mu.Unlock()
	if by != "" {
		return append(reply("already approved by %s", by), card("ask/r-0015", "approved by "+by)), nil
	}
	time.Sleep(d.slow) // the work that follows a decision
	return append(reply("approved"), card("ask/r-0015", "approved by "+who.Person.Name)), nil
}

func (d *decision) result() (by string, times int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.by, d.times
}

// ask puts a card into the channel and returns where it is.
func (r *rig) ask() string {
	r.t.Helper()
	r.talker.telling(func(news []bridge.News) []talk.Effect {
		return []talk.Effect{card("ask/r-0015", string(news[len(news)-1].Kind))}
	})
	if err := r.store.Tell(context.Background(), bridge.News{Kind: bridge.NewsAsked, Rental: "r-0015"}); err != nil {
		r.t.Fatal(err)
	}
	r.sees(mei, burst, "r-0015 asked")
	ms, err := r.Messages(context.Background(), burst, mei)
	if err != nil {
		r.t.Fatal(err)
	}
	return ms[0].TS
}

// fault switches one on.
func (r *rig) fault(f slackd.Fault) {
	r.t.Helper()
	if _, err := r.AddFault(context.Background(), f); err != nil {
		r.t.Fatal(err)
	}
}

// Two people press at the same moment, and each delivery comes twice: one
// decides, the other is told who did, and the channel sees no error.
func TestB_F01_TwoClicksAtOnceAreOneDecision(t *testing.T) {
	r := newRig(t, slackd.Options{})
	d := &decision{}
	r.talker.hear = d.hear
	r.begin()
	ts := r.ask()
	r.fault(slackd.Fault{On: "interactive", Kind: slackd.FaultDuplicate})
	var wg sync.WaitGroup
	for _, who := range []string{mei, tom} {
		wg.Go(func() {
			if out, err := r.Press(context.Background(), who, burst, ts, "approve", nil); err != nil || out.Outcome != "acked" {
				t.Errorf("%s: %+v, %v", who, out, err)
			}
		})
	}
	wg.Wait()
	r.answered(2)
	by, times := d.result()
	winner, loser := mei, tom
	if by == "tom" {
		winner, loser = tom, mei
	}
	r.sees(winner, burst, "approved")
	r.sees(loser, burst, "already approved by "+by)
	r.sees(ana, burst, "approved by "+by)
	r.delivered()
	if times != 1 || r.talker.times() != 2 {
		t.Errorf("%d decisions of %d clicks", times, r.talker.times())
	}
}

// The work after a decision is slow; a second click meanwhile is told so and
// runs nothing.
func TestB_F02_AClickDuringSlowWorkRunsNothing(t *testing.T) {
	r := newRig(t, slackd.Options{})
	d := &decision{slow: 2 * time.Second}
	r.talker.hear = d.hear
	r.begin()
	ts := r.ask()
	for range 2 {
		if out, err := r.Press(t.Context(), mei, burst, ts, "approve", nil); err != nil || out.Outcome != "acked" || out.AckMS > 1000 {
			t.Fatalf("%+v, %v", out, err)
		}
	}
	r.sees(mei, burst, "already approved by mei")
	r.until("the first work is done", func() bool { return slices.Contains(r.texts(burst, mei), "approved") })
	if _, times := d.result(); times != 1 {
		t.Errorf("%d decisions", times)
	}
}

// A post lands and its reply is lost, so the card is there twice. A decision on
// either settles both.
func TestB_F03_ADecisionOnEitherCopySettlesBoth(t *testing.T) {
	r := newRig(t, slackd.Options{})
	d := &decision{}
	r.talker.hear = d.hear
	r.begin()
	r.fault(slackd.Fault{On: "chat.postMessage", Kind: slackd.FaultFailAfter, Status: 500, Times: 1})
	first := r.ask()
	r.until("the card is there twice", func() bool { return len(r.texts(burst, mei)) == 2 })
	if out, err := r.Press(t.Context(), mei, burst, first, "approve", nil); err != nil || out.Outcome != "acked" {
		t.Fatalf("%+v, %v", out, err)
	}
	r.until("both copies say so", func() bool {
		return slices.Equal(r.texts(burst, ana), []string{"ask/r-0015 approved by mei", "ask/r-0015 approved by mei"})
	})
	copies, err := r.store.Copies(t.Context(), "ask/r-0015")
	if err != nil || len(copies) != 2 {
		t.Errorf("copies: %v, %v", copies, err)
	}
}

// Decided elsewhere, by the command line or because time is over: every copy is
// drawn again, in the channel and in somebody's own messages.
func TestB_F06_ADecisionFromElsewhereRedrawsEveryCopy(t *testing.T) {
	r := newRig(t, slackd.Options{})
	r.talker.tell = func(news []bridge.News) []talk.Effect {
		c := card("ask/r-0015", string(news[len(news)-1].Kind))
		own := c
		own.Account = "ana"
		return []talk.Effect{c, own}
	}
	r.begin()
	dm, err := r.OpenDM(t.Context(), ana)
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []bridge.NewsKind{bridge.NewsAsked, bridge.NewsApproved} {
		if err := r.store.Tell(t.Context(), bridge.News{Kind: kind, Rental: "r-0015"}); err != nil {
			t.Fatal(err)
		}
		r.sees(mei, burst, "r-0015 "+string(kind))
		r.sees(ana, dm.ID, "r-0015 "+string(kind))
	}
	for _, channel := range []string{burst, dm.ID} {
		if got := r.texts(channel, ana); len(got) != 1 {
			t.Errorf("%s shows %q", channel, got)
		}
	}
}

// stalled is a box whose disk hangs.
type stalled struct {
	bot.Box
	pause atomic.Int64
}

func (s *stalled) Knock(ctx context.Context, ks []bridge.Knock) ([]bool, error) {
	if d := time.Duration(s.pause.Load()); d > 0 {
		select {
		case <-time.After(d):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return s.Box.Knock(ctx, ks)
}

// The disk stalls for four seconds: before Slack would show a fault the person
// is told that nothing was done, and nothing is.
func TestB_F12_AStalledDiskIsToldInTimeAndNothingIsDone(t *testing.T) {
	r := newRig(t, slackd.Options{})
	box := &stalled{}
	r.options.Box = box
	openBox(r, box)
	box.pause.Store(int64(4 * time.Second))
	began := time.Now()
	out, err := r.Command(t.Context(), ana, burst, "/rent 8xh100 for 6h")
	if err != nil || out.Outcome != "acked" || time.Since(began) > 2900*time.Millisecond {
		t.Fatalf("after %v: %+v, %v", time.Since(began), out, err)
	}
	r.sees(ana, burst, "could not be recorded")
	box.pause.Store(0)
	r.command(ana, "/rent 8xh100 for 6h")
	r.sees(ana, burst, "you said")
	if n := r.talker.times(); n != 1 {
		t.Errorf("heard %d times, want the second one alone", n)
	}
}

// openBox begins with a box that needs the store.
func openBox(r *rig, box *stalled) {
	r.beforeRun = func() { box.Box = r.store }
	r.begin()
}

// The trigger is dead before the form is made: the answer comes in words.
func TestB_F13_AFormThatIsTooLateComesInWords(t *testing.T) {
	r := newRig(t, slackd.Options{})
	r.talker.hear = func(ctx context.Context, _ talk.Asker, _ talk.Interaction) ([]talk.Effect, error) {
		if err := r.Advance(ctx, 4*time.Second); err != nil {
			return nil, err
		}
		title := slack.NewTextBlockObject(slack.PlainTextType, "Rent", false, false)
		return []talk.Effect{{Surface: talk.Form, Message: text("tell me what"), View: &slack.ModalViewRequest{
			Type: slack.VTModal, Title: title, Blocks: slack.Blocks{BlockSet: []slack.Block{slack.NewDividerBlock()}},
		}}}, nil
	}
	r.begin()
	r.command(ana, "/rent")
	r.sees(ana, burst, "tell me what")
}

// Packets stop and the connection looks open: the watchdog makes new ones.
func TestB_F14_AHalfOpenConnectionIsReplaced(t *testing.T) {
	r := newRig(t, slackd.Options{Ping: 50 * time.Millisecond})
	socket := r.options.Socket
	r.options.Socket = func() *socketmode.Client {
		c := socket()
		socketmode.OptionPingInterval(300 * time.Millisecond)(c)
		return c
	}
	r.begin()
	if err := r.Sockets(t.Context(), "freeze", ""); err != nil {
		t.Fatal(err)
	}
	r.until("both are made anew", func() bool {
		return r.figure("spillway_slack_reconnects_total") >= 2 && r.figure("spillway_slack_connections") == 2
	})
	r.until("a command is heard again", func() bool {
		out, err := r.Command(t.Context(), ana, burst, "/rent ls")
		return err == nil && out.Outcome == "acked"
	})
	r.sees(ana, burst, "you said")
}

// Slack drops a large acknowledgement without a word, so that none carries an
// answer.
func TestB_F15_ALongListIsNoPartOfTheAcknowledgement(t *testing.T) {
	r := newRig(t, slackd.Options{})
	r.talker.hear = func(context.Context, talk.Asker, talk.Interaction) ([]talk.Effect, error) {
		return reply("%s", strings.Repeat("r-0015 8 x h100 for nlp, running\n", 900)), nil
	}
	r.begin()
	out, err := r.Command(t.Context(), ana, burst, "/rent ls")
	if err != nil || out.Outcome != "acked" || len(out.Response) > 2 {
		t.Fatalf("the acknowledgement carries %d bytes: %v", len(out.Response), err)
	}
	r.sees(ana, burst, "r-0015 8 x h100")
}

// An event is delivered four times and answered once, also by the process that
// comes after.
func TestB_F16_AnEventDeliveredFourTimesIsAnsweredOnce(t *testing.T) {
	r := newRig(t, slackd.Options{})
	r.talker.hear = func(context.Context, talk.Asker, talk.Interaction) ([]talk.Effect, error) { return nil, nil }
	r.begin()
	event := map[string]any{"type": "app_home_opened", "user": ana, "channel": "D0X", "tab": "home", "event_ts": "1.1"}
	send := func() {
		t.Helper()
		if err := r.Event(t.Context(), event, "Ev0SAME"); err != nil {
			t.Fatal(err)
		}
	}
	for range 4 {
		send()
	}
	r.until("it is received four times", func() bool { return r.figure("spillway_slack_received_total", "kind=home") == 4 })
	r.end()
	r.begin()
	send()
	r.until("and once more", func() bool { return r.figure("spillway_slack_received_total", "kind=home", "outcome=duplicate") == 1 })
	if n := r.talker.times(); n != 1 {
		t.Errorf("heard %d times", n)
	}
}

// Every third post is answered with 429 and a pause. Nothing is lost, Slack's
// pause is kept, and no call is made again and again.
func TestB_F17_APauseThatSlackAsksForIsKept(t *testing.T) {
	r := newRig(t, slackd.Options{})
	r.talker.tell = func(news []bridge.News) []talk.Effect {
		var out []talk.Effect
		for _, n := range news {
			out = append(out, card(n.Text, "shown"))
		}
		return out
	}
	r.begin()
	r.fault(slackd.Fault{On: "chat.postMessage", Kind: slackd.FaultRate, RetryAfter: 1, Every: 3})
	const cards = 8
	for i := range cards {
		if err := r.store.Tell(t.Context(), bridge.News{Kind: bridge.NewsAsked, Text: string(rune('a' + i))}); err != nil {
			t.Fatal(err)
		}
	}
	r.until("all are shown", func() bool { return len(r.texts(burst, mei)) == cards })
	calls, err := r.Calls(t.Context(), "chat.postMessage")
	if err != nil {
		t.Fatal(err)
	}
	refused := 0
	for _, c := range calls {
		if c.Status != http.StatusTooManyRequests {
			continue
		}
		refused++
		for _, later := range calls {
			if after := later.At.Sub(c.At); after > 0 && after < 990*time.Millisecond {
				t.Errorf("called %v after a pause of a second was asked for", after)
			}
		}
	}
	if refused == 0 || len(calls) != cards+refused {
		t.Errorf("%d calls for %d cards, %d were refused", len(calls), cards, refused)
	}
	if n := r.figure("spillway_slack_rate_limited_total", "method=chat.postMessage"); n != float64(refused) {
		t.Errorf("%v refusals are counted of %d", n, refused)
	}
}
