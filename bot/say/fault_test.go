package say

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/slack-go/slack"

	"spillway.sh/spillway/bot/card"
	"spillway.sh/spillway/bot/talk"
	"spillway.sh/spillway/bot/words"
	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/desk"
)

// allOf is every text that a person can see of some effects.
func allOf(t *testing.T, effects []talk.Effect) string {
	t.Helper()
	b, err := json.Marshal(effects)
	if err != nil {
		t.Fatal(err)
	}
	return strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(string(b))
}

func (w *world) rentals() int {
	w.t.Helper()
	rs, err := w.store.Recent(w.t.Context(), 1000)
	if err != nil {
		w.t.Fatal(err)
	}
	return len(rs)
}

// Approving past the deadline does nothing, and says so: the words are made of
// what came of it. The card loses its buttons though nothing else happened.
func TestB_F05_TheWordsComeFromTheOutcome(t *testing.T) {
	w := newWorld(t)
	w.says("ana", desk.English, "/rent 8xh100 for 6h spot project nlp")
	asked := w.latest()
	w.now = w.now.Add(time.Hour)
	out := w.press("mei", desk.English, card.Approve, string(asked.ID), asked.Revision)
	text := allOf(t, out)
	if strings.Contains(text, "is approved") || strings.Contains(text, "are being rented") || !strings.Contains(text, "Too late") {
		t.Errorf("said %s", text)
	}
	if r := w.latest(); r.State != bridge.StateWaiting || len(r.Yeses) != 0 {
		t.Errorf("the question is %s with %d yeses", r.State, len(r.Yeses))
	}
	for i := range out {
		if e := &out[i]; e.Surface == talk.Card {
			if buttons(e.Message.Blocks) != 0 || !strings.Contains(allOf(t, out[i:i+1]), "Expired") {
				t.Errorf("the card still looks live: %s", allOf(t, out[i:i+1]))
			}
			return
		}
	}
	t.Error("the card was not drawn again")
}

func buttons(blocks []slack.Block) int {
	n := 0
	for _, b := range blocks {
		if a, ok := b.(*slack.ActionBlock); ok {
			n += len(a.Elements.ElementSet)
		}
	}
	return n
}

// Slack shows a timeout, the text stays in the box, and people press Enter
// again: it is one rental, and the second answer says which.
func TestB_F12_TheSameRequestTwiceRentsOnce(t *testing.T) {
	for name, c := range map[string]struct {
		first, second string
		after         time.Duration
		made          int
	}{
		"the same line":         {"/rent 2xl40s for 1h project nlp", "/rent 2xl40s for 1h project nlp", 5 * time.Second, 1},
		"spelled another way":   {"/rent 2xl40s for 1h project nlp", "/rent PROJECT nlp 60m 2×L40S", 59 * time.Second, 1},
		"a question":            {"/rent 8xh100 for 6h spot", "/rent 8xh100 for 6h spot", 30 * time.Second, 1},
		"after a minute":        {"/rent 2xl40s for 1h project nlp", "/rent 2xl40s for 1h project nlp", 61 * time.Second, 2},
		"another length":        {"/rent 2xl40s for 1h project nlp", "/rent 2xl40s for 2h project nlp", time.Second, 2},
		"really a second one":   {"/rent 2xl40s for 1h project nlp", "/rent 2xl40s for 1h project nlp --again", time.Second, 2},
		"again is a second one": {"/rent 2xl40s for 1h project nlp", "/rent again", time.Second, 2},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			before := w.rentals()
			w.says("ana", desk.English, c.first)
			first := w.latest()
			w.now = w.now.Add(c.after)
			text := allOf(t, w.says("ana", desk.English, c.second))
			if got := w.rentals() - before; got != c.made {
				t.Errorf("%d rentals were made, want %d", got, c.made)
			}
			if repeated := strings.Contains(text, "You just asked that: it is "+string(first.ID)); repeated != (c.made == 1) {
				t.Errorf("said %s", text)
			}
		})
	}
}

