package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// unlooked are packages with goroutines that no test of their own looks for.
var unlooked = map[string]string{
	"bridge/cloud/cloudtest":    "it is tests itself; each cloud that calls them looks",
	"bridge/cmd/spillway/stage": "it starts servers for the tests of others",
	// These drive processes for minutes; what could outlive them is one of those,
	// and they look for it.
	"bridge/cmd/spillway/demo":    "it drives processes",
	"bridge/cmd/spillway/drill":   "it drives processes",
	"bridge/cmd/spillway/killed":  "it drives processes",
	"bridge/cmd/spillway/reclaim": "it drives processes",
}

// house is what a package's files say of goroutines.
type house struct {
	starts string // where one is started first
	looks  bool   // whether the end of its tests looks for those that are left
}

// TestWhoStartsGoroutinesLooksForThem holds that every package whose code or
// tests start goroutines fails when one of them outlives its tests.
func TestWhoStartsGoroutinesLooksForThem(t *testing.T) {
	houses := map[string]*house{}
	for _, top := range []string{"bridge", "bot", "slurm", "policies"} {
		readHouses(t, top, houses)
	}
	if len(houses) < 30 {
		t.Fatalf("only %d packages were read", len(houses))
	}
	for _, folder := range slices.Sorted(maps.Keys(houses)) {
		h := houses[folder]
		why, excused := unlooked[folder]
		switch {
		case excused && (h.starts == "" || h.looks):
			t.Errorf("%s is excused (%s) and need not be", folder, why)
		case h.starts != "" && !h.looks && !excused:
			t.Errorf("%s starts a goroutine (%s); the end of its tests has to look for it: func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }", folder, h.starts)
		}
		delete(unlooked, folder)
	}
	for folder := range unlooked {
		t.Errorf("%s is excused and is not there", folder)
	}
}

func readHouses(t *testing.T, top string, houses map[string]*house) {
	t.Helper()
	root := filepath.Join("..", "..", "..")
	files := token.NewFileSet()
	err := filepath.WalkDir(filepath.Join(root, top), func(p string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() && (e.Name() == "testdata" || e.Name() == "node_modules") {
			return fs.SkipDir
		}
		if e.IsDir() || filepath.Ext(p) != ".go" {
			return nil
		}
		f, err := parser.ParseFile(files, p, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		folder := path.Dir(filepath.ToSlash(rel))
		if houses[folder] == nil {
			houses[folder] = &house{}
		}
		houses[folder].read(files, f)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// starters are methods and functions that start a goroutine for their caller.
var starters = []string{"Go", "AfterFunc", "TryGo"}

func (h *house) read(files *token.FileSet, f *ast.File) {
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			h.started(files, n)
		case *ast.CallExpr:
			sel, ok := n.Fun.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if slices.Contains(starters, sel.Sel.Name) {
				h.started(files, n)
			}
			if from, ok := sel.X.(*ast.Ident); ok && from.Name == "goleak" {
				h.looks = h.looks || strings.HasPrefix(sel.Sel.Name, "Verify") || sel.Sel.Name == "Find"
			}
		}
		return true
	})
}

func (h *house) started(files *token.FileSet, n ast.Node) {
	if h.starts == "" {
		at := files.Position(n.Pos())
		h.starts = filepath.Base(at.Filename) + ":" + strconv.Itoa(at.Line)
	}
}
