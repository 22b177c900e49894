package bot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/slack-go/slack"

	"spillway.sh/spillway/bot/talk"
)

// Scopes are what the bot token needs, and nothing of what was said in
// channels. AppScopes are the app token's, for Socket Mode.
var (
	Scopes    = []string{"commands", "chat:write", "files:write", "im:write", "users:read", "users:read.email", "usergroups:read", "channels:read", "groups:read"}
	AppScopes = []string{"connections:write"}
)

// reads are scopes by which a bot could read what people say.
var reads = []string{"channels:history", "groups:history", "im:history", "mpim:history", "search:read"}

// Level is how a finding stands.
type Level string

// The levels of findings.
const (
	Fine    Level = "ok"
	Note    Level = "note"
	Warning Level = "warning"
	Fault   Level = "error"
)

// Finding is one thing the doctor looked at. Fix is what to do about it.
type Finding struct {
	Level   Level    `json:"level"`
	Subject string   `json:"subject"`
	Found   string   `json:"found"`
	Fix     []string `json:"fix"`
}

// Examination is what the doctor looks at.
type Examination struct {
	API      string // of the Web API, with its final slash
	Token    string
	AppToken string // empty: Socket Mode is not used
	Channel  string
	Accounts Accounts
	// Messages are cards to be judged by Slack itself, by their names.
	Messages map[string]talk.Message
	HTTP     *http.Client
}

// Examine asks Slack about everything the bot needs of it. It changes nothing.
func (x *Examination) Examine(ctx context.Context) []Finding {
	d := &doctor{x: x}
	me, header, err := d.call(ctx, "auth.test", x.Token, nil)
	if err != nil {
		d.add(Fault, "bot token", "Slack says "+redact(err.Error()), "install the app and put its Bot User OAuth Token, which begins with xoxb-, into the file of bot_token_file")
		return d.found
	}
	team := str(me, "team_id")
	d.add(Fine, "bot token", fmt.Sprintf("signed in to %s (%s) as %s", str(me, "team"), team, str(me, "user")))
	d.scopes(header)
	d.appToken(ctx)
	d.channel(ctx)
	d.groups(ctx, team)
	d.users(ctx, team, str(me, "enterprise_id"))
	d.looks(ctx)
	return d.found
}

type doctor struct {
	x     *Examination
	found []Finding
}

func (d *doctor) add(l Level, subject, found string, fix ...string) {
	d.found = append(d.found, Finding{l, subject, found, append([]string{}, fix...)})
}

