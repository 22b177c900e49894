package slackd

import (
	"encoding/json"
	"maps"
	"slices"
)

// pressed is an element that somebody uses, and where it is.
type pressed struct {
	user    *User
	message *Message
	view    *View
	block   object
	element object
}

// find looks for the element that an act names.
func (s *Server) find(a act) (pressed, string) {
	u, why := s.person(a.User)
	if why != "" {
		return pressed{}, why
	}
	p := pressed{user: u}
	var blocks []object
	if a.ViewID != "" {
		if p.view = s.views[a.ViewID]; p.view == nil || p.view.user != u.ID {
			return p, "view_not_found"
		}
		blocks = p.view.blocks()
	} else {
		ch := s.work.channel(a.Channel)
		if ch == nil || !s.visible(ch, u.ID) {
			return p, "there is no channel " + a.Channel
		}
		if p.message = s.ephemeral(u.ID, ch.ID, a.TS); p.message == nil {
			p.message = s.message(ch.ID, a.TS)
		}
		if p.message == nil {
			return p, "there is no message " + a.TS
		}
		_ = json.Unmarshal(p.message.Blocks, &blocks) // judged when it came; none is none
	}
	for _, b := range blocks {
		if a.BlockID != "" && b["block_id"] != a.BlockID {
			continue
		}
		eachElement(b, func(e object) {
			if p.element == nil && e["action_id"] == a.ActionID {
				p.block, p.element = b, e
			}
		})
	}
	if p.element == nil {
		return p, "there is no element " + a.ActionID
	}
	return p, ""
}

// offer is the place suggestions for an element are remembered at.
func (p pressed) offer() string {
	id, _ := p.element["action_id"].(string)
	block, _ := p.block["block_id"].(string)
	where := ""
	if p.view != nil {
		where = p.view.ID
	} else {
		where = p.message.Channel + p.message.TS
	}
	return p.user.ID + " " + where + " " + block + " " + id
}

// press uses a button, a menu or a picker.
func (s *Server) press(a act) Outcome {
	s.mu.Lock()
	p, why := s.find(a)
	if why != "" {
		s.mu.Unlock()
		return refused(why)
	}
	action, err := s.action(p, a.Value)
	if err != nil {
		s.mu.Unlock()
		return refused(err.Error())
	}
	if p.view != nil {
		p.view = s.fill(p.view, p, action)
		if p.block["type"] == "input" && p.block["dispatch_action"] != true {
			s.mu.Unlock()
			return Outcome{Outcome: Acked} // an input is only filled in
		}
	}
	payload := s.frame("block_actions", p.user)
	trigger := s.newTrigger(p.user.ID)
	payload["trigger_id"], payload["actions"] = trigger, []object{action}
	s.container(payload, p)
	channel := ""
	if p.message != nil {
		channel = p.message.Channel
	}
	s.mu.Unlock()
	return s.send(a, kindInteractive, payload, trigger, func(d *Delivery, _ rawJSON, out *Outcome) {
		if d.Outcome != Acked {
			out.Error = "operation_timeout"
			s.notice(p.user.ID, channel, out.Error, "This app did not respond. Try again, or contact its owner.")
		}
	})
}

// container says where the element is.
func (s *Server) container(payload object, p pressed) {
	if p.view != nil {
		payload["container"] = object{"type": "view", "view_id": p.view.ID}
		payload["view"] = copyJSON(p.view)
		return
	}
	m := p.message
	ch := s.work.channel(m.Channel)
	name := commandChannel(ch)
	container := object{"type": "message", "message_ts": m.TS, "channel_id": m.Channel, "is_ephemeral": m.IsEphemeral}
	if m.ThreadTS != "" {
		container["thread_ts"] = m.ThreadTS
	}
	payload["container"], payload["channel"] = container, object{"id": m.Channel, "name": name}
	payload["message"], payload["state"] = s.outside(m), object{"values": object{}}
	payload["response_url"] = s.newHook(hook{user: p.user.ID, channel: m.Channel, message: m})
}

// outside is a message as Slack shows it to an app, without what only this
// workspace knows.
func (s *Server) outside(m *Message) *Message {
	out := *m
	out.Channel, out.EphemeralTo, out.IsEphemeral = "", "", false
	return &out
}

