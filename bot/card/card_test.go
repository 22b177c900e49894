package card_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/slack-go/slack"

	"spillway.sh/spillway/bot/card"
	"spillway.sh/spillway/bot/talk"
	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/desk"
)

var unfilled = regexp.MustCompile(`\{[a-z]+\}`)

var update = flag.Bool("update", false, "write the golden files anew")

var (
	noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	key  = []byte("a key for tests alone")
)

func usd(units float64) bridge.Money {
	return bridge.Money{Micro: int64(units * bridge.Micro), Currency: "USD"}
}

func pen(lang desk.Lang) card.Pen {
	return card.Pen{Lang: lang, Key: key, Name: func(account string) string {
		return map[string]string{"ana": "<@U0ANA>", "mei": "<@U0MEI>", "tom": "<@U0TOM>"}[account]
	}}
}

// rental is one of ana's in a state.
func rental(state bridge.State) desk.Rental {
	r := desk.Rental{
		ID: "r-0013", Version: 4, Revision: 1, State: state, Since: noon, Cluster: "main", Account: "site/ai/nlp/ana", Requester: "ana", Class: bridge.P2,
		Pool:  bridge.Pool{Cloud: "stratus", Region: "us-east", Zone: "us-east-1a", Type: "gpu8", Market: bridge.Spot},
		Shape: bridge.Shape{CPUs: 64, MemoryMiB: 512 << 10, GPUs: 8, GPUType: "h100"}, Count: 1, Machines: []desk.Machine{},
		Rate: bridge.Rate(usd(19.68)), MaxRate: bridge.Rate(usd(31.92)), Hold: usd(199.50), Life: 6 * 3600, Created: noon, AskUntil: noon.Add(time.Hour),
		Jobs: []bridge.JobID{"48211"}, Cost: usd(0), Expected: usd(118.08),
	}
	if state != bridge.StateWaiting && state != bridge.StateClosed {
		r.Expires, r.Approved = noon.Add(6*time.Hour), "mei"
		r.Machines = []desk.Machine{{Node: "sw-0013-0", ID: "i-1", State: bridge.MachineCreated, Started: noon}}
	}
	if state == bridge.StateAdmitted || state == bridge.StateDraining {
		r.Cost, r.Running, r.Machines[0].State = usd(43.95), []bridge.JobID{"48211"}, bridge.MachineJoined
	}
	if state == bridge.StateSettled {
		r.Cost = usd(45.92)
	}
	return r
}

// says is what the desk says in a language.
func says(l desk.Lang, english, chinese string) string {
	if l == desk.Chinese {
		return chinese
	}
	return english
}

func balances() []desk.Balance {
	return []desk.Balance{
		{Account: "site", Period: "2026-11", Limit: usd(10000), Posted: usd(4812), Held: usd(126), Left: usd(5062), Hard: true},
		{Account: "site/ai/nlp", Period: "2026-11", Limit: usd(500), Posted: usd(312.60), Held: usd(126), Left: usd(61.40)},
	}
}

func question(l desk.Lang) desk.Question {
	b := balances()
	return desk.Question{
		Rental: rental(bridge.StateWaiting), Why: says(l, "It costs more than the budget has left.", "费用超过预算剩余。"), Budgets: b, Exceeds: b[1:],
		Approvers: []string{"mei", "tom"}, Mine: true, Needs: 1,
	}
}

func ended(l desk.Lang, kind desk.ResultKind, who, text string) desk.Question {
	q := question(l)
	q.Rental.State = bridge.StateClosed
	if kind == desk.ResultAlready {
		q.Rental.State = bridge.StateLaunching
	}
	q.Ended = &desk.Result{Kind: kind, Rental: "r-0013", Who: who, At: noon.Add(7 * time.Minute), Text: text, Hold: usd(199.50)}
	return q
}

