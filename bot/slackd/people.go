package slackd

import (
	"encoding/base64"
	"strconv"
	"time"
)

// profile is a user in Slack's shape. The locale is shown only when asked for,
// the address only with its scope.
func (c *call) profile(u *User, id string) object {
	profile := object{"real_name": u.RealName, "real_name_normalized": u.RealName, "display_name": u.Name, "display_name_normalized": u.Name, "team": u.TeamID}
	if c.can("users:read.email") && u.Email != "" && !u.IsBot {
		profile["email"] = u.Email
	}
	out := object{
		"id": id, "team_id": u.TeamID, "name": u.Name, "real_name": u.RealName, "deleted": u.Deleted, "profile": profile,
		"tz": u.Zone, "is_admin": u.IsAdmin, "is_owner": false, "is_primary_owner": false, "is_bot": u.IsBot, "is_app_user": false,
		"is_restricted": u.IsRestricted, "is_ultra_restricted": u.IsUltraRestricted, "is_stranger": u.IsStranger,
		"is_email_confirmed": !u.EmailUnconfirmed && !u.IsBot, "updated": c.now.Unix(),
	}
	if zone, err := time.LoadLocation(u.Zone); err == nil {
		_, offset := c.now.In(zone).Zone()
		out["tz_offset"], out["tz_label"] = offset, u.Zone
	}
	if c.yes("include_locale") {
		out["locale"] = u.Locale
	}
	if u.IsBot {
		profile["bot_id"], profile["api_app_id"] = c.s.work.App.BotID, c.s.work.App.ID
	}
	if u.GridID != "" {
		out["enterprise_user"] = object{
			"id": u.GridID, "enterprise_id": c.s.work.Team.EnterpriseID, "teams": []string{u.TeamID}, "is_admin": u.IsAdmin, "is_owner": false,
		}
	}
	return out
}

func usersInfo(c *call) (object, error) {
	u := c.s.work.user(c.str("user"))
	if u == nil {
		return nil, refuse("user_not_found")
	}
	return object{"user": c.profile(u, c.str("user"))}, nil
}

func usersLookup(c *call) (object, error) {
	for _, u := range c.s.work.Users {
		if u.Email != "" && u.Email == c.str("email") && !u.Deleted && u.TeamID == c.s.work.Team.ID {
			return object{"user": c.profile(u, u.ID)}, nil
		}
	}
	return nil, refuse("users_not_found")
}

// orgWide: an app of a whole enterprise has to say which team it asks about.
func (c *call) orgWide() error {
	if c.s.work.Team.OrgInstall && c.str("team_id") == "" {
		return refuse("missing_argument")
	}
	return nil
}

// page cuts a list at the cursor and says where the next piece begins.
func page[T any](c *call, all []T, without int) ([]T, object, error) {
	start := 0
	if cursor := c.str("cursor"); cursor != "" {
		text, err := base64.StdEncoding.DecodeString(cursor)
		if err != nil {
			return nil, nil, refuse("invalid_cursor")
		}
		if start, err = strconv.Atoi(string(text)); err != nil || start < 0 || start > len(all) {
			return nil, nil, refuse("invalid_cursor")
		}
	}
	end := min(len(all), start+c.number("limit", without, 1000))
	next := ""
	if end < len(all) {
		next = base64.StdEncoding.EncodeToString([]byte(strconv.Itoa(end)))
	}
	return all[start:end], object{"next_cursor": next}, nil
}

func usersList(c *call) (object, error) {
	if err := c.orgWide(); err != nil {
		return nil, err
	}
	some, next, err := page(c, c.s.work.Users, 1000)
	if err != nil {
		return nil, err
	}
	members := []object{}
	for _, u := range some {
		members = append(members, c.profile(u, u.ID))
	}
	return object{"members": members, "cache_ts": c.now.Unix(), "response_metadata": next}, nil
}

func groupsList(c *call) (object, error) {
	if err := c.orgWide(); err != nil {
		return nil, err
	}
	groups := []object{}
	for _, g := range c.s.work.Groups {
		if g.Disabled && !c.yes("include_disabled") {
			continue
		}
		o := object{
			"id": g.ID, "team_id": c.s.work.Team.ID, "is_usergroup": true, "is_subteam": true, "name": g.Name, "handle": g.Handle, "description": "",
			"is_external": false, "is_idp_group": g.IsIDPGroup, "is_membership_locked": g.Locked, "date_delete": 0, "user_count": len(g.Users),
			"prefs": object{"channels": []string{}, "groups": []string{}},
		}
		if g.Disabled {
			o["date_delete"] = c.now.Unix()
		}
		if c.yes("include_users") {
			o["users"] = g.Users
		}
		groups = append(groups, o)
	}
	return object{"usergroups": groups}, nil
}

func groupsUsers(c *call) (object, error) {
	if err := c.orgWide(); err != nil {
		return nil, err
	}
	g := c.s.work.group(c.str("usergroup"))
	if g == nil {
		return nil, refuse("no_such_subteam")
	}
	if g.Disabled && !c.yes("include_disabled") {
		return nil, refuse("subteam_disabled")
	}
	return object{"users": g.Users}, nil
}
