package words

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/desk"
)

// noon is a Monday; in New York it is seven in the morning.
var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func known(t testing.TB) *Known {
	t.Helper()
	zone, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Fatal(err)
	}
	return &Known{
		Known: desk.Known{
			GPUs: []string{"a100-80", "h100", "h200", "l40s"}, Types: []string{"p5.48xlarge"},
			Places: []string{"stratus", "us-east-1", "eu-west-1"}, Projects: []string{"nlp", "vision"}, Now: noon, Zone: zone,
		},
		Rentals: []string{"r-0013", "r-0026"},
	}
}

func usd(units int64) bridge.Money {
	return bridge.Money{Micro: units * bridge.Micro, Currency: "USD"}
}

const hour = int64(3600)

func h100(seconds int64) desk.Wish {
	return desk.Wish{GPUs: 8, GPUType: "h100", Seconds: seconds, Market: bridge.Spot, Project: "nlp"}
}

func TestLinesAreUnderstood(t *testing.T) {
	full := h100(6 * hour)
	capped := full
	capped.Max = usd(120)
	for name, c := range map[string]struct {
		command, text string
		want          Request
	}{
		"a request":                  {RentCommand, "8xh100 for 6h spot project nlp", Request{Verb: Rent, Wish: full}},
		"in another order":           {RentCommand, "project nlp spot for 6h 8xh100", Request{Verb: Rent, Wish: full}},
		"with flags":                 {RentCommand, "--gpu h100 --count 8 --for 6h --spot --project nlp", Request{Verb: Rent, Wish: full}},
		"flags with equals":          {RentCommand, "--gpu=h100 --count=8 --for=6h --spot --project=nlp --yes", Request{Verb: Rent, Wish: full, Yes: true}},
		"a ceiling":                  {RentCommand, "8xh100 for 6h spot max $120 project nlp", Request{Verb: Rent, Wish: capped}},
		"a ceiling as a sign":        {RentCommand, "8xh100 for 6h spot &lt;= $120 @nlp", Request{Verb: Rent, Wish: capped}},
		"slurm's time":               {RentCommand, "gpu:h100:8 0-06:00:00 spot -A nlp", Request{Verb: Rent, Wish: full}},
		"capitals":                   {RentCommand, "8XH100 FOR 6H SPOT PROJECT NLP", Request{Verb: Rent, Wish: full}},
		"nothing at all":             {RentCommand, "   ", Request{Verb: Rent}},
		"a dry run":                  {RentCommand, "8xh100 for 6h spot @nlp --dry-run", Request{Verb: Quote, Wish: full}},
		"a quote":                    {RentCommand, "quote h100:8 6h spot @nlp", Request{Verb: Quote, Wish: full}},
		"quote as the last word":     {RentCommand, "8xh100 6h spot @nlp quote", Request{Verb: Quote, Wish: full}},
		"a project called quote":     {RentCommand, "8xh100 6h spot project quote", Request{Verb: Rent, Wish: func() desk.Wish { w := full; w.Project = "quote"; return w }()}},
		"until a time of the asker":  {RentCommand, "8xh100 until 18:00 spot @nlp", Request{Verb: Rent, Wish: until(noon.Add(11 * time.Hour))}},
		"until the end of the day":   {RentCommand, "8xh100 until eod spot @nlp", Request{Verb: Rent, Wish: until(noon.Add(11 * time.Hour))}},
		"until a weekday":            {RentCommand, "8xh100 until fri 18:00 spot @nlp", Request{Verb: Rent, Wish: until(noon.Add(11*time.Hour + 4*24*time.Hour))}},
		"until a date":               {RentCommand, "8xh100 until 2026-12-01 09:00 spot @nlp", Request{Verb: Rent, Wish: until(time.Date(2026, 12, 1, 14, 0, 0, 0, time.UTC))}},
		"a reason in quotes":         {RentCommand, "8xh100 “the Paper” 6h spot @nlp", Request{Verb: Rent, Wish: because("the Paper")}},
		"a reason to the end":        {RentCommand, "8xh100 6h spot @nlp because the Paper is due for 2 days", Request{Verb: Rent, Wish: because("the Paper is due for 2 days")}},
		"a job":                      {RentCommand, "job 48211", Request{Verb: Rent, Wish: desk.Wish{Job: "48211"}}},
		"a quote's id":               {RentCommand, "Q-OO13 2", Request{Verb: Rent, Quote: quoteID, Offer: 2}},
		"status":                     {RentCommand, "status R-0013", Request{Verb: Status, Rentals: []string{"r-0013"}}},
		"status of a job":            {RentCommand, "status job 48211", Request{Verb: Status, Job: "48211"}},
		"the list":                   {RentCommand, "mine", Request{Verb: List}},
		"extend":                     {RentCommand, "extend r-0013 2h", Request{Verb: Extend, Rentals: []string{"r-0013"}, Words: []string{"2h"}}},
		"extend in another order":    {RentCommand, "extend by 2h r-0013", Request{Verb: Extend, Rentals: []string{"r-0013"}, Words: []string{"by", "2h"}}},
		"keep":                       {RentCommand, "keep r-0013 1h", Request{Verb: Keep, Rentals: []string{"r-0013"}, Words: []string{"1h"}}},
		"keep in another order":      {RentCommand, "keep for 1h r-0013", Request{Verb: Keep, Rentals: []string{"r-0013"}, Words: []string{"for", "1h"}}},
		"deny with a reason":         {RentCommand, "deny r-0013 because Wait for the queue", Request{Verb: Deny, Rentals: []string{"r-0013"}, Text: "Wait for the queue"}},
		"deny with a quoted reason":  {RentCommand, `deny r-0013 "use the queue"`, Request{Verb: Deny, Rentals: []string{"r-0013"}, Text: "use the queue"}},
		"approve":                    {RentCommand, "approve r-0013", Request{Verb: Approve, Rentals: []string{"r-0013"}}},
		"spend":                      {RentCommand, "spend month nlp", Request{Verb: Spend, Words: []string{"month", "nlp"}}},
		"prices of a GPU":            {RentCommand, "prices h100 in us-east-1", Request{Verb: Prices, GPU: "h100", Place: "us-east-1"}},
		"help of something":          {RentCommand, "help money", Request{Verb: Help, Words: []string{"money"}}},
		"again":                      {RentCommand, "again r-0013", Request{Verb: Again, Rentals: []string{"r-0013"}}},
		"freeze":                     {RentCommand, `freeze "prices look wrong"`, Request{Verb: Freeze, Text: "prices look wrong"}},
		"release nothing named":      {ReleaseCommand, "", Request{Verb: Release}},
		"release two, with a comma":  {ReleaseCommand, "r-0013, r-0026 now", Request{Verb: Release, Rentals: []string{"r-0013", "r-0026"}, Words: []string{"now"}}},
		"release all":                {ReleaseCommand, "all drain", Request{Verb: Release, All: true, Words: []string{"drain"}}},
		"release of a job at a time": {ReleaseCommand, "job 48211 at fri 18:00", Request{Verb: Release, Job: "48211", Words: []string{"at", "fri", "18:00"}}},
		"release of a node":          {ReleaseCommand, "now node sw-0013-0", Request{Verb: Release, Node: "sw-0013-0", Words: []string{"now"}}},
		"an id with O for 0":         {ReleaseCommand, "r-OO13", Request{Verb: Release, Rentals: []string{"r-0013"}}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Parse(c.command, c.text, known(t))
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, got, cmpopts.IgnoreFields(Request{}, "Normal"), cmpopts.EquateEmpty()); d != "" {
				t.Error(d)
			}
		})
	}
}

