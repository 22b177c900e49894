package slackd

import (
	_ "embed"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
)

//go:embed default.yaml
var defaultWorkspace []byte

// Workspace is who and what there is in a local Slack. Its file is YAML or
// JSON; default.yaml is the one used without a file.
type Workspace struct {
	Team     Team       `json:"team"     yaml:"team"`
	App      App        `json:"app"      yaml:"app"`
	Users    []*User    `json:"users"    yaml:"users"`
	Groups   []*Group   `json:"groups"   yaml:"groups"`
	Channels []*Channel `json:"channels" yaml:"channels"`
	// Without are types of blocks that this workspace does not draw yet, as when
	// Slack brings a new one to some before others.
	Without []string `json:"without,omitempty" yaml:"without"`
}

// Team is the workspace itself. With an enterprise id it is part of a Grid.
type Team struct {
	ID           string `json:"id"            yaml:"id"`
	Name         string `json:"name"          yaml:"name"`
	Domain       string `json:"domain"        yaml:"domain"`
	EnterpriseID string `json:"enterprise_id" yaml:"enterprise_id"`
	// OrgInstall is an app installed for the whole enterprise: lists of people
	// and channels then want a team_id.
	OrgInstall bool `json:"is_enterprise_install" yaml:"is_enterprise_install"`
}

// App is the one app that is installed. Tokens are made at the first start
// unless they are given here; they are never shown to people.
type App struct {
	ID            string    `json:"id"         yaml:"id"`
	Name          string    `json:"name"       yaml:"name"`
	BotUser       string    `json:"bot_user"   yaml:"bot_user"`
	BotID         string    `json:"bot_id"     yaml:"bot_id"`
	Scopes        []string  `json:"scopes"     yaml:"scopes"`
	AppScopes     []string  `json:"app_scopes" yaml:"app_scopes"`
	Commands      []Command `json:"commands"   yaml:"commands"`
	Events        []string  `json:"events"     yaml:"events"` // subscribed to
	BotToken      string    `json:"-"          yaml:"bot_token"`
	AppToken      string    `json:"-"          yaml:"app_token"`
	SigningSecret string    `json:"-"          yaml:"signing_secret"`
}

// Command is a slash command of the app.
type Command struct {
	Command      string `json:"command"       yaml:"command"`
	Description  string `json:"description"   yaml:"description"`
	UsageHint    string `json:"usage_hint"    yaml:"usage_hint"`
	ShouldEscape bool   `json:"should_escape" yaml:"should_escape"`
}

// User is one person or bot of the workspace, or of another one.
type User struct {
	ID                string `json:"id"                  yaml:"id"`
	TeamID            string `json:"team_id"             yaml:"team_id"`
	Name              string `json:"name"                yaml:"name"`
	RealName          string `json:"real_name"           yaml:"real_name"`
	Email             string `json:"email"               yaml:"email"`
	Locale            string `json:"locale"              yaml:"locale"`
	Zone              string `json:"tz"                  yaml:"tz"`
	GridID            string `json:"grid_id,omitempty"   yaml:"grid_id"` // the W id that Slack sends in clicks
	Deleted           bool   `json:"deleted"             yaml:"deleted"`
	IsAdmin           bool   `json:"is_admin"            yaml:"is_admin"`
	IsBot             bool   `json:"is_bot"              yaml:"is_bot"`
	IsRestricted      bool   `json:"is_restricted"       yaml:"is_restricted"`
	IsUltraRestricted bool   `json:"is_ultra_restricted" yaml:"is_ultra_restricted"`
	IsStranger        bool   `json:"is_stranger"         yaml:"is_stranger"`
	EmailUnconfirmed  bool   `json:"email_unconfirmed"   yaml:"email_unconfirmed"`
}

// sent is the id that Slack puts into what this person does.
func (u *User) sent() string {
	if u.GridID != "" {
		return u.GridID
	}
	return u.ID
}

// Group is a user group.
type Group struct {
	ID         string   `json:"id"           yaml:"id"`
	Handle     string   `json:"handle"       yaml:"handle"`
	Name       string   `json:"name"         yaml:"name"`
	Users      []string `json:"users"        yaml:"users"`
	Disabled   bool     `json:"disabled"     yaml:"disabled"`
	IsIDPGroup bool     `json:"is_idp_group" yaml:"is_idp_group"`
	Locked     bool     `json:"is_membership_locked" yaml:"is_membership_locked"`
}

// Channel is a channel or a direct message. In the file, the member "all" is
// everybody of the team who is not a guest, and "bot" is the app.
type Channel struct {
	ID          string   `json:"id"                yaml:"id"`
	Name        string   `json:"name"              yaml:"name"`
	IsPrivate   bool     `json:"is_private"        yaml:"is_private"`
	IsArchived  bool     `json:"is_archived"       yaml:"is_archived"`
	IsExtShared bool     `json:"is_ext_shared"     yaml:"is_ext_shared"`
	IsIM        bool     `json:"is_im"             yaml:"-"`
	Members     []string `json:"members"           yaml:"members"`
	Topic       string   `json:"topic,omitempty"   yaml:"topic"`
}

