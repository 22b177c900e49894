package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"spillway.sh/spillway/bot"
	"spillway.sh/spillway/bot/card"
	"spillway.sh/spillway/bot/talk"
	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/config"
	"spillway.sh/spillway/bridge/desk"
	"spillway.sh/spillway/bridge/report"
)

// botCmd is what an administrator does about the Slack bot.
type botCmd struct {
	Doctor botDoctorCmd `cmd:"" help:"Look whether Slack lets the bot do what it has to."`
	Page   botPageCmd   `cmd:"" help:"The address of the local Slack's page."`
}

type botDoctorCmd struct{ format }

// Help gives examples.
func (botDoctorCmd) Help() string {
	return `Examples:
  spillway bot doctor --config /etc/spillway/spillway.yaml
  spillway bot doctor -o json

It asks Slack about token, scopes, Socket Mode, channel, user groups and the table of users, and has Slack judge a few cards.
It changes nothing and posts nothing. Exit code 7 when something keeps the bot from working.

JSON keys: ok, findings[] (level (ok, note, warning, error), subject, found, fix[]).`
}

type botDoctorAnswer struct {
	OK       bool          `json:"ok"`
	Findings []bot.Finding `json:"findings"`
}

// Run asks Slack.
func (c *botDoctorCmd) Run(a *app) error {
	s, err := slackOf(a)
	if err != nil {
		return err
	}
	if s.Local != "" {
		(&localSlack{address: s.Local, dir: localSlackDir(a)}).setUp(s)
	}
	x := &bot.Examination{
		API: "https://slack.com/api/", Channel: s.Channel, HTTP: &http.Client{Timeout: 15 * time.Second}, Messages: sampleCards(time.Now().UTC()),
		Accounts: bot.Accounts{Users: s.Users, EmailDomain: s.EmailDomain, Groups: s.Groups},
	}
	defer x.HTTP.CloseIdleConnections()
	if s.API != "" {
		x.API = strings.TrimSuffix(s.API, "/") + "/"
	}
	if x.Token, err = s.BotToken.Reveal(); err != nil {
		return fmt.Errorf("bot token: %w", err)
	}
	if s.Listen == "" {
		if x.AppToken, err = s.AppToken.Reveal(); err != nil {
			return fmt.Errorf("app token: %w", err)
		}
	}
	ctx, cancel := context.WithTimeout(a.ctx, examinationTakes)
	defer cancel()
	got := botDoctorAnswer{OK: true, Findings: x.Examine(ctx)}
	for i := range got.Findings {
		got.OK = got.OK && got.Findings[i].Level != bot.Fault
	}
	err = c.print(a, got, func(p *page) { sayBotFindings(p, &got) })
	if err == nil && !got.OK {
		return errFound
	}
	return err
}

func sayBotFindings(p *page, got *botDoctorAnswer) {
	for i := range got.Findings {
		f := &got.Findings[i]
		p.line("%-8s %s: %s", f.Level, plain(f.Subject), plain(f.Found))
		for _, line := range f.Fix {
			p.line("%-8s     %s", "", line)
		}
	}
	p.line("")
	if got.OK {
		p.line("The bot can work.")
		return
	}
	p.line("The bot cannot work like this; the indented lines mend it.")
}

// slackOf is the configuration's Slack section.
func slackOf(a *app) (*config.Slack, error) {
	c, _, err := loadFiles(a.Config)
	if err != nil {
		return nil, &desk.Error{Kind: desk.Internal, Wrong: err.Error(), Try: "spillway check-config --config " + a.Config, Err: err}
	}
	if c.Slack == nil {
		return nil, &desk.Error{Kind: desk.NotFound, Wrong: "the configuration has no slack section", Try: "slack: {local: " + config.DefaultLocalSlack + "}"}
	}
	s := *c.Slack
	return &s, nil
}

func localSlackDir(a *app) string {
	c, _, err := loadFiles(a.Config)
	if err != nil {
		return "" // slackOf has said so
	}
	return filepath.Join(c.StateDir, "slack")
}

type botPageCmd struct{}

// Help says whose address it is.
func (botPageCmd) Help() string {
	return `Examples:
  spillway bot page

The address has the control token in it: who has it can act as anybody of the local Slack.`
}

// Run prints the address.
func (botPageCmd) Run(a *app) error {
	s, err := slackOf(a)
	if err != nil {
		return err
	}
	if s.Local == "" {
		return &desk.Error{Kind: desk.Conflict, Wrong: "the bot talks to Slack itself, which has its own page"}
	}
	token, err := os.ReadFile(filepath.Join(localSlackDir(a), "tokens", "control"))
	if err != nil {
		return &desk.Error{Kind: desk.Unavailable, Wrong: "the local Slack has not run yet: " + err.Error(), Try: "spillway run --config " + a.Config, Err: err}
	}
	fmt.Fprintf(a.out, "http://%s/#token=%s\n", s.Local, strings.TrimSpace(string(token)))
	return nil
}

// sampleCards are cards for Slack to judge: a question and a grant, in both
// languages.
func sampleCards(now time.Time) map[string]talk.Message {
	usd := func(n int64) bridge.Money { return bridge.Money{Micro: n * bridge.Micro, Currency: "USD"} }
	r := desk.Rental{
		ID: bridge.NewRentalID(1), Revision: 1, State: bridge.StateWaiting, Account: "site/ai/nlp", Requester: "ana", Count: 2,
		Shape: bridge.Shape{CPUs: 64, MemoryMiB: 512 << 10, GPUs: 8, GPUType: "h100"}, Hold: usd(400), Expected: usd(236), AskUntil: now.Add(time.Hour),
		Pool: bridge.Pool{Cloud: "north", Region: "eu", Zone: "eu-1", Type: "g8.h100", Market: bridge.Spot}, Life: int64((6 * time.Hour).Seconds()),
		Created: now, Expires: now.Add(6 * time.Hour), Jobs: []bridge.JobID{"4711"},
	}
	week := report.Report{
		Week: "2026-W48", From: now, To: now, Made: now, Zone: "UTC", Currency: "USD",
		Spend: report.Spend{Days: []report.SpendDay{{Date: "2026-11-23", OnDemand: usd(12), Spot: usd(8), Kept: usd(40)}}},
	}
	out := map[string]talk.Message{}
	for _, l := range []desk.Lang{desk.English, desk.Chinese} {
		p := card.Pen{Lang: l, Key: []byte("of no button that anybody sees"), Zone: time.UTC}
		out["question, "+string(l)] = p.Approval(&desk.Question{Rental: r, Why: l.Why(&bridge.Verdict{Why: bridge.ReasonOverBudget}), Approvers: []string{"mei", "@gpu-approvers"}}, now)
		grant := r
		grant.State = bridge.StateAdmitted
		out["grant, "+string(l)] = p.Grant(&grant, now)
		out["report, "+string(l)] = p.Report(&week)
	}
	return out
}
