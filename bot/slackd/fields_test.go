package slackd

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/slack-go/slack"
	"github.com/slack-go/slack/socketmode"
)

func TestValuesBecomeSlacksStates(t *testing.T) {
	nlp := object{"text": object{"type": "plain_text", "text": "nlp"}, "value": "nlp"}
	vis := object{"text": object{"type": "plain_text", "text": "vision"}, "value": "vision"}
	both := []any{nlp, vis}
	groups := []any{object{"label": object{"type": "plain_text", "text": "g"}, "options": both}}
	for name, c := range map[string]struct {
		element object
		given   any
		want    object // nil: refused
	}{
		"a text":                       {object{"type": "plain_text_input"}, "x", object{"type": "plain_text_input", "value": "x"}},
		"no text":                      {object{"type": "plain_text_input"}, "", object{"type": "plain_text_input", "value": nil}},
		"too short a text":             {object{"type": "plain_text_input", "min_length": 2.0}, "x", nil},
		"a list where text belongs":    {object{"type": "plain_text_input"}, []any{"x"}, nil},
		"a number":                     {object{"type": "number_input", "is_decimal_allowed": true}, 1.5, object{"type": "number_input", "value": "1.5"}},
		"a fraction where none may be": {object{"type": "number_input", "is_decimal_allowed": false}, "1.5", nil},
		"words where a number belongs": {object{"type": "number_input", "is_decimal_allowed": true}, "six", nil},
		"an option":                    {object{"type": "static_select", "options": both}, "nlp", object{"type": "static_select", "selected_option": nlp}},
		"an option of a group":         {object{"type": "static_select", "option_groups": groups}, "vision", object{"type": "static_select", "selected_option": vis}},
		"an option as a whole":         {object{"type": "radio_buttons", "options": both}, object{"value": "nlp"}, object{"type": "radio_buttons", "selected_option": nlp}},
		"an option taken back":         {object{"type": "static_select", "options": both}, nil, object{"type": "static_select", "selected_option": nil}},
		"an option that is not there":  {object{"type": "static_select", "options": both}, "speech", nil},
		"the first choice of external": {object{"type": "external_select", "initial_option": nlp}, "nlp", object{"type": "external_select", "selected_option": nlp}},
		"several options":              {object{"type": "multi_static_select", "options": both}, []any{"nlp", "vision"}, object{"type": "multi_static_select", "selected_options": both}},
		"one of several":               {object{"type": "checkboxes", "options": both}, "nlp", object{"type": "checkboxes", "selected_options": []any{nlp}}},
		"none of several":              {object{"type": "checkboxes", "options": both}, "", object{"type": "checkboxes", "selected_options": []any{}}},
		"several that are not there":   {object{"type": "checkboxes", "options": both}, []any{"speech"}, nil},
		"a day":                        {object{"type": "datepicker"}, "2026-12-01", object{"type": "datepicker", "selected_date": "2026-12-01"}},
		"a time":                       {object{"type": "timepicker"}, "18:00", object{"type": "timepicker", "selected_time": "18:00"}},
		"an instant":                   {object{"type": "datetimepicker"}, "1796000000", object{"type": "datetimepicker", "selected_date_time": 1796000000}},
		"an instant in words":          {object{"type": "datetimepicker"}, "noon", nil},
		"a person":                     {object{"type": "users_select"}, ana, object{"type": "users_select", "selected_user": ana}},
		"a channel":                    {object{"type": "channels_select"}, burst, object{"type": "channels_select", "selected_channel": burst}},
		"a conversation":               {object{"type": "conversations_select"}, burst, object{"type": "conversations_select", "selected_conversation": burst}},
		"several people":               {object{"type": "multi_users_select"}, []any{ana}, object{"type": "multi_users_select", "selected_users": []any{ana}}},
		"no channels":                  {object{"type": "multi_channels_select"}, nil, object{"type": "multi_channels_select", "selected_channels": []any{}}},
		"no conversations":             {object{"type": "multi_conversations_select"}, nil, object{"type": "multi_conversations_select", "selected_conversations": []any{}}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := choose(c.element, c.given, nil)
			if (err != nil) != (c.want == nil) {
				t.Fatalf("got %v, %v", got, err)
			}
			if diff := cmp.Diff(c.want, got); err == nil && diff != "" {
				t.Error(diff)
			}
			if err == nil && blank(plain(got)) != (c.given == nil || c.given == "") {
				t.Errorf("blank is %v", blank(plain(got)))
			}
		})
	}
}

