package web

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
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
		text, err := fs.ReadFile(dist, "dist/"+name)
		if err != nil {
			t.Fatal(err)
		}
		total += len(text)
	}
	if total > 1<<20 {
		t.Errorf("the page has %d bytes, more than 1 MiB", total)
	}
}

func TestPageAsksNoOtherHost(t *testing.T) {
	for path, want := range map[string]string{"/": "text/html; charset=utf-8", "/page.js": "text/javascript; charset=utf-8", "/page.css": "text/css; charset=utf-8"} {
		got := httptest.NewRecorder()
		Page().ServeHTTP(got, httptest.NewRequest("GET", path, nil))
		if got.Code != 200 || got.Header().Get("Content-Type") != want {
			t.Errorf("GET %s: %d %s", path, got.Code, got.Header().Get("Content-Type"))
		}
		rules := strings.Split(got.Header().Get("Content-Security-Policy"), "; ")
		for _, rule := range []string{"default-src 'self'", "img-src 'self' data:", "frame-ancestors 'none'", "form-action 'none'"} {
			if !slices.Contains(rules, rule) {
				t.Errorf("GET %s: the policy %q lacks %q", path, rules, rule)
			}
		}
	}
}