// call calls a method as it is: what Slack says of itself stands in headers and
// in fields that no client reads.
func (d *doctor) call(ctx context.Context, method, token string, form url.Values) (map[string]any, http.Header, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, d.x.API+method, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, nil, fmt.Errorf("call %s: %w", method, err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Authorization", "Bearer "+token)
	res, err := d.x.HTTP.Do(req)
	if err != nil {
		return nil, nil, fmt.Errorf("call %s: %w", method, err)
	}
	defer func() { _ = res.Body.Close() }()
	out := map[string]any{}
	if err := json.NewDecoder(io.LimitReader(res.Body, bodyMost)).Decode(&out); err != nil {
		return nil, nil, fmt.Errorf("call %s: %s", method, res.Status)
	}
	if ok, _ := out["ok"].(bool); !ok {
		return out, res.Header, errors.New(firstOf(str(out, "error"), res.Status))
	}
	return out, res.Header, nil
}

func str(m map[string]any, key string) string {
	s, _ := m[key].(string)
	return s
}

func flag(m map[string]any, key string) bool {
	b, _ := m[key].(bool)
	return b
}

func (d *doctor) scopes(h http.Header) {
	var have []string
	for s := range strings.SplitSeq(h.Get("X-OAuth-Scopes"), ",") {
		have = append(have, strings.TrimSpace(s))
	}
	var missing, curious []string
	for _, s := range Scopes {
		if !slices.Contains(have, s) {
			missing = append(missing, s)
		}
	}
	for _, s := range reads {
		if slices.Contains(have, s) {
			curious = append(curious, s)
		}
	}
	if len(missing) > 0 {
		d.add(Fault, "scopes", "missing: "+strings.Join(missing, ", "), "add them under OAuth & Permissions, or take deploy/slack/manifest.yaml again, and reinstall the app")
	} else {
		d.add(Fine, "scopes", "all "+fmt.Sprint(len(Scopes))+" are there")
	}
	if len(curious) > 0 {
		d.add(Warning, "scopes", "more than needed: "+strings.Join(curious, ", "), "take them away: the bot never reads what people say")
	}
}

func (d *doctor) appToken(ctx context.Context) {
	if d.x.AppToken == "" {
		return
	}
	if _, _, err := d.call(ctx, "apps.connections.open", d.x.AppToken, nil); err != nil {
		d.add(Fault, "app token", "Socket Mode cannot be opened: "+redact(err.Error()), "switch Socket Mode on, and make an app-level token with "+AppScopes[0]+" (it begins with xapp-)")
		return
	}
	d.add(Fine, "app token", "Socket Mode can be opened")
}

func (d *doctor) channel(ctx context.Context) {
	got, _, err := d.call(ctx, "conversations.info", d.x.Token, url.Values{"channel": {d.x.Channel}})
	if err != nil {
		d.add(Fault, "channel "+d.x.Channel, "Slack says "+err.Error(), "give the id of the channel; in a private one first: /invite the bot")
		return
	}
	c, _ := got["channel"].(map[string]any)
	name := "channel #" + str(c, "name")
	switch {
	case flag(c, "is_archived"):
		d.add(Fault, name, "it is archived", "unarchive it, or set another channel")
	case flag(c, "is_ext_shared"), flag(c, "is_pending_ext_shared"):
		d.add(Fault, name, "it is shared with another organisation, which would see what is spent and asked", "set a channel of your own")
	case !flag(c, "is_member"):
		d.add(Fault, name, "the bot is not in it", "in the channel: /invite the bot")
	default:
		d.add(Fine, name, "the bot is in it")
	}
}

func (d *doctor) groups(ctx context.Context, team string) {
	if len(d.x.Accounts.Groups) == 0 {
		return
	}
	got, _, err := d.call(ctx, "usergroups.list", d.x.Token, url.Values{"include_disabled": {"true"}, "include_count": {"true"}, "team_id": {team}})
	if err != nil {
		d.add(Fault, "user groups", "Slack says "+err.Error(), "add the scope usergroups:read and reinstall the app")
		return
	}
	list, _ := got["usergroups"].([]any)
	for _, id := range sortedKeys(d.x.Accounts.Groups) {
		i := slices.IndexFunc(list, func(v any) bool { m, _ := v.(map[string]any); return str(m, "id") == id })
		if i < 0 {
			d.add(Fault, "user group "+id, "there is none", "correct groups in the configuration")
			continue
		}
		g, _ := list[i].(map[string]any)
		d.group(g, d.x.Accounts.Groups[id])
	}
}

func (d *doctor) group(g map[string]any, unix string) {
	name := "user group @" + str(g, "handle")
	off, _ := g["date_delete"].(float64)
	count, counted := g["user_count"].(float64)
	if s, ok := g["user_count"].(string); ok { // as older answers have it
		_, err := fmt.Sscan(s, &count)
		counted = err == nil
	}
	switch {
	case off > 0:
		d.add(Fault, name, "it is disabled, so it has no members", "enable it, or take it out of groups")
	case counted && count == 0:
		d.add(Warning, name, "nobody is in it", "add its members, or take it out of groups")
	case !flag(g, "is_idp_group") && !flag(g, "is_membership_locked"):
		d.add(Warning, name, "who may edit user groups can make anybody a member of "+unix, "let only administrators edit user groups (Settings, Permissions), or manage this one from your identity provider")
	default:
		d.add(Fine, name, "its members are in "+unix+" and cannot be edited by everybody")
	}
}

func (d *doctor) users(ctx context.Context, team, enterprise string) {
	good := 0
	for _, key := range sortedKeys(d.x.Accounts.Users) {
		place, id, _ := strings.Cut(key, "/")
		if place != team && place != enterprise {
			d.add(Fault, "user "+key, "it is of another workspace than the app, which is in "+firstOf(enterprise, team), "correct users in the configuration")
			continue
		}
		got, _, err := d.call(ctx, "users.info", d.x.Token, url.Values{"user": {id}})
		if err != nil {
			d.add(Warning, "user "+key, "Slack says "+err.Error()+": "+d.x.Accounts.Users[key]+" cannot use the bot", "take the line out of users, or correct it")
			continue
		}
		u, _ := got["user"].(map[string]any)
		if flag(u, "deleted") || flag(u, "is_bot") || flag(u, "is_restricted") || flag(u, "is_ultra_restricted") || flag(u, "is_stranger") {
			d.add(Warning, "user "+key, "deactivated, a guest, a bot or from outside: "+d.x.Accounts.Users[key]+" cannot use the bot", "take the line out of users")
			continue
		}
		good++
	}
	if good > 0 {
		d.add(Fine, "users", fmt.Sprintf("%d of the table are known to Slack", good))
	}
	if d.x.Accounts.EmailDomain != "" {
		d.add(Note, "users", "who has a confirmed address at "+d.x.Accounts.EmailDomain+" is the account of that name")
	}
}

// looks has Slack itself judge messages.
func (d *doctor) looks(ctx context.Context) {
	good, undrawn := 0, 0
	for _, name := range sortedKeys(d.x.Messages) {
		m := d.x.Messages[name]
		got, err := d.judge(ctx, m.Blocks)
		if wordOfCall(err) == "unknown_method" {
			d.add(Note, "messages", "this Slack cannot judge messages")
			return
		}
		if lean := chartless(m.Blocks); err != nil && len(lean) < len(m.Blocks) {
			if _, err = d.judge(ctx, lean); err == nil {
				undrawn++
				continue
			}
		}
		if err != nil {
			why, _ := json.Marshal(got["errors"]) // only to say more
			d.add(Fault, "message "+name, fmt.Sprintf("Slack refuses its looks: %v %s", err, why), "report it")
			continue
		}
		good++
	}
	if good > 0 {
		d.add(Fine, "messages", fmt.Sprintf("Slack likes the looks of all %d", good+undrawn))
	}
	if undrawn > 0 {
		d.add(Note, "charts", "this workspace draws none yet; reports come with pictures of them")
	}
}

// judge has Slack judge blocks.
func (d *doctor) judge(ctx context.Context, list []slack.Block) (map[string]any, error) {
	blocks, err := json.Marshal(list)
	if err != nil {
		return nil, fmt.Errorf("write blocks: %w", err)
	}
	got, _, err := d.call(ctx, "blocks.validate", d.x.Token, url.Values{"blocks": {string(blocks)}})
	return got, err
}

func wordOfCall(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
