package slackd

import (
	"encoding/json"
	"slices"
	"unicode/utf8"
)

// View is a form or a home tab, in Slack's shape.
type View struct {
	ID              string    `json:"id"`
	TeamID          string    `json:"team_id"`
	Type            string    `json:"type"`
	Title           rawJSON   `json:"title,omitempty"`
	Submit          rawJSON   `json:"submit"`
	Close           rawJSON   `json:"close"`
	Blocks          rawJSON   `json:"blocks"`
	PrivateMetadata string    `json:"private_metadata"`
	CallbackID      string    `json:"callback_id"`
	ExternalID      string    `json:"external_id"`
	State           viewState `json:"state"`
	Hash            string    `json:"hash"`
	ClearOnClose    bool      `json:"clear_on_close"`
	NotifyOnClose   bool      `json:"notify_on_close"`
	SubmitDisabled  bool      `json:"submit_disabled"`
	RootID          string    `json:"root_view_id"`
	PreviousID      string    `json:"previous_view_id"`
	AppID           string    `json:"app_id"`
	AppTeamID       string    `json:"app_installed_team_id"`
	BotID           string    `json:"bot_id"`

	user string
}

// viewState is what a person has filled in: block, action, value.
type viewState struct {
	Values map[string]map[string]any `json:"values"`
}

// blocks are the view's blocks taken apart.
func (v *View) blocks() []object {
	var out []object
	_ = json.Unmarshal(v.Blocks, &out) // judged when it came
	return out
}

// judgeView reads a view and notes what Slack would refuse.
func judgeView(raw rawJSON) (*View, []flaw) {
	j := &judge{blocks: map[string]bool{}}
	v, o := &View{}, object{}
	if json.Unmarshal(raw, &o) != nil || json.Unmarshal(raw, v) != nil {
		j.refuse("/view", "invalid_type", "must be a view object")
		return nil, j.flaws
	}
	if !j.oneOf("/view/type", v.Type, "modal", "home") {
		return nil, j.flaws
	}
	j.on = surface(v.Type)
	if v.Type == "modal" {
		j.textAt(o, "/view", "title", maxViewTitle, true, true)
		j.textAt(o, "/view", "submit", maxViewTitle, true, false)
		j.textAt(o, "/view", "close", maxViewTitle, true, false)
	}
	j.word(o, "/view", "private_metadata", maxPrivate)
	j.word(o, "/view", "callback_id", maxID)
	j.word(o, "/view", "external_id", maxID)
	if _, there := o["blocks"]; !there {
		j.refuse("/view/blocks", "missing_field", "missing required field: blocks")
	}
	j.blocksOf(j.list(o, "/view", "blocks", 0, maxViewBlocks), "/view/blocks", maxViewBlocks)
	if v.Type == "modal" && j.inputs > 0 && o["submit"] == nil {
		j.refuse("/view/submit", "missing_field", "submit is required when there are input blocks")
	}
	return v, j.flaws
}

// newView judges a view and makes it ready to be shown to a person.
func (s *Server) newView(raw rawJSON, user, kind string) (*View, error) {
	if len(raw) > maxViewBytes {
		return nil, refuse("view_too_large")
	}
	v, flaws := judgeView(raw)
	if len(flaws) == 0 && v.Type != kind {
		flaws = []flaw{{Pointer: "/view/type", Code: "failed_constraint", Message: "must be a " + kind + " here"}}
	}
	if len(flaws) > 0 {
		return nil, invalid("invalid_arguments", flaws)
	}
	v.ID, v.Hash, v.user = s.newID("V"), s.newHash(), user
	v.TeamID, v.AppID, v.BotID, v.AppTeamID = s.work.Team.ID, s.work.App.ID, s.work.App.BotID, s.work.Team.ID
	if v.Blocks = s.nameBlocks(v.Blocks); v.Blocks == nil {
		v.Blocks = rawJSON("[]")
	}
	v.RootID = v.ID
	v.State = v.filled(viewState{})
	return v, nil
}

func (s *Server) newHash() string { return s.clock.stamp() + "." + s.secret(4) }

// filled is the state of a new version of a view: what was typed stays where
// the block and action are the same, the rest starts with initial values.
func (v *View) filled(old viewState) viewState {
	out := viewState{Values: map[string]map[string]any{}}
	for _, b := range v.blocks() {
		id, _ := b["block_id"].(string)
		eachElement(b, func(e object) {
			action, _ := e["action_id"].(string)
			initial, stateful := initialValue(e)
			if !stateful {
				return
			}
			var value any = initial
			if kept, there := old.Values[id][action]; there {
				value = kept
			}
			if out.Values[id] == nil {
				out.Values[id] = map[string]any{}
			}
			out.Values[id][action] = value
		})
	}
	return out
}

// external refuses an external_id that another open view has.
func (s *Server) external(v *View, except string) error {
	if v.ExternalID == "" {
		return nil
	}
	for _, other := range s.views {
		if other.ExternalID == v.ExternalID && other.ID != except {
			return refuse("duplicate_external_id")
		}
	}
	return nil
}

