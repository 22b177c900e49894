package slackd

import (
	"net/http"
	"slices"
	"strconv"
)

// change decodes the fields that are given over a copy of what there is.
func change[T any](w http.ResponseWriter, r *http.Request, old *T) (*T, bool) {
	if old == nil {
		writeJSON(w, http.StatusNotFound, mistake{Error: "there is no " + r.PathValue("id")})
		return nil, false
	}
	out := copyJSON(*old)
	return &out, decode(w, r, &out)
}

func (s *Server) keepChannel(c *Channel) {
	put(&s.work.Channels, c, func(c *Channel) string { return c.ID })
	s.journal.write(record{Channel: c})
	s.tell("channel", c, "", c.ID)
}

func (s *Server) postUser(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	old := s.work.user(r.PathValue("id"))
	s.mu.Unlock()
	u, ok := change(w, r, old)
	if !ok {
		return
	}
	u.ID = old.ID
	s.mu.Lock()
	put(&s.work.Users, u, func(u *User) string { return u.ID })
	s.journal.write(record{User: u})
	s.tell("user", u, "", "")
	c := &call{s: s, now: s.clock.now(), scopes: s.work.App.Scopes, args: args{values: object{"include_locale": "true"}}}
	event := object{"type": "user_change", "user": c.profile(u, u.ID), "cache_ts": c.now.Unix(), "event_ts": s.clock.stamp()}
	s.mu.Unlock()
	s.emit(event)
	writeJSON(w, http.StatusOK, u)
}

func (s *Server) postGroup(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	old := s.work.group(r.PathValue("id"))
	s.mu.Unlock()
	g, ok := change(w, r, old)
	if !ok {
		return
	}
	g.ID = old.ID
	s.mu.Lock()
	put(&s.work.Groups, g, func(g *Group) string { return g.ID })
	s.journal.write(record{Group: g})
	s.tell("group", g, "", "")
	event := object{"type": "subteam_updated", "subteam": object{"id": g.ID, "handle": g.Handle, "name": g.Name, "users": g.Users}, "event_ts": s.clock.stamp()}
	if !slices.Equal(g.Users, old.Users) {
		added, removed := without(g.Users, old.Users), without(old.Users, g.Users)
		event = object{
			"type": "subteam_members_changed", "subteam_id": g.ID, "team_id": s.work.Team.ID, "date_update": s.clock.now().Unix(),
			"added_users": added, "added_users_count": len(added), "removed_users": removed, "removed_users_count": len(removed), "event_ts": s.clock.stamp(),
		}
	}
	s.mu.Unlock()
	s.emit(event)
	writeJSON(w, http.StatusOK, g)
}

func without(list, others []string) []string {
	return slices.DeleteFunc(append([]string{}, list...), func(id string) bool { return slices.Contains(others, id) })
}

func (s *Server) postChannel(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	old := s.work.channel(r.PathValue("id"))
	s.mu.Unlock()
	c, ok := change(w, r, old)
	if !ok {
		return
	}
	c.ID = old.ID
	s.mu.Lock()
	c.Members = s.work.members(c.Members)
	s.keepChannel(c)
	events, stamp := []object{}, s.clock.stamp()
	switch {
	case c.IsArchived && !old.IsArchived:
		events = append(events, object{"type": "channel_archive", "channel": c.ID, "event_ts": stamp})
	case !c.IsArchived && old.IsArchived:
		events = append(events, object{"type": "channel_unarchive", "channel": c.ID, "event_ts": stamp})
	}
	if c.Name != old.Name {
		events = append(events, object{"type": "channel_rename", "channel": object{"id": c.ID, "name": c.Name}, "event_ts": stamp})
	}
	s.mu.Unlock()
	for _, e := range events {
		s.emit(e)
	}
	writeJSON(w, http.StatusOK, c)
}

func (s *Server) postEvent(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Event   object `json:"event"`
		EventID string `json:"event_id"`
	}
	if !decode(w, r, &in) {
		return
	}
	if _, named := in.Event["type"].(string); !named {
		bad(w, "an event needs a type")
		return
	}
	s.event(in.Event, in.EventID)
	writeJSON(w, http.StatusOK, Outcome{Outcome: Sent})
}

