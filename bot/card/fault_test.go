package card_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/slack-go/slack"
	"pgregory.net/rapid"

	"spillway.sh/spillway/bot/card"
	"spillway.sh/spillway/bot/talk"
	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/desk"
)

// buttons are the action ids of a message's buttons.
func buttons(m talk.Message) (out []string) {
	for _, b := range m.Blocks {
		if row, ok := b.(*slack.ActionBlock); ok {
			for _, e := range row.Elements.ElementSet {
				out = append(out, e.(*slack.ButtonBlockElement).ActionID)
			}
		}
	}
	return out
}

// A question that is no longer open has no buttons, in any copy.
func TestB_F4_F6_AnEndedQuestionHasNoButtons(t *testing.T) {
	p := pen(desk.English)
	for _, kind := range []desk.ResultKind{desk.ResultAlready, desk.ResultRefused, desk.ResultLapsed, desk.ResultWithdrawn} {
		q := ended(desk.English, kind, "mei", "")
		for _, m := range []talk.Message{p.Approval(&q, noon), p.Request(&q, noon)} {
			if got := buttons(m); len(got) > 0 {
				t.Errorf("%s has the buttons %v", kind, got)
			}
		}
	}
	open, lost := question(desk.English), question(desk.English)
	lost.Rental.State = bridge.StateClosed // and its news are not known
	if got := buttons(p.Approval(&lost, noon)); len(got) > 0 {
		t.Errorf("closed, without news, has the buttons %v", got)
	}
	if got := buttons(p.Superseded(&open, noon)); len(got) > 0 {
		t.Errorf("superseded has the buttons %v", got)
	}
	if got := fmt.Sprint(buttons(p.Approval(&open, noon)), buttons(p.Request(&open, noon))); got != "[approve deny details] [cancel]" {
		t.Errorf("open has the buttons %s", got)
	}
}

// Five thousand characters of Chinese and emoji, and 120 rentals: nothing is
// refused, nothing is cut inside a character, and the decision stays.
func TestB_F19_TooLongIsCutNotLost(t *testing.T) {
	p := pen(desk.Chinese)
	q := question(desk.English)
	q.Rental.Note = strings.Repeat("论文截止👩‍🔬", 1000)
	q.Why = strings.Repeat("因为", 4000)
	for i := range 60 {
		q.Approvers = append(q.Approvers, fmt.Sprintf("somebody-with-a-long-account-%d", i))
		q.Budgets = append(q.Budgets, desk.Balance{Account: bridge.Account(strings.Repeat("x", 200)), Limit: usd(1), Left: usd(1)})
	}
	m := p.Approval(&q, noon)
	if err := card.Validate(m); err != nil {
		t.Error(err)
	}
	if got := strings.Join(buttons(m), " "); got != "approve deny details" {
		t.Errorf("the decision is lost: %q", got)
	}
	body, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	if !utf8.Valid(body) || strings.ContainsRune(string(body), utf8.RuneError) {
		t.Error("a character was cut")
	}
	if !strings.Contains(string(body), "more)") || !strings.Contains(string(body), "论文截止") {
		t.Error("it does not say that there is more")
	}
	var many []desk.Rental
	for i := range 120 {
		r := rental(bridge.StateAdmitted)
		r.ID = bridge.NewRentalID(int64(i + 1))
		many = append(many, r)
	}
	list := p.Rentals(many, noon)
	if err := card.Validate(list); err != nil {
		t.Error(err)
	}
	table := list.Blocks[0].(*slack.TableBlock)
	if last := table.Rows[len(table.Rows)-1][0].(*slack.TableRawTextCell).Text; !strings.HasSuffix(last, "more)") {
		t.Errorf("the last row is %q", last)
	}
	home := p.Home(&card.Tab{Rentals: many}, noon)
	if err := card.ValidateHome(home); err != nil {
		t.Error(err)
	}
	deny := card.Fit(talk.Message{Text: strings.Repeat("长", 9000), Blocks: []slack.Block{slack.NewHeaderBlock(slack.NewTextBlockObject(slack.PlainTextType, strings.Repeat("长", 999), false, false))}})
	if err := card.Validate(deny); err != nil {
		t.Error(err)
	}
}

