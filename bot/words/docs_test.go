package words

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

var examples = regexp.MustCompile("`(/rent|/release)([^`]*)`")

// Every line of the page of commands is understood as it stands there.
func TestTheLinesOfTheManualAreUnderstood(t *testing.T) {
	page, err := os.ReadFile("../../deploy/docs/commands.md")
	if err != nil {
		t.Fatal(err)
	}
	lines := examples.FindAllStringSubmatch(string(page), -1)
	if len(lines) < 30 {
		t.Fatalf("only %d lines were found", len(lines))
	}
	for _, l := range lines {
		if r, err := Parse(l[1], strings.ReplaceAll(l[2], "…", "a reason"), known(t)); err != nil || r.Verb == "" {
			t.Errorf("%s%s: %v", l[1], l[2], err)
		}
	}
}
