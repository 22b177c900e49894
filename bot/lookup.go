package bot

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/slack-go/slack"

	"spillway.sh/spillway/bridge/desk"
)

// user asks Slack who an id is.
func (r *registry) user(ctx context.Context, id string) (*slack.User, error) {
	if id == "" {
		return nil, errors.New("no user is named")
	}
	r.mu.Lock()
	got, ok := r.users[id]
	r.mu.Unlock()
	if ok && r.now().Sub(got.at) < usersFor {
		return got.v, nil
	}
	v, err, _ := r.once.Do("user "+id, func() (any, error) {
		u, err := patiently(ctx, func() (*slack.User, error) { return r.slack.GetUserInfoContext(ctx, id) })
		if err != nil {
			return nil, fmt.Errorf("ask Slack who %s is: %w", id, err)
		}
		r.mu.Lock()
		r.users[id] = known[*slack.User]{u, r.now()}
		r.locale[id] = langOf(u.Locale)
		r.mu.Unlock()
		return u, nil
	})
	if err != nil {
		return nil, err //nolint:wrapcheck // Ours, handed on by the group.
	}
	return v.(*slack.User), nil //nolint:forcetypeassert // It is the type of the line above.
}

func (r *registry) members(ctx context.Context, group string) ([]string, error) {
	r.mu.Lock()
	got, ok := r.groups[group]
	r.mu.Unlock()
	if ok && r.now().Sub(got.at) < groupsFor {
		return got.v, nil
	}
	v, err, _ := r.once.Do("group "+group, func() (any, error) {
		members, err := patiently(ctx, func() ([]string, error) { return r.slack.GetUserGroupMembersContext(ctx, group) })
		if err != nil {
			return nil, fmt.Errorf("ask Slack who is in group %s: %w", group, err)
		}
		r.mu.Lock()
		r.groups[group] = known[[]string]{members, r.now()}
		r.mu.Unlock()
		return members, nil
	})
	if err != nil {
		return nil, err //nolint:wrapcheck // Ours, handed on by the group.
	}
	return v.([]string), nil //nolint:forcetypeassert // It is the type of the line above.
}

// forget drops what Slack says has changed: a user, a group, or with neither
// given everything.
func (r *registry) forget(user, group string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if user != "" {
		delete(r.users, user)
	}
	if group != "" {
		delete(r.groups, group)
	}
	if user == "" && group == "" {
		clear(r.users)
		clear(r.groups)
	}
}

// slackOf finds the Slack user of a Unix account, for a direct message; empty
// when there is none.
func (r *registry) slackOf(ctx context.Context, account string) (string, error) {
	h := r.home()
	for _, key := range slices.Sorted(maps.Keys(r.accounts.Users)) {
		place, id, _ := strings.Cut(key, "/")
		if r.accounts.Users[key] == account && (place == h.team || place == h.enterprise) {
			u, err := r.user(ctx, id)
			if gone(err) {
				continue
			}
			if err != nil {
				return "", err
			}
			if _, bad := r.unfit(u); !bad {
				return id, nil
			}
		}
	}
	if r.accounts.EmailDomain == "" {
		return "", nil
	}
	u, err := patiently(ctx, func() (*slack.User, error) {
		return r.slack.GetUserByEmailContext(ctx, account+"@"+r.accounts.EmailDomain)
	})
	if gone(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("ask Slack for the user of %s: %w", account, err)
	}
	if _, bad := r.unfit(u); bad || !u.IsEmailConfirmed {
		return "", nil
	}
	return u.ID, nil
}

// inTable is the first Slack user of an account in the table; empty: none.
func (r *registry) inTable(account string) string {
	h := r.home()
	for _, key := range slices.Sorted(maps.Keys(r.accounts.Users)) {
		place, id, _ := strings.Cut(key, "/")
		if r.accounts.Users[key] == account && (place == h.team || place == h.enterprise) {
			return id
		}
	}
	return ""
}

func (r *registry) mention(account string) string {
	if id := r.inTable(account); id != "" {
		return "<@" + id + ">"
	}
	return ""
}

// langOfAccount is the language of an account, as far as its user was heard of.
func (r *registry) langOfAccount(account string) desk.Lang {
	if id := r.inTable(account); id != "" {
		return r.lang(id)
	}
	return desk.English
}