func TestAMenuAndAnOverflowSendWhatWasChosen(t *testing.T) {
	r := start(t, Options{})
	l := r.listen(nil)
	opt := func(v string) *slack.OptionBlockObject {
		return slack.NewOptionBlockObject(v, slack.NewTextBlockObject("plain_text", v, false, false), nil)
	}
	menu := slack.NewOptionsSelectBlockElement("static_select", slack.NewTextBlockObject("plain_text", "pick", false, false), "menu", opt("a"), opt("b"))
	ts := r.post(burst, slack.MsgOptionBlocks(slack.NewActionBlock("row", menu, slack.NewOverflowBlockElement("more", opt("c"), opt("d")))))
	for action, value := range map[string]string{"menu": "b", "more": "d"} {
		if out, err := r.Press(t.Context(), ana, burst, ts, action, value); err != nil || out.Outcome != Acked {
			t.Fatalf("%+v %v", out, err)
		}
		got := l.events(socketmode.EventTypeInteractive)
		a := got[len(got)-1].Data.(slack.InteractionCallback).ActionCallback.BlockActions[0]
		if a.ActionID != action || a.SelectedOption.Value != value || a.BlockID != "row" {
			t.Errorf("the bot got %+v", a)
		}
		if out, _ := r.Press(t.Context(), ana, burst, ts, action, "zzz"); out.Outcome != Refused {
			t.Errorf("an option that is not there: %+v", out)
		}
	}
}

func TestExternalIDsAreUsedOnce(t *testing.T) {
	r := start(t, Options{})
	named := strings.Replace(form("one", "a"), `"callback_id"`, `"external_id":"mine","callback_id"`, 1)
	r.open(named)
	r.refuses("duplicate_external_id", "views.push", url.Values{"trigger_id": {r.trigger()}, "view": {named}})
	if got, _ := r.raw("views.update", url.Values{"external_id": {"mine"}, "view": {named}}); got["ok"] != true {
		t.Errorf("%v", got)
	}
	r.refuses("view_too_large", "views.update", url.Values{"external_id": {"mine"}, "view": {`{"type":"modal","x":"` + strings.Repeat("x", maxViewBytes) + `"}`}})
}

func TestAnEnterpriseIsNamedInWhatPeopleDo(t *testing.T) {
	w := DefaultWorkspace()
	w.Team.EnterpriseID = "E0GRID001"
	r := start(t, Options{Workspace: w})
	l := r.listen(nil)
	dm, err := r.OpenDM(t.Context(), ana)
	if err != nil {
		t.Fatal(err)
	}
	if out, err := r.Command(t.Context(), ana, dm.ID, "/rent ls"); err != nil || out.Outcome != Acked {
		t.Fatalf("%+v %v", out, err)
	}
	cmd := l.events(socketmode.EventTypeSlashCommand)[0].Data.(slack.SlashCommand)
	if cmd.EnterpriseID != "E0GRID001" || cmd.ChannelName != "directmessage" {
		t.Errorf("the bot got %+v", cmd)
	}
	ts := r.post(dm.ID, slack.MsgOptionBlocks(buttonBlock("go")))
	if out, err := r.Press(t.Context(), ana, dm.ID, ts, "go", nil); err != nil || out.Outcome != Acked {
		t.Fatalf("%+v %v", out, err)
	}
	if cb := l.events(socketmode.EventTypeInteractive)[0].Data.(slack.InteractionCallback); cb.Enterprise.ID != "E0GRID001" || cb.Channel.Name != "directmessage" {
		t.Errorf("the bot got %+v", cb.Enterprise)
	}
}

func TestAnswersForTheChannelAndWithBlocks(t *testing.T) {
	r := start(t, Options{})
	answer := ""
	r.listen(func(c *socketmode.Client, e socketmode.Event) { _ = c.Ack(*e.Request, json.RawMessage(answer)) })
	answer = `{"response_type":"in_channel","text":"for all"}`
	if out, err := r.Command(t.Context(), ana, burst, "/rent ls"); err != nil || out.Error != "" {
		t.Fatalf("%+v %v", out, err)
	}
	if list, _ := r.Messages(t.Context(), burst, tom); len(list) != 1 || list[0].IsEphemeral {
		t.Errorf("tom sees %v", list)
	}
	answer = `{"blocks":[{"type":"section"}]}`
	if out, _ := r.Command(t.Context(), ana, burst, "/rent ls"); out.Error != "invalid_blocks" {
		t.Errorf("%+v", out)
	}
}

func TestAFormIsReplacedByAnother(t *testing.T) {
	r := start(t, Options{})
	answer := `{"response_action":"update","view":` + form("two", "b") + `}`
	r.listen(func(c *socketmode.Client, e socketmode.Event) {
		if e.Type == socketmode.EventTypeInteractive {
			_ = c.Ack(*e.Request, json.RawMessage(answer))
			return
		}
		_ = c.Ack(*e.Request)
	})
	id := r.open(form("one", "a"))
	if out, err := r.Submit(t.Context(), ana, id, map[string]map[string]any{"a": {"v": "x"}}); err != nil || out.Error != "" {
		t.Fatalf("%+v %v", out, err)
	}
	views, _ := r.Views(t.Context(), ana)
	if len(views) != 1 || views[0].ID != id || !strings.Contains(string(views[0].Title), "two") {
		t.Errorf("%+v", views)
	}
	answer = `{"response_action":"update","view":{"type":"modal"}}`
	if out, _ := r.Submit(t.Context(), ana, id, map[string]map[string]any{"b": {"v": "x"}}); out.Error != "invalid_arguments" {
		t.Errorf("%+v", out)
	}
	answer = `{"response_action":"sing"}`
	if out, _ := r.Submit(t.Context(), ana, id, map[string]map[string]any{"b": {"v": "x"}}); out.Error == "" {
		t.Errorf("%+v", out)
	}
}

