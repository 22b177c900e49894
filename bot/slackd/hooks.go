package slackd

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"time"
)

const (
	triggerLife = 3 * time.Second
	hookLife    = 30 * time.Minute
	ticketLife  = 30 * time.Second
)

// trigger is a trigger_id: the right to open one form for the person who
// clicked.
type trigger struct {
	user string
	at   time.Time
	used bool
}

// hook is a response_url: the right to post five times within half an hour
// where something was typed or clicked.
type hook struct {
	user, channel string
	message       *Message // whose button was pressed; nil for a command
	at            time.Time
	posts         int
}

func (s *Server) newTrigger(user string) string {
	id := s.clock.stamp() + "." + s.secret(8)
	s.triggers[id] = trigger{user: user, at: s.clock.now()}
	s.sweep()
	return id
}

// sweep drops triggers and response URLs that are long over, now and then.
func (s *Server) sweep() {
	now := s.clock.now()
	if now.Sub(s.swept) < time.Minute {
		return
	}
	s.swept = now
	for id, t := range s.triggers {
		if now.Sub(t.at) > time.Minute {
			delete(s.triggers, id)
		}
	}
	for id, h := range s.hooks {
		if now.Sub(h.at) > 2*hookLife {
			delete(s.hooks, id)
		}
	}
}

func (s *Server) newHook(h hook) string {
	id := s.secret(16)
	h.at = s.clock.now()
	s.hooks[id] = &h
	return s.base + "/hooks/" + s.work.Team.ID + "/" + id
}

// answerHook serves a response_url.
func (s *Server) answerHook(w http.ResponseWriter, r *http.Request) {
	rec := &Call{Method: "response_url", At: s.clock.now(), Status: http.StatusOK}
	defer s.note(rec)
	fault := s.faults.take("hooks")
	if fault != nil {
		rec.Fault = fault.Kind
		if s.before(w, r, fault, rec) {
			return
		}
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	name := "invalid_payload"
	if err == nil {
		name = s.postHook(r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:], body, rec)
	}
	if fault != nil && s.after(w, fault, rec) {
		return
	}
	if name != "" {
		rec.Error = name
		rec.Status = map[string]int{"used_url": http.StatusNotFound, "expired_url": http.StatusNotFound}[name]
		if rec.Status == 0 {
			rec.Status = http.StatusBadRequest
		}
		writeJSON(w, rec.Status, object{"ok": false, "error": name})
		return
	}
	rec.OK = true
	writeJSON(w, http.StatusOK, object{"ok": true})
}

// reply is what a bot posts to a response_url, or acknowledges a command with.
type reply struct {
	Text            string  `json:"text"`
	Blocks          rawJSON `json:"blocks"`
	Attachments     rawJSON `json:"attachments"`
	ResponseType    string  `json:"response_type"`
	ReplaceOriginal bool    `json:"replace_original"`
	DeleteOriginal  bool    `json:"delete_original"`
	ThreadTS        string  `json:"thread_ts"`
}

func (s *Server) postHook(id string, body []byte, rec *Call) string {
	var in reply
	if json.Unmarshal(body, &in) != nil {
		return "invalid_payload"
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.hooks[id]
	switch {
	case h == nil || s.clock.now().Sub(h.at) > hookLife:
		return "expired_url"
	case h.posts >= maxResponseURL:
		return "used_url"
	}
	rec.Key = h.channel
	h.posts++
	return s.show(in, h)
}

// show puts a reply where it belongs, or says with Slack's name why not.
func (s *Server) show(in reply, h *hook) string {
	if in.DeleteOriginal && h.message != nil {
		s.drop(h.message)
		return ""
	}
	var blocks, attachments rawJSON
	if len(in.Blocks) > 0 && string(in.Blocks) != "null" {
		b, err := s.messageBlocks(in.Blocks)
		if err != nil {
			return err.Error()
		}
		blocks = b
	}
	if len(in.Attachments) > 2 && string(in.Attachments) != "null" {
		attachments = in.Attachments
	}
	switch {
	case runes(in.Text) > maxPostText:
		return "msg_too_long"
	case in.Text == "" && blocks == nil && attachments == nil:
		return "no_text"
	}
	if in.ReplaceOriginal && h.message != nil {
		return s.replaceOriginal(in, h, blocks, attachments)
	}
	m := s.botMessage(h.channel, in.Text, blocks, attachments)
	m.ThreadTS = in.ThreadTS
	if in.ResponseType != "in_channel" {
		m.IsEphemeral, m.EphemeralTo = true, h.user
	}
	s.keep(m)
	return ""
}

// replaceOriginal changes the message whose button was pressed; an ephemeral
// one can be changed only this way.
func (s *Server) replaceOriginal(in reply, h *hook, blocks, attachments rawJSON) string {
	old := h.message
	current := s.message(old.Channel, old.TS)
	if old.EphemeralTo != "" {
		current = s.ephemeral(old.EphemeralTo, old.Channel, old.TS)
	}
	if current == nil {
		return "message_not_found"
	}
	m := *current
	m.Text, m.Blocks, m.Attachments = in.Text, blocks, attachments
	m.Edited = &Edited{User: s.work.App.BotUser, TS: s.clock.stamp()}
	s.keep(&m)
	return ""
}
