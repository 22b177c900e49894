package bot_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slack-go/slack"

	"spillway.sh/spillway/bot/slackd"
	"spillway.sh/spillway/bot/talk"
	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/desk"
)

func TestACommandIsAnsweredToItsAskerAlone(t *testing.T) {
	r := newRig(t, slackd.Options{})
	r.begin()
	r.command(wei, "/rent ls")
	r.sees(wei, burst, `you said "ls"`)
	if got := r.texts(burst, ana); len(got) != 0 {
		t.Errorf("others see %q", got)
	}
	who := r.talker.who[0]
	if who.Person.Name != "wei" || who.Lang != desk.Chinese || who.Zone.String() != "Asia/Shanghai" || who.Slack != wei {
		t.Errorf("wei is taken for %+v", who)
	}
	if n := r.figure("spillway_slack_ack_seconds"); n < 1 {
		t.Errorf("%v acknowledgements are counted", n)
	}
}

func TestNewsBecomeCardsThatAreEditedInPlace(t *testing.T) {
	r := newRig(t, slackd.Options{})
	r.talker.tell = func(news []bridge.News) []talk.Effect {
		var out []talk.Effect
		for _, n := range news {
			out = append(out, card(string(n.Rental), string(n.Kind)))
			if n.Kind == bridge.NewsApproved {
				out = append(out, talk.Effect{Surface: talk.Thread, Key: string(n.Rental), Message: text("decided")},
					talk.Effect{Surface: talk.Direct, Account: "ana", Key: "told", Message: text("yours is approved")})
			}
		}
		return out
	}
	r.begin()
	tell := func(kind bridge.NewsKind) {
		t.Helper()
		if err := r.store.Tell(t.Context(), bridge.News{Kind: kind, Rental: "r-0015"}); err != nil {
			t.Fatal(err)
		}
	}
	tell(bridge.NewsAsked)
	r.sees(mei, burst, "r-0015 asked")
	tell(bridge.NewsApproved)
	r.sees(mei, burst, "r-0015 approved")
	r.sees(mei, burst, "decided")
	dm, err := r.OpenDM(t.Context(), ana)
	if err != nil {
		t.Fatal(err)
	}
	r.sees(ana, dm.ID, "yours is approved")
	ms, err := r.Messages(t.Context(), burst, mei)
	if err != nil {
		t.Fatal(err)
	}
	if len(ms) != 2 || ms[1].ThreadTS != ms[0].TS {
		t.Errorf("the channel has %d messages, want the card and one in its thread", len(ms))
	}
	copies, err := r.store.Copies(t.Context(), "r-0015")
	if err != nil || len(copies) != 1 {
		t.Errorf("copies: %v, %v", copies, err)
	}
}

func TestAFormOpensAndItsMistakesComeBackInIt(t *testing.T) {
	r := newRig(t, slackd.Options{})
	r.talker.hear = func(_ context.Context, _ talk.Asker, in talk.Interaction) ([]talk.Effect, error) {
		switch {
		case in.Kind == talk.Submission && in.State["hours"] == "":
			return []talk.Effect{{Surface: talk.FormErrors, Errors: map[string]string{"hours-block": "for how long?"}}}, nil
		case in.Kind == talk.Submission:
			return reply("rented for %s", in.State["hours"]), nil
		}
		return []talk.Effect{{Surface: talk.Form, View: &slack.ModalViewRequest{
			Type: slack.VTModal, CallbackID: "rent", Title: slack.NewTextBlockObject(slack.PlainTextType, "Rent", false, false),
			Submit: slack.NewTextBlockObject(slack.PlainTextType, "Rent", false, false),
			Blocks: slack.Blocks{BlockSet: []slack.Block{optional(slack.NewInputBlock("hours-block", slack.NewTextBlockObject(slack.PlainTextType, "Hours", false, false), nil,
				slack.NewPlainTextInputBlockElement(nil, "hours")))}},
		}}}, nil
	}
	r.begin()
	r.command(ana, "/rent")
	var views []*slackd.View
	r.until("the form opens", func() bool {
		var err error
		views, err = r.Views(t.Context(), ana)
		return err == nil && len(views) == 1
	})
	out, err := r.Submit(t.Context(), ana, views[0].ID, map[string]map[string]any{"hours-block": {"hours": ""}})
	if err != nil || out.Errors["hours-block"] != "for how long?" {
		t.Fatalf("an empty form: %+v, %v", out, err)
	}
	out, err = r.Submit(t.Context(), ana, views[0].ID, map[string]map[string]any{"hours-block": {"hours": "6"}})
	if err != nil || out.Outcome != "acked" || len(out.Errors) != 0 {
		t.Fatalf("a good form: %+v, %v", out, err)
	}
	dm, err := r.OpenDM(t.Context(), ana)
	if err != nil {
		t.Fatal(err)
	}
	r.sees(ana, dm.ID, "rented for 6")
}

