package slackd

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// Outcome is what came of something a person did; doc.go says more.
type Outcome struct {
	Outcome      string            `json:"outcome"`
	Error        string            `json:"error,omitempty"`
	Delivery     string            `json:"delivery,omitempty"`
	AckMS        float64           `json:"ack_ms,omitempty"`
	TriggerID    string            `json:"trigger_id,omitempty"`
	Response     rawJSON           `json:"response,omitempty"`
	Errors       map[string]string `json:"errors,omitempty"`
	Missing      []string          `json:"missing,omitempty"`
	Options      []object          `json:"options,omitempty"`
	OptionGroups []object          `json:"option_groups,omitempty"`
}

// act is what a person does, as the control interface takes it.
type act struct {
	User     string                    `json:"user"`
	Channel  string                    `json:"channel"`
	Text     string                    `json:"text"`
	ThreadTS string                    `json:"thread_ts"`
	TS       string                    `json:"ts"`
	ViewID   string                    `json:"view_id"`
	BlockID  string                    `json:"block_id"`
	ActionID string                    `json:"action_id"`
	Value    any                       `json:"value"`
	Values   map[string]map[string]any `json:"values"`
	Tab      string                    `json:"tab"`
	With     string                    `json:"with"`
	Wait     *bool                     `json:"wait"`
}

func (a act) waits() bool { return a.Wait == nil || *a.Wait }

func refused(why string) Outcome { return Outcome{Outcome: Refused, Error: why} }

// send delivers, now or behind the person's back, and hands the answer to then.
func (s *Server) send(a act, kind string, payload any, trigger string, then func(d *Delivery, answer rawJSON, out *Outcome)) Outcome {
	do := func() Outcome {
		d, answer := s.deliver(kind, payload)
		out := Outcome{Outcome: d.Outcome, Delivery: d.ID, AckMS: d.AckMS, TriggerID: trigger, Response: answer}
		then(d, answer, &out)
		return out
	}
	if a.waits() {
		return do()
	}
	s.jobs.Go(func() { do() })
	return Outcome{Outcome: Sent, TriggerID: trigger}
}

// person finds who acts.
func (s *Server) person(id string) (*User, string) {
	u := s.work.user(id)
	switch {
	case u == nil:
		return nil, "there is no user " + id
	case u.Deleted:
		return nil, u.Name + " is deactivated and cannot sign in"
	}
	return u, ""
}

// command types a slash command.
func (s *Server) command(a act) Outcome {
	s.mu.Lock()
	u, why := s.person(a.User)
	ch := s.work.channel(a.Channel)
	name, text, _ := strings.Cut(strings.TrimSpace(a.Text), " ")
	i := slices.IndexFunc(s.work.App.Commands, func(c Command) bool { return c.Command == name })
	switch {
	case why != "":
	case ch == nil || !s.visible(ch, u.ID):
		why = "there is no channel " + a.Channel
	case a.ThreadTS != "":
		why = "slash commands do not work inside threads"
	case ch.IsArchived:
		why = "the channel is archived"
	case i < 0:
		why = name + " is not a valid command"
	}
	if why != "" {
		s.mu.Unlock()
		return refused(why)
	}
	text = strings.TrimSpace(text)
	if s.work.App.Commands[i].ShouldEscape {
		text = s.escape(text)
	}
	h := &hook{user: u.ID, channel: ch.ID}
	payload := map[string]string{
		"token": "local", "team_id": s.teamOf(u), "team_domain": s.work.Team.Domain, "channel_id": ch.ID, "channel_name": commandChannel(ch),
		"user_id": u.sent(), "user_name": u.Name, "command": name, "text": text, "api_app_id": s.work.App.ID, "is_enterprise_install": "false",
		"response_url": s.newHook(*h), "trigger_id": s.newTrigger(u.ID),
	}
	if s.work.Team.EnterpriseID != "" {
		payload["enterprise_id"], payload["enterprise_name"] = s.work.Team.EnterpriseID, s.work.Team.Name
	}
	if s.work.Team.OrgInstall {
		payload["is_enterprise_install"] = "true"
	}
	s.mu.Unlock()
	return s.send(a, kindCommand, payload, payload["trigger_id"], func(d *Delivery, answer rawJSON, out *Outcome) {
		if d.Outcome != Acked {
			out.Error = map[string]string{TimedOut: "operation_timeout", Unreachable: "dispatch_failed"}[d.Outcome]
			s.notice(u.ID, ch.ID, out.Error, name+" failed with the error \""+out.Error+"\"")
			return
		}
		s.acknowledged(answer, h, out)
	})
}