// action is the part of the payload that says what was done to the element.
func (s *Server) action(p pressed, value any) (object, error) {
	e := p.element
	out := object{"type": e["type"], "action_id": e["action_id"], "block_id": p.block["block_id"], "action_ts": s.clock.stamp()}
	switch e["type"] {
	case "button":
		out["text"] = e["text"]
		for _, key := range []string{"value", "url", "style"} {
			if e[key] != nil {
				out[key] = e[key]
			}
		}
		return out, nil
	case "overflow":
		o, err := pick(e, value, nil)
		out["selected_option"] = o
		return out, err
	}
	state, err := choose(e, plain(value), s.offers[p.offer()])
	maps.Copy(out, state)
	return out, err
}

// fill writes what was put into an element into the state of its view.
func (s *Server) fill(v *View, p pressed, action object) *View {
	state, stateful := initialValue(p.element)
	if !stateful {
		return v
	}
	for key := range state {
		state[key] = action[key]
	}
	block, _ := p.block["block_id"].(string)
	id, _ := p.element["action_id"].(string)
	return s.withValues(v, map[string]map[string]any{block: {id: state}})
}

// withValues is the view with some fields filled, in the place of the old one.
func (s *Server) withValues(v *View, values map[string]map[string]any) *View {
	out := *v
	out.State = viewState{Values: map[string]map[string]any{}}
	for block, fields := range v.State.Values {
		out.State.Values[block] = maps.Clone(fields)
	}
	for block, fields := range values {
		if out.State.Values[block] == nil {
			out.State.Values[block] = map[string]any{}
		}
		maps.Copy(out.State.Values[block], fields)
	}
	s.views[out.ID] = &out
	if out.Type == "home" {
		s.homes[out.user] = &out
		return &out
	}
	stack := slices.Clone(s.stacks[out.user])
	for i := range stack {
		if stack[i].ID == out.ID {
			stack[i] = &out
		}
	}
	s.stacks[out.user] = stack
	return &out
}

// suggest asks the bot for the options of an external select.
func (s *Server) suggest(a act) Outcome {
	s.mu.Lock()
	p, why := s.find(a)
	typed, _ := a.Value.(string)
	kind, _ := p.element["type"].(string)
	least := 3
	if n, ok := p.element["min_query_length"].(float64); ok {
		least = int(n)
	}
	switch {
	case why != "":
	case kind != "external_select" && kind != "multi_external_select":
		why = "the element has no suggestions"
	case runes(typed) < least:
		why = "too little is typed to ask for suggestions"
	}
	if why != "" {
		s.mu.Unlock()
		return refused(why)
	}
	payload := s.frame("block_suggestion", p.user)
	payload["action_id"], payload["block_id"], payload["value"] = p.element["action_id"], p.block["block_id"], typed
	s.container(payload, p)
	delete(payload, "response_url")
	key := p.offer()
	s.mu.Unlock()
	a.Wait = nil
	return s.send(a, kindOptions, payload, "", func(d *Delivery, answer rawJSON, out *Outcome) {
		if d.Outcome != Acked {
			out.Error = "operation_timeout"
			return
		}
		s.offered(key, answer, out)
	})
}

// offered judges the options a bot offers and remembers them: only those can
// be picked.
func (s *Server) offered(key string, answer rawJSON, out *Outcome) {
	given := object{}
	if json.Unmarshal(answer, &given) != nil {
		out.Error = "the answer is no JSON object"
		return
	}
	j := &judge{on: onModal, blocks: map[string]bool{}}
	options, _ := given["options"].([]any)
	groups, _ := given["option_groups"].([]any)
	if groups != nil {
		j.optionGroups(groups, "/option_groups")
		j.between("/option_groups", len(groups), 0, maxOptionGroups, "items")
	} else {
		j.options(options, "/options", true)
		j.between("/options", len(options), 0, maxOptions, "items")
	}
	if len(j.flaws) > 0 {
		out.Error = j.flaws[0].line()
		return
	}
	all := []object{}
	for _, v := range options {
		all = append(all, v.(object))
	}
	out.Options = slices.Clone(all)
	for _, v := range groups {
		g := v.(object)
		out.OptionGroups = append(out.OptionGroups, g)
		for _, o := range g["options"].([]any) {
			all = append(all, o.(object))
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.offers[key] = all
}
