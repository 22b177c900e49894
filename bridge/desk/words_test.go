package desk

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"spillway.sh/spillway/bridge"
)

var known = &Known{
	GPUs: []string{"a100", "h100", "l40s"}, Types: []string{"g5.xlarge", "gpu8", "Standard_ND96"}, Places: []string{"stratus", "east", "east-1"},
}

func TestWordsAreReadInAnyOrderAndSpelling(t *testing.T) {
	sixHours := int64(6 * time.Hour / time.Second)
	full := Wish{GPUs: 8, GPUType: "h100", Seconds: sixHours, Market: bridge.Spot, Project: "nlp", Max: usd(120)}
	for name, c := range map[string]struct {
		in   string
		want Wish
	}{
		"the plain order":          {"8xh100 for 6h spot project nlp max $120", full},
		"another order":            {"max $120 project nlp spot for 6h 8xh100", full},
		"capitals":                 {"8XH100 FOR 6H SPOT PROJECT NLP MAX $120", full},
		"dashes from a phone":      {"8xh100 —spot —for 6h –project nlp ―max $120", full},
		"flags with equals":        {"8xh100 --spot --for=6h --project=nlp --max=$120", full},
		"full-width forms":         {"８×ｈ１００　ｆｏｒ　６ｈ　ｓｐｏｔ　＠ｎｌｐ　ｍａｘ　＄１２０", full},
		"a space before the unit":  {"8 h100 for 6 hours spot @nlp under 120 usd", full},
		"slurm's gres and time":    {"gpu:h100:8 06:00:00 spot -A nlp max 120usd", full},
		"zero-width marks":         {"8xh\u200b100 for 6h spot project nlp max $120", full},
		"a minus that is no minus": {"8xh100 −−spot 6h project nlp max $120", full},
		"machines of GPUs":         {"2 nodes 8xa100 90m", Wish{Machines: 2, GPUs: 8, GPUType: "a100", Seconds: 5400}},
		"machines of a type":       {"3xg5.xlarge 1h30m on-demand in east", Wish{Machines: 3, Type: "g5.xlarge", Seconds: 5400, Market: bridge.OnDemand, Place: "east"}},
		"only CPUs and memory":     {"4 machines 16cpu 64 gb 1.5h", Wish{Machines: 4, CPUs: 16, MemoryMiB: 64 << 10, Seconds: 5400}},
		"days and hours of slurm":  {"8 gpus 1-12:00", Wish{GPUs: 8, Seconds: 36 * 3600}},
		"a job":                    {"job 4711_3", Wish{Job: "4711_3"}},
		"a reason takes the rest":  {"8xh100 6h because the Paper is due for 2 days", Wish{GPUs: 8, GPUType: "h100", Seconds: sixHours, Reason: "the Paper is due for 2 days"}},
		"a type with capitals":     {"2xstandard_nd96 1h", Wish{Machines: 2, Type: "Standard_ND96", Seconds: 3600}},
		"six decimals of money":    {"1xgpu8 1h max 0.000001cny", Wish{Machines: 1, Type: "gpu8", Seconds: 3600, Max: bridge.Money{Micro: 1, Currency: "CNY"}}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ReadWords([]string{c.in}, known)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
			again, err := ReadWords(strings.Fields(got.String()), known)
			if err != nil {
				t.Fatalf("its own words %q are not read: %v", got.String(), err)
			}
			again.Reason = strings.Trim(again.Reason, `"`)
			if d := cmp.Diff(got, again); d != "" {
				t.Errorf("its own words mean something else: %s", d)
			}
		})
	}
}

