package desk

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"spillway.sh/spillway/bridge"
)

// reasons reads the constants of bridge/reason.go: the one list of them.
func reasons(t *testing.T) []bridge.Reason {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), "../reason.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var out []bridge.Reason
	ast.Inspect(f, func(n ast.Node) bool {
		v, ok := n.(*ast.ValueSpec)
		if !ok || len(v.Values) != 1 {
			return true
		}
		if lit, ok := v.Values[0].(*ast.BasicLit); ok && lit.Kind == token.STRING {
			s, err := strconv.Unquote(lit.Value)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, bridge.Reason(s))
		}
		return true
	})
	return out
}

func TestEveryReasonHasWordsInBothLanguages(t *testing.T) {
	all := reasons(t)
	if len(all) < 40 {
		t.Fatalf("only %d reasons were found", len(all))
	}
	for name, table := range map[string]map[bridge.Reason]wording{"English": english, "Chinese": chinese} {
		for _, r := range all {
			if w := table[r]; w.Short == "" || w.Why == "" {
				t.Errorf("%s has no words for %q", name, r)
			}
		}
		for r := range table {
			if !slices.Contains(all, r) {
				t.Errorf("%s has words for %q, which is no reason", name, r)
			}
		}
	}
}

func TestBothLanguagesNameTheSameFacts(t *testing.T) {
	named := func(s string) []string {
		var out []string
		for _, m := range slot.FindAllStringSubmatch(s, -1) {
			out = append(out, m[1])
		}
		slices.Sort(out)
		return slices.Compact(out)
	}
	for _, r := range slices.Sorted(maps.Keys(english)) {
		en, zh := english[r], chinese[r]
		if !slices.Equal(named(en.Why), named(zh.Why)) || !slices.Equal(named(en.Change), named(zh.Change)) {
			t.Errorf("%s: English names %v and %v, Chinese %v and %v", r, named(en.Why), named(en.Change), named(zh.Why), named(zh.Change))
		}
		if (en.Change == "") != (zh.Change == "") {
			t.Errorf("%s: one language says what changes it, the other not", r)
		}
	}
}

func TestMissingFactsLeaveNoHoles(t *testing.T) {
	full := bridge.Verdict{
		Job: "7", Rule: "everyone", Rental: "r-0011", Limit: "site/ai", Detail: "a licence", Until: noon, Cost: usd(12), Left: usd(3),
		Pool: &bridge.Pool{Cloud: "stratus", Zone: "east-1", Type: "gpu8", Market: bridge.Spot},
	}
	for _, lang := range []Lang{English, Chinese} {
		for r := range english {
			for _, v := range []bridge.Verdict{{Job: "7"}, {Job: "7", Cost: usd(12)}, full} {
				v.Why = r
				for _, s := range []string{lang.Why(&v), lang.Change(&v)} {
					if strings.ContainsAny(s, "[]{}") || strings.Contains(s, "  ") || strings.Contains(s, " .") || strings.Contains(s, "()") {
						t.Errorf("%s %s: %q", lang, r, s)
					}
				}
			}
		}
	}
}

func TestSpan(t *testing.T) {
	for want, d := range map[string]time.Duration{
		"0 s": 0, "45 s": 45 * time.Second, "1 min": time.Minute, "2 min 5 s": 125 * time.Second, "12 min": 12*time.Minute + 20*time.Second,
		"2 h 14 min": 2*time.Hour + 14*time.Minute + 9*time.Second, "24 h": 24 * time.Hour, "3 d 4 h": 76 * time.Hour, "-1 min": -time.Minute,
		"-106751 d 23 h": math.MinInt64, // whose opposite is itself
	} {
		if got := Span(d); got != want {
			t.Errorf("%s is said as %q, want %q", d, got, want)
		}
	}
}
