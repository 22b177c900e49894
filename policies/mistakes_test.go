package policies

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

// TestMistakes reads files with one mistake each and compares the whole
// complaint, for that text is what an operator has to go by.
func TestMistakes(t *testing.T) {
	files, err := filepath.Glob("testdata/mistakes/*.txtar")
	if err != nil || len(files) < 40 {
		t.Fatalf("want at least 40 files of mistakes, have %d (%v)", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			_, err = Parse("policy.yaml", section(t, archive, "policy.yaml"))
			if err == nil {
				t.Fatal("the mistake was not found")
			}
			var fault *strict.Fault
			if !errors.As(err, &fault) {
				t.Fatalf("want strict.Faults, have %T", err)
			}
			compare(t, file, archive, "want", err.Error()+"\n")
		})
	}
}

// compare holds a section of an archive against text, or writes it anew.
func compare(t *testing.T, file string, archive *txtar.Archive, name, got string) {
	t.Helper()
	if *update {
		for i := range archive.Files {
			if archive.Files[i].Name == name {
				archive.Files[i].Data = []byte(got)
			}
		}
		if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(section(t, archive, name)), got); diff != "" {
		t.Errorf("%s: %s (-want +got):\n%s", file, name, diff)
	}
}

func section(t *testing.T, archive *txtar.Archive, name string) []byte {
	t.Helper()
	for _, f := range archive.Files {
		if f.Name == name {
			return f.Data
		}
	}
	t.Fatalf("no section %s", name)
	return nil
}