func (c *Channel) has(user string) bool { return slices.Contains(c.Members, user) }

// partner is the other side of a direct message.
func (c *Channel) partner(user string) string {
	for _, m := range c.Members {
		if m != user {
			return m
		}
	}
	return user
}

// DefaultWorkspace is a small team with every sort of person in it.
func DefaultWorkspace() *Workspace {
	w, err := ParseWorkspace(defaultWorkspace)
	if err != nil {
		panic(err) // the embedded file is tested
	}
	return w
}

// LoadWorkspace reads a workspace's file.
func LoadWorkspace(file string) (*Workspace, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read workspace: %w", err)
	}
	w, err := ParseWorkspace(text)
	if err != nil {
		return nil, fmt.Errorf("read workspace %s: %w", file, err)
	}
	return w, nil
}

// workspaceMost is the largest workspace that is read: a parser of YAML takes
// minutes for ten megabytes of brackets.
const workspaceMost = 1 << 20

// ParseWorkspace reads YAML or JSON and says every mistake.
func ParseWorkspace(text []byte) (*Workspace, error) {
	w := &Workspace{}
	if len(text) > workspaceMost {
		return nil, fmt.Errorf("the workspace has %d bytes; at most %d are read", len(text), workspaceMost)
	}
	if err := yaml.UnmarshalWithOptions(text, w, yaml.Strict()); err != nil {
		return nil, err
	}
	return w, w.complete()
}

// complete fills what a file may leave out and checks the rest.
func (w *Workspace) complete() error {
	var wrong []error
	note := func(format string, args ...any) { wrong = append(wrong, fmt.Errorf(format, args...)) }
	if w.Team.ID == "" || w.App.ID == "" || w.App.BotUser == "" || w.App.BotID == "" {
		note("team.id, app.id, app.bot_user and app.bot_id are needed")
	}
	if w.user(w.App.BotUser) == nil {
		w.Users = append(w.Users, &User{ID: w.App.BotUser, Name: strings.ToLower(w.App.Name), RealName: w.App.Name, IsBot: true})
	}
	seen := map[string]bool{}
	once := func(id string) {
		if id == "" || seen[id] {
			note("the id %q is empty or used twice", id)
		}
		seen[id] = true
	}
	if c, ok := w.App.longCommand(); ok {
		note("app.commands: %q, its description or its hint is longer than a manifest may have it", c)
	}
	for _, u := range w.Users {
		once(u.ID)
		u.complete(w.Team)
		if _, err := time.LoadLocation(u.Zone); err != nil {
			note("user %s: %w", u.ID, err)
		}
	}
	known := func(where string, ids []string) {
		for _, id := range ids {
			if w.user(id) == nil {
				note("%s: there is no user %q", where, id)
			}
		}
	}
	for _, g := range w.Groups {
		once(g.ID)
		known("group "+g.ID, g.Users)
	}
	for _, c := range w.Channels {
		once(c.ID)
		c.Members = w.members(c.Members)
		known("channel "+c.ID, c.Members)
	}
	return errors.Join(wrong...)
}

// longCommand finds a command that no manifest could have.
func (a App) longCommand() (name string, found bool) {
	i := slices.IndexFunc(a.Commands, func(c Command) bool {
		return c.Command == "" || runes(c.Command) > maxCommand || runes(c.Description) > maxCommandText || runes(c.UsageHint) > maxCommandHint
	})
	if i < 0 {
		return "", false
	}
	return a.Commands[i].Command, true
}

func (u *User) complete(t Team) {
	if u.TeamID == "" {
		u.TeamID = t.ID
	}
	if u.RealName == "" {
		u.RealName = u.Name
	}
	if u.Locale == "" {
		u.Locale = "en-US"
	}
	if u.Zone == "" {
		u.Zone = "UTC"
	}
}

// members spells out "all" and "bot".
func (w *Workspace) members(given []string) []string {
	out := []string{}
	for _, id := range given {
		switch id {
		case "all":
			for _, u := range w.Users {
				if !u.IsBot && !u.Deleted && !u.IsRestricted && u.TeamID == w.Team.ID {
					out = append(out, u.ID)
				}
			}
		case "bot":
			out = append(out, w.App.BotUser)
		default:
			out = append(out, id)
		}
	}
	return out
}

// user finds a person by either of the ids they have in a Grid.
func (w *Workspace) user(id string) *User {
	for _, u := range w.Users {
		if id != "" && (u.ID == id || u.GridID == id) {
			return u
		}
	}
	return nil
}

func (w *Workspace) group(id string) *Group {
	for _, g := range w.Groups {
		if g.ID == id {
			return g
		}
	}
	return nil
}

func (w *Workspace) channel(id string) *Channel {
	for _, c := range w.Channels {
		if c.ID == id {
			return c
		}
	}
	return nil
}
