package say

import (
	"flag"
	"fmt"
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

var update = flag.Bool("update", false, "write what is said into the golden files")

// step is one thing in a scene; what it shows is part of the golden file.
type step func(w *world, l desk.Lang) []talk.Effect

func said(who, line string) step {
	return func(w *world, l desk.Lang) []talk.Effect { return w.says(who, l, line) }
}

// of is a line about the rental made last: ID stands for it.
func of(who, line string) step {
	return func(w *world, l desk.Lang) []talk.Effect {
		return w.says(who, l, strings.ReplaceAll(line, "ID", string(w.latest().ID)))
	}
}

// quiet does something that is not part of the scene.
func quiet(do step) step {
	return func(w *world, l desk.Lang) []talk.Effect {
		do(w, l)
		return nil
	}
}

func pressed(who string, verb card.Verb) step {
	return func(w *world, l desk.Lang) []talk.Effect {
		r := w.latest()
		n := r.Version
		if verb == card.Approve || verb == card.Deny {
			n = max(r.Revision, 1)
		}
		return w.press(who, l, verb, string(r.ID), n)
	}
}

// told tells all that happened since the scene began.
func told(w *world, _ desk.Lang) []talk.Effect { return w.tell(0) }

func later(d time.Duration) step {
	return func(w *world, _ desk.Lang) []talk.Effect {
		w.now = w.now.Add(d)
		return nil
	}
}

func started(w *world, _ desk.Lang) []talk.Effect {
	w.start(w.latest().ID)
	return nil
}

func metered(micro int64) step {
	return func(w *world, _ desk.Lang) []talk.Effect {
		w.meter(w.latest().ID, micro)
		return nil
	}
}

// big is a rental of eight H100 that runs for ana, approved by mei.
var big = []step{
	quiet(said("ana", "/rent 8xh100 for 6h spot project nlp")),
	quiet(pressed("mei", card.Approve)), started, later(134 * time.Minute), metered(43_950_000),
}

// small is a rental of two L40S that runs for ana.
var small = []step{quiet(said("ana", "/rent 2xl40s for 3h project nlp")), started}

func scene(parts ...[]step) []step {
	var out []step
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

// scenery is a scene by its name.
type scenery struct {
	name  string
	steps []step
}

// The twenty utterances, and what comes of them.
var utterances = []scenery{
	{"01 within the budget", []step{said("ana", "/rent 2xl40s for 3h project nlp"), told}},
	{"02 over the budget", []step{said("ana", "/rent 8xh100 for 6h spot project nlp"), told}},
	{"03 with a ceiling", []step{said("ana", "/rent 8xh100 for 6h spot max $120 project nlp"), said("ana", "/rent 8xh100 for 6h spot max $200 project nlp")}},
	{"04 a quote", []step{
		said("ana", "/rent quote h100:8 6h"), said("ana", "/rent quote job 48211"), estimated(11 * time.Hour), said("ana", "/rent quote job 48211"),
		quiet(said("ana", "/rent job 48211")), told,
	}},
	{"05 nothing at all", []step{said("ana", "/rent")}},
	{"06 no duration", []step{said("ana", "/rent 8xh100")}},
	{"07 a GPU nobody has", []step{said("ana", "/rent 8xh1000 for 6h")}},
	{"08 a number without a unit", []step{said("ana", "/rent 8xh100 for 90")}},
	{"09 dashes from a phone", []step{said("ana", "/rent 8xh100 —spot —for 6h")}},
	{"10 for a job", []step{said("ana", "/rent job 48211")}},
	{"11 status", scene(big, []step{
		of("ana", "/rent status ID"), reported(bridge.Report{Health: bridge.HealthFit, Busy: true, GPUPM: 912}), of("ana", "/rent status ID"),
		reported(bridge.Report{Health: bridge.HealthFit, GPUPM: -1}), of("ana", "/rent status ID"),
	})},
	{"12 the list", scene(small, big, []step{
		reported(bridge.Report{Health: bridge.HealthFit, Busy: true, GPUPM: 912}), said("ana", "/rent ls"), idled(14 * time.Minute), said("ana", "/rent ls"),
	})},
	{"13 more time", scene(big, []step{of("ana", "/rent extend ID 2h"), told}, []step{quiet(pressed("mei", card.Approve)), told})},
	{"14 spend", []step{said("ana", "/rent spend month nlp"), said("ana", "/rent report week nlp"), said("ana", "/rent budget nlp")}},
	{"15 approving one's own", []step{quiet(said("ana", "/rent 8xh100 for 6h spot project nlp")), of("ana", "/rent approve ID")}},
	{"16 approving twice, and too late", []step{
		quiet(said("ana", "/rent 8xh100 for 6h spot project nlp")), pressed("mei", card.Approve), pressed("tom", card.Approve),
		quiet(said("ana", "/rent 8xh100 for 5h spot project nlp")), later(2 * time.Hour), pressed("mei", card.Approve),
	}},
	{"17 a no with a reason", []step{quiet(said("ana", "/rent 8xh100 for 6h spot project nlp")), pressed("mei", card.Deny), denied("mei", "Use the queue, it starts at 03:10."), told}},
	{"17b less of what was denied", []step{
		quiet(said("ana", "/rent 8xh100 for 6h project nlp")), onSingles, denied("mei", "Use the queue, it starts at 03:10."), told, instead("mei"), instead("ana"), later(time.Hour), instead("ana"),
	}},
	{"18 release, nothing named", scene(small, []step{later(140 * time.Minute), said("ana", "/release")}, []step{quiet(said("ana", "/rent 2xl40s for 1h project nlp")), said("ana", "/release")})},
	{"19 release, and again", scene(big, []step{of("ana", "/release ID now"), settled, of("ana", "/release ID")})},
	{"20 help", []step{said("ana", "/rent help"), said("ana", "/rent help money"), said("ana", "/rent help all")}},
	{"21 much money is asked about once more", []step{said("ana", "/rent 8xa100-80 for 1h project nlp"), rentedQuote}},
	{"22 the rest of the words", scene(small, []step{
		said("ana", "/rent prices h100"), said("ana", "/rent clouds"), said("ana", "/rent clouds h100"), said("ana", "/rent whoami"), of("ana", "/rent snooze ID 30m"), of("ana", "/release ID at 18:00"),
		of("ana", "/rent extend ID 1h"), said("root", "/rent freeze prices look wrong"), said("ana", "/rent 2xl40s for 1h"), said("root", "/rent thaw"),
		said("ana", "/rent again"), said("ana", "/release r-0014"), said("ana", "/rent cancel"),
	})},
	{"23 home", scene(small, []step{home("ana")}, []step{quiet(said("ana", "/rent 8xh100 for 6h spot project nlp")), home("mei")})},
	{"24 until a time, and a late yes", []step{
		said("ana", "/rent 8xh100 until 22:00 spot project nlp"), told, later(50 * time.Minute), pressed("mei", card.Approve), told, pressed("mei", card.Deny),
	}},
	{"26 the same decisions, typed", []step{
		quiet(said("ana", "/rent 8xh100 for 6h spot project nlp")), said("mei", "/rent approve"), of("mei", "/rent approve ID"), of("mei", "/rent approve ID"),
		quiet(said("ana", "/rent 8xh100 for 5h spot project nlp")), of("ana", "/rent deny ID because no"), of("mei", "/rent deny ID because \"Use the queue, it starts at 03:10.\""), of("mei", "/rent approve ID"),
		quiet(said("ana", "/rent 8xh100 for 4h spot project nlp")), of("ben", "/rent cancel ID"), said("ana", "/rent cancel"), of("mei", "/rent approve ID"), of("mei", "/rent deny ID"),
		said("mei", "/rent approve"), said("ana", "/rent freeze"), said("ana", "/rent report"), said("root", "/rent spend"), of("ben", "/rent status ID"), said("ben", "/rent spend vision"),
	}},
	{"27 release by other names", scene(small, []step{
		quiet(said("ana", "/rent 2xl40s for 1h project nlp")), started, said("ana", "/rent ls all"), said("ana", "/release job 4711"), said("ana", "/release node sw-9"),
		of("ben", "/release ID"), of("ana", "/release ID drain"), said("ana", "/release all now"), said("ana", "/release all"), of("ana", "/release ID,r-zzzz"), said("ana", "/release everything"),
	})},
	{"25 status while machines get ready", scene(small[:1], []step{joining, of("ana", "/rent status ID"), reported(bridge.Report{
		Health: bridge.HealthChecking, GPUPM: -1, Checks: []bridge.Check{{Name: "fabric", Got: "down"}, {Name: "gpus", OK: true, Got: "2"}},
		Stages: []bridge.Stage{{Name: "prepare", OK: true, Took: 40 * time.Second}, {Name: "10-dataset", Took: 95 * time.Second}},
	}), of("ana", "/rent status ID")})},
}

func home(who string) step {
	return func(w *world, l desk.Lang) []talk.Effect { return w.hear(who, l, talk.Interaction{Kind: talk.Home}) }
}

func denied(who, why string) step {
	return func(w *world, l desk.Lang) []talk.Effect {
		r := w.latest()
		return w.hear(who, l, talk.Interaction{
			Kind: talk.Submission, Callback: card.FormDeny, Private: card.Seal(w.counter.Key, string(r.ID), max(r.Revision, 1), card.Deny),
			State: talk.Fields{card.FieldReason: why},
		})
	}
}

func settled(w *world, _ desk.Lang) []talk.Effect {
	w.settle(w.latest().ID)
	return nil
}

// rentedQuote presses the button of a fresh quote of the same wish.
func rentedQuote(w *world, l desk.Lang) []talk.Effect {
	q, err := w.desk.Quote(w.t.Context(), w.asker("ana", l).Person, desk.QuoteRequest{Wish: desk.Wish{Words: []string{"8xa100-80 for 1h project nlp"}}})
	if err != nil {
		w.t.Fatal(err)
	}
	return w.press("ana", l, card.Rent, q.ID, 0)
}

func TestUtterances(t *testing.T) {
	for _, l := range []desk.Lang{desk.English, desk.Chinese} {
		t.Run(string(l), func(t *testing.T) {
			var b strings.Builder
			for _, u := range slices.Concat(utterances, ofMoney()) {
				w := newWorld(t)
				w.counter.Lang = l
				fmt.Fprintf(&b, "== %s\n", u.name)
				for _, s := range u.steps {
					out := s(w, l)
					written(&b, out)
					filled(t, u.name, out)
				}
				if rep, err := w.store.CheckLedger(t.Context()); err != nil || len(rep.Faults) > 0 {
					t.Errorf("%s: the books do not balance: %v %v", u.name, err, rep.Faults)
				}
			}
			golden(t, string(l)+".golden", b.String())
		})
	}
}

// dates are Slack's own slots.
var dates = regexp.MustCompile(`<!date[^>]*>`)

// filled wants no text with a slot that nothing was put into.
func filled(t *testing.T, name string, effects []talk.Effect) {
	t.Helper()
	for i := range effects {
		for _, text := range append(textsIn(effects[i].Message.Blocks), effects[i].Message.Text) {
			if hole := slot.FindString(dates.ReplaceAllString(text, "")); hole != "" {
				t.Errorf("%s: %s is left in %q", name, hole, text)
			}
		}
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	got = quoteIDs.ReplaceAllString(got, "q-****")
	at := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(at)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); d != "" {
		t.Error(d)
	}
}

// quoteIDs are made by chance.
var quoteIDs = regexp.MustCompile(`q-[0-9a-z]{4,5}\b`)

// written writes effects as a person sees them.
func written(b *strings.Builder, effects []talk.Effect) {
	for i := range effects {
		e := &effects[i]
		to := ""
		for _, s := range []string{e.Key, e.Account, e.User} {
			if s != "" {
				to += " " + s
			}
		}
		surface := string(e.Surface)
		if e.Edit {
			surface = "edit"
		}
		fmt.Fprintf(b, "[%s%s]\n", surface, regexp.MustCompile(`/20\d\d-\S+( of \d+(/\w+)?)?`).ReplaceAllString(to, ""))
		if strings.HasPrefix(e.Key, "report/") {
			outlined(b, e)
			continue
		}
		for _, s := range textsIn(e.Message.Blocks) {
			fmt.Fprintf(b, "  %s\n", strings.ReplaceAll(s, "\n", "\n  "))
		}
		if e.View != nil {
			fmt.Fprintf(b, "  form %q\n", e.View.Title.Text)
			for _, s := range textsIn(e.View.Blocks.BlockSet) {
				fmt.Fprintf(b, "    %s\n", strings.ReplaceAll(s, "\n", "\n    "))
			}
		}
		for at, s := range e.Errors {
			fmt.Fprintf(b, "  %s: %s\n", at, s)
		}
	}
}

// textsIn are the texts of blocks in order.
func textsIn(blocks []slack.Block) []string {
	var out []string
	for _, b := range blocks {
		switch b := b.(type) {
		case *slack.HeaderBlock:
			out = append(out, "# "+b.Text.Text)
		case *slack.SectionBlock:
			if b.Text != nil {
				out = append(out, b.Text.Text)
			}
			for _, f := range b.Fields {
				out = append(out, "· "+strings.ReplaceAll(f.Text, "\n", ": "))
			}
			if b.Accessory != nil && b.Accessory.ButtonElement != nil {
				out = append(out, "  ("+b.Accessory.ButtonElement.Text.Text+")")
			}
		case *slack.ContextBlock:
			for _, e := range b.ContextElements.Elements {
				if t, ok := e.(*slack.TextBlockObject); ok {
					out = append(out, "~ "+t.Text)
				}
			}
		case *slack.ActionBlock:
			var names []string
			for _, e := range b.Elements.ElementSet {
				if x, ok := e.(*slack.ButtonBlockElement); ok {
					names = append(names, "("+x.Text.Text+")")
				}
			}
			out = append(out, strings.Join(names, " "))
		case *slack.InputBlock:
			out = append(out, "input "+b.Label.Text+initial(b.Element))
		case *slack.DataVisualizationBlock:
			out = append(out, drawn(b)...)
		case *slack.TableBlock:
			for _, row := range b.Rows {
				out = append(out, cellsOf(row))
			}
		}
	}
	return out
}

func initial(e slack.BlockElement) string {
	switch e := e.(type) {
	case *slack.PlainTextInputBlockElement:
		if e.InitialValue != "" {
			return " = " + e.InitialValue
		}
	case *slack.SelectBlockElement:
		if e.InitialOption != nil {
			return " = " + e.InitialOption.Value
		}
	}
	return ""
}

func cellsOf(row []slack.TableCell) string {
	var out []string
	for _, c := range row {
		if t, ok := c.(*slack.TableRawTextCell); ok {
			out = append(out, t.Text)
		}
	}
	return "| " + strings.Join(out, " | ")
}

var _ bridge.Policy = (*world)(nil)