// postTokens revokes tokens, which the app is told with its last breath.
func (s *Server) postTokens(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Revoke  string `json:"revoke"`
		Restore bool   `json:"restore"`
	}
	if !decode(w, r, &in) {
		return
	}
	if !slices.Contains([]string{"", "bot", "app", "all"}, in.Revoke) {
		bad(w, `revoke is "bot", "app" or "all"`)
		return
	}
	s.mu.Lock()
	if in.Restore {
		s.revoked = map[tokenKind]bool{}
	}
	s.revoked[botToken] = s.revoked[botToken] || in.Revoke == "bot" || in.Revoke == "all"
	s.revoked[appToken] = s.revoked[appToken] || in.Revoke == "app" || in.Revoke == "all"
	now := object{"bot": s.revoked[botToken], "app": s.revoked[appToken]}
	event := object{"type": "tokens_revoked", "tokens": object{"oauth": []string{}, "bot": []string{s.work.App.BotUser}}, "event_ts": s.clock.stamp()}
	s.mu.Unlock()
	if in.Revoke == "bot" || in.Revoke == "all" {
		s.emit(event)
	}
	writeJSON(w, http.StatusOK, object{"revoked": now})
}

func (s *Server) postScopes(w http.ResponseWriter, r *http.Request) {
	var in struct{ Bot, App []string }
	if !decode(w, r, &in) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if in.Bot != nil {
		s.work.App.Scopes = in.Bot
	}
	if in.App != nil {
		s.work.App.AppScopes = in.App
	}
	writeJSON(w, http.StatusOK, object{"bot": s.work.App.Scopes, "app": s.work.App.AppScopes})
}

// postWithout sets which types of blocks the workspace does not draw.
func (s *Server) postWithout(w http.ResponseWriter, r *http.Request) {
	var in struct{ Blocks []string }
	if !decode(w, r, &in) {
		return
	}
	for _, kind := range in.Blocks {
		if _, known := shapes[kind]; !known {
			bad(w, "there is no block of the type "+strconv.Quote(kind))
			return
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.work.Without = in.Blocks
	writeJSON(w, http.StatusOK, object{"blocks": s.work.Without})
}

func (s *Server) postFault(w http.ResponseWriter, r *http.Request) {
	var f Fault
	if !decode(w, r, &f) {
		return
	}
	if why := f.wrong(); why != "" {
		bad(w, why)
		return
	}
	writeJSON(w, http.StatusOK, s.faults.add(f))
}

func (s *Server) deleteFault(w http.ResponseWriter, r *http.Request) {
	if !s.faults.remove(r.PathValue("id")) {
		writeJSON(w, http.StatusNotFound, mistake{Error: "there is no fault " + r.PathValue("id")})
		return
	}
	writeJSON(w, http.StatusOK, object{"faults": s.faults.all()})
}

// postSockets does to connections what networks and Slack do to them.
func (s *Server) postSockets(w http.ResponseWriter, r *http.Request) {
	var in struct{ Do, Reason, Connection string }
	if !decode(w, r, &in) {
		return
	}
	s.mu.Lock()
	links := []*link{}
	for _, l := range s.links {
		if in.Connection == "" || in.Connection == l.id {
			links = append(links, l)
		}
	}
	if in.Do == "disconnect" {
		s.disabled = in.Reason == "link_disabled"
	}
	if in.Do == "thaw" {
		s.disabled = false
	}
	s.mu.Unlock()
	for _, l := range links {
		switch in.Do {
		case "freeze":
			l.frozen.Store(true)
		case "thaw":
			l.frozen.Store(false)
		case "cut":
			_ = l.ws.NetConn().Close() // no close frame, as networks do it
		case "disconnect":
			_ = l.send(s.goodbye(in.Reason))
			if in.Reason != "warning" {
				_ = l.ws.Close()
			}
		default:
			bad(w, `do is "freeze", "thaw", "cut" or "disconnect"`)
			return
		}
	}
	ids := []string{}
	for _, l := range links {
		ids = append(ids, l.id)
	}
	slices.Sort(ids)
	writeJSON(w, http.StatusOK, object{"connections": ids})
}

// postRedeliver sends a payload that was delivered before once more: over HTTP
// with the signature made anew, over a socket in an envelope with the same id.
func (s *Server) postRedeliver(w http.ResponseWriter, r *http.Request) {
	var in struct{ Delivery string }
	if !decode(w, r, &in) {
		return
	}
	s.mu.Lock()
	i := slices.IndexFunc(s.deliveries, func(d *Delivery) bool { return d.ID == in.Delivery })
	var old *Delivery
	if i >= 0 {
		old = s.deliveries[i]
	}
	s.mu.Unlock()
	if old == nil {
		writeJSON(w, http.StatusNotFound, mistake{Error: "there is no delivery " + in.Delivery})
		return
	}
	again := &Delivery{ID: old.ID, Kind: old.Kind, Payload: old.Payload, Outcome: TimedOut}
	answer := s.dispatch(again)
	writeJSON(w, http.StatusOK, Outcome{Outcome: again.Outcome, Delivery: again.ID, AckMS: again.AckMS, Response: answer})
}
