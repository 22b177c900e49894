package slackd

import (
	"context"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slack-go/slack"
	"github.com/slack-go/slack/socketmode"
)

func (r *rig) fault(f Fault) {
	r.t.Helper()
	if _, err := r.AddFault(r.t.Context(), f); err != nil {
		r.t.Fatal(err)
	}
}

func TestFaultsOfMethods(t *testing.T) {
	text := url.Values{"channel": {burst}, "text": {"x"}}
	post := func(r *rig) (int, string, error) {
		q, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, r.Base+"/api/chat.postMessage", strings.NewReader(text.Encode()))
		q.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		q.Header.Set("Authorization", "Bearer "+r.server.Tokens().Bot)
		a, err := r.HTTP.Do(q)
		if err != nil {
			return 0, "", err
		}
		defer a.Body.Close()
		return a.StatusCode, a.Header.Get("Retry-After"), nil
	}
	for name, c := range map[string]struct {
		fault  Fault
		status int
		after  string
		posted int
	}{
		"a rate limit":                   {Fault{Kind: FaultRate, RetryAfter: 7}, 429, "7", 0},
		"a failure before":               {Fault{Kind: FaultFail, Status: 503}, 503, "", 0},
		"a failure after it happened":    {Fault{Kind: FaultFailAfter}, 500, "", 1},
		"a hang-up after it happened":    {Fault{Kind: FaultHangUpAfter}, 0, "", 1},
		"a refusal":                      {Fault{Kind: FaultRefuse, Error: "fatal_error"}, 200, "", 0},
		"a delay":                        {Fault{Kind: FaultDelay, MS: 1}, 200, "", 1},
		"a fault of the second one only": {Fault{Kind: FaultFail, Every: 2}, 200, "", 1},
	} {
		t.Run(name, func(t *testing.T) {
			r := start(t, Options{})
			c.fault.On, c.fault.Times = "chat.postMessage", 1
			r.fault(c.fault)
			status, after, err := post(r)
			if status != c.status || after != c.after || (err != nil) != (c.status == 0) {
				t.Errorf("status %d, Retry-After %q, %v", status, after, err)
			}
			if list, _ := r.Messages(t.Context(), burst, ana); len(list) != c.posted {
				t.Errorf("%d messages", len(list))
			}
			calls, _ := r.Calls(t.Context(), "chat.postMessage")
			if len(calls) != 1 || calls[0].Fault != c.fault.Kind && c.fault.Every == 0 {
				t.Errorf("calls %+v", calls)
			}
			if c.fault.Every == 2 {
				return
			}
			if status, _, err := post(r); err != nil || status != 200 {
				t.Errorf("once means once: %d %v", status, err)
			}
		})
	}
}

func TestFaultsOfDeliveries(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault   Fault
		outcome string
		arrived int
	}{
		"a lost envelope":       {Fault{Kind: FaultLose}, TimedOut, 0},
		"a duplicate":           {Fault{Kind: FaultDuplicate}, Acked, 2},
		"a lost answer":         {Fault{Kind: FaultDropAck}, TimedOut, 1},
		"a delay":               {Fault{Kind: FaultDelay, MS: 1}, Acked, 1},
		"a delay above the ack": {Fault{Kind: FaultDelay, MS: 5000}, TimedOut, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := start(t, Options{Ack: time.Second})
			l := r.listen(nil)
			c.fault.On = "delivery"
			r.fault(c.fault)
			if out, _ := r.Command(t.Context(), ana, burst, "/rent ls"); out.Outcome != c.outcome {
				t.Errorf("%+v", out)
			}
			r.eventually("it arrives so often", func() bool { return len(l.events(socketmode.EventTypeSlashCommand)) == c.arrived })
		})
	}
}

func TestADuplicateHasTheSameEnvelope(t *testing.T) {
	r := start(t, Options{})
	l := r.listen(nil)
	out, err := r.Command(t.Context(), ana, burst, "/rent ls")
	if err != nil {
		t.Fatal(err)
	}
	again, err := r.Redeliver(t.Context(), out.Delivery)
	if err != nil || again.Outcome != Acked {
		t.Fatalf("%+v %v", again, err)
	}
	got := l.events(socketmode.EventTypeSlashCommand)
	if len(got) != 2 || got[0].Request.EnvelopeID != got[1].Request.EnvelopeID || string(got[0].Request.Payload) != string(got[1].Request.Payload) {
		t.Errorf("%d deliveries", len(got))
	}
}

