package desk

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"spillway.sh/spillway/bridge"
)

func TestCompareWordsAreInBothLanguages(t *testing.T) {
	if diff := cmp.Diff(slices.Sorted(maps.Keys(compareWords)), slices.Sorted(maps.Keys(compareWordsChinese))); diff != "" {
		t.Errorf("keys (-en +zh):\n%s", diff)
	}
	for key, en := range compareWords {
		facts := func(s string) []string { return slices.Sorted(slices.Values(slot.FindAllString(s, -1))) }
		if diff := cmp.Diff(facts(en), facts(compareWordsChinese[key])); diff != "" {
			t.Errorf("%s: facts (-en +zh):\n%s", key, diff)
		}
	}
	for _, what := range compareLines {
		if compareWords["name-"+what] == "" {
			t.Errorf("line %s has no name", what)
		}
	}
}

func said(c *Compared, what string) string {
	i := slices.IndexFunc(c.Lines, func(l Weighed) bool { return l.What == what })
	return c.Lines[i].Says
}

// A lead sees of each provider what it costs, what it has, and why not.
func TestExplainComparesProvidersLineByLine(t *testing.T) {
	d, w := newWorld(t)
	w.snap.Queues[0].Demands[0].Standing = bridge.StandingHelps
	w.snap.Queues[0].Demands[0].Restartable = true
	dear := offer("gpu8", 8, "h100", bridge.OnDemand, 30)
	dear.Pool.Cloud, dear.Step, dear.Minimum, dear.Egress = "nimbus", time.Hour, time.Hour, usd(0.09)
	dear.Network, dear.Boot = bridge.NetworkRDMA, 10*time.Minute
	dear.Attributes = []bridge.Attribute{{Name: "iso27001", Number: "IS 1", Until: noon.AddDate(1, 0, 0)}, {Name: "idc-licence", Until: noon.Add(-time.Hour)}}
	w.snap.Offers = append(w.snap.Offers, dear)
	rules := d.Rules.(*rules)
	rules.terms.Attributes = []string{"iso27001"}
	for lang, want := range map[Lang]map[string]string{
		English: {
			"offer": "2 x gpu8 on-demand in nimbus east-1", "rate": "30.00 USD, 0 s old", "run": "2 h of work, 10 min to boot, 10 min to spare",
			"billing": "40 min up to a whole step", "machines": "180.00 USD", "total": "180.00 USD", "delivery": "10 min", "network": "rdma",
			"attributes": "iso27001 IS 1, until 2027-11-30; idc-licence, ended 2026-11-30",
		},
		Chinese: {
			"run": "运行 2 h，开机 10 min，余量 10 min", "billing": "补足整步 40 min", "attributes": "iso27001 IS 1，至 2027-11-30; idc-licence，已于 2026-11-30 到期",
		},
	} {
		a, err := d.Explain(t.Context(), d.as("ana"), ExplainRequest{Job: "4711", Lang: lang})
		if err != nil {
			t.Fatal(err)
		}
		of := func(cloud string) *Compared {
			return &a.Compared[slices.IndexFunc(a.Compared, func(c Compared) bool { return c.Offer.Pool.Cloud == cloud })]
		}
		for what, says := range want {
			if got := said(of("nimbus"), what); got != says {
				t.Errorf("%s %s: %q, want %q", lang, what, got, says)
			}
		}
		if c := of("stratus"); c.Why != bridge.ReasonLacks || !strings.Contains(said(c, "verdict"), "iso27001") || !strings.HasPrefix(said(c, "verdict"), lang.compare("why-not", map[string]string{"why": lang.Short(c.Why)})) {
			t.Errorf("%s: stratus lacks iso27001, and it is said: %q", lang, said(c, "verdict"))
		}
	}
}

// A request by hand gets no machine of a provider that lacks what policy asks for,
// nor one on a slower network.
func TestAQuoteHoldsToWhatPolicyAsksOfProviders(t *testing.T) {
	d, w := newWorld(t)
	rules := d.Rules.(*rules)
	for why, ask := range map[bridge.Reason]func(*bridge.Terms){
		bridge.ReasonLacks:   func(x *bridge.Terms) { x.Attributes = []string{"iso27001"} },
		bridge.ReasonNetwork: func(x *bridge.Terms) { x.Network = bridge.NetworkRDMA },
	} {
		plain := rules.terms
		ask(&rules.terms)
		a, err := d.Quote(t.Context(), d.as("ana"), QuoteRequest{Wish: Wish{Words: []string{"8xh100 for 1h on-demand project nlp"}}})
		if err != nil {
			t.Fatal(err)
		}
		for i := range a.Offers {
			if a.Offers[i].Outcome != Refused || a.Offers[i].Why != why {
				t.Errorf("%s: %s is %s, %s", why, a.Offers[i].Pool, a.Offers[i].Outcome, a.Offers[i].Why)
			}
		}
		if len(a.Compared) != len(a.Offers) || a.Compared[0].Why != why {
			t.Errorf("%s: compared as %+v", why, a.Compared)
		}
		rules.terms = plain
	}
	w.snap.Offers[1].Network = bridge.NetworkRDMA
	rules.terms.Network = bridge.NetworkVast
	a, err := d.Quote(t.Context(), d.as("ana"), QuoteRequest{Wish: Wish{Words: []string{"8xh100 for 1h on-demand project nlp"}}})
	if err != nil {
		t.Fatal(err)
	}
	if a.Offers[0].Outcome == Refused || a.Offers[0].Pool != w.snap.Offers[1].Pool {
		t.Errorf("the offer with the faster network is %+v", a.Offers[0])
	}
}