// golden compares what was drawn with a file, and writes it with -update.
func golden(t *testing.T, name string, drawn any) {
	t.Helper()
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(drawn); err != nil {
		t.Fatal(err)
	}
	if slot := unfilled.FindString(strings.NewReplacer("{date_short_pretty}", "", "{time}", "").Replace(buf.String())); slot != "" {
		t.Errorf("%s: the slot %s is not filled", name, slot)
	}
	path := filepath.Join("testdata", name+".json")
	if *update {
		if err := os.WriteFile(path, buf.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), buf.String()); diff != "" {
		t.Errorf("%s differs (-want +got), go test -update writes it anew:\n%s", path, diff)
	}
}

// cards are all messages, by name.
func cards(p card.Pen) map[string]talk.Message {
	q := question(p.Lang)
	two := question(p.Lang)
	two.Needs, two.Rental.Yeses = 2, []bridge.Yes{{Who: "mei", At: noon.Add(3 * time.Minute)}}
	urgent := question(p.Lang)
	urgent.Urgent, urgent.Approvers = true, []string{"mei", "tom", "boss"}
	said := question(p.Lang)
	said.Rental.Note = "`<https://evil.example|Approve here>` <!channel> *bold* \u202Egnp.exe"
	longer := question(p.Lang)
	longer.Rental.ID, longer.Rental.Extends, longer.Rental.Life, longer.Rental.Jobs = "r-0024", "r-0013", 2*3600, nil
	longer.Rental.Hold, longer.Rental.Expected = usd(63.84), usd(39.36)
	out := map[string]talk.Message{
		"approval-waiting":    p.Approval(&q, noon),
		"approval-one-of-two": p.Approval(&two, noon.Add(5*time.Minute)),
		"approval-urgent":     p.Approval(&urgent, noon.Add(50*time.Minute)),
		"approval-reason":     p.Approval(&said, noon),
		"approval-extension":  p.Approval(&longer, noon),
		"approval-superseded": p.Superseded(&q, noon.Add(9*time.Minute)),
		"request-waiting":     p.Request(&q, noon),
		"reminder":            p.Reminder(&q),
		"escalation":          p.Escalation(&urgent),
		"rental-status":       p.Rental(&desk.RentalAnswer{Rental: rental(bridge.StateAdmitted), News: []bridge.News{{At: noon, Kind: bridge.NewsReserved, Who: "ana"}, {At: noon.Add(time.Minute), Kind: bridge.NewsJoined, Node: "sw-0013-0"}}}, noon.Add(2*time.Hour)),
		"help":                p.Help(""), "help-money": p.Help("money"), "help-words": p.Help("words"),
	}
	for name, e := range map[string]desk.Question{
		"approved": ended(p.Lang, desk.ResultAlready, "mei", ""), "denied": ended(p.Lang, desk.ResultRefused, "mei", "Use the queue, it starts at 03:10."),
		"expired": ended(p.Lang, desk.ResultLapsed, "", ""), "cancelled": ended(p.Lang, desk.ResultWithdrawn, "ana", ""), "not-needed": ended(p.Lang, desk.ResultWithdrawn, "", ""),
	} {
		out["approval-"+name] = p.Approval(&e, noon.Add(10*time.Minute))
	}
	for _, s := range []bridge.State{bridge.StateLaunching, bridge.StateJoining, bridge.StateAdmitted, bridge.StateDraining, bridge.StateReleasing, bridge.StateSettled, bridge.StateClosed} {
		r := rental(s)
		out["grant-"+string(s)] = p.Grant(&r, noon.Add(2*time.Hour+14*time.Minute))
	}
	r := rental(bridge.StateAdmitted)
	r.Machines[0].ReclaimAt = noon.Add(2 * time.Minute)
	out["release-ask"] = p.ReleaseAsk(&r, noon.Add(5*time.Hour))
	idle := rental(bridge.StateAdmitted)
	idle.Running, idle.Jobs, idle.IdleSecs = nil, nil, 14*60
	out["idle"], out["grant-idle"] = p.Idle(&idle, "ana", noon.Add(time.Hour)), p.Grant(&idle, noon.Add(time.Hour))
	for _, n := range []bridge.News{
		{Kind: bridge.NewsNotice, Rental: r.ID, Node: "sw-0013-0"},
		{Kind: bridge.NewsReclaimed, Rental: r.ID, Node: "sw-0013-0"},
		{Kind: bridge.NewsRequeued, Rental: r.ID, Node: "sw-0013-0", Job: "48211"},
		{Kind: bridge.NewsCalledOff, Rental: r.ID, Node: "sw-0013-0"},
		{Kind: bridge.NewsResumed, Rental: r.ID, Job: "48211", Cost: usd(1.40), Text: "resumed at step 1200 (checkpoint age 4m12s)"},
		{Kind: bridge.NewsLost, Rental: r.ID, Job: "48211", Cost: usd(12.30), Text: "starts again from the beginning: no complete checkpoint was found"},
		{Kind: bridge.NewsFrozen, Who: "root", Text: "the price list looks wrong"},
		{Kind: bridge.NewsThawed, Who: "root"},
		{Kind: bridge.NewsProtected, Text: "6 launches in the last 10m0s never joined"},
		{Kind: bridge.NewsOrphan, Machine: "i-99"},
		{Kind: bridge.NewsChanged, Rental: r.ID, Cost: usd(204.05)},
		{Kind: bridge.NewsAgreed, Rental: r.ID, Who: "mei", Cost: usd(199.50)},
		{Kind: bridge.NewsExtended, Rental: r.ID, Who: "ana", Cost: usd(63.84)},
		{Kind: bridge.NewsWarning, Rental: r.ID, Cost: usd(3.10)},
	} {
		if m, ok := p.Alert(&n, &r); ok {
			out["alert-"+string(n.Kind)] = m
		}
	}
	out["quotes"], out["quotes-none"] = p.Quotes("q-19c", quotes(p.Lang), 10*time.Minute), p.Quotes("q-19c", &desk.QuoteAnswer{Understood: "8xh1000 for 6h", Why: says(p.Lang, "no machine on offer fits 8xh1000 for 6h", "没有适合 8xh1000 for 6h 的机器")}, 10*time.Minute)
	out["rentals"] = p.Rentals([]desk.Rental{rental(bridge.StateAdmitted), func() desk.Rental { w := rental(bridge.StateWaiting); w.ID = "r-0024"; return w }()}, noon.Add(time.Hour))
	out["rentals-none"] = p.Rentals(nil, noon)
	maps.Copy(out, further(p))
	maps.Copy(out, money(p))
	out["spend"], out["spend-chart"] = p.Spend(&desk.SpendAnswer{Accounts: balances()}, false), p.Spend(&desk.SpendAnswer{Accounts: balances()}, true)
	return out
}