// What is cut twice still says how much is missing in all.
func TestTwiceCutSaysHowMuchIsMissing(t *testing.T) {
	text := func(n int) *slack.SectionBlock {
		return slack.NewSectionBlock(slack.NewTextBlockObject(slack.PlainTextType, strings.Repeat("长", n), false, false), nil, nil)
	}
	m := card.Fit(talk.Message{Text: "x", Blocks: []slack.Block{text(5000), text(2900), text(2900), text(2900), text(2900)}})
	if err := card.Validate(m); err != nil {
		t.Error(err)
	}
	total := 0
	for _, b := range m.Blocks {
		s := b.(*slack.SectionBlock).Text.Text
		missing := 0
		if i := strings.LastIndex(s, "… ("); i >= 0 {
			if _, err := fmt.Sscanf(s[i:], "… (%d more)", &missing); err != nil {
				t.Fatal(err)
			}
			s = s[:i]
		}
		total += utf8.RuneCountInString(s) + missing
	}
	if total != 5000+4*2900 {
		t.Errorf("%d characters are shown or said to be missing", total)
	}
}

// Whatever is drawn fits, and the buttons of a question are always there.
func TestAnythingFits(t *testing.T) {
	text := rapid.StringOfN(rapid.RuneFrom([]rune("ab <>&*`_~長👩‍🔬\u202e\n")), 0, 9000, -1)
	rapid.Check(t, func(t *rapid.T) {
		p := pen(desk.English)
		q := question(desk.English)
		q.Rental.Note, q.Why = text.Draw(t, "note"), text.Draw(t, "why")
		q.Rental.Pool.Type = text.Draw(t, "type")
		q.Rental.Requester = text.Draw(t, "requester")
		for range rapid.IntRange(0, 80).Draw(t, "jobs") {
			q.Rental.Jobs = append(q.Rental.Jobs, "4711")
		}
		m := p.Approval(&q, noon)
		if err := card.Validate(m); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(buttons(m), " "); got != "approve deny details" {
			t.Fatalf("buttons: %q", got)
		}
	})
}

// What a person writes stays what they wrote: no link, mention, date or button
// of ours can be made of it, and no mark turns the line round.
func TestB_F21_TextOfPeopleStandsForItself(t *testing.T) {
	const evil = "`<https://evil.example|Approve here>` <!channel> <@U0MEI> *bold* \u202Egnp.exe\u2066 \u0007"
	p := pen(desk.English)
	q, denied := question(desk.English), ended(desk.English, desk.ResultRefused, "mei", evil)
	q.Rental.Note, q.Why = evil, evil
	q.Rental.Requester, q.Rental.Pool.Type, q.Approvers = evil, evil, []string{evil}
	r := rental(bridge.StateAdmitted)
	r.Note, r.Requester, r.Running = evil, evil, []bridge.JobID{evil}
	r.Account, r.Machines[0].Node = "site/ai/"+evil, evil
	alert, ok := p.Alert(&bridge.News{Kind: bridge.NewsFrozen, Who: evil, Text: evil}, nil)
	if !ok {
		t.Fatal("no alert")
	}
	list := quotes(desk.English)
	list.Understood, list.Offers[2].Text, list.Offers[0].Pool.Type = evil, evil, evil
	for name, m := range map[string]talk.Message{
		"approval": p.Approval(&q, noon), "denied": p.Approval(&denied, noon), "request": p.Request(&q, noon), "grant": p.Grant(&r, noon), "alert": alert,
		"quotes": p.Quotes("q-19c", list, time.Minute), "rentals": p.Rentals([]desk.Rental{r}, noon), "home": p.Home(&card.Tab{Rentals: []desk.Rental{r}, Questions: []desk.Question{q}}, noon),
		"quoted": card.Quote(evil), "rental": p.Rental(&desk.RentalAnswer{Rental: r, News: []bridge.News{{Node: evil, Who: evil}}}, noon),
		"reminder": p.Escalation(&q), "idle": p.Idle(&r, evil, noon), "release": p.ReleaseAsk(&r, noon), "spend": p.Spend(&desk.SpendAnswer{Accounts: []desk.Balance{{Account: evil, Limit: usd(1), Left: usd(1)}}}, true),
	} {
		if s := harm(m.Text); s != "" {
			t.Errorf("%s: the notification has %q: %s", name, s, m.Text)
		}
		for _, text := range mrkdwns(t, m.Blocks) {
			if s := harm(text); s != "" {
				t.Errorf("%s has %q in %q", name, s, text)
			}
		}
	}
	for name, v := range map[string]*slack.ModalViewRequest{"deny": p.DenyForm(&q.Rental), "rent": p.RentForm(&desk.Wish{Reason: evil, Project: evil}, evil, ""), "extend": p.ExtendForm(&r, evil)} {
		if err := card.ValidateForm(v); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, text := range mrkdwns(t, v.Blocks.BlockSet) {
			if s := harm(text); s != "" {
				t.Errorf("%s has %q in %q", name, s, text)
			}
		}
	}
}