// The same delivery, answered once more after a crash, or twice at the same
// time, is answered as at first.
func TestB_F12_TheSameDeliveryIsNoSecondRequest(t *testing.T) {
	w := newWorld(t)
	before := w.rentals()
	in := talk.Interaction{Key: "one delivery", Kind: talk.Command, Command: words.RentCommand, Text: "2xl40s for 1h project nlp", At: w.now}
	hear := func() string {
		out, err := w.counter.Hear(context.Background(), w.asker("ana", desk.English), in)
		if err != nil {
			t.Error(err)
		}
		return allOf(t, out)
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() { hear() })
	}
	all.Wait()
	w.now = w.now.Add(10 * time.Minute)
	if text := hear(); strings.Contains(text, "just asked") || !strings.Contains(text, string(w.latest().ID)) {
		t.Errorf("said %s", text)
	}
	if got := w.rentals() - before; got != 1 {
		t.Errorf("%d rentals were made", got)
	}
}

// A long list is a reply by the Web API, never part of an acknowledgement, and
// keeps every limit.
func TestB_F15_ALongListKeepsTheLimits(t *testing.T) {
	w := newWorld(t)
	for range 120 {
		w.hold("ana", 1000)
	}
	out := w.says("ana", desk.English, "/rent ls")
	if len(out) != 1 || out[0].Surface != talk.Reply {
		t.Fatalf("got %d effects, the first a %s", len(out), out[0].Surface)
	}
	if err := card.Validate(out[0].Message); err != nil {
		t.Error(err)
	}
	if n := len(out[0].Message.Blocks); n == 0 || n > 50 {
		t.Errorf("%d blocks", n)
	}
	home := w.hear("ana", desk.English, talk.Interaction{Kind: talk.Home})
	if err := card.ValidateHome(home[0].Message); err != nil {
		t.Error(err)
	}
}

// A reason of five thousand characters costs nobody a decision: the card goes
// out, whole characters of the reason with it.
func TestB_F19_ALongReasonLosesNoCard(t *testing.T) {
	for name, reason := range map[string]string{
		"Chinese":  strings.Repeat("截止日期临近", 850),
		"emoji":    strings.Repeat("👩‍🔬🚀", 1300),
		"one word": strings.Repeat("a", 5000),
		"lines":    strings.Repeat("x\n", 2500),
		"brackets": strings.Repeat("<!channel> & ", 400),
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			mark := w.mark()
			wish := desk.Wish{Words: []string{"8xh100 for 6h spot project nlp"}, Reason: reason} // from the command line there is no limit
			if _, err := w.desk.Rent(t.Context(), w.asker("ana", desk.English).Person, desk.RentRequest{Wish: wish}); err != nil {
				t.Fatal(err)
			}
			if w.latest().State != bridge.StateWaiting {
				t.Fatalf("nothing was asked: %+v", w.latest())
			}
			cards := 0
			for _, e := range w.tell(mark) { // check wants each to be valid
				if e.Surface != talk.Card {
					continue
				}
				cards++
				if buttons(e.Message.Blocks) == 0 {
					t.Error("the card has no buttons left")
				}
				for _, s := range textsIn(e.Message.Blocks) {
					if !utf8.ValidString(s) || strings.ContainsRune(s, utf8.RuneError) {
						t.Errorf("a character was cut in two: %q", s[max(0, len(s)-40):])
					}
				}
			}
			if cards != 1 {
				t.Errorf("%d cards went out", cards)
			}
		})
	}
}

