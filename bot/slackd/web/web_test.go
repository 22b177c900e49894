package web

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// sources are the files that the page is built from, by their hashes.
func sources(t *testing.T) map[string]string {
	t.Helper()
	names := []string{"index.html", "build.mjs", "package.json", "package-lock.json", "tsconfig.json"}
	more, err := filepath.Glob("src/*")
	if err != nil || len(more) < 10 {
		t.Fatalf("list sources: %d files, %v", len(more), err)
	}
	out := map[string]string{}
	for _, name := range append(names, more...) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(text)
		out[name] = hex.EncodeToString(sum[:])
	}
	return out
}

// Package honest builds the page again and compares every byte; this says at
// once, and without npm, that somebody forgot `make page`.
func TestDistWasBuiltFromTheseSources(t *testing.T) {
	text, err := fs.ReadFile(dist, "dist/sources.sha256")
	if err != nil {
		t.Fatal(err)
	}
	built := map[string]string{}
	for line := range strings.Lines(string(text)) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		built[name] = sum
	}
	if diff := cmp.Diff(sources(t), built); diff != "" {
		t.Errorf("dist is older than its sources (run `make page`), -source +built:\n%s", diff)
	}
}

func TestPageIsSmall(t *testing.T) {
	total := 0
	for _, name := range []string{"index.html", "page.js", "page.css"} {
		text, err := fs.ReadFile(Files(), name)
		if err != nil {
			t.Fatal(err)
		}
		total += len(text)
	}
	if total > 1<<20 {
		t.Errorf("the page has %d bytes, more than 1 MiB", total)
	}
}

// The policy keeps the browser from asking any other host for anything.
func TestPageAsksNoOtherHost(t *testing.T) {
	text, err := fs.ReadFile(Files(), "index.html")
	if err != nil {
		t.Fatal(err)
	}
	policy := regexp.MustCompile(`http-equiv="Content-Security-Policy" content="([^"]*)"`).FindSubmatch(text)
	if policy == nil {
		t.Fatal("index.html has no policy")
	}
	want := "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; base-uri 'none'; form-action 'none'"
	if string(policy[1]) != want {
		t.Errorf("policy %q, want %q", policy[1], want)
	}
}

func TestTokenIsInTheFragment(t *testing.T) {
	u, err := url.Parse(Address("http://127.0.0.1:7040", "a&b c"))
	if err != nil {
		t.Fatal(err)
	}
	if u.RawQuery != "" || u.Fragment != "token=a%26b+c" && u.EscapedFragment() != "token=a%26b+c" {
		t.Errorf("address %q: a browser would send the token", u)
	}
}
