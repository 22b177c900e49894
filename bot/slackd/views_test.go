package slackd

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/slack-go/slack"
	"github.com/slack-go/slack/socketmode"
)

// form is a view with one field for each id, as JSON.
func form(title string, ids ...string) string {
	blocks := []object{}
	for _, id := range ids {
		blocks = append(blocks, object{
			"type": "input", "block_id": id, "label": object{"type": "plain_text", "text": id},
			"element": object{"type": "plain_text_input", "action_id": "v", "max_length": 20},
		})
	}
	text := func(s string) object { return object{"type": "plain_text", "text": s} }
	raw, _ := json.Marshal(object{"type": "modal", "title": text(title), "submit": text("Send"), "blocks": blocks, "callback_id": "cb", "notify_on_close": true})
	return string(raw)
}

// trigger has ana do something and returns its trigger_id.
func (r *rig) trigger() string {
	r.t.Helper()
	out, err := r.Command(r.t.Context(), ana, burst, "/rent")
	if err != nil || out.TriggerID == "" {
		r.t.Fatalf("%+v %v", out, err)
	}
	return out.TriggerID
}

func (r *rig) open(view string) string {
	r.t.Helper()
	got, _ := r.raw("views.open", url.Values{"trigger_id": {r.trigger()}, "view": {view}})
	if got["ok"] != true {
		r.t.Fatal(got)
	}
	return got["view"].(object)["id"].(string)
}

func TestATriggerIsGoodOnceForThreeSeconds(t *testing.T) {
	r := start(t, Options{})
	id := r.trigger()
	view := form("one", "a")
	r.refuses("invalid_arguments", "views.open", url.Values{"trigger_id": {id}, "view": {`{"type":"modal"}`}})
	if got, _ := r.raw("views.open", url.Values{"trigger_id": {id}, "view": {view}}); got["ok"] != true {
		t.Fatalf("a refused view uses no trigger up, but: %v", got)
	}
	r.refuses("exchanged_trigger_id", "views.open", url.Values{"trigger_id": {id}, "view": {view}})
	r.refuses("invalid_trigger_id", "views.open", url.Values{"trigger_id": {"1.2.x"}, "view": {view}})
	id = r.trigger()
	if err := r.Advance(t.Context(), triggerLife+time.Millisecond); err != nil {
		t.Fatal(err)
	}
	r.refuses("expired_trigger_id", "views.open", url.Values{"trigger_id": {id}, "view": {view}})
}

func TestFormsStackThreeHigh(t *testing.T) {
	r := start(t, Options{})
	r.refuses("not_found", "views.push", url.Values{"trigger_id": {r.trigger()}, "view": {form("x", "a")}})
	first := r.open(form("one", "a"))
	for range 2 {
		if got, _ := r.raw("views.push", url.Values{"trigger_id": {r.trigger()}, "view": {form("more", "a")}}); got["ok"] != true {
			t.Fatal(got)
		}
	}
	r.refuses("push_limit_reached", "views.push", url.Values{"trigger_id": {r.trigger()}, "view": {form("x", "a")}})
	views, err := r.Views(t.Context(), ana)
	if err != nil || len(views) != 3 || views[2].RootID != first || views[2].PreviousID != views[1].ID {
		t.Errorf("%v %v", views, err)
	}
}

func TestUpdatesKeepWhatWasTypedAndMindTheHash(t *testing.T) {
	r := start(t, Options{})
	r.listen(nil)
	id := r.open(form("one", "a", "b"))
	if out, err := r.PressInView(t.Context(), ana, id, "v", "typed"); err != nil || out.Outcome != Acked {
		t.Fatalf("%+v %v", out, err)
	}
	got, _ := r.raw("views.update", url.Values{"view_id": {id}, "hash": {"old"}, "view": {form("two", "a")}})
	if got["error"] != "hash_conflict" {
		t.Errorf("%v", got)
	}
	views, _ := r.Views(t.Context(), ana)
	if got, _ = r.raw("views.update", url.Values{"view_id": {id}, "hash": {views[0].Hash}, "view": {form("two", "a", "c")}}); got["ok"] != true {
		t.Fatal(got)
	}
	views, _ = r.Views(t.Context(), ana)
	want := map[string]map[string]any{
		"a": {"v": object{"type": "plain_text_input", "value": "typed"}},
		"c": {"v": object{"type": "plain_text_input", "value": nil}},
	}
	if diff := cmp.Diff(want, views[0].State.Values); diff != "" {
		t.Error(diff)
	}
	r.refuses("not_found", "views.update", url.Values{"view_id": {"V0NONE"}, "view": {form("x", "a")}})
}