func TestReorderingLetsTheNextOneGoFirst(t *testing.T) {
	r := start(t, Options{})
	l := r.listen(nil)
	r.fault(Fault{On: "slash_commands", Kind: FaultReorder, Times: 1})
	done := make(chan error, 1)
	go func() {
		_, err := r.Command(t.Context(), ana, burst, "/rent first")
		done <- err
	}()
	r.eventually("the first one waits", func() bool {
		r.server.mu.Lock()
		defer r.server.mu.Unlock()
		return r.server.next != nil
	})
	if _, err := r.Command(t.Context(), tom, burst, "/rent second"); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	var order []string
	for _, e := range l.events(socketmode.EventTypeSlashCommand) {
		order = append(order, e.Data.(slack.SlashCommand).Text)
	}
	if !slices.Equal(order, []string{"second", "first"}) {
		t.Errorf("order %v", order)
	}
}

func TestAFaultThatIsNoneIsRefused(t *testing.T) {
	r := start(t, Options{})
	for _, f := range []Fault{{On: "chat.sing", Kind: FaultDelay}, {On: "chat.update", Kind: FaultLose}, {On: "delivery", Kind: FaultRate}} {
		if _, err := r.AddFault(t.Context(), f); err == nil {
			t.Errorf("%+v is taken", f)
		}
	}
	r.fault(Fault{On: "api", Kind: FaultFail})
	if err := r.ClearFaults(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, _ := r.raw("auth.test", nil); got["ok"] != true {
		t.Errorf("%v", got)
	}
}

func TestRevokedTokens(t *testing.T) {
	r := start(t, Options{})
	l := r.listen(nil)
	if err := r.Revoke(t.Context(), "bot"); err != nil {
		t.Fatal(err)
	}
	r.refuses("token_revoked", "auth.test", nil)
	r.eventually("the bot hears of it", func() bool { return len(l.events(socketmode.EventTypeEventsAPI)) == 1 })
	if err := r.do(t.Context(), "tokens", map[string]bool{"restore": true}, nil); err != nil {
		t.Fatal(err)
	}
	if got, _ := r.raw("auth.test", nil); got["ok"] != true {
		t.Errorf("%v", got)
	}
}

func TestARestartKeepsMessagesAndForgetsEphemerals(t *testing.T) {
	dir := t.TempDir()
	var kept, gone, deleted string
	t.Run("before", func(t *testing.T) {
		r := start(t, Options{State: dir})
		kept = r.post(burst, slack.MsgOptionText("one", false), slack.MsgOptionBlocks(buttonBlock("go")))
		r.post(burst, slack.MsgOptionText("reply", false), slack.MsgOptionTS(kept))
		deleted = r.post(burst, slack.MsgOptionText("two", false))
		if _, _, err := r.api.DeleteMessage(burst, deleted); err != nil {
			t.Fatal(err)
		}
		if _, _, _, err := r.api.UpdateMessage(burst, kept, slack.MsgOptionText("changed", false)); err != nil {
			t.Fatal(err)
		}
		gone, _ = r.api.PostEphemeral(burst, ana, slack.MsgOptionText("psst", false))
		if err := r.Change(t.Context(), "users/"+tom, map[string]any{"name": "thomas"}); err != nil {
			t.Fatal(err)
		}
		if err := r.Change(t.Context(), "channels/"+general, map[string]any{"is_archived": true}); err != nil {
			t.Fatal(err)
		}
		if _, err := r.api.PublishViewContext(t.Context(), slack.PublishViewContextRequest{UserID: ana, View: slack.HomeTabViewRequest{Type: slack.VTHomeTab, Blocks: slack.Blocks{BlockSet: []slack.Block{section("hi")}}}}); err != nil {
			t.Fatal(err)
		}
	})
	name := filepath.Join(dir, journalName)
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, append(text, `{"message":{"type":"mess`...), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Run("one at a time", func(t *testing.T) {
		r := start(t, Options{State: dir})
		if _, err := New(Options{State: dir}); err == nil || r.shown(burst, kept, ana) == nil {
			t.Errorf("two use one folder: %v", err)
		}
	})
	for range 2 { // the second start reads what the first wrote anew
		t.Run("after", func(t *testing.T) {
			r := start(t, Options{State: dir})
			if m := r.shown(burst, kept, ana); m == nil || m.Text != "changed" || m.ReplyCount != 1 {
				t.Errorf("kept %+v", m)
			}
			if r.shown(burst, gone, ana) != nil || r.shown(burst, deleted, ana) != nil {
				t.Error("what is gone is there")
			}
			if u, err := r.api.GetUserInfo(tom); err != nil || u.Name != "thomas" {
				t.Errorf("%v %v", u, err)
			}
			if v, err := r.Home(t.Context(), ana); err != nil || v == nil {
				t.Errorf("home %v %v", v, err)
			}
			if c := r.server.work.channel(general); !c.IsArchived {
				t.Error("the channel is open again")
			}
			if ts := r.post(burst, slack.MsgOptionText("later", false)); compareTS(ts, kept) <= 0 {
				t.Errorf("ts %s", ts)
			}
		})
	}
}

func TestTheControlInterfaceIsGuarded(t *testing.T) {
	r := start(t, Options{})
	for _, token := range []string{"", "wrong"} {
		c := Client{Base: r.Base, Token: token, HTTP: r.HTTP}
		if _, err := c.Views(t.Context(), ana); err == nil {
			t.Errorf("the token %q opens it", token)
		}
	}
	info, err := os.Stat(filepath.Join(r.server.Tokens().Dir, "control"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
}

func TestAdministratorsChangesAreToldToTheBot(t *testing.T) {
	r := start(t, Options{})
	l := r.listen(nil)
	for path, fields := range map[string]map[string]any{
		"users/" + ana:       {"name": "anna"},
		"groups/S0APPROV1":   {"users": []string{tom}},
		"channels/C0LEADS01": {"is_archived": true},
	} {
		if err := r.Change(t.Context(), path, fields); err != nil {
			t.Fatal(err)
		}
	}
	r.eventually("three events", func() bool { return len(l.events(socketmode.EventTypeEventsAPI)) == 3 })
	if members, err := r.api.GetUserGroupMembers("S0APPROV1"); err != nil || len(members) != 1 {
		t.Errorf("%v %v", members, err)
	}
	if err := r.Change(t.Context(), "users/"+ana, map[string]any{"shoe_size": 40}); err == nil {
		t.Error("an unknown field is taken")
	}
}

func TestTheFeedTellsEachPersonTheirOwn(t *testing.T) {
	r := start(t, Options{})
	read := func(user string) (<-chan string, func()) {
		ctx, stop := context.WithCancel(t.Context())
		q, _ := http.NewRequestWithContext(ctx, http.MethodGet, r.Base+"/control/feed?user="+user+"&token="+r.Token, nil)
		a, err := r.HTTP.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		lines := make(chan string, 100)
		go func() {
			defer a.Body.Close()
			defer close(lines)
			buf := make([]byte, 64<<10)
			for {
				n, err := a.Body.Read(buf)
				if n > 0 {
					lines <- string(buf[:n])
				}
				if err != nil {
					return
				}
			}
		}()
		return lines, stop
	}
	anas, stopAna := read(ana)
	defer stopAna()
	toms, stopTom := read(tom)
	defer stopTom()
	<-anas // ready
	<-toms
	if _, err := r.api.PostEphemeral(burst, ana, slack.MsgOptionText("only ana", false)); err != nil {
		t.Fatal(err)
	}
	r.post(burst, slack.MsgOptionText("everybody", false))
	until := func(lines <-chan string, word string) string {
		all := ""
		for text := range lines {
			if all += text; strings.Contains(all, word) {
				break
			}
		}
		return all
	}
	if got := until(anas, "everybody"); !strings.Contains(got, "only ana") {
		t.Errorf("ana is told %s", got)
	}
	if got := until(toms, "everybody"); strings.Contains(got, "only ana") {
		t.Errorf("tom is told %s", got)
	}
}

func TestWorkspaceFilesAreReadStrictly(t *testing.T) {
	for name, text := range map[string]string{
		"an unknown field":   "team: {id: T1}\napp: {id: A1, bot_user: U1, bot_id: B1}\ncolour: red\n",
		"no app":             "team: {id: T1}\n",
		"a user twice":       "team: {id: T1}\napp: {id: A1, bot_user: U1, bot_id: B1}\nusers: [{id: U2}, {id: U2}]\n",
		"a member nobody is": "team: {id: T1}\napp: {id: A1, bot_user: U1, bot_id: B1}\nchannels: [{id: C1, members: [U9]}]\n",
		"a long command":     "team: {id: T1}\napp: {id: A1, bot_user: U1, bot_id: B1, commands: [{command: /a-command-that-goes-on-and-on-and-on}]}\n",
		"a zone nobody has":  "team: {id: T1}\napp: {id: A1, bot_user: U1, bot_id: B1}\nusers: [{id: U2, tz: Moon/Sea}]\n",
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := ParseWorkspace([]byte(text)); err == nil {
				t.Error("it is taken")
			}
		})
	}
	file := filepath.Join(t.TempDir(), "w.json")
	if err := os.WriteFile(file, []byte(`{"team":{"id":"T1"},"app":{"id":"A1","name":"Bot","bot_user":"U1","bot_id":"B1"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if w, err := LoadWorkspace(file); err != nil || len(w.Users) != 1 {
		t.Errorf("%+v %v", w, err)
	}
}
