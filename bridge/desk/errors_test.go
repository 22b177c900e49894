package desk

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// formats are what errors are made of: the formats of all calls that make one,
// here and in the grammar of the bot.
func formats(t *testing.T) []string {
	t.Helper()
	at := map[string]int{"wrong": 2, "Wrong": 2, "no": 2, "amiss": 0, "says": 0, "bad": 1}
	seen := map[string]bool{}
	for _, dir := range []string{".", "../../bot/words"} {
		err := filepath.WalkDir(dir, func(p string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(p, ".go") || strings.HasSuffix(p, "_test.go") || filepath.Dir(p) != filepath.Clean(dir) {
				return err
			}
			f, err := parser.ParseFile(token.NewFileSet(), p, nil, 0)
			if err != nil {
				return err
			}
			ast.Inspect(f, func(n ast.Node) bool {
				c, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				i, ok := at[calledName(c)]
				if !ok || len(c.Args) <= i {
					return true
				}
				if lit, ok := c.Args[i].(*ast.BasicLit); ok && lit.Kind == token.STRING {
					if s, err := strconv.Unquote(lit.Value); err == nil {
						seen[s] = true
					}
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

func calledName(c *ast.CallExpr) string {
	switch f := c.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return f.Sel.Name
	}
	return ""
}

var verb = regexp.MustCompile(`%(\[\d+\])?[a-z]`)

// Every error people can meet is said in Chinese too, with the same facts. A
// new format needs its twin in errors_zh.go.
func TestErrorsAreSaidInChineseToo(t *testing.T) {
	all := formats(t)
	if len(all) < 80 {
		t.Fatalf("only %d formats were found", len(all))
	}
	for _, f := range all {
		if f == "%s" {
			continue // the words of another error
		}
		zh, ok := chineseErrors[f]
		if !ok {
			t.Errorf("no Chinese for %q", f)
			continue
		}
		if a, b := len(verb.FindAllString(f, -1)), len(verb.FindAllString(zh, -1)); a != b {
			t.Errorf("%q has %d facts, its twin %q has %d", f, a, zh, b)
		}
	}
	for f := range chineseErrors {
		if !slices.Contains(all, f) {
			t.Errorf("Chinese for %q, which nothing says", f)
		}
	}
}

func TestRightsAreSaidInChineseToo(t *testing.T) {
	for r := range rights {
		e := AsError(Person{Name: "ana"}.need(r))
		if zh := Chinese.Wrong(e); chineseRights[r] == "" || !strings.Contains(zh, chineseRights[r]) || strings.Contains(zh, " or ") {
			t.Errorf("%s: %q", r, zh)
		}
		if !strings.Contains(e.Wrong, string(r)) || !strings.HasSuffix(e.Wrong, "you are ana") {
			t.Errorf("%s: %q", r, e.Wrong)
		}
	}
}