// quoteID has a check sign, as those of rentals do.
const quoteID = "q-0013"

func until(at time.Time) desk.Wish {
	w := h100(0)
	w.Until = at
	return w
}

func because(text string) desk.Wish {
	w := h100(6 * hour)
	w.Reason = text
	return w
}

// A phone makes one dash of two, a keyboard of another script wide letters, and
// a copied line carries marks that nobody sees: it is read as it was meant.
func TestB_F20_PhonesAreUnderstood(t *testing.T) {
	want := h100(6 * hour)
	want.Max = usd(120)
	for name, text := range map[string]string{
		"an em dash for two dashes":    "8xh100 —spot —for 6h —max $120 —project nlp",
		"an en dash":                   "8xh100 –spot –for 6h –max $120 –project nlp",
		"a horizontal bar":             "8xh100 ―spot ―for=6h ―max=$120 ―project=nlp",
		"a minus that is none":         "8xh100 −−spot −−for 6h −−max $120 −−project nlp",
		"a hyphen that does not break": "8xh100 ‑‑spot ‑‑for 6h ‑‑max $120 ‑‑project nlp",
		"a small em dash":              "8xh100 ﹘spot ﹘for 6h ﹘max $120 ﹘project nlp",
		"full-width forms":             "８ｘｈ１００　－－ｓｐｏｔ　６ｈ　ｍａｘ　＄１２０　＠ｎｌｐ",
		"a times sign":                 "8×h100 spot 6h max $120 @nlp",
		"spaces of other widths":       "8xh100\u00a0spot\u20036h\u3000max\u2009$120\u202f@nlp",
		"marks that nobody sees":       "8x\u200bh100 s\u2060pot 6h\ufeff max $120 @nlp",
		"turned writing":               "\u202e8xh100\u202c spot 6h max $120 @nlp\u200f",
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Parse(RentCommand, text, known(t))
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(want, got.Wish); d != "" {
				t.Error(d)
			}
		})
	}
	for name, c := range map[string]struct{ text, wrong string }{
		"a flag nobody has is no value":    {"8xh100 —sopt 6h @nlp", "did you mean spot"},
		"a negative number is no duration": {"8xh100 for −5 @nlp", "5 what?"},
		"a raised digit is no digit":       {"8xh100 for 6²h @nlp", "means nothing"},
		"nor is a fraction":                {"8xh100 for 1½h @nlp", "means nothing"},
		"nor a circled one":                {"8xh100 for ①0h @nlp", "means nothing"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse(RentCommand, c.text, known(t))
			if err == nil || !strings.Contains(err.Error(), c.wrong) {
				t.Errorf("got %v, want something about %q", err, c.wrong)
			}
		})
	}
}

