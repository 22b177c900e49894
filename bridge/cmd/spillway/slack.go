package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/slack-go/slack"
	"github.com/slack-go/slack/socketmode"

	"spillway.sh/spillway/bot"
	"spillway.sh/spillway/bot/say"
	"spillway.sh/spillway/bridge/config"
	"spillway.sh/spillway/bridge/desk"
	"spillway.sh/spillway/bridge/desk/socket"
)

// slackAgain is how long after Slack refused the bot it is tried again: an app
// may be installed anew. slackSoon is the same for every other reason.
const (
	slackAgain = 5 * time.Minute
	slackSoon  = 10 * time.Second
)

// chat is the daemon's part that talks to Slack. Nothing waits for it.
type chat struct {
	config config.Slack
	bot    *bot.Bot
	local  *localSlack // nil: Slack itself
}

// openSlack makes the bot that the configuration asks for. Slack itself is not
// asked yet: that it is down must not keep the daemon from starting.
func (d *daemon) openSlack(ctx context.Context) error {
	c := *d.site.config.Slack
	d.chat = &chat{config: c}
	if c.Local != "" {
		exe, err := os.Executable()
		if err != nil {
			return fmt.Errorf("find this program: %w", err)
		}
		l, err := startLocalSlack(ctx, exe, &c, d.site.config.StateDir, d.log)
		if err != nil {
			return err
		}
		d.chat.local = l
		d.closing = append(d.closing, l.close)
		l.setUp(&d.chat.config)
	}
	key, err := buttonKey(d.site.config.StateDir)
	if err != nil {
		return err
	}
	o, err := d.chat.options(d)
	if err != nil {
		return err
	}
	// The counter asks the bot who is whom in Slack, and the bot the counter what
	// to say.
	mention := func(account string) string { return d.chat.bot.Mention(account) }
	langOf := func(account string) desk.Lang { return d.chat.bot.LangOf(account) }
	counter := say.New(say.Options{Desk: d.desk, Key: key, Channel: d.chat.config.Channel, ChannelName: "<#" + d.chat.config.Channel + ">", Name: mention, LangOf: langOf, Clock: utcNow})
	o.Conversation, o.Teller = counter, counter
	d.chat.bot, err = bot.New(o)
	return err
}

// options are the bot's ways to Slack and to the daemon.
func (c *chat) options(d *daemon) (bot.Options, error) {
	token, err := c.config.BotToken.Reveal()
	if err != nil {
		return bot.Options{}, fmt.Errorf("Slack's bot token: %w", err) //nolint:staticcheck // Slack is a name.
	}
	client := &http.Client{Timeout: 10 * time.Second, Transport: http.DefaultTransport.(*http.Transport).Clone()} //nolint:forcetypeassert // It is one.
	d.closing = append(d.closing, func() error { client.CloseIdleConnections(); return nil })
	api := func(app string) *slack.Client {
		o := []slack.Option{slack.OptionHTTPClient(client), slack.OptionLog(log.New(io.Discard, "", 0))}
		if c.config.API != "" {
			o = append(o, slack.OptionAPIURL(strings.TrimSuffix(c.config.API, "/")+"/"))
		}
		if app != "" {
			o = append(o, slack.OptionAppLevelToken(app))
		}
		return slack.New(token, o...)
	}
	o := bot.Options{
		Box: through[bot.Box](d.store), Slack: through[bot.Slack](api("")), People: d.slackPeople(), Channel: c.config.Channel, App: c.config.App,
		Accounts: bot.Accounts{Users: c.config.Users, EmailDomain: c.config.EmailDomain, Groups: c.config.Groups},
		HTTP:     client, Log: d.log, Metrics: d.metrics, Clock: time.Now,
	}
	if u, err := url.Parse(c.config.API); err == nil && u.Host != "" {
		o.Hosts = append(o.Hosts, u.Host)
	}
	if c.config.Listen != "" {
		o.Listen = func() (net.Listener, error) { return net.Listen("tcp", c.config.Listen) }
		o.Secret = c.config.SigningSecret.Reveal
		return o, nil
	}
	if _, err := c.config.AppToken.Reveal(); err != nil {
		return o, fmt.Errorf("Slack's app token: %w", err) //nolint:staticcheck // Slack is a name.
	}
	o.Socket = func() *socketmode.Client {
		app, err := c.config.AppToken.Reveal()
		if err != nil {
			d.log.Error("Slack's app token cannot be read", "error", err)
			app = "xapp-none"
		}
		return socketmode.New(api(app), socketmode.OptionLog(log.New(io.Discard, "", 0)))
	}
	return o, nil
}

// serveSlack runs the bot beside everything else. That Slack refuses it is told
// and tried again; the daemon goes on.
func (d *daemon) serveSlack(ctx context.Context) error {
	for {
		err := d.chat.bot.Run(ctx)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // It ends because the daemon does.
		}
		pause := slackSoon
		if errors.Is(err, bot.ErrEnded) {
			pause = slackAgain
		}
		d.log.ErrorContext(ctx, "the Slack bot has stopped, the rest goes on; decide with `spillway approve`", "error", err, "again_in", pause)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
	}
}

// slackPeople finds the person of a Unix account. In a local Slack, where
// people are made up, an account that the host does not have is one of nothing
// but its name.
func (d *daemon) slackPeople() bot.People {
	names, groups := accountNames(time.Now), socket.HostAccounts(time.Now)
	roles, local := d.site.roles(), d.chat.local != nil
	return func(ctx context.Context, account string, more []string) (desk.Person, error) {
		uid, err := names(ctx, account)
		if err != nil && local {
			return roles.Of(account, -1, slices.Concat([]string{account}, more)), nil
		}
		if err != nil {
			return desk.Person{}, err
		}
		name, own, err := groups(ctx, uid)
		if err != nil {
			return desk.Person{}, err
		}
		if name != account {
			return desk.Person{}, fmt.Errorf("account %s has the uid of %s", account, name)
		}
		return roles.Of(account, uid, slices.Concat(own, more)), nil
	}
}

// accountNames finds the uid of an account; what the host said counts for a
// minute.
func accountNames(now func() time.Time) func(ctx context.Context, account string) (int, error) {
	type answer struct {
		uid int
		err error
		at  time.Time
	}
	var mu sync.Mutex
	known := map[string]answer{}
	return func(ctx context.Context, account string) (int, error) {
		mu.Lock()
		a, ok := known[account]
		mu.Unlock()
		if ok && now().Sub(a.at) < time.Minute {
			return a.uid, a.err
		}
		uid, err := uidOf(ctx, account)
		mu.Lock()
		known[account] = answer{uid, err, now()}
		mu.Unlock()
		return uid, err
	}
}

// buttonKey is the key that seals buttons. It stays the same over restarts, for
// cards outlive the process.
func buttonKey(dir string) ([]byte, error) {
	path := filepath.Join(dir, "slack-buttons.key")
	key, err := os.ReadFile(path)
	if err == nil && len(key) >= 32 {
		return key, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read the key of buttons: %w", err)
	}
	key = make([]byte, 32)
	_, _ = rand.Read(key) // never fails
	if err := os.WriteFile(path, key, 0o600); err != nil {
		return nil, fmt.Errorf("write the key of buttons: %w", err)
	}
	return key, nil
}
