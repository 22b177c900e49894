package slackd

import (
	"slices"
	"strings"
)

// shape is a conversation in Slack's shape.
func (c *call) conversation(ch *Channel) object {
	me := c.s.work.App.BotUser
	out := object{
		"id": ch.ID, "is_archived": ch.IsArchived, "is_im": ch.IsIM, "is_mpim": false, "is_ext_shared": ch.IsExtShared, "is_shared": ch.IsExtShared,
		"is_org_shared": false, "created": 0, "context_team_id": c.s.work.Team.ID,
	}
	if ch.IsIM {
		out["user"], out["is_open"] = ch.partner(me), true
		return out
	}
	out["name"], out["name_normalized"] = ch.Name, ch.Name
	out["is_channel"], out["is_group"], out["is_private"] = !ch.IsPrivate, ch.IsPrivate, ch.IsPrivate
	out["is_member"], out["is_general"] = ch.has(me), ch.Name == "general"
	out["topic"], out["purpose"] = object{"value": ch.Topic}, object{"value": ""}
	if c.yes("include_num_members") {
		out["num_members"] = len(ch.Members)
	}
	return out
}

// listed reports whether the scopes let the bot see conversations of this kind.
func (c *call) listed(ch *Channel) bool {
	switch {
	case ch.IsIM:
		return c.can("im:read")
	case ch.IsPrivate:
		return c.can("groups:read")
	}
	return c.can("channels:read")
}

// known finds a channel that the bot may read about.
func (c *call) known() (*Channel, error) {
	ch := c.s.work.channel(c.str("channel"))
	if ch == nil || c.s.reachable(ch) != nil {
		return nil, refuse("channel_not_found")
	}
	if !c.listed(ch) {
		needed := map[bool]string{true: "groups:read", false: "channels:read"}[ch.IsPrivate]
		if ch.IsIM {
			needed = "im:read"
		}
		return nil, &refusal{name: "missing_scope", extra: object{"needed": needed, "provided": strings.Join(c.scopes, ",")}}
	}
	return ch, nil
}

func conversationsList(c *call) (object, error) {
	if err := c.orgWide(); err != nil {
		return nil, err
	}
	types := c.list("types")
	if len(types) == 0 {
		types = []string{"public_channel"}
	}
	all := []object{}
	for _, ch := range c.s.work.Channels {
		kind := "public_channel"
		switch {
		case ch.IsIM:
			kind = "im"
		case ch.IsPrivate:
			kind = "private_channel"
		}
		if !slices.Contains(types, kind) || c.s.reachable(ch) != nil || !c.listed(ch) || ch.IsArchived && c.yes("exclude_archived") {
			continue
		}
		all = append(all, c.conversation(ch))
	}
	some, next, err := page(c, all, 100)
	if err != nil {
		return nil, err
	}
	return object{"channels": some, "response_metadata": next}, nil
}

func conversationsInfo(c *call) (object, error) {
	ch, err := c.known()
	if err != nil {
		return nil, err
	}
	return object{"channel": c.conversation(ch)}, nil
}

func conversationsMembers(c *call) (object, error) {
	ch, err := c.known()
	if err != nil {
		return nil, err
	}
	some, next, err := page(c, ch.Members, 100)
	if err != nil {
		return nil, err
	}
	return object{"members": some, "response_metadata": next}, nil
}

// conversationsOpen opens a direct message; of a group of people there is none
// here.
func conversationsOpen(c *call) (object, error) {
	if id := c.str("channel"); id != "" {
		ch := c.s.work.channel(id)
		if ch == nil || !ch.IsIM || c.s.reachable(ch) != nil {
			return nil, refuse("channel_not_found")
		}
		return object{"channel": object{"id": ch.ID}}, nil
	}
	ids := c.list("users")
	if len(ids) != 1 {
		return nil, refuse(map[bool]string{true: "users_list_not_supplied", false: "method_not_supported_for_channel_type"}[len(ids) == 0])
	}
	u := c.s.work.user(ids[0])
	switch {
	case u == nil:
		return nil, refuse("user_not_found")
	case u.Deleted:
		return nil, refuse("user_disabled")
	case u.IsBot:
		return nil, refuse("cannot_dm_bot")
	case u.TeamID != c.s.work.Team.ID:
		return nil, refuse("user_not_visible")
	}
	before := len(c.s.work.Channels)
	ch := c.s.direct(c.s.work.App.BotUser, u.ID)
	answer := object{"channel": object{"id": ch.ID}}
	if c.yes("return_im") {
		answer["channel"] = c.conversation(ch)
	}
	if len(c.s.work.Channels) == before {
		answer["already_open"], answer["no_op"] = true, true
	}
	return answer, nil
}

func conversationsJoin(c *call) (object, error) {
	ch, me := c.s.work.channel(c.str("channel")), c.s.work.App.BotUser
	switch {
	case ch == nil:
		return nil, refuse("channel_not_found")
	case ch.IsPrivate || ch.IsIM:
		return nil, refuse("method_not_supported_for_channel_type")
	case ch.IsArchived:
		return nil, refuse("is_archived")
	}
	answer := object{}
	if ch.has(me) {
		answer["warning"] = "already_in_channel"
	} else {
		joined := *ch
		joined.Members = append(slices.Clone(ch.Members), me)
		ch = &joined
		c.s.keepChannel(ch)
	}
	answer["channel"] = c.conversation(ch)
	return answer, nil
}
