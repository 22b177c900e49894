package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/desk"
)

type cloudsCmd struct {
	format
	Cloud  string `help:"Only this cloud, with all its pools." placeholder:"NAME"`
	Region string `help:"Only pools of this region or zone." placeholder:"NAME"`
	GPU    string `name:"gpu" help:"Only pools with this GPU; of a family, any memory." placeholder:"NAME"`
}

// Help gives examples.
func (cloudsCmd) Help() string {
	return `Examples:
  spillway clouds
  spillway clouds --cloud north
  spillway clouds --gpu h100 --region us-east-1
  spillway clouds -o json

What each cloud answered last, and what may be rented there now: prices with their age, stock, quota, and the pools that
rest after a refusal. Nothing is asked of a cloud for this; spillway cloud doctor does.

JSON keys: at, clouds[] (name, kind, state (answers, fails, offers-nothing, not-asked), text, replies[] (op, at, good_at,
kind, code, text, failures, until), offers, fresh, resting, attributes[] (name, number, until, validity (valid, ends-soon,
ended)), network, egress, data_region, notes[], pools[] (pool, shape, state (ready, resting, sold-out, no-quota, no-price,
barred, not-offered), text, rate, per_gpu, quoted, fx, priced_at, price_age_seconds, price_max_age_seconds, price_source,
fresh, why, stock, limited, score, boot_seconds, notice_seconds, step_seconds, minimum_seconds, term_seconds, early_pm,
billing, network, egress, attributes[], contract, last{}, failures, rests_until)).`
}

// Run shows clouds and pools.
func (c *cloudsCmd) Run(a *app) error {
	got, err := ask(a, desk.AskClouds, desk.CloudsRequest{Cloud: c.Cloud, Region: c.Region, GPU: c.GPU, Lang: a.lang()})
	if err != nil {
		return err
	}
	return c.print(a, got, func(p *page) { c.say(p, &got, a.lang()) })
}

// poolRows is how many pools of a cloud are shown while nobody asks for one of them.
const poolRows = 10

func (c *cloudsCmd) say(p *page, got *desk.CloudsAnswer, lang desk.Lang) {
	if len(got.Clouds) == 0 {
		p.line("The configuration has no cloud, so nothing can be rented.")
		return
	}
	var rows []string
	for i := range got.Clouds {
		k := &got.Clouds[i]
		rows = append(rows, row(k.Name, k.Kind, k.Offers, k.Fresh, k.Resting, heard(k, "offers", got.At), heard(k, "list", got.At), k.Text))
	}
	p.table("CLOUD\tKIND\tPOOLS\tFRESH PRICE\tRESTING\tPRICES READ\tMACHINES LISTED\tSTATE", rows)
	for i := range got.Clouds {
		if k := &got.Clouds[i]; len(k.Notes)+len(k.Pools) > 0 || len(known(k)) > 0 {
			c.sayCloud(p, k, lang)
		}
	}
}

// heard is when a cloud last gave a good answer to a question.
func heard(k *desk.CloudStand, op string, now time.Time) string {
	i := slices.IndexFunc(k.Replies, func(r bridge.Reply) bool { return r.Op == op })
	switch {
	case i < 0:
		return ""
	case k.Replies[i].Good.IsZero():
		return "never"
	}
	return desk.Span(now.Sub(k.Replies[i].Good)) + " ago"
}

func (c *cloudsCmd) sayCloud(p *page, k *desk.CloudStand, lang desk.Lang) {
	p.line("")
	head := k.Name
	if facts := known(k); len(facts) > 0 {
		head += ": " + strings.Join(facts, "; ")
	}
	p.wrap("", head)
	for _, n := range k.Notes {
		p.wrap("  ! ", n)
	}
	most := len(k.Pools)
	if c.Cloud == "" && c.Region == "" && c.GPU == "" {
		most = min(most, poolRows)
	}
	var rows []string
	for i := range k.Pools[:most] {
		rows = append(rows, "  "+poolRow(&k.Pools[i], lang))
	}
	if len(rows) > 0 {
		p.table("  POOL\tEACH HAS\tEACH HOUR\tPRICED\tLEFT\tSTATE", rows)
	}
	if more := len(k.Pools) - most; more > 0 {
		p.line("  %s: spillway clouds --cloud %s", countWith(int64(more), "more pool", "more pools"), k.Name)
	}
	for _, l := range smallPrint(k.Pools[:most], k, lang) {
		p.wrap("  ", l)
	}
}

