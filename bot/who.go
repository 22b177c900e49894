package bot

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/slack-go/slack"
	"golang.org/x/sync/singleflight"

	"spillway.sh/spillway/bot/talk"
	"spillway.sh/spillway/bridge/desk"
)

// Accounts says which Unix account a Slack user has. What it does not name has
// none.
type Accounts struct {
	// Users is the table: "T1/U123" or "E1/W123" -> account. It comes first.
	Users map[string]string
	// EmailDomain, where given, lets NAME@EmailDomain be the account NAME, for
	// addresses that Slack has confirmed. Empty: addresses count for nothing.
	EmailDomain string
	// Groups are Slack user groups whose members are taken for members of a Unix
	// group: "S123" -> group.
	Groups map[string]string
}

// Refusal is why somebody has no account here. It is for people to read.
type Refusal struct {
	Reason reason
	// Passing is true when it is Slack that did not answer.
	Passing bool
	Err     error
}

// Error is the reason in English.
func (r *Refusal) Error() string {
	s := r.Reason.in(desk.English)
	if r.Err != nil {
		s += ": " + r.Err.Error()
	}
	return s
}

// Unwrap returns the cause.
func (r *Refusal) Unwrap() error { return r.Err }

const (
	// usersFor is how long Slack's word on a user counts; a change that Slack
	// tells of ends it at once.
	usersFor = 10 * time.Minute
	// groupsFor is short: who approves hangs on it. Slack lets a group be asked
	// for twenty times a minute.
	groupsFor = 30 * time.Second
)

// registry knows who people are. It is safe for use by several goroutines.
type registry struct {
	slack    Slack
	accounts Accounts
	people   People
	now      func() time.Time
	home     func() home
	log      *slog.Logger
	once     singleflight.Group

	mu     sync.Mutex
	users  map[string]known[*slack.User]
	groups map[string]known[[]string]
	grid   map[string]string    // the organisation-wide id of an id; it never changes
	locale map[string]desk.Lang // last known, for words to strangers
}

type known[T any] struct {
	v  T
	at time.Time
}

// home is the workspace or organisation that the app is installed in.
type home struct{ team, enterprise, bot string }

func newRegistry(s Slack, a Accounts, people People, now func() time.Time, h func() home, log *slog.Logger) *registry {
	return &registry{
		slack: s, accounts: a, people: people, now: now, home: h, log: log,
		users: map[string]known[*slack.User]{}, groups: map[string]known[[]string]{}, grid: map[string]string{}, locale: map[string]desk.Lang{},
	}
}

// of returns who did something, or a *Refusal.
func (r *registry) of(ctx context.Context, in *talk.Interaction) (talk.Asker, error) {
	if why, foreign := r.foreign(in.Team, in.Enterprise); foreign {
		return talk.Asker{}, &Refusal{Reason: why}
	}
	u, err := r.user(ctx, in.User)
	if err != nil {
		return talk.Asker{}, &Refusal{Reason: reasonSilent, Passing: true, Err: err}
	}
	if why, bad := r.unfit(u); bad {
		return talk.Asker{}, &Refusal{Reason: why}
	}
	account, err := r.account(ctx, u, in)
	if err != nil {
		return talk.Asker{}, err
	}
	p, err := r.person(ctx, account, ids(u, in.User))
	if err != nil {
		return talk.Asker{}, &Refusal{Reason: reasonNoUnix, Err: err}
	}
	p.Via = "slack " + in.Team + "/" + in.User
	return talk.Asker{Person: p, Slack: in.User, Name: nameOf(u), Lang: langOf(u.Locale), Zone: zoneOf(u.TZ)}, nil
}

// person is the Unix account with the groups that Slack adds to its own. A
// group of Slack's makes nobody an admin: more people can change it than an
// administrator of the cluster knows of.
func (r *registry) person(ctx context.Context, account string, ids []string) (desk.Person, error) {
	own, err := r.people(ctx, account, nil)
	if err != nil {
		return own, err
	}
	// A group that cannot be read has no members.
	more := r.groupsOf(ctx, ids)
	if len(more) == 0 {
		return own, nil
	}
	p, err := r.people(ctx, account, more)
	if err != nil {
		return p, err
	}
	p.Roles = slices.DeleteFunc(slices.Clone(p.Roles), func(role desk.Role) bool { return role == desk.Admin && !own.Is(desk.Admin) })
	return p, nil
}

// foreign reports whether something comes from a workspace that is not ours.
func (r *registry) foreign(team, enterprise string) (reason, bool) {
	h := r.home()
	switch {
	case h.team == "":
		return reasonSilent, true
	case team == h.team, enterprise != "" && enterprise == h.enterprise:
		return reason{}, false
	}
	return reasonForeign, true
}

