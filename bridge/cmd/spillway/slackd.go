package main

import (
	"errors"
	"fmt"
	"net"
	"path/filepath"

	"spillway.sh/spillway/bot/slackd"
	"spillway.sh/spillway/bot/slackd/web"
)

type slackdCmd struct {
	Listen     string  `help:"Address to answer on." default:"127.0.0.1:7090" placeholder:"HOST:PORT"`
	Workspace  string  `help:"Workspace file, YAML or JSON: people, groups, channels, app (default: a small one)." placeholder:"FILE" predictor:"file"`
	State      string  `required:"" help:"Folder of messages, uploads and tokens." placeholder:"DIR"`
	Speed      float64 `help:"How many times faster Slack's own waits run: rate limits and event retries." default:"1" placeholder:"N"`
	RequestURL string  `name:"request-url" help:"Deliver by signed HTTP to this address, instead of Socket Mode." placeholder:"URL"`
}

// Help gives examples.
func (slackdCmd) Help() string {
	return `Examples:
  spillway slackd --state /var/tmp/slack
  spillway slackd --state /var/tmp/slack --listen 127.0.0.1:7091 --speed 60
  spillway slackd --state /var/tmp/slack --workspace team.yaml --request-url http://127.0.0.1:8080/slack

It keeps Slack's documented limits and errors. Open the page it prints, act as anybody of the workspace, and type /rent.
Messages outlive this command; what only one person was shown does not. The page's address holds the control token: who has
it can act as everybody here.`
}

// Run serves until it is told to stop.
func (c *slackdCmd) Run(a *app) error {
	opt := slackd.Options{State: c.State, Speed: c.Speed, RequestURL: c.RequestURL, Page: web.Page()}
	if c.Workspace != "" {
		var err error
		if opt.Workspace, err = slackd.LoadWorkspace(c.Workspace); err != nil {
			return err
		}
	}
	l, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	s, err := slackd.New(opt)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	t := s.Tokens()
	fmt.Fprintf(a.out, "Page:    http://%s/#token=%s\n", l.Addr(), t.Control)
	fmt.Fprintf(a.out, "Bot:     Slack API at http://%s/api/\n", l.Addr())
	for _, line := range []struct{ what, name string }{
		{"bot token     ", "bot"}, {"app token     ", "app"}, {"signing secret", "signing-secret"}, {"control token ", "control"},
	} {
		fmt.Fprintf(a.out, "         %s %s\n", line.what, filepath.Join(t.Dir, line.name))
	}
	return s.Serve(a.ctx, l)
}
