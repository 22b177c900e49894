package slackd

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/slack-go/slack"
)

func section(text string) slack.Block {
	return slack.NewSectionBlock(slack.NewTextBlockObject("mrkdwn", text, false, false), nil, nil)
}

func TestTokensAreCheckedAsSlackDoes(t *testing.T) {
	r := start(t, Options{})
	tokens := r.server.Tokens()
	ask := func(method, header, contentType, body string) map[string]any {
		q, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, r.Base+"/api/"+method, strings.NewReader(body))
		q.Header.Set("Content-Type", contentType)
		if header != "" {
			q.Header.Set("Authorization", "Bearer "+header)
		}
		got, _ := r.answer(q)
		return got
	}
	const form, asJSON = "application/x-www-form-urlencoded", "application/json; charset=utf-8"
	for name, c := range map[string]struct{ method, header, kind, body, want string }{
		"no token":                                {"auth.test", "", form, "", "not_authed"},
		"a wrong token":                           {"auth.test", "xoxb-wrong", form, "", "invalid_auth"},
		"the token in a form":                     {"auth.test", "", form, "token=" + tokens.Bot, ""},
		"a token in a JSON body does not count":   {"auth.test", "", asJSON, `{"token":"` + tokens.Bot + `"}`, "not_authed"},
		"a token in the address does not count":   {"auth.test?token=" + tokens.Bot, "", form, "", "not_authed"},
		"JSON with a header":                      {"chat.postMessage", tokens.Bot, asJSON, `{"channel":"C0BURST01","text":"hi"}`, ""},
		"JSON that is broken":                     {"chat.postMessage", tokens.Bot, asJSON, `{"channel"`, "invalid_json"},
		"the app's token where the bot's belongs": {"chat.postMessage", tokens.App, form, "channel=C0BURST01&text=x", "not_allowed_token_type"},
		"the bot's token where the app's belongs": {"apps.connections.open", tokens.Bot, form, "", "not_allowed_token_type"},
		"a method that is not there":              {"chat.sing", tokens.Bot, form, "", "unknown_method"},
		"a post of another type":                  {"auth.test", tokens.Bot, "text/plain", "x", "invalid_post_type"},
	} {
		t.Run(name, func(t *testing.T) {
			got := ask(c.method, c.header, c.kind, c.body)
			if errName, _ := got["error"].(string); errName != c.want || got["ok"] != (c.want == "") {
				t.Errorf("want %q, got %v", c.want, got)
			}
		})
	}
}

func TestScopesAreShownAndMissed(t *testing.T) {
	r := start(t, Options{})
	_, answer := r.raw("auth.test", nil)
	if got := answer.Header.Get("X-OAuth-Scopes"); !strings.Contains(got, "chat:write,") {
		t.Errorf("X-OAuth-Scopes is %q", got)
	}
	if err := r.Scopes(t.Context(), []string{"commands"}); err != nil {
		t.Fatal(err)
	}
	got := r.refuses("missing_scope", "chat.postMessage", url.Values{"channel": {burst}, "text": {"x"}})
	if got["needed"] != "chat:write" || got["provided"] != "commands" {
		t.Errorf("got %v", got)
	}
	if _, err := r.api.GetUserInfo(ana); err == nil {
		t.Error("users.info without users:read")
	}
}