// acknowledged shows the message that came with an acknowledgement.
func (s *Server) acknowledged(answer rawJSON, h *hook, out *Outcome) {
	var in reply
	if len(answer) == 0 || json.Unmarshal(answer, &in) != nil || in.Text == "" && len(in.Blocks) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if name := s.show(in, h); name != "" {
		out.Error = name
	}
}

// teamOf is the team that Slack sends with what a person does: their own.
func (s *Server) teamOf(u *User) string { return u.TeamID }

func commandChannel(ch *Channel) string {
	switch {
	case ch.IsIM:
		return "directmessage"
	case ch.IsPrivate:
		return "privategroup"
	}
	return ch.Name
}

var mention = regexp.MustCompile(`(^|\s)([@#])([\p{L}\p{N}._-]+)`)

// escape writes mentions as ids, as should_escape wants it, and the characters
// that have a meaning in Slack's texts as entities.
func (s *Server) escape(text string) string {
	text = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text)
	return mention.ReplaceAllStringFunc(text, func(found string) string {
		m := mention.FindStringSubmatch(found)
		if m[2] == "@" {
			for _, u := range s.work.Users {
				if u.Name == m[3] {
					return m[1] + "<@" + u.ID + "|" + u.Name + ">"
				}
			}
			for _, g := range s.work.Groups {
				if g.Handle == m[3] {
					return m[1] + "<!subteam^" + g.ID + "|@" + g.Handle + ">"
				}
			}
			return found
		}
		for _, c := range s.work.Channels {
			if c.Name == m[3] && !c.IsPrivate {
				return m[1] + "<#" + c.ID + "|" + c.Name + ">"
			}
		}
		return found
	})
}

// frame is what every interaction says of where it comes from.
func (s *Server) frame(kind string, u *User) object {
	team := object{"id": s.teamOf(u), "domain": s.work.Team.Domain}
	out := object{
		"type": kind, "token": "local", "api_app_id": s.work.App.ID, "team": team, "enterprise": nil, "is_enterprise_install": s.work.Team.OrgInstall,
		"user": object{"id": u.sent(), "username": u.Name, "name": u.Name, "team_id": s.teamOf(u)},
	}
	if s.work.Team.EnterpriseID != "" {
		enterprise := object{"id": s.work.Team.EnterpriseID, "name": s.work.Team.Name}
		out["enterprise"] = enterprise
		team["enterprise_id"] = s.work.Team.EnterpriseID
	}
	return out
}

// openHome opens the app's home, which tells the bot.
func (s *Server) openHome(a act) Outcome {
	s.mu.Lock()
	u, why := s.person(a.User)
	if why != "" {
		s.mu.Unlock()
		return refused(why)
	}
	tab := a.Tab
	if tab == "" {
		tab = "home"
	}
	event := object{
		"type": "app_home_opened", "user": u.sent(), "channel": s.direct(s.work.App.BotUser, u.ID).ID, "tab": tab, "event_ts": s.clock.stamp(),
	}
	if v := s.homes[u.ID]; v != nil && tab == "home" {
		event["view"] = copyJSON(v)
	}
	s.mu.Unlock()
	s.emit(event)
	return Outcome{Outcome: Sent}
}

// emit sends an event that the app subscribed to.
func (s *Server) emit(event object) {
	kind, _ := event["type"].(string)
	if slices.Contains(s.work.App.Events, kind) {
		s.event(event, "")
	}
}

// say posts an ordinary message of a person. Bots have no history scope here,
// so nobody is told but the people.
func (s *Server) say(a act) (*Message, string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u, why := s.person(a.User)
	ch := s.work.channel(a.Channel)
	switch {
	case why != "":
		return nil, why
	case ch == nil || !ch.has(u.ID):
		return nil, u.Name + " is not in " + a.Channel
	case ch.IsArchived:
		return nil, "the channel is archived"
	case a.ThreadTS != "" && s.message(ch.ID, a.ThreadTS) == nil:
		return nil, "there is no message " + a.ThreadTS
	}
	m := &Message{Type: "message", Channel: ch.ID, TS: s.clock.stamp(), User: u.ID, Team: u.TeamID, Text: a.Text, ThreadTS: a.ThreadTS}
	s.keep(m)
	return m, ""
}
