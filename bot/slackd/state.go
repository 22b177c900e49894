package slackd

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// Message is one message of a channel, in Slack's own shape. An ephemeral one
// exists for one person only and is not kept over a restart.
type Message struct {
	Type        string          `json:"type"`
	Subtype     string          `json:"subtype,omitempty"`
	Channel     string          `json:"channel,omitempty"`
	TS          string          `json:"ts"`
	ThreadTS    string          `json:"thread_ts,omitempty"`
	User        string          `json:"user,omitempty"`
	BotID       string          `json:"bot_id,omitempty"`
	AppID       string          `json:"app_id,omitempty"`
	Team        string          `json:"team,omitempty"`
	Text        string          `json:"text"`
	Blocks      json.RawMessage `json:"blocks,omitempty"`
	Attachments json.RawMessage `json:"attachments,omitempty"`
	Metadata    json.RawMessage `json:"metadata,omitempty"`
	Files       []*File         `json:"files,omitempty"`
	Edited      *Edited         `json:"edited,omitempty"`
	Reactions   []*Reaction     `json:"reactions,omitempty"`
	ReplyCount  int             `json:"reply_count,omitempty"`
	LatestReply string          `json:"latest_reply,omitempty"`
	IsEphemeral bool            `json:"is_ephemeral,omitempty"`
	EphemeralTo string          `json:"ephemeral_to,omitempty"`
}

// Edited is who changed a message, and when.
type Edited struct {
	User string `json:"user"`
	TS   string `json:"ts"`
}

// Reaction is one emoji under a message.
type Reaction struct {
	Name  string   `json:"name"`
	Users []string `json:"users"`
	Count int      `json:"count"`
}

// File is what is known of an upload. Its bytes are in the state folder.
type File struct {
	ID       string   `json:"id"`
	Name     string   `json:"name"`
	Title    string   `json:"title"`
	AltText  string   `json:"alt_txt,omitempty"`
	Mimetype string   `json:"mimetype"`
	Filetype string   `json:"filetype"`
	Size     int      `json:"size"`
	User     string   `json:"user"`
	Created  int64    `json:"created"`
	URL      string   `json:"url_private"`
	Channels []string `json:"channels"`

	uploaded, done bool
}

// record is one line of the journal: a thing as it is now, or a message that
// is gone.
type record struct {
	Message *Message `json:"message,omitempty"`
	Deleted *spot    `json:"deleted,omitempty"`
	Home    *homeTab `json:"home,omitempty"`
	User    *User    `json:"user,omitempty"`
	Group   *Group   `json:"group,omitempty"`
	Channel *Channel `json:"channel,omitempty"`
	File    *File    `json:"file,omitempty"`
}

// spot is where a message is, or was.
type spot struct {
	Channel string `json:"channel"`
	TS      string `json:"ts"`
	User    string `json:"user,omitempty"`
}

type homeTab struct {
	User string `json:"user"`
	View *View  `json:"view"`
}

// journal keeps what a restart needs, one line a change.
type journal struct {
	file *os.File
	err  error // the first write that failed
}

func (j *journal) write(r record) {
	line, err := json.Marshal(r)
	if err == nil {
		_, err = j.file.Write(append(line, '\n'))
	}
	if j.err == nil {
		j.err = err
	}
}

const journalName = "journal.jsonl"

// replay reads the journal of an earlier run into s and writes it anew with
// what still is. A line that was cut off by a crash is the last one and is
// dropped.
func (s *Server) replay() error {
	name := filepath.Join(s.opt.State, journalName)
	text, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read journal: %w", err)
	}
	lines := bufio.NewReader(bytes.NewReader(text))
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			break
		}
		var r record
		if err := json.Unmarshal(line, &r); err != nil {
			return fmt.Errorf("read journal: %w", err)
		}
		s.restore(r)
	}
	f, err := os.OpenFile(name+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open journal: %w", err)
	}
	s.journal.file = f
	s.writeAll()
	if err := errors.Join(s.journal.err, os.Rename(f.Name(), name)); err != nil {
		return errors.Join(fmt.Errorf("open journal: %w", err), f.Close())
	}
	return nil
}

// writeAll writes everything there is into a new journal.
func (s *Server) writeAll() {
	for _, id := range slices.Sorted(maps.Keys(s.messages)) {
		for _, m := range s.messages[id] {
			s.journal.write(record{Message: m})
		}
	}
	for user, v := range s.homes {
		s.journal.write(record{Home: &homeTab{User: user, View: v}})
	}
	for _, f := range s.files {
		s.journal.write(record{File: f})
	}
	for _, r := range s.changed {
		s.journal.write(r)
	}
}

func (s *Server) restore(r record) {
	switch {
	case r.Message != nil:
		s.clock.seen(r.Message.TS)
		if i := s.index(r.Message.Channel, r.Message.TS); i >= 0 {
			s.messages[r.Message.Channel][i] = r.Message
			return
		}
		s.messages[r.Message.Channel] = append(s.messages[r.Message.Channel], r.Message)
	case r.Deleted != nil:
		if i := s.index(r.Deleted.Channel, r.Deleted.TS); i >= 0 {
			s.messages[r.Deleted.Channel] = slices.Delete(s.messages[r.Deleted.Channel], i, i+1)
		}
	case r.Home != nil:
		s.homes[r.Home.User] = r.Home.View
		s.views[r.Home.View.ID] = r.Home.View
		r.Home.View.user = r.Home.User
	case r.User != nil:
		put(&s.work.Users, r.User, func(u *User) string { return u.ID })
		s.changed[r.User.ID] = r
	case r.Group != nil:
		put(&s.work.Groups, r.Group, func(g *Group) string { return g.ID })
		s.changed[r.Group.ID] = r
	case r.Channel != nil:
		put(&s.work.Channels, r.Channel, func(c *Channel) string { return c.ID })
		s.changed[r.Channel.ID] = r
	case r.File != nil:
		r.File.uploaded, r.File.done = true, true
		s.files[r.File.ID] = r.File
	}
}

