package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// claims are the pages that say which test holds what.
var claims = []string{"failure-modes.md", "promises.md", "clouds/faults.md"}

var (
	inCode     = regexp.MustCompile("`([^`]+)`")
	testName   = regexp.MustCompile(`^(?:Test|Fuzz)[A-Z]\w*$`)
	goTest     = regexp.MustCompile(`^go test (\./\S+)(?: -run '([^']+)')?(?: -seed \d+)?$`)
	makeTarget = regexp.MustCompile(`^make ([a-z]+)(?: [A-Z]+=\S+)*$`)
	ourCommand = regexp.MustCompile(`^spillway ([a-z-]+)`)
)

// tests reads the names of all tests, by folder.
func tests(t *testing.T) map[string][]string {
	t.Helper()
	root, out := filepath.Join("..", "..", ".."), map[string][]string{}
	for _, top := range []string{"bridge", "slurm", "policies", "bot"} {
		err := filepath.WalkDir(filepath.Join(root, top), func(p string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() || !strings.HasSuffix(p, "_test.go") {
				return err
			}
			f, err := parser.ParseFile(token.NewFileSet(), p, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			folder, err := filepath.Rel(root, filepath.Dir(p))
			for _, d := range f.Decls {
				if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && testName.MatchString(fn.Name.Name) {
					out["./"+filepath.ToSlash(folder)] = append(out["./"+filepath.ToSlash(folder)], fn.Name.Name)
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func textOf(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// claimed judges one piece of code in a page; empty: it is there, or claims nothing.
func claimed(code string, known map[string][]string, targets, commands []string) string {
	code = strings.ReplaceAll(code, `\|`, "|")
	if testName.MatchString(code) {
		for _, names := range known {
			if slices.Contains(names, code) {
				return ""
			}
		}
		return "there is no such test"
	}
	if m := goTest.FindStringSubmatch(code); m != nil {
		run, err := regexp.Compile(m[2])
		if err != nil {
			return err.Error()
		}
		if !slices.ContainsFunc(known[m[1]], run.MatchString) {
			return "it runs no test"
		}
		return ""
	}
	if m := makeTarget.FindStringSubmatch(code); m != nil && !slices.Contains(targets, m[1]) {
		return "there is no such target"
	}
	if m := ourCommand.FindStringSubmatch(code); m != nil && !slices.Contains(commands, m[1]) {
		return "there is no such command"
	}
	if strings.HasPrefix(code, "go test") {
		return "it is not understood"
	}
	return ""
}

// What the pages name is there: every test, every command that plays it again,
// every make target, every command of ours.
func TestPagesNameWhatIsThere(t *testing.T) {
	known, targets, ours := tests(t), []string{}, []string{}
	for _, m := range regexp.MustCompile(`(?m)^([a-z]+):`).FindAllStringSubmatch(textOf(t, "Makefile"), -1) {
		targets = append(targets, m[1])
	}
	k, err := newParser(&commands{}, io.Discard, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range k.Model.Children {
		ours = append(ours, n.Name)
	}
	for _, name := range claims {
		named := 0
		for _, m := range inCode.FindAllStringSubmatch(textOf(t, "deploy/docs/"+name), -1) {
			named++
			if wrong := claimed(m[1], known, targets, ours); wrong != "" {
				t.Errorf("%s: %s: %s", name, m[1], wrong)
			}
		}
		if named < 10 {
			t.Errorf("%s names %d things only: is it read right?", name, named)
		}
	}
	for _, bad := range []string{"TestThatIsNotThere", "go test ./bridge/sim -run '^TestThatIsNotThere$'", "make nothing", "spillway nothing", "go test everything"} {
		if claimed(bad, known, targets, ours) == "" {
			t.Errorf("%s is taken for there", bad)
		}
	}
}

// Every failure has its test and the command that plays it again, which runs
// each of the tests that are named.
func TestEveryFailureModeIsHeld(t *testing.T) {
	rows := 0
	for line := range strings.Lines(textOf(t, "deploy/docs/failure-modes.md")) {
		cells := strings.Split(strings.ReplaceAll(strings.TrimSpace(line), `\|`, "\x00"), "|")
		if len(cells) != 6 || strings.HasPrefix(line, "|--") || strings.HasPrefix(line, "| what fails") {
			continue
		}
		rows++
		var runs []*regexp.Regexp
		for _, c := range inCode.FindAllStringSubmatch(strings.ReplaceAll(cells[4], "\x00", "|"), -1) {
			if m := goTest.FindStringSubmatch(c[1]); m != nil {
				runs = append(runs, regexp.MustCompile(m[2]))
			}
		}
		named := inCode.FindAllStringSubmatch(cells[3], -1)
		if len(named) == 0 || len(runs) == 0 || strings.TrimSpace(cells[1]) == "" || strings.TrimSpace(cells[2]) == "" {
			t.Errorf("without a test, a command or words: %s", line)
		}
		for _, n := range named {
			if !slices.ContainsFunc(runs, func(r *regexp.Regexp) bool { return r.MatchString(n[1]) }) {
				t.Errorf("%s is not run by its command: %s", n[1], cells[4])
			}
		}
	}
	if rows < 40 {
		t.Errorf("%d rows were read", rows)
	}
}

// Rates are claimed as they were measured: what was counted is there, and zero in
// N runs is below 3/N.
func TestMeasuredRatesFollowFromTheCounts(t *testing.T) {
	_, table, found := strings.Cut(textOf(t, "deploy/docs/promises.md"), "<!-- measured")
	if !found {
		t.Fatal("there is no table of what was measured")
	}
	rows := 0
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) != 6 || strings.HasPrefix(line, "|--") || strings.HasPrefix(line, "| what") {
			continue
		}
		rows++
		runs, err := strconv.Atoi(strings.ReplaceAll(strings.TrimSpace(cells[2]), ",", ""))
		if err != nil || runs < 1 {
			t.Errorf("how many runs it were is not filled in: %s", line)
			continue
		}
		if zero := strings.TrimSpace(cells[3]); zero != "0" {
			t.Errorf("%s violations: not a promise that is kept: %s", zero, line)
		}
		bound, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(cells[4]), " %"), 64)
		if want := 300 / float64(runs); err != nil || math.Abs(bound-want) > want/20 {
			t.Errorf("3/%d is %.2g %%: %s", runs, want, line)
		}
	}
	if rows < 4 {
		t.Errorf("%d rows were read", rows)
	}
}