func TestDoubtfulWordsAreRefusedWithOneThatWorks(t *testing.T) {
	for name, c := range map[string]struct{ in, wrong, try string }{
		"a GPU nobody has":         {"8xh1000 for 6h", "did you mean h100", "spillway rent 8xh100 for 6h"},
		"a number without a unit":  {"8xh100 for 90", "90 what?", "spillway rent 8xh100 for 90m"},
		"minutes or hours":         {"8xh100 6:30", "means nothing", ""},
		"money without a currency": {"8xh100 6h max 120", "of which currency", "spillway rent 8xh100 for 6h max $120"},
		"yuan or yen":              {"8xh100 6h max ¥100", "yuan or yen", ""},
		"two currencies":           {"8xh100 6h max $100eur", "two currencies", ""},
		"money without a word":     {"8xh100 6h $120", "say what it is for", "spillway rent 8xh100 for 6h max $120"},
		"two durations":            {"8xh100 for 6h for 2h", "given twice", ""},
		"two sizes":                {"8xh100 4xh100 6h", "given twice", ""},
		"two markets":              {"8xh100 6h spot on-demand", "given twice", ""},
		"a flag nobody has":        {"8xh100 6h --sopt", "did you mean spot", ""},
		"a place nobody has":       {"8xh100 6h in wast", "did you mean east", ""},
		"nothing at all of a type": {"0xh100 6h", "not a number of things", ""},
		"more than there is":       {"99999xh100 6h", "not a number of things", ""},
		"a duration of a century":  {"8xh100 40000d", "means nothing", ""},
		"an unknown word":          {"8xh100 6h qwertyuiop", "means nothing", ""},
		"a name is missing":        {"8xh100 6h project", "missing", ""},
		"seven decimals":           {"8xh100 6h max 0.0000001usd", "not an amount", ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ReadWords([]string{c.in}, known)
			if kind(err) != BadRequest {
				t.Fatalf("got %v, want a bad request", err)
			}
			e := AsError(err)
			if !strings.Contains(e.Wrong, c.wrong) {
				t.Errorf("said %q, want something about %q", e.Wrong, c.wrong)
			}
			if c.try != "" && e.Try != c.try {
				t.Errorf("suggested %q, want %q", e.Try, c.try)
			}
		})
	}
}

// Whatever people type: no panic, and nothing widened. A wish that is read
// means the same when it is said and read again.
func TestWordsNeverPanicAndSayThemselves(t *testing.T) {
	word := rapid.OneOf(
		rapid.SampledFrom([]string{"8xh100", "for", "6h", "90", "spot", "—spot", "max", "$120", "project", "nlp", "2", "nodes", "job", "1-0", "@", "--", "x", "16cpu", "in", "east", "because", "=", "gpu:"}),
		rapid.String(),
	)
	rapid.Check(t, func(t *rapid.T) {
		w, err := ReadWords(rapid.SliceOfN(word, 0, 8).Draw(t, "words"), known)
		if err != nil {
			if AsError(err).Kind != BadRequest {
				t.Fatalf("a bad request became %v", err)
			}
			return
		}
		if w.Seconds < 0 || w.GPUs < 0 || w.Machines < 0 || w.Max.Micro < 0 {
			t.Fatalf("negative: %+v", w)
		}
		w.Reason = ""
		if w.Project != "" || w.Job != "" || w.Cluster != "" {
			return // names may be words of the grammar
		}
		again, err := ReadWords([]string{w.String()}, known)
		if err != nil {
			t.Fatalf("%q is not read again: %v", w.String(), err)
		}
		if d := cmp.Diff(w, again); d != "" {
			t.Fatalf("%q means something else: %s", w.String(), d)
		}
	})
}

func TestInstantsOfATextInSomebodysZone(t *testing.T) {
	shanghai, err := time.LoadLocation("Asia/Shanghai")
	if err != nil {
		t.Fatal(err)
	}
	text := "r-0013 lapsed at 2026-11-30 20:40 UTC, not at 2026-13-30 20:40 UTC; it ended 2026-11-30 12:00 UTC"
	if got, want := InZone(text, shanghai), "r-0013 lapsed at 2026-12-01 04:40 CST, not at 2026-13-30 20:40 UTC; it ended 2026-11-30 20:00 CST"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := InZone(text, nil); got != text {
		t.Errorf("of no zone: %q", got)
	}
}
