package slackd

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"
)

// content reads and judges what a post wants to show.
func (c *call) content(maxText int) (text string, blocks, attachments rawJSON, err error) {
	text = c.str("text")
	if utf8.RuneCountInString(text) > maxText {
		return "", nil, nil, refuse("msg_too_long")
	}
	if c.has("blocks") {
		if blocks, err = c.s.messageBlocks(c.raw("blocks")); err != nil {
			return "", nil, nil, err
		}
	}
	if c.has("attachments") {
		var list []object
		if c.into("attachments", &list) != nil {
			return "", nil, nil, refuse("invalid_attachments")
		}
		if len(list) > 0 {
			attachments = c.raw("attachments")
		}
	}
	return text, blocks, attachments, nil
}

// messageBlocks judges blocks and gives ids to those that have none; no blocks
// is nil.
func (s *Server) messageBlocks(raw rawJSON) (rawJSON, error) {
	flaws, long := judgeMessage(raw)
	if flaws = append(flaws, s.undrawn(raw)...); len(flaws) > 0 {
		return nil, invalid("invalid_blocks", flaws)
	}
	if long {
		return nil, refuse("msg_blocks_too_long")
	}
	return s.nameBlocks(raw), nil
}

// undrawn are the blocks that this workspace does not draw.
func (s *Server) undrawn(raw rawJSON) []flaw {
	j := &judge{on: onMessage}
	var list []object
	if json.Unmarshal(raw, &list) != nil {
		return nil
	}
	for i, b := range list {
		if kind, _ := b["type"].(string); slices.Contains(s.work.Without, kind) {
			j.refuse(fmt.Sprintf("/blocks/%d/type", i), "unsupported_type", "unsupported type: %s", kind)
		}
	}
	return j.flaws
}

// nameBlocks gives a block_id and an action_id where there is none.
func (s *Server) nameBlocks(raw rawJSON) rawJSON {
	var list []object
	if json.Unmarshal(raw, &list) != nil || len(list) == 0 {
		return nil
	}
	name := func(o object, key string) {
		if id, _ := o[key].(string); id == "" {
			o[key] = s.secret(3)
		}
	}
	for _, b := range list {
		name(b, "block_id")
		eachElement(b, func(e object) {
			if e["type"] != "image" {
				name(e, "action_id")
			}
		})
	}
	out, err := json.Marshal(list)
	if err != nil {
		return raw
	}
	return out
}

// eachElement visits the interactive elements of a block.
func eachElement(b object, visit func(object)) {
	for _, key := range []string{"accessory", "element"} {
		if e, ok := b[key].(object); ok {
			visit(e)
		}
	}
	if b["type"] == "actions" {
		list, _ := b["elements"].([]any)
		for _, v := range list {
			if e, ok := v.(object); ok {
				visit(e)
			}
		}
	}
	children, _ := b["child_blocks"].([]any)
	for _, v := range children {
		if child, ok := v.(object); ok {
			eachElement(child, visit)
		}
	}
}

// target finds the channel a post goes to: an id, a #name, or a person, whose
// direct message is opened.
func (c *call) target() (*Channel, error) {
	w, id := c.s.work, strings.TrimPrefix(c.str("channel"), "#")
	ch := w.channel(id)
	if ch == nil {
		if i := slices.IndexFunc(w.Channels, func(ch *Channel) bool { return ch.Name == id && id != "" && !ch.IsPrivate }); i >= 0 {
			ch = w.Channels[i]
		}
	}
	if ch != nil {
		return ch, c.s.reachable(ch)
	}
	u := w.user(id)
	switch {
	case u == nil:
		return nil, refuse("channel_not_found")
	case u.Deleted:
		return nil, refuse("account_inactive")
	case u.IsBot:
		return nil, refuse("cannot_dm_bot")
	case u.TeamID != w.Team.ID:
		return nil, refuse("channel_not_found")
	}
	return c.s.direct(w.App.BotUser, u.ID), nil
}

// reachable hides private channels and others' direct messages from the bot.
func (s *Server) reachable(ch *Channel) error {
	if (ch.IsPrivate || ch.IsIM) && !ch.has(s.work.App.BotUser) {
		return refuse("channel_not_found")
	}
	return nil
}

func postMessage(c *call) (object, error) {
	ch, err := c.target()
	if err != nil {
		return nil, err
	}
	switch {
	case ch.IsArchived:
		return nil, refuse("is_archived")
	case !ch.has(c.s.work.App.BotUser) && !c.can("chat:write.public"):
		return nil, refuse("not_in_channel")
	}
	text, blocks, attachments, err := c.content(maxPostText)
	if err != nil {
		return nil, err
	}
	if text == "" && blocks == nil && attachments == nil {
		return nil, refuse("no_text")
	}
	m := c.s.botMessage(ch.ID, text, blocks, attachments)
	if m.Metadata = c.raw("metadata"); len(m.Metadata) > maxMetadata {
		return nil, refuse("metadata_too_large")
	}
	if thread := c.str("thread_ts"); thread != "" {
		if c.s.message(ch.ID, thread) == nil {
			return nil, refuse("thread_not_found")
		}
		m.ThreadTS = thread
	}
	c.s.keep(m)
	return object{"channel": ch.ID, "ts": m.TS, "message": c.s.outside(m)}, nil
}

