package report

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
)

var fact = regexp.MustCompile(`\{[a-z]+\}`)

func TestBothLanguagesSayTheSame(t *testing.T) {
	facts := func(s string) []string {
		out := fact.FindAllString(s, -1)
		slices.Sort(out)
		return slices.Compact(out)
	}
	han := func(r rune) bool { return unicode.Is(unicode.Han, r) }
	for key, en := range english {
		zh, ok := chinese[key]
		if !ok || zh == "" || en == "" {
			t.Errorf("%s: %q and %q", key, en, zh)
			continue
		}
		if a, b := facts(en), facts(zh); !slices.Equal(a, b) {
			t.Errorf("%s: facts %v and %v", key, a, b)
		}
		if strings.ContainsFunc(en, han) {
			t.Errorf("%s is not English: %s", key, en)
		}
	}
	for key := range chinese {
		if english[key] == "" {
			t.Errorf("%s is Chinese alone", key)
		}
	}
}

// Every note, advice and name of a kind that a report can have has a text; no
// text is left that nothing says.
func TestEveryTextIsThereAndUsed(t *testing.T) {
	used := map[string]bool{}
	prefix := map[string]string{
		"NoteCode": "note.", "AdviceCode": "advice.", "UnusedKind": "unused.", "WasteKind": "waste.", "PriceName": "price.", "PlanName": "plan.",
		"Source": "source.", "Part": "part.",
	}
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	last := ""
	look := func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ValueSpec:
			if id, ok := n.Type.(*ast.Ident); ok {
				last = id.Name
			}
			if p, ok := prefix[last]; ok && len(n.Values) == 1 {
				if v, ok := n.Values[0].(*ast.BasicLit); ok {
					word, _ := strconv.Unquote(v.Value)
					if used[p+word] = true; english[p+word] == "" {
						t.Errorf("%s%s has no text", p, word)
					}
				}
			}
			last = ""
		case *ast.BasicLit:
			if word, err := strconv.Unquote(n.Value); err == nil {
				for _, p := range []string{"", "f.", "c.", "t."} {
					used[p+strings.TrimPrefix(word, "'")] = true
				}
			}
		}
		return true
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, "texts") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, look)
	}
	for key := range english {
		family, _, _ := strings.Cut(key, ".")
		if named := []string{"capacity", "reason", "step"}; !used[key] && !slices.Contains(named, family) {
			t.Errorf("nothing says %s", key)
		}
	}
}