func TestPostsAreRefusedWithSlacksNames(t *testing.T) {
	r := start(t, Options{})
	for name, c := range map[string]struct {
		want, method string
		form         url.Values
	}{
		"a channel that is not there":      {"channel_not_found", "chat.postMessage", url.Values{"channel": {"C0NOWHERE"}, "text": {"x"}}},
		"a private channel without us":     {"channel_not_found", "chat.postMessage", url.Values{"channel": {"C0SECRET1"}, "text": {"x"}}},
		"a public channel without us":      {"not_in_channel", "chat.postMessage", url.Values{"channel": {general}, "text": {"x"}}},
		"an archived channel":              {"is_archived", "chat.postMessage", url.Values{"channel": {"C0ATTIC01"}, "text": {"x"}}},
		"nothing to say":                   {"no_text", "chat.postMessage", url.Values{"channel": {burst}}},
		"too much to say":                  {"msg_too_long", "chat.postMessage", url.Values{"channel": {burst}, "text": {strings.Repeat("x", maxPostText+1)}}},
		"a thread that is not there":       {"thread_not_found", "chat.postMessage", url.Values{"channel": {burst}, "text": {"x"}, "thread_ts": {"1.000000"}}},
		"a person of another team":         {"channel_not_found", "chat.postMessage", url.Values{"channel": {"U0SAM0001"}, "text": {"x"}}},
		"another bot":                      {"cannot_dm_bot", "chat.postMessage", url.Values{"channel": {"U0CIB0001"}, "text": {"x"}}},
		"a deactivated person":             {"account_inactive", "chat.postMessage", url.Values{"channel": {"U0OLD0001"}, "text": {"x"}}},
		"an ephemeral to a stranger there": {"user_not_in_channel", "chat.postEphemeral", url.Values{"channel": {burst}, "user": {"U0SAM0001"}, "text": {"x"}}},
		"an update of nothing":             {"message_not_found", "chat.update", url.Values{"channel": {burst}, "ts": {"1.000000"}, "text": {"x"}}},
		"an update in a person":            {"channel_not_found", "chat.update", url.Values{"channel": {ana}, "ts": {"1.000000"}, "text": {"x"}}},
		"a link to nothing":                {"message_not_found", "chat.getPermalink", url.Values{"channel": {burst}, "message_ts": {"1.000000"}}},
		"a user that is not there":         {"user_not_found", "users.info", url.Values{"user": {"U0NOBODY1"}}},
		"an address nobody has":            {"users_not_found", "users.lookupByEmail", url.Values{"email": {"x@hpc.example"}}},
		"an address of one who left":       {"users_not_found", "users.lookupByEmail", url.Values{"email": {"olga@hpc.example"}}},
		"a group that is not there":        {"no_such_subteam", "usergroups.users.list", url.Values{"usergroup": {"S0NONE"}}},
		"a direct message to who left":     {"user_disabled", "conversations.open", url.Values{"users": {"U0OLD0001"}}},
		"to join what needs a scope":       {"missing_scope", "conversations.join", url.Values{"channel": {general}}},
		"to ask about a direct message":    {"channel_not_found", "conversations.info", url.Values{"channel": {"D0NONE"}}},
		"a cursor that is none":            {"invalid_cursor", "conversations.list", url.Values{"cursor": {"!"}}},
	} {
		t.Run(name, func(t *testing.T) {
			r := *r
			r.t = t
			r.refuses(c.want, c.method, c.form)
		})
	}
}

func TestAMessageIsChangedOnlyByItsOwner(t *testing.T) {
	r := start(t, Options{})
	var out struct{ Message *Message }
	if err := r.do(t.Context(), "say", act{User: ana, Channel: burst, Text: "hello"}, &out); err != nil {
		t.Fatal(err)
	}
	form := url.Values{"channel": {burst}, "ts": {out.Message.TS}, "text": {"x"}}
	r.refuses("cant_update_message", "chat.update", form)
	r.refuses("cant_delete_message", "chat.delete", form)
	ts := r.post(burst, slack.MsgOptionText("mine", false))
	if _, _, err := r.api.DeleteMessage(burst, ts); err != nil {
		t.Error(err)
	}
	if r.shown(burst, ts, "") != nil {
		t.Error("the message is still there")
	}
	ts, err := r.api.PostEphemeral(burst, ana, slack.MsgOptionText("psst", false))
	if err != nil {
		t.Fatal(err)
	}
	r.refuses("message_not_found", "chat.update", url.Values{"channel": {burst}, "ts": {ts}, "text": {"x"}})
	if m := r.shown(burst, ts, ana); m == nil || m.Text != "psst" {
		t.Error("ana does not see what is for her")
	}
	if r.shown(burst, ts, tom) != nil {
		t.Error("tom sees what is for ana")
	}
}

func TestUpdateWithoutBlocksTakesThemAway(t *testing.T) {
	r := start(t, Options{})
	attached := slack.MsgOptionAttachments(slack.Attachment{Text: "kept"})
	ts := r.post(burst, slack.MsgOptionText("a", false), slack.MsgOptionBlocks(section("*a*")), attached)
	if m := r.shown(burst, ts, ana); len(m.Blocks) == 0 || len(m.Attachments) == 0 {
		t.Fatalf("posted %+v", m)
	}
	if got, _ := r.raw("chat.update", url.Values{"channel": {burst}, "ts": {ts}, "text": {"b"}}); got["ok"] != true {
		t.Fatal(got)
	}
	if m := r.shown(burst, ts, ana); len(m.Blocks) != 0 || len(m.Attachments) == 0 || m.Text != "b" || m.Edited == nil {
		t.Errorf("text alone: %+v", m)
	}
	if got, _ := r.raw("chat.update", url.Values{"channel": {burst}, "ts": {ts}, "text": {"b"}, "attachments": {"[]"}}); got["ok"] != true {
		t.Fatal(got)
	}
	if m := r.shown(burst, ts, ana); len(m.Attachments) != 0 {
		t.Errorf("an empty list keeps attachments: %+v", m)
	}
	r.refuses("msg_too_long", "chat.update", url.Values{"channel": {burst}, "ts": {ts}, "text": {strings.Repeat("x", maxUpdateText+1)}})
}

