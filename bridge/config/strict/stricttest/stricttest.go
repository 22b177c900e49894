// Package stricttest holds readers of strict YAML against golden files: one
// txtar archive for each mistake, with the file and the whole complaint.
package stricttest

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"spillway.sh/spillway/bridge/config/strict"
)

var update = flag.Bool("update", false, "write the wanted texts of testdata anew")

// Mistakes reads every archive of a folder, at least so many. Its section
// called file must be refused by parse with strict.Faults that print as its
// section want, for that text is what an operator has to go by.
func Mistakes(t *testing.T, dir string, least int, file string, parse func(data []byte) error) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.txtar"))
	if err != nil || len(paths) < least {
		t.Fatalf("want at least %d files of mistakes, have %d (%v)", least, len(paths), err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			err = parse(Section(t, archive, file))
			if err == nil {
				t.Fatal("the mistake was not found")
			}
			examples(t, err)
			Compare(t, path, archive, "want", err.Error()+"\n")
		})
	}
}

// examples holds that what is given as a valid example can at least be read.
func examples(t *testing.T, err error) {
	t.Helper()
	var faults strict.Faults
	if !errors.As(err, &faults) {
		t.Fatalf("want strict.Faults, have %T", err)
	}
	for _, f := range faults {
		if f.Example == "" {
			continue
		}
		if err := strict.Parse("example", []byte(f.Example)).Err(); err != nil {
			t.Errorf("the example %q is none: %v", f.Example, err)
		}
	}
}

// Compare holds a section of an archive against text; with -update it writes
// the section anew.
func Compare(t *testing.T, path string, archive *txtar.Archive, name, got string) {
	t.Helper()
	if *update {
		for i := range archive.Files {
			if archive.Files[i].Name == name {
				archive.Files[i].Data = []byte(got)
			}
		}
		if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil { //nolint:gosec // An archive of the repository, which everybody may read.
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(Section(t, archive, name)), got); diff != "" {
		t.Errorf("%s: %s (-want +got):\n%s", path, name, diff)
	}
}

// Section returns a section of an archive.
func Section(t *testing.T, archive *txtar.Archive, name string) []byte {
	t.Helper()
	for _, f := range archive.Files {
		if f.Name == name {
			return f.Data
		}
	}
	t.Fatalf("no section %s", name)
	return nil
}
