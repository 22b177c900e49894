package policies

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"spillway.sh/spillway/bridge/config/strict/stricttest"
)

// TestWarnings reads files that are no mistakes and probably not meant, on a
// site with the clouds north and south, which offer a100 and h100.
func TestWarnings(t *testing.T) {
	files, err := filepath.Glob("testdata/warnings/*.txtar")
	if err != nil || len(files) < 6 {
		t.Fatalf("found %d files: %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			f, err := Parse("policy.yaml", stricttest.Section(t, a, "policy.yaml"))
			if err != nil {
				t.Fatal(err)
			}
			var got strings.Builder
			for _, w := range append(append(f.Warnings(), f.UnknownClouds([]string{"north", "south"})...), f.UnofferedClasses([]string{"a100", "h100"})...) {
				got.WriteString(w.Error() + "\n")
			}
			stricttest.Compare(t, file, a, "want", got.String())
		})
	}
}

// The shipped policies warn of nothing.
func TestExamplesWarnOfNothing(t *testing.T) {
	files, err := filepath.Glob("examples/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("found %d files: %v", len(files), err)
	}
	for _, file := range append(files, "default.yaml") {
		f, err := Load(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range f.Warnings() {
			t.Errorf("%s", w)
		}
	}
}
