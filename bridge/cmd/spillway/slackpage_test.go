package main

import (
	"context"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/slack-go/slack"
	"github.com/slack-go/slack/socketmode"

	"spillway.sh/spillway/bot"
	"spillway.sh/spillway/bot/say"
	"spillway.sh/spillway/bot/slackd"
	"spillway.sh/spillway/bot/slackd/honest"
	"spillway.sh/spillway/bot/slackd/web"
	"spillway.sh/spillway/bridge/desk"
)

// TestPageWithTheBotBehindIt clicks through the page in a browser. Slack is the
// local one; bot, desk and store are the real ones, and the offers stand still.
func TestPageWithTheBotBehindIt(t *testing.T) {
	began := time.Now()
	clock := func() time.Time { return noon.Add(time.Since(began)) } // it is noon at the counter
	s, err := slackd.New(slackd.Options{State: t.TempDir(), Page: web.Page(), Now: clock})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	base := "http://" + l.Addr().String()
	b := counterBot(t, base, s.Tokens(), clock)
	ctx, stop := context.WithCancel(context.Background())
	served, ran := make(chan error, 1), make(chan error, 1)
	go func() { served <- s.Serve(ctx, l) }()
	go func() { ran <- b.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ran; err != nil && ctx.Err() == nil {
			t.Errorf("bot: %v", err)
		}
		if err := <-served; err != nil {
			t.Errorf("local Slack: %v", err)
		}
	})
	t.Log(honest.Judge(t, "real.test.mjs", "SLACKD_URL="+base, "SLACKD_TOKENS="+s.Tokens().Dir))
}

// counterBot is the bot at a counter where everything above a dollar is asked.
func counterBot(t *testing.T, base string, tokens slackd.Tokens, clock func() time.Time) *bot.Bot {
	t.Helper()
	c := newCounter(t, false, 500, "mei", "tom")
	var b *bot.Bot
	counter := say.New(say.Options{
		Desk: c.desks[0], Key: make([]byte, 32), Channel: localChannel, ChannelName: "<#" + localChannel + ">", Clock: clock,
		Name: func(account string) string { return b.Mention(account) }, LangOf: func(account string) desk.Lang { return b.LangOf(account) },
	})
	client := &http.Client{Timeout: 10 * time.Second}
	api := func() *slack.Client {
		return slack.New(tokens.Bot, slack.OptionAPIURL(base+"/api/"), slack.OptionAppLevelToken(tokens.App), slack.OptionHTTPClient(client), slack.OptionLog(log.New(io.Discard, "", 0)))
	}
	at, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	b, err = bot.New(bot.Options{
		Conversation: counter, Teller: counter, Box: c.store, Slack: api(), Channel: localChannel, Clock: clock,
		People: func(_ context.Context, account string, more []string) (desk.Person, error) {
			return c.desks[0].Roles.Of(account, 1000, slices.Concat([]string{account}, more)), nil
		},
		Accounts: bot.Accounts{Users: localUsers},
		Socket: func() *socketmode.Client {
			return socketmode.New(api(), socketmode.OptionLog(log.New(io.Discard, "", 0)))
		},
		HTTP: client, Hosts: []string{at.Host}, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	return b
}