func TestWhatAPhoneChangedIsToldBack(t *testing.T) {
	got, err := Parse(RentCommand, "8xh100 —spot —for 6h", known(t))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]Reading{{"—spot", "--spot"}, {"—for", "--for"}}, got.Read); d != "" {
		t.Error(d)
	}
}

func TestDoubtfulLinesAreRefusedWithOneThatWorks(t *testing.T) {
	for name, c := range map[string]struct{ command, text, wrong, try string }{
		"a GPU nobody has":          {RentCommand, "8xh1000 for 6h", "did you mean h100", "spillway rent 8xh100 for 6h"},
		"a number without a unit":   {RentCommand, "8xh100 for 90", "90 what?", "spillway rent 8xh100 for 90m"},
		"money without a currency":  {RentCommand, "8xh100 6h max 120", "of which currency", "spillway rent 8xh100 for 6h max $120"},
		"a mistyped id to keep":     {RentCommand, "keep r-0014 1h", "did you mean r-0013", "/rent keep r-0013 1h"},
		"a mistyped verb":           {RentCommand, "statsu r-0013", "did you mean status", "/rent status r-0013"},
		"an id without a verb":      {RentCommand, "r-0013", "A verb is missing", "/rent status r-0013"},
		"release with rent":         {RentCommand, "release r-0013", "a command of its own", "/release r-0013"},
		"a mistyped id":             {ReleaseCommand, "r-0014", "did you mean r-0013", "/release r-0013"},
		"an id of another kind":     {RentCommand, "status B-0O13", "did you mean r-0013", "/rent status r-0013"},
		"no id at all":              {RentCommand, "status qwertyuiop", "is like r-0013", "/rent status r-0013"},
		"two targets":               {ReleaseCommand, "all r-0013", "say one of", "/release all"},
		"a mistyped word":           {ReleaseCommand, "r-0013 nwo", "did you mean now", "/release r-0013 now"},
		"a job without an id":       {ReleaseCommand, "job", "is missing", "/release"},
		"disks":                     {ReleaseCommand, "r-0013 keep disk", "go back with their machines", "/release r-0013"},
		"words behind whoami":       {RentCommand, "whoami root", "takes no more words", "/rent whoami"},
		"a time that has passed":    {RentCommand, "8xh100 until 06:00", "has passed", "spillway rent 8xh100 until tomorrow 18:00"},
		"a time the clocks skip":    {RentCommand, "8xh100 until 2027-03-14 02:30", "there is no 2027-03-14 02:30", ""},
		"a word behind a quote":     {RentCommand, quoteID + " cheap", "only the number of an offer", "/rent " + quoteID},
		"a novel":                   {RentCommand, strings.Repeat("a ", 3000), "longer than", ""},
		"a duration without a unit": {RentCommand, "8xh100 for 1:30", "means nothing", ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse(c.command, c.text, known(t))
			e, ok := errors.AsType[*desk.Error](err)
			if !ok || e.Kind != desk.BadRequest {
				t.Fatalf("got %v, want a bad request", err)
			}
			if !strings.Contains(e.Wrong, c.wrong) {
				t.Errorf("said %q, want something about %q", e.Wrong, c.wrong)
			}
			if c.try != "" && e.Try != c.try {
				t.Errorf("suggested %q, want %q", e.Try, c.try)
			}
		})
	}
}