func TestAFormIsSentAndAnswered(t *testing.T) {
	r := start(t, Options{})
	var answer atomic.Value
	answer.Store("")
	l := r.listen(func(c *socketmode.Client, e socketmode.Event) {
		if payload := answer.Load().(string); payload != "" && e.Type == socketmode.EventTypeInteractive {
			_ = c.Ack(*e.Request, json.RawMessage(payload))
			return
		}
		_ = c.Ack(*e.Request)
	})
	id := r.open(form("one", "a"))
	send := func(value string) Outcome {
		t.Helper()
		out, err := r.Submit(t.Context(), ana, id, map[string]map[string]any{"a": {"v": value}})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	stack := func() int {
		v, _ := r.Views(t.Context(), ana)
		return len(v)
	}
	if out := send(""); out.Outcome != Refused || !slices.Equal(out.Missing, []string{"a"}) {
		t.Errorf("an empty form: %+v", out)
	}
	if out := send(strings.Repeat("x", 21)); out.Outcome != Refused || out.Errors["a"] == "" {
		t.Errorf("a long text: %+v", out)
	}
	if n := len(l.events(socketmode.EventTypeInteractive)); n != 0 {
		t.Errorf("%d incomplete forms were delivered", n)
	}
	answer.Store(`{"response_action":"errors","errors":{"a":"no such project"}}`)
	if out := send("x"); out.Outcome != Acked || out.Errors["a"] != "no such project" || stack() != 1 {
		t.Errorf("errors: %+v", out)
	}
	answer.Store(`{"response_action":"errors","errors":{"zzz":"nowhere"}}`)
	if out := send("x"); out.Error == "" || stack() != 1 {
		t.Errorf("errors for a block that is not there: %+v", out)
	}
	answer.Store(`{"response_action":"push","view":` + form("two", "b") + `}`)
	if out := send("x"); out.Outcome != Acked || stack() != 2 {
		t.Errorf("push: %+v", out)
	}
	if out, _ := r.Submit(t.Context(), ana, id, nil); out.Outcome != Refused {
		t.Errorf("a form below another was sent: %+v", out)
	}
	views, _ := r.Views(t.Context(), ana)
	id = views[1].ID
	answer.Store(`{"response_action":"clear"}`)
	out, err := r.Submit(t.Context(), ana, id, map[string]map[string]any{"b": {"v": "x"}})
	if err != nil || out.Outcome != Acked || stack() != 0 {
		t.Errorf("clear: %+v %v", out, err)
	}
	got := l.events(socketmode.EventTypeInteractive)
	cb := got[len(got)-1].Data.(slack.InteractionCallback)
	if cb.Type != slack.InteractionTypeViewSubmission || cb.View.State.Values["b"]["v"].Value != "x" || cb.User.ID != ana || cb.View.CallbackID != "cb" {
		t.Errorf("the bot got %+v", cb)
	}
}

func TestClosingIsToldWhenAskedFor(t *testing.T) {
	r := start(t, Options{})
	l := r.listen(nil)
	id := r.open(form("one", "a"))
	if out, err := r.CloseView(t.Context(), tom, id); err != nil || out.Outcome != Refused {
		t.Errorf("tom closed ana's form: %+v %v", out, err)
	}
	if out, err := r.CloseView(t.Context(), ana, id); err != nil || out.Outcome != Acked {
		t.Fatalf("%+v %v", out, err)
	}
	got := l.events(socketmode.EventTypeInteractive)
	if len(got) != 1 || got[0].Data.(slack.InteractionCallback).Type != slack.InteractionTypeViewClosed {
		t.Errorf("%+v", got)
	}
}

const picker = `{"type":"modal","title":{"type":"plain_text","text":"t"},"submit":{"type":"plain_text","text":"Go"},"blocks":[
  {"type":"input","block_id":"p","label":{"type":"plain_text","text":"Project"},"element":{"type":"external_select","action_id":"project","min_query_length":1}}]}`

func TestOnlyWhatWasSuggestedCanBePicked(t *testing.T) {
	r := start(t, Options{})
	l := r.listen(func(c *socketmode.Client, e socketmode.Event) {
		if e.Type == socketmode.EventTypeInteractive && e.Data.(slack.InteractionCallback).Type == slack.InteractionTypeBlockSuggestion {
			_ = c.Ack(*e.Request, json.RawMessage(`{"options":[{"text":{"type":"plain_text","text":"nlp"},"value":"nlp"}]}`))
			return
		}
		_ = c.Ack(*e.Request)
	})
	id := r.open(picker)
	if out, _ := r.Suggest(t.Context(), ana, id, "project", ""); out.Outcome != Refused {
		t.Errorf("nothing typed: %+v", out)
	}
	out, err := r.Submit(t.Context(), ana, id, map[string]map[string]any{"p": {"project": "nlp"}})
	if err != nil || out.Outcome != Refused {
		t.Errorf("picked before it was offered: %+v %v", out, err)
	}
	if out, err = r.Suggest(t.Context(), ana, id, "project", "n"); err != nil || len(out.Options) != 1 {
		t.Fatalf("%+v %v", out, err)
	}
	out, err = r.Submit(t.Context(), ana, id, map[string]map[string]any{"p": {"project": "nlp"}})
	if err != nil || out.Outcome != Acked {
		t.Errorf("%+v %v", out, err)
	}
	got := l.events(socketmode.EventTypeInteractive)
	cb := got[0].Data.(slack.InteractionCallback)
	if cb.ActionID != "project" || cb.Value != "n" || cb.BlockID != "p" {
		t.Errorf("the bot was asked %+v", cb)
	}
}

func TestHomeIsPublishedAndOpened(t *testing.T) {
	r := start(t, Options{})
	l := r.listen(nil)
	home := `{"type":"home","blocks":[{"type":"actions","elements":[{"type":"button","action_id":"go","text":{"type":"plain_text","text":"Go"}}]}]}`
	r.refuses("invalid_arguments", "views.publish", url.Values{"user_id": {ana}, "view": {form("a modal", "a")}})
	if got, _ := r.raw("views.publish", url.Values{"user_id": {ana}, "view": {home}}); got["ok"] != true {
		t.Fatal(got)
	}
	v, err := r.Home(t.Context(), ana)
	if err != nil || v == nil {
		t.Fatal(v, err)
	}
	if out, err := r.PressInView(t.Context(), ana, v.ID, "go", nil); err != nil || out.Outcome != Acked {
		t.Errorf("%+v %v", out, err)
	}
	if _, err := r.OpenHome(t.Context(), ana); err != nil {
		t.Fatal(err)
	}
	r.eventually("the bot hears of it", func() bool { return len(l.events(socketmode.EventTypeEventsAPI)) == 1 })
	if other, _ := r.Home(t.Context(), tom); other != nil {
		t.Error("tom has ana's home")
	}
}