// What people, jobs and errors bring along stands for itself: no link, mention
// or turned text can be made of it, in any message.
func TestB_F21_NothingTypedBecomesALinkOrAMention(t *testing.T) {
	const evil = "` <https://evil.example|Approve here> <!channel> <@U-MEI> *bold* \u202eevorppA"
	w := newWorld(t)
	zone, _ := time.LoadLocation("America/New_York")
	var out []talk.Effect
	out = append(out, w.says("ana", desk.English, `/rent 8xh100 for 6h spot project nlp because "`+evil+`"`)...)
	out = append(out, w.says("ana", desk.English, "/rent "+evil)...)
	out = append(out, w.says("ana", desk.English, "/rent 8x"+strings.Fields(evil)[1]+" for 6h")...)
	out = append(out, w.says("ana", desk.English, "/rent spend "+evil)...)
	out = append(out, w.says("ana", desk.English, "/release node "+evil)...)
	out = append(out, w.says("ana", desk.English, "/rent job <!channel>")...)
	out = append(out, w.says("ana", desk.English, "/rent help "+evil)...)
	asked := w.latest()
	out = append(out, w.says("mei", desk.English, `/rent deny `+string(asked.ID)+` because "`+evil+`"`)...)
	out = append(out, w.tell(0)...)
	out = append(out, w.counter.Stranger(talk.Interaction{}, desk.English, evil)...)
	choices, err := w.counter.Suggest(t.Context(), talk.Asker{Person: w.desk.Roles.Of("ana", 1, nil), Zone: zone}, talk.Interaction{Kind: talk.Options, Action: card.FieldJob, Value: ""})
	if err != nil {
		t.Fatal(err)
	}
	if len(choices) != 1 {
		t.Errorf("%d jobs to choose from", len(choices))
	}
	for i := range out {
		for _, s := range mrkdwnIn(t, &out[i]) {
			if strings.Contains(s, "<https://evil") || strings.Contains(s, "<!channel>") || strings.Contains(s, "\u202e") {
				t.Errorf("%s: mrkdwn %q", out[i].Surface, s)
			}
		}
	}
}

// mrkdwnIn are all texts of an effect that Slack reads as mrkdwn, the line of
// its notification too.
func mrkdwnIn(t *testing.T, e *talk.Effect) []string {
	t.Helper()
	b, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	var tree any
	if err := json.Unmarshal(b, &tree); err != nil {
		t.Fatal(err)
	}
	out := []string{e.Message.Text}
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			if v["type"] == "mrkdwn" {
				out = append(out, fmt.Sprint(v["text"]))
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
	walk(tree)
	return out
}

// A job's name is not for everybody's eyes: what the channel sees has ids.
func TestJobNamesStayOutOfTheChannel(t *testing.T) {
	w := newWorld(t)
	mark := w.mark()
	w.says("ana", desk.English, "/rent job 48211")
	for _, e := range w.tell(mark) {
		if text := allOf(t, []talk.Effect{e}); strings.Contains(text, "train.sh") {
			t.Errorf("%s says the job's name: %s", e.Surface, text)
		}
	}
}

// A button that we did not make, or of another verb or rental, does nothing.
func TestForgedButtonsDoNothing(t *testing.T) {
	w := newWorld(t)
	w.says("ana", desk.English, "/rent 8xh100 for 6h spot project nlp")
	r := w.latest()
	good := card.Seal(w.counter.Key, string(r.ID), r.Revision, card.Approve)
	for name, in := range map[string]talk.Interaction{
		"no value":               {Action: string(card.Approve)},
		"another key":            {Action: string(card.Approve), Value: card.Seal([]byte("another"), string(r.ID), r.Revision, card.Approve)},
		"the value of another":   {Action: string(card.Approve), Value: card.Seal(w.counter.Key, string(r.ID), r.Revision, card.Details)},
		"the action of another":  {Action: string(card.Release), Value: good},
		"a changed id":           {Action: string(card.Approve), Value: strings.Replace(good, string(r.ID), "r-0013", 1)},
		"an action of no button": {Action: "sudo", Value: good},
		"a form of another": {
			Kind: talk.Submission, Callback: card.FormDeny, Private: good, State: talk.Fields{card.FieldReason: "a reason that is long enough"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if in.Kind == "" {
				in.Kind = talk.Action
			}
			out := w.hear("mei", desk.English, in)
			if text := allOf(t, out); !strings.Contains(text, "not one of ours") {
				t.Errorf("said %s", text)
			}
			if now := w.latest(); now.Version != r.Version {
				t.Errorf("something changed: %s", now.State)
			}
		})
	}
}
