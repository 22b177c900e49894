package slackd

import (
	"encoding/json"
	"slices"
)

// submit sends a form. Slack's own client lets no form go whose required
// fields are empty.
func (s *Server) submit(a act) Outcome {
	s.mu.Lock()
	u, why := s.person(a.User)
	v := s.views[a.ViewID]
	switch {
	case why != "":
	case v == nil || v.user != u.ID:
		why = "view_not_found"
	case v.Type != "modal" || !s.onTop(v):
		why = "only the topmost form can be sent"
	case len(v.Submit) == 0 || string(v.Submit) == "null":
		why = "the form has no submit button"
	}
	if why != "" {
		s.mu.Unlock()
		return refused(why)
	}
	values, errors := s.chosen(v, u, a.Values)
	v = s.withValues(v, values)
	missing := v.missing()
	if len(errors) > 0 || len(missing) > 0 {
		s.mu.Unlock()
		return Outcome{Outcome: Refused, Error: "the form is not complete", Errors: errors, Missing: missing}
	}
	payload := s.frame("view_submission", u)
	trigger := s.newTrigger(u.ID)
	payload["trigger_id"], payload["view"], payload["response_urls"] = trigger, copyJSON(v), []object{}
	s.mu.Unlock()
	return s.send(a, kindInteractive, payload, trigger, func(d *Delivery, answer rawJSON, out *Outcome) {
		if d.Outcome != Acked {
			out.Error = "operation_timeout"
			s.notice(u.ID, "", out.Error, "We had some trouble connecting. Try again?")
			return
		}
		s.respond(v, answer, out)
	})
}

func (s *Server) onTop(v *View) bool {
	stack := s.stacks[v.user]
	return len(stack) > 0 && stack[len(stack)-1].ID == v.ID
}

// chosen turns values as people give them into states; errors are by block.
func (s *Server) chosen(v *View, u *User, given map[string]map[string]any) (states map[string]map[string]any, errors map[string]string) {
	states, errors = map[string]map[string]any{}, map[string]string{}
	left := map[string]bool{}
	for block, fields := range given {
		for action := range fields {
			left[block+" "+action] = true
		}
	}
	for _, b := range v.blocks() {
		block, _ := b["block_id"].(string)
		eachElement(b, func(e object) {
			action, _ := e["action_id"].(string)
			value, there := given[block][action]
			if !there {
				return
			}
			delete(left, block+" "+action)
			state, err := choose(e, plain(value), s.offers[pressed{user: u, view: v, block: b, element: e}.offer()])
			if err != nil {
				errors[block] = err.Error()
				return
			}
			if states[block] == nil {
				states[block] = map[string]any{}
			}
			states[block][action] = state
		})
	}
	for name := range left {
		errors[name] = "there is no such field"
	}
	return states, errors
}

// missing are the blocks of required inputs that are empty.
func (v *View) missing() []string {
	var out []string
	for _, b := range v.blocks() {
		if b["type"] != "input" || b["optional"] == true {
			continue
		}
		block, _ := b["block_id"].(string)
		eachElement(b, func(e object) {
			action, _ := e["action_id"].(string)
			if blank(plain(v.State.Values[block][action])) {
				out = append(out, block)
			}
		})
	}
	return out
}

// respond does what the bot answers to a form: nothing closes it.
func (s *Server) respond(v *View, answer rawJSON, out *Outcome) {
	var in struct {
		Action string            `json:"response_action"`
		View   rawJSON           `json:"view"`
		Errors map[string]string `json:"errors"`
	}
	if len(answer) > 0 && string(answer) != "null" && json.Unmarshal(answer, &in) != nil {
		out.Error = "the answer is no JSON object"
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.views[v.ID] == nil {
		return // closed meanwhile
	}
	switch in.Action {
	case "":
		s.pop(v.user, v.ClearOnClose)
	case "clear":
		s.pop(v.user, true)
	case "errors":
		out.Errors = in.Errors
		for block := range in.Errors {
			if !slices.ContainsFunc(v.blocks(), func(b object) bool { return b["block_id"] == block && b["type"] == "input" }) {
				out.Errors, out.Error = nil, "We had some trouble connecting. Try again?"
				return
			}
		}
	case "update", "push":
		s.nextView(v, in.Action, in.View, out)
	default:
		out.Error = "unknown response_action " + in.Action
	}
}

func (s *Server) nextView(v *View, action string, raw rawJSON, out *Outcome) {
	next, err := s.newView(raw, v.user, "modal")
	if err == nil {
		err = s.external(next, map[bool]string{true: v.ID}[action == "update"])
	}
	switch {
	case err != nil:
		out.Error = err.Error()
	case action == "update":
		s.replaceView(v, next)
	case len(s.stacks[v.user]) >= maxViewStack:
		out.Error = "push_limit_reached"
	default:
		s.push(next)
	}
}

// closeView closes the topmost form, or all of them when it says so; the bot
// is told when it asked to be.
func (s *Server) closeView(a act) Outcome {
	s.mu.Lock()
	u, why := s.person(a.User)
	v := s.views[a.ViewID]
	switch {
	case why != "":
	case v == nil || v.user != u.ID:
		why = "view_not_found"
	case v.Type != "modal" || !s.onTop(v):
		why = "only the topmost form can be closed"
	}
	if why != "" {
		s.mu.Unlock()
		return refused(why)
	}
	payload := s.frame("view_closed", u)
	payload["view"], payload["is_cleared"] = copyJSON(v), v.ClearOnClose
	s.pop(u.ID, v.ClearOnClose)
	s.mu.Unlock()
	if !v.NotifyOnClose {
		return Outcome{Outcome: Acked}
	}
	return s.send(a, kindInteractive, payload, "", func(*Delivery, rawJSON, *Outcome) {})
}
