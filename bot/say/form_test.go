package say

import (
	"strings"
	"testing"
	"time"

	"spillway.sh/spillway/bot/card"
	"spillway.sh/spillway/bot/talk"
	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/desk"
)

// What is sent with the form is read as if it was typed: the same words, and
// the same refusals, each at its field.
func TestTheFormIsReadLikeALine(t *testing.T) {
	for name, c := range map[string]struct {
		state talk.Fields
		says  string // in the reply
		field string // that is refused
	}{
		"a count, a GPU and a time":        {state: talk.Fields{"count": "2", "gpu": "l40s", "for": "3h", "market": "any"}, says: "2 × l40s on demand, 3 h"},
		"until a time of the asker's zone": {state: talk.Fields{"count": "2", "gpu": "l40s", "for": "18:00"}, says: "2 × l40s on demand, 2 h 20 min"},
		"tomorrow at a time":               {state: talk.Fields{"count": "2", "gpu": "l40s", "for": "tomorrow 9am"}, says: "2 × l40s on demand, 17 h 20 min"},
		"a reason with quotes in it":       {state: talk.Fields{"count": "8", "gpu": "h100", "for": "6h", "market": "spot", "reason": `the "big" <!channel> paper`}, says: "needs approval"},
		"machines with so many GPUs":       {state: talk.Fields{"machines": "1", "count": "8", "gpu": "h100", "for": "6h", "market": "on-demand"}, says: "needs approval"},
		"a job":                            {state: talk.Fields{"job": "48211"}, says: "needs approval"},
		"full-width digits":                {state: talk.Fields{"count": "２", "gpu": "l40s", "for": "３ｈ"}, says: "2 × l40s"},
		"much money":                       {state: talk.Fields{"count": "8", "gpu": "a100-80", "for": "1h", "project": "nlp"}, says: "This holds at most"},

		"a number without a unit": {state: talk.Fields{"count": "8", "gpu": "h100", "for": "90"}, field: "for"},
		"no time":                 {state: talk.Fields{"count": "8", "gpu": "h100"}, field: "for"},
		"no size":                 {state: talk.Fields{"gpu": "h100", "for": "6h"}, field: "count"},
		"money of no currency":    {state: talk.Fields{"count": "8", "gpu": "h100", "for": "6h", "max": "120"}, field: "max"},
		"a GPU that nobody has":   {state: talk.Fields{"count": "8", "gpu": "h1000", "for": "6h"}, field: "gpu"},
		"no number":               {state: talk.Fields{"count": "many", "gpu": "h100", "for": "6h"}, field: "count"},
		"nothing":                 {state: talk.Fields{}, field: "count"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			before := w.rentals()
			out := w.hear("ana", desk.English, talk.Interaction{Kind: talk.Submission, Callback: card.FormRent, Private: "C7", State: c.state})
			if c.field != "" {
				if len(out) != 1 || out[0].Errors[c.field] == "" || w.rentals() != before {
					t.Errorf("want a word at %q: %+v", c.field, out)
				}
				return
			}
			if len(out) != 1 || out[0].Channel != "C7" || !strings.Contains(allOf(t, out), c.says) {
				t.Errorf("want %q: %s", c.says, allOf(t, out))
			}
			if note := w.latest().Note; c.state["reason"] != "" && note != "the 'big' <!channel> paper" {
				t.Errorf("the reason became %q", note)
			}
		})
	}
}

func TestTheFormOfMoreTime(t *testing.T) {
	for name, c := range map[string]struct {
		typed, says string
		refused     bool
	}{
		"a duration":         {typed: "1h", says: "+1 h for"},
		"a time of day":      {typed: "20:00", says: "It ends at 2026-11-30 20:00 EST now"},
		"no unit":            {typed: "2", refused: true},
		"nothing":            {typed: "", refused: true},
		"more than is asked": {typed: "2h spot", refused: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.says("ana", desk.English, "/rent 2xl40s for 3h project nlp")
			id := w.latest().ID
			w.start(id)
			out := w.hear("ana", desk.English, talk.Interaction{
				Kind: talk.Submission, Callback: card.FormExtend, Private: card.Seal(w.counter.Key, string(id), 1, card.Extend), State: talk.Fields{card.FieldFor: c.typed},
			})
			if refused := out[0].Errors[card.FieldFor] != ""; refused != c.refused || !c.refused && !strings.Contains(allOf(t, out), c.says) {
				t.Errorf("got %s", allOf(t, out))
			}
		})
	}
}

