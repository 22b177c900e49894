package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/cloud/cloudtest"
	"spillway.sh/spillway/bridge/cloud/plugin"
	"spillway.sh/spillway/bridge/cloud/plugin/wire"
	"spillway.sh/spillway/bridge/desk"
)

type cloudCmd struct {
	Test   cloudTestCmd   `cmd:"" help:"Try a plugin, or a cloud of the configuration, by what Spillway stands on."`
	Doctor cloudDoctorCmd `cmd:"" help:"Look for what is in the way of renting in each cloud: credentials, permissions, quota."`
}

type cloudTestCmd struct {
	format
	Command  []string          `arg:"" optional:"" help:"The plugin and its arguments; after -- if they begin with a dash." placeholder:"PLUGIN"`
	Cloud    string            `help:"A cloud of the configuration, in place of a program." placeholder:"NAME"`
	Set      map[string]string `help:"A setting for the plugin." placeholder:"KEY=VALUE"`
	Env      []string          `help:"A variable that the plugin gets beside PATH and HOME." placeholder:"NAME"`
	Timeout  time.Duration     `help:"Longest time for one call of the plugin." default:"1m" placeholder:"TIME"`
	Rent     bool              `help:"Rent machines too, up to six at a time, and give them back. It costs money."`
	Pool     string            `help:"With --rent: what is rented (default: the cheapest offer with enough machines)." placeholder:"REGION/ZONE/TYPE/MARKET"`
	Patience time.Duration     `help:"With --rent: longest time to show, boot or end a machine." default:"15m" placeholder:"TIME"`
	Yes      bool              `short:"y" help:"With --rent: do not ask at the terminal first."`
}

// Help gives examples.
func (cloudTestCmd) Help() string {
	return `Examples:
  spillway cloud test ./my-plugin                      asks and rents nothing
  spillway cloud test -- ./my-plugin --account lab
  spillway cloud test ./my-plugin --set region=bj-1 --env MY_KEY_FILE
  spillway cloud test ./my-plugin --rent --pool bj-1//gpu8/on-demand
  spillway cloud test --cloud north --rent

The suite is the one that every cloud of Spillway passes. All that it rents carries tags of its own and is given back at the end of
each test. Exit code 7: something is not as it must be. How to write a plugin: deploy/docs/clouds/plugin.md.

JSON keys: ok, cloud, plugin (name, version, idempotency, extends), pool, tests[] (name, passed, seconds, said[]).`
}

// testCloud is what a plugin without a name is called while it is tried.
const testCloud = "test"

// testMost is how many machines the suite has at one time.
const testMost = 6

type cloudTested struct {
	Name    string   `json:"name"`
	Passed  bool     `json:"passed"`
	Seconds float64  `json:"seconds"`
	Said    []string `json:"said"`
}

type cloudTestAnswer struct {
	OK     bool              `json:"ok"`
	Cloud  string            `json:"cloud"`
	Plugin *wire.Description `json:"plugin,omitempty"`
	Pool   string            `json:"pool,omitempty"`
	Tests  []cloudTested     `json:"tests"`
}

// Run tries a cloud.
func (c *cloudTestCmd) Run(a *app) error {
	cloud, about, err := c.open(a)
	if err != nil {
		return err
	}
	got := cloudTestAnswer{OK: true, Cloud: cloud.Name(), Plugin: about, Tests: []cloudTested{}}
	p := cloudtest.Provider{
		Open:        func(cloudtest.T) cloudtest.Cloud { return cloud },
		Idempotency: cloudtest.ByName, UserData: "#!/bin/sh\ntrue\n", Stock: testMost, Patience: c.Patience,
	}
	if about != nil && about.Idempotency == "token" {
		p.Idempotency = cloudtest.ByToken
	}
	offer, err := c.choose(a, cloud)
	if err != nil {
		return err
	}
	p.Pool = offer.Pool
	if c.Rent {
		got.Pool = poolText(offer.Pool)
		question := fmt.Sprintf("Rent up to %d machines of %s at %s an hour each?", testMost, got.Pool, bridge.Money{Micro: offer.Rate.Micro, Currency: offer.Rate.Currency})
		if err := a.confirm(c.Yes, question); err != nil {
			return err
		}
	}
	cloudtest.Check(a.ctx, p, c.Rent, func(r cloudtest.Result) {
		got.OK = got.OK && r.Passed
		got.Tests = append(got.Tests, cloudTested{r.Name, r.Passed, r.Took.Round(time.Millisecond).Seconds(), append([]string{}, r.Said...)})
		if c.Output == "text" {
			sayTested(a, &got.Tests[len(got.Tests)-1])
		}
	})
	if err := a.ctx.Err(); err != nil {
		return &desk.Error{Kind: desk.BadRequest, Wrong: "interrupted before the suite was through", Try: "spillway cloud test --help", Err: err}
	}
	if err := c.print(a, got, func(p *page) { c.sum(p, &got) }); err != nil {
		return err
	}
	if !got.OK {
		return errFound
	}
	return nil
}