func TestStampsAreUnique(t *testing.T) {
	r := start(t, Options{Speed: 1e6})
	var mu sync.Mutex
	seen := map[string]bool{}
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for range 25 {
				_, ts, err := r.api.PostMessage(burst, slack.MsgOptionText(fmt.Sprint(i), false))
				_, micro, _ := strings.Cut(ts, ".")
				mu.Lock()
				if err != nil || seen[ts] || len(micro) != 6 {
					t.Errorf("ts %q %v", ts, err)
				}
				seen[ts] = true
				mu.Unlock()
			}
		})
	}
	all.Wait()
}

func TestDirectMessagesAreOpenedByPosting(t *testing.T) {
	r := start(t, Options{})
	channel, ts, err := r.api.PostMessage(ana, slack.MsgOptionText("hi", false))
	if err != nil || !strings.HasPrefix(channel, "D") {
		t.Fatal(channel, err)
	}
	opened, _, already, err := r.api.OpenConversation(&slack.OpenConversationParameters{Users: []string{ana}})
	if err != nil || opened.ID != channel || !already {
		t.Errorf("%v %v %v", opened, already, err)
	}
	if _, _, _, err := r.api.UpdateMessage(channel, ts, slack.MsgOptionText("hi again", false)); err != nil {
		t.Error(err)
	}
	if m := r.shown(channel, ts, ana); m == nil || m.Text != "hi again" {
		t.Errorf("ana sees %+v", m)
	}
	if r.shown(channel, ts, tom) != nil {
		t.Error("tom reads ana's direct messages")
	}
}

func TestThreadsCountTheirReplies(t *testing.T) {
	r := start(t, Options{})
	parent := r.post(burst, slack.MsgOptionText("card", false))
	reply := r.post(burst, slack.MsgOptionText("more", false), slack.MsgOptionTS(parent))
	if m := r.shown(burst, parent, ana); m.ReplyCount != 1 || m.LatestReply != reply || m.ThreadTS != parent {
		t.Errorf("parent is %+v", m)
	}
	link, err := r.api.GetPermalink(&slack.PermalinkParameters{Channel: burst, Ts: reply})
	if err != nil || !strings.Contains(link, "thread_ts="+parent) {
		t.Errorf("%q %v", link, err)
	}
	answer, err := r.HTTP.Get(link)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	if got := answer.Request.URL.Query(); got.Get("channel") != burst || got.Get("ts") != reply {
		t.Errorf("the link leads to %s", answer.Request.URL)
	}
	alone := r.post(burst, slack.MsgOptionText("alone", false))
	ts, err := r.api.PostEphemeral(burst, ana, slack.MsgOptionText("lost", false), slack.MsgOptionTS(alone))
	if err != nil || r.shown(burst, ts, ana) != nil {
		t.Errorf("an ephemeral reply shows in a thread without replies (%v)", err)
	}
}

func TestPeopleAreShownAsSlackShowsThem(t *testing.T) {
	r := start(t, Options{})
	u, err := r.api.GetUserInfo(wei)
	if err != nil || u.Locale != "zh-CN" || u.TZ != "Asia/Shanghai" || u.Profile.Email != "wei@hpc.example" {
		t.Errorf("%+v %v", u, err) // slack-go always asks for the locale
	}
	if got, _ := r.raw("users.info", url.Values{"user": {wei}}); got["user"].(map[string]any)["locale"] != nil {
		t.Error("a locale nobody asked for")
	}
	u, err = r.api.GetUserInfo("W0KIM0001")
	if err != nil || u.Enterprise.ID != "W0KIM0001" {
		t.Errorf("%+v %v", u, err)
	}
	for id, flag := range map[string]func(*slack.User) bool{
		"U0GUS0001": func(u *slack.User) bool { return u.IsRestricted },
		"U0UMA0001": func(u *slack.User) bool { return u.IsUltraRestricted },
		"U0OLD0001": func(u *slack.User) bool { return u.Deleted },
		"U0SAM0001": func(u *slack.User) bool { return u.IsStranger && u.TeamID == "T0OTHER01" },
		"U0CIB0001": func(u *slack.User) bool { return u.IsBot },
	} {
		if u, err := r.api.GetUserInfo(id); err != nil || !flag(u) {
			t.Errorf("%s: %+v %v", id, u, err)
		}
	}
	members, err := r.api.GetUserGroupMembers("S0APPROV1")
	if err != nil || len(members) != 3 {
		t.Errorf("%v %v", members, err)
	}
	groups, err := r.api.GetUserGroups(slack.GetUserGroupsOptionIncludeUsers(true))
	if err != nil || len(groups) != 3 || len(groups[0].Users) != 3 {
		t.Errorf("%v %v", groups, err)
	}
	users, err := r.api.GetUsers(slack.GetUsersOptionLimit(5))
	if err != nil || len(users) != len(r.server.work.Users) {
		t.Errorf("%d users in pages, %v", len(users), err)
	}
}