// harm finds what Slack would make something of.
func harm(s string) string {
	for _, bad := range []string{"<http", "<!channel", "<@U0MEI>*", "\u202e", "\u2066", "\u0007"} {
		if strings.Contains(s, bad) {
			return bad
		}
	}
	return ""
}

// mrkdwns are all texts of blocks that Slack reads as mrkdwn; plain ones have
// to be free of marks that turn the writing, too.
func mrkdwns(t *testing.T, blocks []slack.Block) (out []string) {
	t.Helper()
	body, err := json.Marshal(blocks)
	if err != nil {
		t.Fatal(err)
	}
	var all any
	if err := json.Unmarshal(body, &all); err != nil {
		t.Fatal(err)
	}
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			text, _ := v["text"].(string)
			if v["type"] == "mrkdwn" {
				out = append(out, text)
				if v["verbatim"] != true {
					t.Errorf("not verbatim: %q", text)
				}
			}
			if strings.ContainsAny(text, "\u202e\u2066\u0007") {
				t.Errorf("a mark that turns the writing in %q", text)
			}
			for _, x := range v {
				walk(x)
			}
		case []any:
			for _, x := range v {
				walk(x)
			}
		}
	}
	walk(all)
	return out
}

func TestReasonsOfANo(t *testing.T) {
	p := pen(desk.Chinese)
	for name, c := range map[string]struct {
		state map[string]string
		want  string
		wrong bool
	}{
		"written":                  {map[string]string{card.FieldReason: "  wait for the queue  "}, "wait for the queue", false},
		"chosen":                   {map[string]string{card.FieldSuggest: "1"}, "请等本地队列：现在不长。", false},
		"written and chosen":       {map[string]string{card.FieldReason: "wait for the queue", card.FieldSuggest: "1"}, "wait for the queue", false},
		"nothing":                  {nil, "", true},
		"nine characters":          {map[string]string{card.FieldReason: "123456789"}, "", true},
		"ten Chinese ones":         {map[string]string{card.FieldReason: "请等本地队列现在不长"}, "请等本地队列现在不长", false},
		"five hundred and one":     {map[string]string{card.FieldReason: strings.Repeat("长", 501)}, "", true},
		"five hundred":             {map[string]string{card.FieldReason: strings.Repeat("长", 500)}, strings.Repeat("长", 500), false},
		"ten that cannot be seen":  {map[string]string{card.FieldReason: strings.Repeat("\u200b", 10)}, "", true},
		"a choice that is none":    {map[string]string{card.FieldSuggest: "9"}, "", true},
		"a choice that is no word": {map[string]string{card.FieldSuggest: "-1"}, "", true},
	} {
		got, wrong := p.DenyReason(c.state)
		if got != c.want || (wrong != "") != c.wrong {
			t.Errorf("%s: %q, %q", name, got, wrong)
		}
	}
}
