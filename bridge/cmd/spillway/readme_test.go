package main

import (
	"os"
	"regexp"
	"testing"

	"spillway.sh/spillway/policies"
)

// The policy in the readme is one that loads: people copy it.
func TestReadmePolicyLoads(t *testing.T) {
	text, err := os.ReadFile("../../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllSubmatch(text, -1)
	if len(blocks) != 1 {
		t.Fatalf("the readme has %d policies, want 1", len(blocks))
	}
	if _, err := policies.Parse("README.md", blocks[0][1]); err != nil {
		t.Error(err)
	}
}
