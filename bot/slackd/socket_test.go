package slackd

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/slack-go/slack"
	"github.com/slack-go/slack/slackevents"
	"github.com/slack-go/slack/socketmode"
)

func TestACommandGoesToTheBotAndItsAnswerComesBack(t *testing.T) {
	r := start(t, Options{})
	r.listen(func(c *socketmode.Client, e socketmode.Event) {
		cmd := e.Data.(slack.SlashCommand)
		_ = c.Ack(*e.Request)
		_, err := r.api.PostEphemeral(cmd.ChannelID, cmd.UserID, slack.MsgOptionText("you said "+cmd.Text, false))
		if err != nil {
			t.Error(err)
		}
	})
	out, err := r.Command(t.Context(), ana, burst, "/rent 8xh100 for 6h @tom #general @gpu-approvers a<b")
	if err != nil || out.Outcome != Acked {
		t.Fatalf("%+v %v", out, err)
	}
	const want = "you said 8xh100 for 6h <@U0TOM0001|tom> <#C0GENERAL|general> <!subteam^S0APPROV1|@gpu-approvers> a&lt;b"
	r.eventually("ana sees the answer", func() bool {
		list, _ := r.Messages(t.Context(), burst, ana)
		return len(list) == 1 && list[0].Text == want && list[0].IsEphemeral
	})
	if list, _ := r.Messages(t.Context(), burst, tom); len(list) != 0 {
		t.Errorf("tom sees what is ana's alone: %v", list)
	}
}

func TestAnAcknowledgementMayCarryTheAnswer(t *testing.T) {
	r := start(t, Options{Ack: time.Second})
	size := atomic.Int64{}
	r.listen(func(c *socketmode.Client, e socketmode.Event) {
		_ = c.Ack(*e.Request, map[string]string{"text": strings.Repeat("x", int(size.Load()))})
	})
	size.Store(10)
	if out, _ := r.Command(t.Context(), ana, burst, "/rent ls"); out.Outcome != Acked {
		t.Fatalf("%+v", out)
	}
	if list, _ := r.Messages(t.Context(), burst, ana); len(list) != 1 || !list[0].IsEphemeral {
		t.Errorf("ana sees %v", list)
	}
	size.Store(maxResponsePayload)
	if out, _ := r.Command(t.Context(), ana, burst, "/rent ls"); out.Outcome != TimedOut {
		t.Errorf("20 KB got through: %+v", out.Outcome)
	}
}

func TestNoAcknowledgementIsShownAndNotSentAgain(t *testing.T) {
	r := start(t, Options{Ack: 100 * time.Millisecond})
	l := r.listen(func(*socketmode.Client, socketmode.Event) {})
	out, err := r.Command(t.Context(), ana, burst, "/rent ls")
	if err != nil || out.Outcome != TimedOut || out.Error != "operation_timeout" {
		t.Fatalf("%+v %v", out, err)
	}
	notes, _ := r.Notices(t.Context(), ana)
	if len(notes) != 1 || !strings.Contains(notes[0].Text, "operation_timeout") {
		t.Errorf("ana is told %v", notes)
	}
	ts := r.post(burst, slack.MsgOptionBlocks(buttonBlock("go")))
	if out, _ := r.Press(t.Context(), ana, burst, ts, "go", nil); out.Outcome != TimedOut {
		t.Errorf("%+v", out)
	}
	if n := len(l.events(socketmode.EventTypeSlashCommand)) + len(l.events(socketmode.EventTypeInteractive)); n != 2 {
		t.Errorf("%d deliveries", n)
	}
	list, _ := r.Deliveries(t.Context())
	if len(list) != 2 {
		t.Errorf("%d deliveries are noted", len(list))
	}
}

