package mutant

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"testing"
)

// built is a package as the go command lists it.
type built struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
}

// listed are the packages of some folders and of all that they import, compiled.
func listed(t *testing.T, folders []string) map[string]built {
	t.Helper()
	args := []string{"list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles"}
	for _, f := range folders {
		args = append(args, "./"+f)
	}
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir, cmd.Stderr = root, os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	all := map[string]built{}
	for d := json.NewDecoder(out); ; {
		var b built
		if err := d.Decode(&b); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		all[b.ImportPath] = b
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("go list: %v", err)
	}
	return all
}

// TestMutantsAreCode holds that every mutant still finds its guard in the tree,
// and compiles without it.
func TestMutantsAreCode(t *testing.T) {
	var folders []string
	for _, m := range mutants {
		for _, e := range m.edits {
			folders = append(folders, path.Dir(e.file))
		}
	}
	slices.Sort(folders)
	all := listed(t, slices.Compact(folders))
	files := token.NewFileSet()
	imports := importer.ForCompiler(files, "gc", func(path string) (io.ReadCloser, error) { return os.Open(all[path].Export) })
	for i := range mutants {
		m := &mutants[i]
		t.Run(m.name, func(t *testing.T) {
			changed, err := m.mutated()
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range m.edits {
				check(t, files, imports, all, changed, path.Dir(e.file))
			}
		})
	}
}

// check lets the compiler's own checker read a package with changed files.
func check(t *testing.T, files *token.FileSet, imports types.Importer, all map[string]built, changed map[string][]byte, folder string) {
	t.Helper()
	b, ok := all["spillway.sh/spillway/"+folder]
	if !ok {
		t.Fatalf("there is no package in %s", folder)
	}
	var parsed []*ast.File
	for _, name := range b.GoFiles {
		var src any
		if text, ok := changed[path.Join(folder, name)]; ok {
			src = text
		}
		f, err := parser.ParseFile(files, filepath.Join(b.Dir, name), src, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		parsed = append(parsed, f)
	}
	conf := types.Config{Importer: imports, Error: func(err error) { t.Error(err) }}
	_, _ = conf.Check(b.ImportPath, files, parsed, nil) // it told Error
}