func optional(b *slack.InputBlock) *slack.InputBlock { return b.WithOptional(true) }

func TestAPanicIsAnsweredAndTheNextIsHeard(t *testing.T) {
	r := newRig(t, slackd.Options{})
	r.talker.hear = func(_ context.Context, _ talk.Asker, in talk.Interaction) ([]talk.Effect, error) {
		if in.Text == "boom" {
			panic("a bug")
		}
		return reply("fine"), nil
	}
	r.begin()
	r.command(wei, "/rent boom")
	r.sees(wei, burst, "日志编号")
	r.command(ana, "/rent ls")
	r.sees(ana, burst, "fine")
	if !strings.Contains(r.log.String(), "a bug") {
		t.Error("the log does not say what happened")
	}
}

func TestRemindersGoOutOnce(t *testing.T) {
	r := newRig(t, slackd.Options{})
	looks := make(chan struct{}, 100)
	r.talker.due = func(time.Time) []talk.Effect {
		select {
		case looks <- struct{}{}:
		default:
		}
		return []talk.Effect{{Surface: talk.Direct, Account: "mei", Once: "remind:r-0015:1", Message: text("still open")}}
	}
	r.begin()
	dm, err := r.OpenDM(t.Context(), mei)
	if err != nil {
		t.Fatal(err)
	}
	r.sees(mei, dm.ID, "still open")
	for range 5 {
		<-looks
	}
	r.end()
	r.begin()
	for range 3 {
		<-looks
	}
	if got := r.texts(dm.ID, mei); len(got) != 1 {
		t.Errorf("mei was reminded %d times: %q", len(got), got)
	}
}

func TestHomeIsPublished(t *testing.T) {
	r := newRig(t, slackd.Options{})
	r.talker.hear = func(_ context.Context, who talk.Asker, _ talk.Interaction) ([]talk.Effect, error) {
		return []talk.Effect{{Surface: talk.Tab, Message: talk.Message{Blocks: []slack.Block{
			slack.NewSectionBlock(slack.NewTextBlockObject(slack.PlainTextType, "rentals of "+who.Person.Name, false, false), nil, nil),
		}}}}, nil
	}
	r.begin()
	if _, err := r.OpenHome(t.Context(), ana); err != nil {
		t.Fatal(err)
	}
	r.until("ana has a home", func() bool {
		v, err := r.Home(t.Context(), ana)
		return err == nil && v != nil
	})
}

func TestAutocompleteIsAnsweredInTheAcknowledgement(t *testing.T) {
	r := newRig(t, slackd.Options{})
	r.talker.hear = func(context.Context, talk.Asker, talk.Interaction) ([]talk.Effect, error) {
		pick := slack.NewOptionsSelectBlockElement(slack.OptTypeExternal, slack.NewTextBlockObject(slack.PlainTextType, "Project", false, false), "project")
		return []talk.Effect{{Surface: talk.Form, View: &slack.ModalViewRequest{
			Type: slack.VTModal, CallbackID: "rent", Title: slack.NewTextBlockObject(slack.PlainTextType, "Rent", false, false),
			Submit: slack.NewTextBlockObject(slack.PlainTextType, "Rent", false, false),
			Blocks: slack.Blocks{BlockSet: []slack.Block{slack.NewInputBlock("p", slack.NewTextBlockObject(slack.PlainTextType, "Project", false, false), nil, pick)}},
		}}}, nil
	}
	r.begin()
	r.command(ana, "/rent")
	var views []*slackd.View
	r.until("the form opens", func() bool {
		views, _ = r.Views(t.Context(), ana)
		return len(views) == 1
	})
	out, err := r.Suggest(t.Context(), ana, views[0].ID, "project", "nlp")
	if err != nil || len(out.Options) != 1 {
		t.Fatalf("suggestions: %+v, %v", out, err)
	}
	if n := r.talker.times(); n != 1 {
		t.Errorf("a suggestion was heard as something said: %d", n)
	}
	if ks, err := r.store.Knocks(t.Context(), 10); err != nil || slices.ContainsFunc(ks, func(k bridge.Knock) bool { return strings.HasPrefix(k.Key, "options") }) {
		t.Errorf("suggestions are stored: %v, %v", ks, err)
	}
}