// known is what the configuration says of a cloud.
func known(k *desk.CloudStand) []string {
	var out []string
	for i := range k.Attributes {
		a := &k.Attributes[i]
		text := a.Name
		if a.Number != "" {
			text += " " + a.Number
		}
		switch {
		case a.Validity == bridge.Ended:
			text += ", ended " + a.Until.UTC().Format(time.DateOnly)
		case !a.Until.IsZero():
			text += ", until " + a.Until.UTC().Format(time.DateOnly)
		}
		out = append(out, text)
	}
	if k.Network != "" {
		out = append(out, "network "+string(k.Network))
	}
	if k.Egress.Currency != "" {
		out = append(out, k.Egress.String()+" for a GiB that leaves it")
	}
	return out
}

func poolRow(k *desk.PoolStand, lang desk.Lang) string {
	rate, priced, left := "", "", ""
	if k.Rate.Currency != "" {
		rate = bridge.Money(k.Rate).String()
	}
	if !k.PricedAt.IsZero() {
		priced = desk.Span(time.Duration(k.Age)*time.Second) + " ago"
	}
	if k.Stock >= 0 {
		left = fmt.Sprint(k.Stock)
		if k.Limited != "" {
			left += " by quota"
		}
	}
	state := k.Text
	if k.Score > 0 {
		state += fmt.Sprintf(", score %d of 10", k.Score)
	}
	return row(lang.PoolName(k.Pool), k.Shape.String(), rate, priced, left, state)
}

// smallPrint says of pools what is the same for many of them: where prices are
// from, quotas, billing, notice, and what differs from the rest of the cloud.
func smallPrint(pools []desk.PoolStand, k *desk.CloudStand, lang desk.Lang) []string {
	var out []string
	for _, about := range []struct {
		of  func(*desk.PoolStand) string
		say string
	}{
		{func(p *desk.PoolStand) string { return p.Source }, "Prices by %s: %s."},
		{func(p *desk.PoolStand) string { return p.Limited }, "Quota %s limits %s."},
		{func(p *desk.PoolStand) string { return p.Billing }, "Charged: %s (%s)."},
		{notice, "%s before a machine is taken back: %s."},
		{func(p *desk.PoolStand) string { return p.FX }, "Converted at %s: %s."},
		{func(p *desk.PoolStand) string {
			if p.Network == k.Network {
				return ""
			}
			return string(p.Network)
		}, "Network %s: %s."},
	} {
		var texts []string
		names := map[string][]string{}
		for i := range pools {
			if text := about.of(&pools[i]); text != "" {
				if !slices.Contains(texts, text) {
					texts = append(texts, text)
				}
				names[text] = append(names[text], lang.PoolName(pools[i].Pool))
			}
		}
		for _, text := range texts {
			out = append(out, fmt.Sprintf(about.say, text, several(names[text], len(pools))))
		}
	}
	return out
}

func notice(p *desk.PoolStand) string {
	switch {
	case p.Pool.Market != bridge.Spot:
		return ""
	case p.Notice == 0:
		return "No notice"
	}
	return desk.Span(time.Duration(p.Notice)*time.Second) + " of notice"
}

// several names pools: all of them, or a few.
func several(names []string, all int) string {
	const most = 3
	switch {
	case len(names) == all && all > 1:
		return "all of these"
	case len(names) > most:
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most-1], ", "), len(names)-most+1)
	}
	return strings.Join(names, ", ")
}