// trigger uses a trigger_id up, once, within three seconds.
func (c *call) trigger() (user string, err error) {
	id := c.str("trigger_id")
	if id == "" {
		return "", refuse("invalid_arguments")
	}
	t, known := c.s.triggers[id]
	switch {
	case !known:
		return "", refuse("invalid_trigger_id")
	case t.used:
		return "", refuse("exchanged_trigger_id")
	case c.now.Sub(t.at) > triggerLife || c.now.Before(t.at):
		return "", refuse("expired_trigger_id")
	}
	return t.user, nil
}

// exchange marks a trigger as used; only a view that opened uses it.
func (s *Server) exchange(id string) {
	t := s.triggers[id]
	t.used = true
	s.triggers[id] = t
}

func viewsOpen(c *call) (object, error) {
	user, err := c.trigger()
	if err != nil {
		return nil, err
	}
	v, err := c.s.newView(c.raw("view"), user, "modal")
	if err != nil {
		return nil, err
	}
	if err := c.s.external(v, ""); err != nil {
		return nil, err
	}
	c.s.exchange(c.str("trigger_id"))
	for _, old := range c.s.stacks[user] {
		delete(c.s.views, old.ID)
	}
	c.s.stacks[user] = nil
	c.s.push(v)
	return object{"view": v}, nil
}

func viewsPush(c *call) (object, error) {
	user, err := c.trigger()
	if err != nil {
		return nil, err
	}
	stack := c.s.stacks[user]
	switch {
	case len(stack) == 0:
		return nil, refuse("not_found")
	case len(stack) >= maxViewStack:
		return nil, refuse("push_limit_reached")
	}
	v, err := c.s.newView(c.raw("view"), user, "modal")
	if err != nil {
		return nil, err
	}
	if err := c.s.external(v, ""); err != nil {
		return nil, err
	}
	c.s.exchange(c.str("trigger_id"))
	c.s.push(v)
	return object{"view": v}, nil
}

// push puts a view on top of its user's stack.
func (s *Server) push(v *View) {
	stack := s.stacks[v.user]
	if len(stack) > 0 {
		v.PreviousID, v.RootID = stack[len(stack)-1].ID, stack[0].ID
	}
	s.views[v.ID] = v
	s.stacks[v.user] = append(slices.Clone(stack), v)
	s.tellViews(v.user)
}

// pop takes the topmost view away, or with all the whole stack.
func (s *Server) pop(user string, all bool) {
	stack := s.stacks[user]
	if len(stack) == 0 {
		return
	}
	keep := len(stack) - 1
	if all {
		keep = 0
	}
	for _, v := range stack[keep:] {
		delete(s.views, v.ID)
	}
	s.stacks[user] = slices.Clone(stack[:keep])
	s.tellViews(user)
}

func (s *Server) tellViews(user string) {
	s.tell("view", object{"user": user, "views": slices.Clone(s.stacks[user])}, user, "")
}

// replaceView puts a new version in the place of an old one.
func (s *Server) replaceView(old, v *View) {
	v.ID, v.user, v.RootID, v.PreviousID = old.ID, old.user, old.RootID, old.PreviousID
	v.State = v.filled(old.State)
	s.views[v.ID] = v
	if v.Type == "home" {
		s.keepHome(v)
		return
	}
	stack := slices.Clone(s.stacks[v.user])
	for i := range stack {
		if stack[i].ID == v.ID {
			stack[i] = v
		}
	}
	s.stacks[v.user] = stack
	s.tellViews(v.user)
}

func viewsUpdate(c *call) (object, error) {
	old := c.s.views[c.str("view_id")]
	if old == nil && c.str("external_id") != "" {
		for _, v := range c.s.views {
			if v.ExternalID == c.str("external_id") {
				old = v
			}
		}
	}
	if old == nil {
		return nil, refuse("not_found")
	}
	if h := c.str("hash"); h != "" && h != old.Hash {
		return nil, refuse("hash_conflict")
	}
	v, err := c.s.newView(c.raw("view"), old.user, old.Type)
	if err != nil {
		return nil, err
	}
	if err := c.s.external(v, old.ID); err != nil {
		return nil, err
	}
	c.s.replaceView(old, v)
	return object{"view": v}, nil
}

func viewsPublish(c *call) (object, error) {
	u := c.s.work.user(c.str("user_id"))
	if u == nil || u.IsBot || u.TeamID != c.s.work.Team.ID {
		return nil, refuse("user_not_found")
	}
	old := c.s.homes[u.ID]
	if h := c.str("hash"); h != "" && (old == nil || h != old.Hash) {
		return nil, refuse("hash_conflict")
	}
	v, err := c.s.newView(c.raw("view"), u.ID, "home")
	if err != nil {
		return nil, err
	}
	if old != nil {
		v.ID = old.ID
		v.State = v.filled(old.State)
	}
	c.s.views[v.ID] = v
	c.s.keepHome(v)
	return object{"view": v}, nil
}

// keepHome makes a view the home tab of its user.
func (s *Server) keepHome(v *View) {
	s.homes[v.user] = v
	tab := homeTab{User: v.user, View: v}
	s.journal.write(record{Home: &tab})
	s.tell("home", tab, v.user, "")
}

// runes counts as people do.
func runes(s string) int { return utf8.RuneCountInString(s) }