// open returns the cloud to try, and what it says of itself if it is a plugin.
func (c *cloudTestCmd) open(a *app) (cloudtest.Cloud, *wire.Description, error) {
	if (c.Cloud == "") == (len(c.Command) == 0) {
		return nil, nil, &desk.Error{Kind: desk.BadRequest, Wrong: "give either a plugin or --cloud", Try: "spillway cloud test ./my-plugin"}
	}
	if c.Cloud != "" {
		s, err := a.site()
		if err != nil {
			return nil, nil, err
		}
		for _, cloud := range s.clouds {
			if cloud.Name() == c.Cloud {
				return cloud, nil, nil
			}
		}
		return nil, nil, &desk.Error{
			Kind: desk.BadRequest, Wrong: fmt.Sprintf("the configuration has no cloud %q; it has %s", c.Cloud, strings.Join(s.cloudNames(), ", ")), Try: "spillway cloud test --cloud " + s.cloudNames()[0],
		}
	}
	settings, err := json.Marshal(c.Set)
	if err != nil {
		return nil, nil, fmt.Errorf("write settings: %w", err)
	}
	log := slog.New(slog.NewTextHandler(a.errs, &slog.HandlerOptions{Level: slog.LevelDebug}))
	p, err := plugin.New(plugin.Config{Name: testCloud, Command: c.Command, Settings: settings, Env: c.Env, Timeout: c.Timeout, Log: log})
	if err != nil {
		return nil, nil, err
	}
	about, err := p.Describe(a.ctx)
	if err != nil {
		return nil, nil, &desk.Error{Kind: desk.BadRequest, Wrong: err.Error(), Try: "echo '{\"spillway\":1,\"call\":\"describe\",\"cloud\":\"test\"}' | " + strings.Join(c.Command, " "), Err: err}
	}
	return p, &about, nil
}

// choose is the offer that the suite is about.
func (c *cloudTestCmd) choose(a *app, cloud cloudtest.Cloud) (bridge.Offer, error) {
	offers, err := cloud.Offers(a.ctx)
	if err != nil {
		return bridge.Offer{}, &desk.Error{Kind: desk.BadRequest, Wrong: err.Error(), Try: "spillway cloud test --help", Err: err}
	}
	slices.SortStableFunc(offers, func(x, y bridge.Offer) int { return cmp.Compare(x.Rate.Micro, y.Rate.Micro) })
	for _, o := range offers {
		if c.Pool == poolText(o.Pool) || c.Pool == "" && (!c.Rent || o.Available < 0 || o.Available >= testMost) {
			return o, nil
		}
	}
	var have []string
	for _, o := range offers {
		have = append(have, poolText(o.Pool))
	}
	wrong := fmt.Sprintf("no offer has %d machines", testMost)
	if c.Pool != "" {
		wrong = fmt.Sprintf("%s is not offered", c.Pool)
	}
	return bridge.Offer{}, &desk.Error{Kind: desk.BadRequest, Wrong: wrong + "; on offer: " + cmp.Or(strings.Join(have, ", "), "nothing"), Try: "spillway cloud test " + strings.Join(c.Command, " ")}
}

// poolText is a pool without its cloud.
func poolText(p bridge.Pool) string {
	return strings.Join([]string{p.Region, p.Zone, p.Type, string(p.Market)}, "/")
}

func sayTested(a *app, t *cloudTested) {
	word := "ok  "
	if !t.Passed {
		word = "FAIL"
	}
	fmt.Fprintf(a.out, "%s  %s (%.1f s)\n", word, t.Name, t.Seconds)
	for _, s := range t.Said {
		fmt.Fprintf(a.out, "      %s\n", strings.ReplaceAll(s, "\n", "\n      "))
	}
}

func (c *cloudTestCmd) sum(p *page, got *cloudTestAnswer) {
	failed := 0
	for i := range got.Tests {
		if !got.Tests[i].Passed {
			failed++
		}
	}
	who := "Cloud " + got.Cloud
	if got.Plugin != nil {
		who = fmt.Sprintf("Plugin %s %s (idempotency: %s)", got.Plugin.Name, got.Plugin.Version, got.Plugin.Idempotency)
	}
	p.line("%s: %d of %d passed.", who, len(got.Tests)-failed, len(got.Tests))
	if !c.Rent {
		p.line("Nothing was rented; what a rental needs is tried with --rent.")
	}
}