// unfit reports why a user may not do anything here at all.
func (r *registry) unfit(u *slack.User) (reason, bool) {
	h := r.home()
	switch {
	case u.Deleted:
		return reasonDeleted, true
	case u.IsBot, u.IsAppUser, u.IsWorkflowBot, u.IsConnectorBot, u.ID == "USLACKBOT":
		return reasonBot, true
	case u.IsRestricted, u.IsUltraRestricted, u.IsInvitedUser:
		return reasonGuest, true
	case u.IsStranger:
		return reasonForeign, true
	case u.TeamID != "" && u.TeamID != h.team && (h.enterprise == "" || u.Enterprise.EnterpriseID != h.enterprise):
		return reasonForeign, true
	}
	return reason{}, false
}

// ids are all names Slack has for a user: on an organisation's grid the same
// person comes as U... here and W... there.
func ids(u *slack.User, asked string) []string {
	out := []string{asked}
	for _, id := range []string{u.ID, u.Enterprise.ID} {
		if id != "" && !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	return out
}

// account finds the Unix account of a user. Two that do not agree are none.
func (r *registry) account(ctx context.Context, u *slack.User, in *talk.Interaction) (string, error) {
	h := r.home()
	found := map[string]bool{}
	for _, id := range ids(u, in.User) {
		for _, place := range []string{h.team, h.enterprise, u.TeamID, u.Enterprise.EnterpriseID} {
			if account := r.accounts.Users[place+"/"+id]; place != "" && account != "" {
				found[account] = true
			}
		}
	}
	if h.enterprise != "" {
		r.byGrid(ctx, ids(u, in.User), found)
	}
	switch name, ok := r.byMail(u); {
	case ok && u.IsEmailConfirmed:
		found[name] = true
	case ok && len(found) == 0:
		return "", &Refusal{Reason: reasonUnconfirmed}
	}
	switch len(found) {
	case 1:
		for account := range found {
			return account, nil
		}
	case 0:
		return "", &Refusal{Reason: reasonUnknown}
	}
	return "", &Refusal{Reason: reasonTwo, Err: fmt.Errorf("accounts %s", strings.Join(slices.Sorted(maps.Keys(found)), " and "))}
}

// byMail is the account that a user's address names, confirmed or not. Who can
// make addresses is no administrator by that: root is in the table or nowhere.
func (r *registry) byMail(u *slack.User) (string, bool) {
	if r.accounts.EmailDomain == "" {
		return "", false
	}
	name, domain, ok := strings.Cut(strings.ToLower(u.Profile.Email), "@")
	return name, ok && domain == strings.ToLower(r.accounts.EmailDomain) && name != "root"
}

// groupsOf are the Unix groups that a user has by Slack user groups.
func (r *registry) groupsOf(ctx context.Context, ids []string) []string {
	var out []string
	for _, group := range slices.Sorted(maps.Keys(r.accounts.Groups)) {
		members, err := r.members(ctx, group)
		if err != nil {
			r.log.WarnContext(ctx, "a Slack user group cannot be read, so it has no members now", "group", group, "error", err)
			continue
		}
		if slices.ContainsFunc(members, func(m string) bool { return r.same(ctx, m, ids) }) {
			out = append(out, r.accounts.Groups[group])
		}
	}
	return out
}

// byGrid looks for a user in the table by the other of the two ids that people
// of an organisation's grid have.
func (r *registry) byGrid(ctx context.Context, of []string, found map[string]bool) {
	h := r.home()
	for _, key := range sortedKeys(r.accounts.Users) {
		place, id, _ := strings.Cut(key, "/")
		if (place == h.team || place == h.enterprise) && r.same(ctx, id, of) {
			found[r.accounts.Users[key]] = true
		}
	}
}

// same reports whether an id is one of a user's, or the other one of theirs.
func (r *registry) same(ctx context.Context, id string, of []string) bool {
	if slices.Contains(of, id) {
		return true
	}
	if r.home().enterprise == "" || id == "" || id[0] == of[0][0] {
		return false
	}
	r.mu.Lock()
	wide, known := r.grid[id]
	r.mu.Unlock()
	if !known {
		u, err := r.user(ctx, id)
		if err != nil {
			return false
		}
		wide = u.Enterprise.ID
		r.mu.Lock()
		r.grid[id] = wide
		r.mu.Unlock()
	}
	return wide != "" && slices.Contains(of, wide)
}

// lang is the language of somebody who may be a stranger.
func (r *registry) lang(user string) desk.Lang {
	r.mu.Lock()
	defer r.mu.Unlock()
	if l, ok := r.locale[user]; ok {
		return l
	}
	return desk.English
}

func nameOf(u *slack.User) string {
	for _, s := range []string{u.Profile.DisplayName, u.RealName, u.Name} {
		if s != "" {
			return s
		}
	}
	return u.ID
}

func langOf(locale string) desk.Lang {
	if strings.HasPrefix(strings.ToLower(locale), "zh") {
		return desk.Chinese
	}
	return desk.English
}

func zoneOf(name string) *time.Location {
	if z, err := time.LoadLocation(name); err == nil && name != "" {
		return z
	}
	return time.UTC
}