func TestSuggestionsInGroups(t *testing.T) {
	r := start(t, Options{})
	answer := `{"option_groups":[{"label":{"type":"plain_text","text":"mine"},"options":[{"text":{"type":"plain_text","text":"nlp"},"value":"nlp"}]}]}`
	r.listen(func(c *socketmode.Client, e socketmode.Event) { _ = c.Ack(*e.Request, json.RawMessage(answer)) })
	id := r.open(picker)
	out, err := r.Suggest(t.Context(), ana, id, "project", "n")
	if err != nil || len(out.OptionGroups) != 1 {
		t.Fatalf("%+v %v", out, err)
	}
	if out, err := r.PressInView(t.Context(), ana, id, "project", "nlp"); err != nil || out.Outcome != Acked {
		t.Errorf("%+v %v", out, err)
	}
	for _, bad := range []string{`{"options":[{"value":"x"}]}`, `{"option_groups":[{"options":[]}]}`, `[]`} {
		answer = bad
		if out, _ := r.Suggest(t.Context(), ana, id, "project", "n"); out.Error == "" {
			t.Errorf("%s is taken: %+v", bad, out)
		}
	}
}

func TestADuplicateOverHTTPComesTwice(t *testing.T) {
	r := start(t, Options{})
	e := r.behind(nil)
	r.fault(Fault{On: "slash_commands", Kind: FaultDuplicate, Times: 1})
	if out, err := r.Command(t.Context(), ana, burst, "/rent ls"); err != nil || out.Outcome != Acked {
		t.Fatalf("%+v %v", out, err)
	}
	r.eventually("it comes twice", func() bool { return len(e.requests()) == 2 })
	got := e.requests()
	if got[0].Form.Get("trigger_id") != got[1].Form.Get("trigger_id") || got[0].Header.Get("X-Slack-Signature") != got[1].Header.Get("X-Slack-Signature") {
		t.Error("the copies differ")
	}
}

func TestWhatThePageReads(t *testing.T) {
	r := start(t, Options{})
	var w struct {
		Team        Team
		App         map[string]any
		Users       []User
		Channels    []Channel
		Mode        string
		Connections int
		Clock       clockState
	}
	if err := r.get(t.Context(), "workspace", &w); err != nil || w.Team.ID != "T0HPC0001" || len(w.Users) < 12 || w.Mode != "socket" || w.Clock.Now.IsZero() {
		t.Errorf("%+v %v", w, err)
	}
	for key := range w.App {
		if strings.Contains(key, "token") || strings.Contains(key, "secret") {
			t.Errorf("the app's %s is shown", key)
		}
	}
	names := func(user string) []string {
		var out struct{ Channels []Channel }
		if err := r.get(t.Context(), "channels?user="+user, &out); err != nil {
			t.Fatal(err)
		}
		var list []string
		for _, c := range out.Channels {
			list = append(list, c.Name)
		}
		return list
	}
	if got := names(ana); slices.Contains(got, "board") || !slices.Contains(got, "general") {
		t.Errorf("ana sees %v", got)
	}
	if got := names("U0GUS0001"); !slices.Equal(got, []string{"burst"}) {
		t.Errorf("a guest sees %v", got)
	}
	if got := names(lea); !slices.Contains(got, "board") {
		t.Errorf("lea sees %v", got)
	}
	answer, err := r.HTTP.Get(r.Base + "/")
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatal(answer, err)
	}
	_ = answer.Body.Close()
}

func TestOnlyTheLastMessagesWhenAskedFor(t *testing.T) {
	r := start(t, Options{})
	for _, text := range []string{"one", "two", "three"} {
		r.post(burst, slack.MsgOptionText(text, false))
	}
	var out struct{ Messages []Message }
	if err := r.get(t.Context(), "messages?channel="+burst+"&user="+ana+"&limit=2", &out); err != nil || len(out.Messages) != 2 || out.Messages[1].Text != "three" {
		t.Errorf("%+v %v", out, err)
	}
}

func TestRichTextIsCounted(t *testing.T) {
	text := object{"type": "rich_text", "elements": []any{object{"type": "rich_text_section", "elements": []any{object{"type": "text", "text": chars(maxMessageText + 1)}}}}}
	if flaws, long := judged(t, []any{text}); len(flaws) > 0 || !long {
		t.Errorf("%v %v", flaws, long)
	}
	if flaws, _ := judged(t, []any{object{"type": "rich_text", "elements": []any{object{"type": "song"}}}}); len(flaws) == 0 {
		t.Error("a song is taken")
	}
}
