package main

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "spillway.sh/spillway/"

// allowed says which packages of ours each folder may import; the longest
// prefix of a folder counts, and tests are free. A folder that is not named
// may be imported by nobody but cmd and sim, and may import only the domain.
var allowed = map[string][]string{
	"bridge":                 {},
	"bridge/ledger":          {"bridge"},
	"bridge/desk":            {"bridge", "bridge/desk", "bridge/bill", "bridge/report"},
	"bridge/report":          {"bridge", "bridge/report"},
	"bridge/bill":            {"bridge"},
	"bridge/calendar":        {"bridge"},
	"bridge/usage":           {"bridge"},
	"bridge/adopt":           {"bridge", "bridge/store"},
	"bridge/books":           {"bridge", "bridge/desk", "bridge/store"},
	"bridge/engine":          {"bridge", "bridge/ledger"},
	"bridge/store":           {"bridge", "bridge/ledger"},
	"bridge/store/storetest": {"bridge", "bridge/ledger", "bridge/store"},
	"bridge/enrol":           {"bridge"},
	"bridge/node":            {"bridge", "bridge/node"},
	"bridge/checkpoint":      {"bridge"},
	"bridge/sandbox":         {"bridge/sandbox"},
	"bridge/cloud":           {"bridge", "bridge/sandbox", "bridge/cloud"}, // a cloud and its own server, see clouds below
	"bridge/cloud/cloudtest": {"bridge"},
	"bridge/config":          {"bridge", "bridge/config"},
	"policies":               {"bridge", "bridge/config/strict"},
	"slurm":                  {"bridge"},
	"slurm/slurmtest":        {"bridge", "bridge/sandbox", "bridge/sim/soak"},
	"volcano":                {"bridge"},
	"bot":                    {"bot", "bridge", "bridge/desk", "bridge/report", "bridge/report/chart"},
	"bot/slackd":             {},  // the judge shares nothing with the bot
	"bridge/sim":             nil, // everything
	"bridge/cmd":             nil, // everything
}

// domainNever are what the domain may not import, directly: it reads no clock,
// no file, no socket and no database.
var domainNever = []string{"context", "os", "net", "net/http", "database/sql", "log", "log/slog", "math/rand", "math/rand/v2", "io/fs", "os/exec", "syscall"}

// imports reads the import clauses of every source file that is built, by
// folder. No compiler is asked, so it takes no time.
func imports(t *testing.T) map[string][]string {
	t.Helper()
	root := filepath.Join("..", "..", "..")
	out := map[string][]string{}
	for _, top := range []string{"bridge", "slurm", "policies", "volcano", "bot"} {
		err := filepath.WalkDir(filepath.Join(root, top), func(p string, e fs.DirEntry, err error) error {
			if err != nil {
				if top == "volcano" || top == "bot" {
					return nil // comes later
				}
				return err
			}
			if e.IsDir() && e.Name() == "testdata" {
				return fs.SkipDir
			}
			if e.IsDir() || filepath.Ext(p) != ".go" || strings.HasSuffix(p, "_test.go") {
				return nil
			}
			f, err := parser.ParseFile(token.NewFileSet(), p, nil, parser.ImportsOnly)
			if err != nil {
				return err
			}
			rel, err := filepath.Rel(root, filepath.Dir(p))
			if err != nil {
				return err
			}
			for _, i := range f.Imports {
				name, err := strconv.Unquote(i.Path.Value)
				if err != nil {
					return err
				}
				out[filepath.ToSlash(rel)] = append(out[filepath.ToSlash(rel)], name)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// rule is the entry of the folder itself or of the nearest one above it.
func rule(folder string) (list []string, known bool) {
	for f := folder; f != "."; f = path.Dir(f) {
		if list, known = allowed[f]; known {
			return list, true
		}
	}
	return nil, false
}

func TestFoldersImportOnlyWhatTheyMay(t *testing.T) {
	all := imports(t)
	if len(all) < 12 {
		t.Fatalf("only %d folders were read", len(all))
	}
	for folder, names := range all {
		list, known := rule(folder)
		if known && list == nil {
			continue
		}
		for _, name := range names {
			ours, isOurs := strings.CutPrefix(name, module)
			if !isOurs || slices.Contains(list, ours) || within(list, ours, folder) {
				continue
			}
			t.Errorf("%s imports %s: it may import %s", folder, ours, strings.Join(list, ", "))
		}
	}
}

// within reports whether a folder stays in its own house: below an allowed
// folder that is its own or above it. One cloud is never part of another.
func within(list []string, ours, folder string) bool {
	if cloud, ok := strings.CutPrefix(folder, "bridge/cloud/"); ok {
		house := "bridge/cloud/" + strings.SplitN(cloud, "/", 2)[0]
		return ours == house || strings.HasPrefix(ours, house+"/")
	}
	return slices.ContainsFunc(list, func(a string) bool {
		return a != "bridge" && strings.HasPrefix(ours, a+"/") && (folder == a || strings.HasPrefix(folder, a+"/"))
	})
}

func TestTheDomainTouchesNothing(t *testing.T) {
	all := imports(t)
	for _, folder := range []string{"bridge", "bridge/ledger"} {
		for _, name := range all[folder] {
			if slices.Contains(domainNever, name) {
				t.Errorf("%s imports %s", folder, name)
			}
			if strings.Contains(strings.SplitN(name, "/", 2)[0], ".") && !strings.HasPrefix(name, module) && name != "github.com/samber/lo" {
				t.Errorf("%s imports %s: the domain needs the standard library and lo only", folder, name)
			}
		}
	}
}

// The rules themselves, on imports that must be refused.
func TestImportRulesRefuse(t *testing.T) {
	for _, c := range []struct{ folder, imports string }{
		{"bridge", "bridge/store"},
		{"bridge/engine", "bridge/store"},
		{"bridge/engine", "slurm"},
		{"bridge/desk", "bridge/engine"},
		{"slurm", "bridge/engine"},
		{"slurm", "bridge/cloud/local"},
		{"bridge/cloud/local", "bridge/store"},
		{"bridge/cloud/aws", "bridge/cloud/local"},
		{"bridge/store", "bridge/engine"},
		{"policies", "bridge/config"},
		{"bot", "bridge/store"},
		{"bot/slackd", "bridge/desk"},
		{"bridge/cloud/aws", "slurm"},
	} {
		list, _ := rule(c.folder)
		if slices.Contains(list, c.imports) || within(list, c.imports, c.folder) {
			t.Errorf("%s may import %s", c.folder, c.imports)
		}
	}
}