// Whatever people type: no panic, no request wider than what was typed, and an
// error that says something.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"2xl40s for 3h project nlp", "8xh100 for 6h spot project nlp", "8xh100 for 6h spot max $120 project nlp", "quote h100:8 6h", "",
		"8xh100", "8xh1000 for 6h", "8xh100 for 90", "8xh100 —spot —for 6h", "job 48211", "status r-7k3", "ls", "extend r-7k3 2h",
		"spend month nlp", "approve r-7k3", "deny r-7k3 because no", "help", "help money", "r-7k3", "all now", "8xh100 for −5", "６ｈ", "1½h",
		"8\u200bxh100 \u202efor 6h", `because "a`, `"`, "until fri 18:00", "q-19c 2", "&lt;= $5", "—", "--", "@", "r-", "job", "at",
	} {
		f.Add(s)
	}
	k := known(f)
	f.Fuzz(func(t *testing.T, text string) {
		for _, command := range []string{RentCommand, ReleaseCommand} {
			r, err := Parse(command, text, k)
			if err != nil {
				e, ok := errors.AsType[*desk.Error](err)
				if !ok || e.Kind != desk.BadRequest || e.Wrong == "" {
					t.Fatalf("%q: %v", text, err)
				}
				continue
			}
			w := r.Wish
			if w.GPUs < 0 || w.Machines < 0 || w.Seconds < 0 || w.Max.Micro < 0 {
				t.Fatalf("%q: negative: %+v", text, w)
			}
			if digits := strings.ContainsAny(desk.Tidy(text), "0123456789"); !digits && (w.GPUs > 0 || w.Seconds > 0 || w.Max.Micro > 0) {
				t.Fatalf("%q: numbers of nothing: %+v", text, w)
			}
			again, err := Parse(command, strings.TrimPrefix(r.Normal, command), k)
			if err != nil {
				t.Fatalf("%q is read, its normal form %q is not: %v", text, r.Normal, err)
			}
			if d := cmp.Diff(r.Wish, again.Wish); d != "" {
				t.Fatalf("%q and its normal form %q mean two things: %s", text, r.Normal, d)
			}
		}
	})
}