// put replaces the thing with the same id, or adds it.
func put[T any](list *[]T, v T, id func(T) string) {
	for i, old := range *list {
		if id(old) == id(v) {
			(*list)[i] = v
			return
		}
	}
	*list = append(*list, v)
}

// index finds a message; -1 when it is not there.
func (s *Server) index(channel, ts string) int {
	return slices.IndexFunc(s.messages[channel], func(m *Message) bool { return m.TS == ts })
}

// message finds a message that everybody in the channel sees; nil when it is
// not there.
func (s *Server) message(channel, ts string) *Message {
	if i := s.index(channel, ts); i >= 0 {
		return s.messages[channel][i]
	}
	return nil
}

// ephemeral finds a message that only this person sees.
func (s *Server) ephemeral(user, channel, ts string) *Message {
	for _, m := range s.ephemerals[user] {
		if m.Channel == channel && m.TS == ts {
			return m
		}
	}
	return nil
}

// keep adds or changes a message, and tells everybody who may see it.
func (s *Server) keep(m *Message) {
	if m.EphemeralTo != "" {
		list := s.ephemerals[m.EphemeralTo]
		if s.ephemeral(m.EphemeralTo, m.Channel, m.TS) == nil {
			list = remember(list, m)
		} else {
			put(&list, m, func(m *Message) string { return m.Channel + m.TS })
		}
		s.ephemerals[m.EphemeralTo] = list
		s.tell("message", m, m.EphemeralTo, "")
		return
	}
	if i := s.index(m.Channel, m.TS); i >= 0 {
		s.messages[m.Channel][i] = m
	} else {
		s.messages[m.Channel] = append(s.messages[m.Channel], m)
		s.countReply(m, +1)
	}
	s.journal.write(record{Message: m})
	s.tell("message", m, "", m.Channel)
}

// countReply keeps the numbers of a thread's parent.
func (s *Server) countReply(m *Message, n int) {
	if m.ThreadTS == "" || m.ThreadTS == m.TS {
		return
	}
	old := s.message(m.Channel, m.ThreadTS)
	if old == nil {
		return
	}
	parent := *old
	parent.ThreadTS, parent.ReplyCount = parent.TS, parent.ReplyCount+n
	if n > 0 {
		parent.LatestReply = m.TS
	}
	s.keep(&parent)
}

// drop deletes a message.
func (s *Server) drop(m *Message) {
	gone := spot{Channel: m.Channel, TS: m.TS, User: m.EphemeralTo}
	if m.EphemeralTo != "" {
		s.ephemerals[m.EphemeralTo] = slices.DeleteFunc(s.ephemerals[m.EphemeralTo], func(e *Message) bool {
			return e.Channel == m.Channel && e.TS == m.TS
		})
		s.tell("deleted", gone, m.EphemeralTo, "")
		return
	}
	if s.message(m.Channel, m.TS) == nil {
		return // gone already
	}
	s.messages[m.Channel] = slices.DeleteFunc(s.messages[m.Channel], func(e *Message) bool { return e.TS == m.TS })
	s.countReply(m, -1)
	s.journal.write(record{Deleted: &gone})
	s.tell("deleted", gone, "", m.Channel)
}

// seen are the messages of a channel as a person sees them, oldest first;
// without a person everything.
func (s *Server) seen(channel, user string) []*Message {
	out := slices.Clone(s.messages[channel])
	for who, list := range s.ephemerals {
		if user != "" && who != user {
			continue
		}
		for _, m := range list {
			if m.Channel == channel && s.shows(m) {
				out = append(out, m)
			}
		}
	}
	slices.SortFunc(out, func(a, b *Message) int { return compareTS(a.TS, b.TS) })
	return out
}

// shows: Slack shows an ephemeral reply only in a thread that has replies.
func (s *Server) shows(m *Message) bool {
	if m.ThreadTS == "" {
		return true
	}
	parent := s.message(m.Channel, m.ThreadTS)
	return parent != nil && parent.ReplyCount > 0
}

func compareTS(a, b string) int {
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	return bytes.Compare([]byte(a), []byte(b))
}

// visible: members see private channels and direct messages, everybody but
// guests sees public ones.
func (s *Server) visible(c *Channel, user string) bool {
	if c.has(user) {
		return true
	}
	u := s.work.user(user)
	return u != nil && !c.IsPrivate && !c.IsIM && !u.IsRestricted && u.TeamID == s.work.Team.ID
}

// direct is the direct message of two, made when it is not there yet.
func (s *Server) direct(a, b string) *Channel {
	for _, c := range s.work.Channels {
		if c.IsIM && c.has(a) && c.has(b) {
			return c
		}
	}
	c := &Channel{ID: s.newID("D"), IsIM: true, Members: []string{a, b}}
	s.work.Channels = append(s.work.Channels, c)
	s.journal.write(record{Channel: c})
	s.tell("channel", c, "", c.ID)
	return c
}