func TestSuggest(t *testing.T) {
	w := newWorld(t)
	for name, c := range map[string]struct {
		who, action, typed string
		want               []string
	}{
		"GPUs":                      {"ana", card.FieldGPU, "", []string{"a100", "a100-80", "h100", "l40s"}},
		"GPUs with a part":          {"ana", card.FieldGPU, "H1", []string{"h100"}},
		"one's projects":            {"ana", card.FieldProject, "", []string{"nlp"}},
		"one's own jobs":            {"ana", card.FieldJob, "train", []string{"48211"}},
		"nobody else's jobs":        {"ben", card.FieldJob, "", nil},
		"nothing for other fields":  {"ana", "sudo", "", nil},
		"what is typed is no regex": {"ana", card.FieldGPU, "(", nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := w.counter.Suggest(t.Context(), w.asker(c.who, desk.English), talk.Interaction{Kind: talk.Options, Action: c.action, Value: c.typed})
			if err != nil {
				t.Fatal(err)
			}
			var values []string
			for _, g := range got {
				values = append(values, g.Value)
			}
			if strings.Join(values, " ") != strings.Join(c.want, " ") {
				t.Errorf("got %v, want %v", values, c.want)
			}
		})
	}
}

// What is due comes by itself, each once.
func TestRemind(t *testing.T) {
	w := newWorld(t)
	w.says("ana", desk.English, "/rent 2xl40s for 3h project nlp")
	id := w.latest().ID
	w.start(id)
	remind := func() []talk.Effect {
		out, err := w.counter.Remind(t.Context(), w.now)
		if err != nil {
			t.Fatal(err)
		}
		check(t, out)
		return out
	}
	w.says("ana", desk.English, "/rent snooze "+string(id)+" 30m")
	if out := remind(); len(out) != 0 {
		t.Errorf("too early: %s", allOf(t, out))
	}
	w.now = w.now.Add(30 * time.Minute)
	if out := remind(); len(out) != 1 || out[0].Surface != talk.Direct || out[0].User != "U-ANA" || out[0].Once == "" {
		t.Errorf("at its time: %s", allOf(t, out))
	}
	if out := remind(); len(out) != 0 {
		t.Errorf("again: %s", allOf(t, out))
	}
	w.says("ana", desk.English, "/rent 8xh100 for 6h spot project nlp")
	w.now = w.now.Add(time.Hour)
	lapsed := false
	for _, e := range remind() {
		if e.Surface == talk.Card {
			lapsed = buttons(e.Message.Blocks) == 0 && e.Once != ""
		}
	}
	if !lapsed {
		t.Error("the card of a question whose time is over was not drawn")
	}
}

// News that ask for a decision once more, or that something went wrong, come
// with their rental, and those of none into the channel.
func TestNewsFindTheirPlace(t *testing.T) {
	w := newWorld(t)
	w.says("ana", desk.English, "/rent 8xh100 for 6h spot project nlp")
	asked := w.latest().ID
	w.says("ana", desk.English, "/rent 2xl40s for 3h project nlp")
	rented := w.latest().ID
	for name, c := range map[string]struct {
		news    bridge.News
		surface talk.Surface
		key     string
		says    string
	}{
		"a reminder":               {bridge.News{Kind: bridge.NewsReminded, Rental: asked}, talk.Thread, askKey(asked), "still waits"},
		"an escalation":            {bridge.News{Kind: bridge.NewsEscalated, Rental: asked}, talk.Thread, askKey(asked), "lapses"},
		"a reminder of none":       {bridge.News{Kind: bridge.NewsReminded, Rental: rented}, "", "", ""},
		"a notice":                 {bridge.News{Kind: bridge.NewsNotice, Rental: rented, Node: "sw-1"}, talk.Thread, rentalKey(rented), "takes sw-1"},
		"an overrun":               {bridge.News{Kind: bridge.NewsWarning, Rental: rented, Cost: bridge.Money{Micro: 1, Currency: "USD"}}, talk.Thread, rentalKey(rented), "more than was held"},
		"a freeze":                 {bridge.News{Kind: bridge.NewsFrozen, Who: "root"}, talk.Card, "news/frozen/", "froze"},
		"of a rental that is gone": {bridge.News{Kind: bridge.NewsAdmitted, Rental: bridge.NewRentalID(20_000)}, "", "", ""},
		"nothing to say":           {bridge.News{Kind: bridge.NewsCreating, Rental: rented}, "", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			c.news.At = w.now
			out, err := w.counter.Tell(t.Context(), []bridge.News{c.news})
			if err != nil {
				t.Fatal(err)
			}
			check(t, out)
			if c.surface == "" {
				if len(out) != 0 {
					t.Errorf("got %s", allOf(t, out))
				}
				return
			}
			last := &out[len(out)-1]
			if last.Surface != c.surface || !strings.HasPrefix(last.Key, c.key) || !strings.Contains(allOf(t, out), c.says) {
				t.Errorf("got %s", allOf(t, out))
			}
		})
	}
}
