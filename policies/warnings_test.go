package policies

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"spillway.sh/spillway/bridge"
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

// What the page about budgets shows can be copied.
func TestThePageAboutBudgetsIsRight(t *testing.T) {
	page, err := os.ReadFile("../deploy/docs/budgets.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "```yaml\n")
	part, _, found := strings.Cut(rest, "```")
	if !found {
		t.Fatal("it shows no budgets")
	}
	const frame = "version: 1\norganisation: acme\nmode: burst\naccounts: [{account: \"*\", to: models/llm}]\nrules: [{name: everyone, class: P2, ask: true}]\n"
	f, err := Parse("budgets.md", []byte(frame+part))
	if err != nil {
		t.Fatal(err)
	}
	spent := bridge.Scope{Account: "acme/models/llm/ana", Cloud: "north", GPU: "h100"}
	counts := func(s bridge.Scope) (n int) {
		for _, b := range f.Budgets() {
			if b.Scope().Covers(s) {
				n++
			}
		}
		return n
	}
	elsewhere := bridge.Scope{Account: spent.Account, Cloud: "south", GPU: "a100"}
	if all, few := counts(spent), counts(elsewhere); all != 5 || few != 2 {
		t.Errorf("a rental counts in %d, another in %d; the page says 5 and 2", all, few)
	}
	if diff := cmp.Diff([]string{"lead", "@gpu-board"}, f.Approvers(spent)); diff != "" {
		t.Errorf("approvers (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"lead"}, f.Approvers(elsewhere)); diff != "" {
		t.Errorf("approvers elsewhere (-want +got):\n%s", diff)
	}
}
