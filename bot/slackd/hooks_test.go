package slackd

import (
	"fmt"
	"testing"
	"time"

	"github.com/slack-go/slack"
	"github.com/slack-go/slack/socketmode"
)

func buttonBlock(id string) slack.Block {
	return slack.NewActionBlock("", slack.NewButtonBlockElement(id, "v1", slack.NewTextBlockObject("plain_text", "Yes", false, false)))
}

// respond posts to a response_url.
func (r *rig) respond(url string, options ...slack.MsgOption) error {
	_, _, err := r.api.PostMessage("", append(options, slack.MsgOptionResponseURL(url, slack.ResponseTypeEphemeral))...)
	return err
}

func TestAResponseURLTakesFivePostsInHalfAnHour(t *testing.T) {
	r := start(t, Options{})
	l := r.listen(nil)
	ask := func() string {
		t.Helper()
		if out, err := r.Command(t.Context(), ana, burst, "/rent ls"); err != nil || out.Outcome != Acked {
			t.Fatalf("%+v %v", out, err)
		}
		got := l.events(socketmode.EventTypeSlashCommand)
		return got[len(got)-1].Data.(slack.SlashCommand).ResponseURL
	}
	first := ask()
	for i := range maxResponseURL {
		if err := r.respond(first, slack.MsgOptionText(fmt.Sprint("reply ", i), false)); err != nil {
			t.Fatalf("post %d: %v", i, err)
		}
	}
	if err := r.respond(first, slack.MsgOptionText("one too many", false)); err == nil {
		t.Error("a sixth post is taken")
	}
	if list, _ := r.Messages(t.Context(), burst, ana); len(list) != maxResponseURL || !list[0].IsEphemeral {
		t.Errorf("ana sees %d", len(list))
	}
	second := ask()
	if err := r.Advance(t.Context(), hookLife+time.Second); err != nil {
		t.Fatal(err)
	}
	if err := r.respond(second, slack.MsgOptionText("too late", false)); err == nil {
		t.Error("half an hour later a post is taken")
	}
}

func TestAButtonInAnEphemeralMessageReplacesIt(t *testing.T) {
	r := start(t, Options{})
	l := r.listen(nil)
	ts, err := r.api.PostEphemeral(burst, ana, slack.MsgOptionBlocks(buttonBlock("go")))
	if err != nil {
		t.Fatal(err)
	}
	if out, err := r.Press(t.Context(), tom, burst, ts, "go", nil); err != nil || out.Outcome != Refused {
		t.Fatalf("tom pressed what only ana sees: %+v %v", out, err)
	}
	if out, err := r.Press(t.Context(), ana, burst, ts, "go", nil); err != nil || out.Outcome != Acked {
		t.Fatalf("%+v %v", out, err)
	}
	cb := l.events(socketmode.EventTypeInteractive)[0].Data.(slack.InteractionCallback)
	action := cb.ActionCallback.BlockActions[0]
	if action.ActionID != "go" || action.Value != "v1" || !cb.Container.IsEphemeral || cb.Container.MessageTs != ts || cb.Channel.ID != burst || cb.User.ID != ana {
		t.Errorf("the bot got %+v", cb)
	}
	if err := r.respond(cb.ResponseURL, slack.MsgOptionText("done", false), slack.MsgOptionReplaceOriginal(cb.ResponseURL)); err != nil {
		t.Fatal(err)
	}
	if m := r.shown(burst, ts, ana); m == nil || m.Text != "done" || len(m.Blocks) != 0 {
		t.Errorf("ana sees %+v", m)
	}
	if err := r.respond(cb.ResponseURL, slack.MsgOptionDeleteOriginal(cb.ResponseURL)); err != nil {
		t.Fatal(err)
	}
	if r.shown(burst, ts, ana) != nil {
		t.Error("the message is still there")
	}
}

func TestAClickCarriesTheGridID(t *testing.T) {
	r := start(t, Options{})
	l := r.listen(nil)
	ts := r.post(burst, slack.MsgOptionBlocks(buttonBlock("go")))
	if out, err := r.Press(t.Context(), kim, burst, ts, "go", nil); err != nil || out.Outcome != Acked {
		t.Fatalf("%+v %v", out, err)
	}
	if cb := l.events(socketmode.EventTypeInteractive)[0].Data.(slack.InteractionCallback); cb.User.ID != "W0KIM0001" {
		t.Errorf("the click is by %s", cb.User.ID)
	}
}

func TestAStrangerClicksInASharedChannelWithTheirTeam(t *testing.T) {
	r := start(t, Options{})
	l := r.listen(nil)
	ts := r.post("C0SHARED1", slack.MsgOptionBlocks(buttonBlock("go")))
	if out, err := r.Press(t.Context(), "U0SAM0001", "C0SHARED1", ts, "go", nil); err != nil || out.Outcome != Acked {
		t.Fatalf("%+v %v", out, err)
	}
	if cb := l.events(socketmode.EventTypeInteractive)[0].Data.(slack.InteractionCallback); cb.Team.ID != "T0OTHER01" {
		t.Errorf("the click is of team %s", cb.Team.ID)
	}
}