func TestWithoutABotSlackSaysSo(t *testing.T) {
	r := start(t, Options{})
	if out, _ := r.Command(t.Context(), ana, burst, "/rent ls"); out.Outcome != Unreachable || out.Error != "dispatch_failed" {
		t.Errorf("%+v", out)
	}
	for name, a := range map[string]act{
		"a command that is not there": {User: ana, Channel: burst, Text: "/sing"},
		"a command in a thread":       {User: ana, Channel: burst, Text: "/rent", ThreadTS: "1.0"},
		"a person who left":           {User: "U0OLD0001", Channel: burst, Text: "/rent"},
		"a channel one cannot see":    {User: ana, Channel: "C0SECRET1", Text: "/rent"},
		"an archived channel":         {User: ana, Channel: "C0ATTIC01", Text: "/rent"},
	} {
		t.Run(name, func(t *testing.T) {
			if out := r.server.command(a); out.Outcome != Refused {
				t.Errorf("%+v", out)
			}
		})
	}
}

func TestEventsAreSentAgainUntilAcknowledged(t *testing.T) {
	r := start(t, Options{Ack: 400 * time.Millisecond})
	var seen atomic.Int64
	l := r.listen(func(c *socketmode.Client, e socketmode.Event) {
		if seen.Add(1) == 4 {
			_ = c.Ack(*e.Request)
		}
	})
	if _, err := r.OpenHome(t.Context(), ana); err != nil {
		t.Fatal(err)
	}
	r.eventually("the fourth is acknowledged", func() bool {
		list, _ := r.Deliveries(t.Context())
		return len(list) == 4 && list[3].Outcome == Acked
	})
	ids, attempts := map[string]bool{}, ""
	for _, e := range l.events(socketmode.EventTypeEventsAPI) {
		var p slackevents.EventsAPICallbackEvent
		if err := json.Unmarshal(e.Request.Payload, &p); err != nil {
			t.Fatal(err)
		}
		ids[p.EventID] = true
		attempts += fmt.Sprint(e.Request.RetryAttempt)
	}
	if len(ids) != 1 || attempts != "0123" {
		t.Errorf("event ids %v, attempts %s", ids, attempts)
	}
}

// dial opens a connection by hand and returns its hello.
func (r *rig) dial(link string) (*websocket.Conn, map[string]any, error) {
	c, answer, err := websocket.DefaultDialer.Dial(link, nil)
	if err != nil {
		return nil, nil, err
	}
	_ = answer.Body.Close()
	r.t.Cleanup(func() { _ = c.Close() })
	hello := map[string]any{}
	return c, hello, c.ReadJSON(&hello)
}

// ticket opens the way for one connection.
func (r *rig) ticket() string {
	r.t.Helper()
	got, _ := r.raw("apps.connections.open", url.Values{"token": {r.server.Tokens().App}})
	link, ok := got["url"].(string)
	if !ok {
		r.t.Fatal(got)
	}
	return link
}

func TestATicketIsGoodForOneConnection(t *testing.T) {
	r := start(t, Options{})
	link := r.ticket()
	_, hello, err := r.dial(link)
	if err != nil || hello["type"] != "hello" || hello["num_connections"] != 1.0 {
		t.Fatal(hello, err)
	}
	if hello["connection_info"].(object)["app_id"] != "A0SPILL01" || hello["debug_info"].(object)["approximate_connection_time"] != 18060.0 {
		t.Errorf("hello %v", hello)
	}
	if _, _, err := r.dial(link); err == nil {
		t.Error("a ticket opened two connections")
	}
	link = r.ticket()
	if err := r.Advance(t.Context(), ticketLife); err != nil {
		t.Fatal(err)
	}
	if _, _, err := r.dial(link); err == nil {
		t.Error("an old ticket opened a connection")
	}
	_, hello, err = r.dial(r.ticket() + "&debug_reconnects=true")
	if err != nil || hello["debug_info"].(object)["approximate_connection_time"] != 360.0 {
		t.Errorf("hello %v %v", hello, err)
	}
}

func TestTenConnectionsAtMost(t *testing.T) {
	r := start(t, Options{})
	for i := range maxConnections {
		if _, hello, err := r.dial(r.ticket()); err != nil || hello["num_connections"] != float64(i+1) {
			t.Fatal(hello, err)
		}
	}
	if _, got, err := r.dial(r.ticket()); err != nil || got["type"] != "disconnect" || got["reason"] != "too_many_websockets" {
		t.Errorf("the eleventh got %v %v", got, err)
	}
}

