package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// direct is how the daemon may use its store, clouds and clusters without passing
// through: to open, close and name them, and to answer people, which changes
// nothing.
var direct = regexp.MustCompile(`through\[[a-zA-Z.]+\]\((books\.Books\{Store: )?d\.store\}?\)|` +
	`d\.store, err = store\.Open|append\(d\.closing, d\.store\.Close\)|d\.store\.StoreID\(\)|` +
	`(Reader|Weekly): (books\.Books\{Store: )?d\.store\}?|books\.Books\{Store: d\.store\}\.CheckLedger|` +
	`range d\.site\.(clouds|clusters)|len\(d\.site\.(clouds|clusters)\)|d\.site\.(clusterNames|cloudNames)`)

// used is any use of them.
var used = regexp.MustCompile(`d\.store\b|d\.site\.(clouds|clusters)\b`)

// TestEveryPortOfTheDaemonPassesThrough keeps new code of the daemon from reaching
// the world past the crash points.
func TestEveryPortOfTheDaemonPassesThrough(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(text), "\n") {
			seen += strings.Count(line, "through[")
			if rest := direct.ReplaceAllString(line, ""); used.MatchString(rest) {
				t.Errorf("%s:%d: reaches the world past through, where crash points are: %s", name, i+1, strings.TrimSpace(line))
			}
		}
	}
	if seen < 12 {
		t.Errorf("only %d ports pass through", seen)
	}
}