// botMessage is a new message of the app.
func (s *Server) botMessage(channel, text string, blocks, attachments rawJSON) *Message {
	a := s.work.App
	return &Message{
		Type: "message", Channel: channel, TS: s.clock.stamp(), User: a.BotUser, BotID: a.BotID, AppID: a.ID, Team: s.work.Team.ID,
		Text: text, Blocks: blocks, Attachments: attachments,
	}
}

// own finds a message of the app that may be changed; other says what is wrong
// with somebody else's.
func (c *call) own(other string) (*Channel, *Message, error) {
	ch := c.s.work.channel(c.str("channel"))
	if ch == nil || c.s.reachable(ch) != nil {
		return nil, nil, refuse("channel_not_found")
	}
	m := c.s.message(ch.ID, c.str("ts"))
	switch {
	case m == nil:
		return nil, nil, refuse("message_not_found")
	case m.BotID != c.s.work.App.BotID:
		return nil, nil, refuse(other)
	case ch.IsArchived:
		return nil, nil, refuse("is_archived")
	}
	return ch, m, nil
}

// updateMessage: text without blocks takes the blocks away; attachments stay
// unless others, or an empty list, are sent.
func updateMessage(c *call) (object, error) {
	ch, old, err := c.own("cant_update_message")
	if err != nil {
		return nil, err
	}
	text, blocks, attachments, err := c.content(maxUpdateText)
	if err != nil {
		return nil, err
	}
	m := *old
	switch {
	case c.given("blocks"):
		m.Blocks = blocks
	case c.has("text"):
		m.Blocks = nil
	case !c.given("attachments"):
		return nil, refuse("no_text")
	}
	if c.given("text") {
		m.Text = text
	}
	if c.given("attachments") {
		m.Attachments = attachments
	}
	if c.given("metadata") {
		m.Metadata = c.raw("metadata")
	}
	m.Edited = &Edited{User: c.s.work.App.BotUser, TS: c.s.clock.stamp()}
	c.s.keep(&m)
	return object{"channel": ch.ID, "ts": m.TS, "text": m.Text, "message": c.s.outside(&m)}, nil
}

func deleteMessage(c *call) (object, error) {
	ch, m, err := c.own("cant_delete_message")
	if err != nil {
		return nil, err
	}
	c.s.drop(m)
	return object{"channel": ch.ID, "ts": m.TS}, nil
}

// postEphemeral shows a message to one person in the channel. It is nobody
// else's, chat.update cannot change it, and it ends with the session.
func postEphemeral(c *call) (object, error) {
	ch, err := c.target()
	if err != nil {
		return nil, err
	}
	u := c.s.work.user(c.str("user"))
	switch {
	case ch.IsArchived:
		return nil, refuse("is_archived")
	case !ch.has(c.s.work.App.BotUser) && !c.can("chat:write.public"):
		return nil, refuse("not_in_channel")
	case u == nil || !ch.has(u.ID):
		return nil, refuse("user_not_in_channel")
	}
	text, blocks, attachments, err := c.content(maxPostText)
	if err != nil {
		return nil, err
	}
	if text == "" && blocks == nil && attachments == nil {
		return nil, refuse("no_text")
	}
	m := c.s.botMessage(ch.ID, text, blocks, attachments)
	m.ThreadTS, m.IsEphemeral, m.EphemeralTo = c.str("thread_ts"), true, u.ID
	c.s.keep(m)
	return object{"message_ts": m.TS}, nil
}

func getPermalink(c *call) (object, error) {
	ch := c.s.work.channel(c.str("channel"))
	if ch == nil || c.s.reachable(ch) != nil {
		return nil, refuse("channel_not_found")
	}
	m := c.s.message(ch.ID, c.str("message_ts"))
	if m == nil {
		return nil, refuse("message_not_found")
	}
	link := c.base + "/archives/" + ch.ID + "/p" + strings.Replace(m.TS, ".", "", 1)
	if m.ThreadTS != "" {
		link += "?" + url.Values{"thread_ts": {m.ThreadTS}, "cid": {ch.ID}}.Encode()
	}
	return object{"channel": ch.ID, "permalink": link}, nil
}

// permalink leads whoever follows one to the page.
func permalink(w http.ResponseWriter, r *http.Request) {
	ts := strings.TrimPrefix(r.PathValue("stamp"), "p")
	if n := len(ts) - 6; n > 0 {
		ts = ts[:n] + "." + ts[n:]
	}
	http.Redirect(w, r, "/?"+url.Values{"channel": {r.PathValue("channel")}, "ts": {ts}}.Encode(), http.StatusFound)
}

func reactionsAdd(c *call) (object, error) {
	ch := c.s.work.channel(c.str("channel"))
	if ch == nil || c.s.reachable(ch) != nil {
		return nil, refuse("channel_not_found")
	}
	old := c.s.message(ch.ID, c.str("timestamp"))
	name, me := strings.Trim(c.str("name"), ":"), c.s.work.App.BotUser
	switch {
	case name == "":
		return nil, refuse("invalid_name")
	case old == nil:
		return nil, refuse("message_not_found")
	}
	m := *old
	m.Reactions = nil
	found := false
	for _, r := range old.Reactions {
		n := *r
		if r.Name == name {
			if slices.Contains(r.Users, me) {
				return nil, refuse("already_reacted")
			}
			found = true
			n.Users = append(slices.Clone(r.Users), me)
			n.Count = len(n.Users)
		}
		m.Reactions = append(m.Reactions, &n)
	}
	if !found {
		m.Reactions = append(m.Reactions, &Reaction{Name: name, Users: []string{me}, Count: 1})
	}
	c.s.keep(&m)
	return nil, nil
}