func quotes(l desk.Lang) *desk.QuoteAnswer {
	offer := func(region string, m bridge.Market, rate, expected, most float64, o desk.Outcome) desk.Quoted {
		return desk.Quoted{
			Pool:     bridge.Pool{Cloud: "stratus", Region: region, Zone: region + "-1a", Type: "gpu8", Market: m},
			Machines: 1, Shape: bridge.Shape{CPUs: 64, GPUs: 8, GPUType: "h100"}, Rate: bridge.Rate(usd(rate)), Expected: usd(expected), AtMost: usd(most), Boot: 360, Outcome: o,
		}
	}
	a := &desk.QuoteAnswer{At: noon, Understood: "8xh100 for 6h project nlp", Budgets: balances(), Offers: []desk.Quoted{
		offer("us-east", bridge.Spot, 2.46, 16, 21, desk.AtOnce), offer("eu-west", bridge.Spot, 19.68, 118.08, 199.50, desk.AskOne), offer("us-east", bridge.OnDemand, 31.92, 191.52, 199.50, desk.Refused),
	}}
	a.Offers[1].Over, a.Offers[2].Text = usd(138.10), says(l, "above price ceiling", "超过价格上限")
	return a
}

func tab(l desk.Lang) *card.Tab {
	return &card.Tab{Rentals: []desk.Rental{rental(bridge.StateAdmitted), func() desk.Rental { w := rental(bridge.StateWaiting); w.ID = "r-0024"; return w }()}, Questions: []desk.Question{func() desk.Question { q := question(l); q.Rental.ID = "r-0035"; q.Rental.Requester = "tom"; return q }()}, Accounts: balances()}
}