func TestAnEnterpriseAppHasToNameTheTeam(t *testing.T) {
	w := DefaultWorkspace()
	w.Team.EnterpriseID, w.Team.OrgInstall = "E0GRID001", true
	r := start(t, Options{Workspace: w})
	for _, method := range []string{"users.list", "usergroups.list", "usergroups.users.list", "conversations.list"} {
		r.refuses("missing_argument", method, url.Values{"usergroup": {"S0APPROV1"}})
		if got, _ := r.raw(method, url.Values{"usergroup": {"S0APPROV1"}, "team_id": {w.Team.ID}}); got["ok"] != true {
			t.Errorf("%s: %v", method, got)
		}
	}
	if got, _ := r.raw("auth.test", nil); got["team_id"] != "E0GRID001" || got["is_enterprise_install"] != true {
		t.Errorf("auth.test: %v", got)
	}
}

func TestChannelsAreListedByScopeAndMembership(t *testing.T) {
	r := start(t, Options{})
	list, next, err := r.api.GetConversations(&slack.GetConversationsParameters{Types: []string{"public_channel", "private_channel"}, Limit: 4, ExcludeArchived: true})
	if err != nil || len(list) != 4 || next != "" {
		t.Errorf("%v %q %v", list, next, err)
	}
	info, err := r.api.GetConversationInfo(&slack.GetConversationInfoInput{ChannelID: "C0SHARED1"})
	if err != nil || !info.IsExtShared || !info.IsMember {
		t.Errorf("%+v %v", info, err)
	}
	if err := r.Scopes(t.Context(), append([]string{"channels:join"}, r.server.work.App.Scopes...)); err != nil {
		t.Fatal(err)
	}
	if _, _, _, err := r.api.JoinConversation(general); err != nil {
		t.Error(err)
	}
	r.post(general, slack.MsgOptionText("here", false))
	members, _, err := r.api.GetUsersInConversation(&slack.GetUsersInConversationParameters{ChannelID: general})
	if err != nil || len(members) == 0 {
		t.Errorf("%v %v", members, err)
	}
	r.refuses("method_not_supported_for_channel_type", "conversations.join", url.Values{"channel": {"C0LEADS01"}})
}

func TestReactions(t *testing.T) {
	w := DefaultWorkspace()
	w.App.Scopes = append(w.App.Scopes, "reactions:write")
	r := start(t, Options{Workspace: w})
	ts := r.post(burst, slack.MsgOptionText("done", false))
	if err := r.api.AddReaction("white_check_mark", slack.NewRefToMessage(burst, ts)); err != nil {
		t.Fatal(err)
	}
	r.refuses("already_reacted", "reactions.add", url.Values{"channel": {burst}, "timestamp": {ts}, "name": {"white_check_mark"}})
	if m := r.shown(burst, ts, ana); len(m.Reactions) != 1 || m.Reactions[0].Count != 1 {
		t.Errorf("%+v", m.Reactions)
	}
}

func TestUploadsInThreeSteps(t *testing.T) {
	r := start(t, Options{})
	f, err := r.api.UploadFile(slack.UploadFileParameters{
		Filename: "spend.png", FileSize: 4, Reader: strings.NewReader("\x89PNG"), Channel: burst, AltTxt: "spend", InitialComment: "this week",
	})
	if err != nil {
		t.Fatal(err)
	}
	list, _ := r.Messages(t.Context(), burst, ana)
	if len(list) != 1 || len(list[0].Files) != 1 || list[0].Files[0].ID != f.ID || list[0].Text != "this week" {
		t.Fatalf("%+v", list)
	}
	var got strings.Builder
	if err := r.api.GetFile(list[0].Files[0].URL, &got); err != nil || got.String() != "\x89PNG" {
		t.Errorf("%q %v", got.String(), err)
	}
	form := url.Values{"files": {`[{"id":"` + f.ID + `"}]`}, "channel_id": {burst}}
	r.refuses("file_already_completed", "files.completeUploadExternal", form)
	for name, c := range map[string]struct{ channel, want string }{
		"a channel where the bot may only post": {general, "not_in_channel"},
		"a name":                                {"burst", "channel_not_found"},
		"a person":                              {ana, "channel_not_found"},
	} {
		t.Run(name, func(t *testing.T) {
			r := *r
			r.t = t
			got, _ := r.raw("files.getUploadURLExternal", url.Values{"filename": {"a.png"}, "length": {"1"}})
			form := url.Values{"files": {`[{"id":"` + got["file_id"].(string) + `"}]`}, "channel_id": {c.channel}}
			r.refuses(c.want, "files.completeUploadExternal", form)
		})
	}
}