func TestPingsComeAndStopWhenFrozen(t *testing.T) {
	r := start(t, Options{Ping: 10 * time.Millisecond, Ack: 100 * time.Millisecond})
	c, _, err := r.dial(r.ticket())
	if err != nil {
		t.Fatal(err)
	}
	var pings atomic.Int64
	c.SetPingHandler(func(string) error { pings.Add(1); return nil })
	go func() {
		for {
			if _, _, err := c.ReadMessage(); err != nil {
				return
			}
		}
	}()
	r.eventually("pings", func() bool { return pings.Load() > 2 })
	if err := r.Sockets(t.Context(), "freeze", ""); err != nil {
		t.Fatal(err)
	}
	var last int64
	r.eventually("no more pings", func() bool {
		before := last
		last = pings.Load()
		return before == last
	})
	out, err := r.Command(t.Context(), ana, burst, "/rent ls")
	if err != nil || out.Outcome != TimedOut {
		t.Errorf("a half-open connection: %+v %v", out, err)
	}
}

func TestSlackAsksForNewConnections(t *testing.T) {
	r := start(t, Options{})
	for _, reason := range []string{"warning", "refresh_requested", "link_disabled"} {
		c, _, err := r.dial(r.ticket())
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Sockets(t.Context(), "disconnect", reason); err != nil {
			t.Fatal(err)
		}
		got := map[string]any{}
		if err := c.ReadJSON(&got); err != nil || got["type"] != "disconnect" || got["reason"] != reason {
			t.Errorf("%s: got %v %v", reason, got, err)
		}
		if reason == "warning" {
			if err := c.WriteControl(websocket.PingMessage, nil, time.Now().Add(time.Second)); err != nil {
				t.Errorf("a warning ended the connection: %v", err)
			}
			_ = c.Close()
			continue
		}
		if _, _, err := c.ReadMessage(); err == nil {
			t.Errorf("%s: the connection goes on", reason)
		}
	}
	got, _ := r.raw("apps.connections.open", url.Values{"token": {r.server.Tokens().App}})
	if got["ok"] == true {
		t.Error("a disabled app opens a connection")
	}
}

func TestSlackGoComesBackAfterACut(t *testing.T) {
	r := start(t, Options{})
	l := r.listen(nil)
	for i, do := range []string{"cut", "disconnect"} {
		if err := r.Sockets(t.Context(), do, "refresh_requested"); err != nil {
			t.Fatal(err)
		}
		r.eventually("a new hello after "+do, func() bool { return len(l.events(socketmode.EventTypeHello)) == i+2 })
	}
	r.eventually("a command arrives", func() bool {
		out, err := r.Command(t.Context(), ana, burst, "/rent ls")
		return err == nil && out.Outcome == Acked
	})
}

func TestAnAnswerMayComeByAnotherConnection(t *testing.T) {
	r := start(t, Options{})
	one, _, err := r.dial(r.ticket())
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan Outcome, 1)
	go func() {
		out, _ := r.Command(t.Context(), ana, burst, "/rent ls")
		done <- out
	}()
	var e struct {
		EnvelopeID string `json:"envelope_id"`
		Accepts    bool   `json:"accepts_response_payload"`
	}
	if err := one.ReadJSON(&e); err != nil || !e.Accepts {
		t.Fatal(e, err)
	}
	two, _, err := r.dial(r.ticket())
	if err != nil {
		t.Fatal(err)
	}
	if err := two.WriteJSON(map[string]string{"envelope_id": e.EnvelopeID}); err != nil {
		t.Fatal(err)
	}
	if out := <-done; out.Outcome != Acked {
		t.Errorf("%+v", out)
	}
}

func TestAWrongTicketIsRefused(t *testing.T) {
	r := start(t, Options{})
	answer, err := r.HTTP.Get(r.Base + "/link/?ticket=guess")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusForbidden {
		t.Errorf("status %d", answer.StatusCode)
	}
}