// forms are all forms, by name.
func forms(p card.Pen) map[string]*slack.ModalViewRequest {
	waiting, running := rental(bridge.StateWaiting), rental(bridge.StateAdmitted)
	full := desk.Wish{GPUs: 8, GPUType: "h100", Seconds: 6 * 3600, Market: bridge.Spot, Max: usd(120), Project: "nlp", Job: "48211", Reason: "paper deadline"}
	return map[string]*slack.ModalViewRequest{
		"form-rent": p.RentForm(&full, "", ""), "form-rent-empty": p.RentForm(&desk.Wish{}, "", ""),
		"form-rent-wrong": p.RentForm(&desk.Wish{GPUs: 8, GPUType: "h100"}, says(p.Lang, "for how long? A duration is never guessed", "要多久？时长从不猜测"), "q-19c"),
		"form-deny":       p.DenyForm(&waiting), "form-extend": p.ExtendForm(&running, ""),
	}
}

// TestGolden draws everything in both languages, as kept files, and checks it
// against Slack's limits.
func TestGolden(t *testing.T) {
	for _, lang := range []desk.Lang{desk.English, desk.Chinese} {
		p := pen(lang)
		for name, m := range cards(p) {
			t.Run(name+"."+string(lang), func(t *testing.T) {
				if err := card.Validate(m); err != nil {
					t.Error(err)
				}
				golden(t, name+"."+string(lang), m)
			})
		}
		for name, v := range map[string]any{"home": p.Home(tab(lang), noon.Add(time.Hour)), "home-empty": p.Home(&card.Tab{}, noon)} {
			if err := card.ValidateHome(v.(talk.Message)); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			golden(t, name+"."+string(lang), v)
		}
		for name, v := range forms(p) {
			if err := card.ValidateForm(v); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			golden(t, name+"."+string(lang), v)
		}
	}
}

// english is two words of English in a row: names, commands, and what people
// wrote are taken out first.
var (
	english = regexp.MustCompile(`[A-Za-z]{2,}[a-z']* [a-z]{2,}`)
	notOurs = []*regexp.Regexp{
		regexp.MustCompile("`[^`]*`"), regexp.MustCompile(`<[^>]*>`), // commands; mentions and dates
		regexp.MustCompile(`8xh1000? for 6h( project nlp)?`),                                 // what was asked for, in its own words
		regexp.MustCompile(`stratus (us|eu)-(east|west)-1a`),                                 // a place's name
		regexp.MustCompile(`Use the queue, it starts at 03:10\.|the price list looks wrong`), // what people wrote
	}
)

// A Chinese card holds no English sentence.
func TestChineseCardsHoldNoEnglish(t *testing.T) {
	files, err := filepath.Glob("testdata/*.zh.json")
	if err != nil || len(files) < 50 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		var drawn any
		if err := json.Unmarshal(raw, &drawn); err != nil {
			t.Fatal(err)
		}
		for _, text := range shown(drawn) {
			for _, no := range notOurs {
				text = no.ReplaceAllString(text, "")
			}
			if s := english.FindString(text); s != "" {
				t.Errorf("%s says %q in %q", f, s, text)
			}
		}
	}
}

// shown are the texts that somebody sees in a message or form.
func shown(v any) (out []string) {
	switch v := v.(type) {
	case map[string]any:
		for key, in := range v {
			if s, ok := in.(string); ok && (key == "text" || key == "label" || key == "title") {
				out = append(out, s)
				continue
			}
			out = append(out, shown(in)...)
		}
	case []any:
		for _, in := range v {
			out = append(out, shown(in)...)
		}
	}
	return out
}

// Both languages have every text.
func TestEveryTextInBothLanguages(t *testing.T) {
	for _, text := range card.Texts() {
		if text.English == "" || text.Chinese == "" {
			t.Errorf("%s: %q, %q", text.Name, text.English, text.Chinese)
		}
		if a, b := slots(text.English), slots(text.Chinese); !slices.Equal(a, b) {
			t.Errorf("%s has the facts %v in English and %v in Chinese", text.Name, a, b)
		}
	}
}

func slots(s string) []string {
	out := unfilled.FindAllString(s, -1)
	slices.Sort(out)
	return slices.Compact(out)
}
