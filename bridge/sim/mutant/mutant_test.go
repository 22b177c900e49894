package mutant

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// root is the top of the tree, as this package's tests see it.
const root = "../../.."

// mutant is the code without one of its guards.
type mutant struct {
	name  string // what it does wrong
	rule  int    // of the package's comment
	edits []edit
	tests tests // the quickest that should notice
}

// edit is one text in the place of another, which the file has exactly once.
type edit struct {
	file     string // from the top of the tree
	old, new string
}

// tests are those of one package that a pattern names.
type tests struct {
	folder string
	run    string
}

// in names tests of a package.
func in(folder string, names ...string) tests {
	return tests{folder, "^(" + strings.Join(names, "|") + ")$"}
}

// mutated returns the changed files of a mutant by name.
func (m *mutant) mutated() (map[string][]byte, error) {
	out := map[string][]byte{}
	for _, e := range m.edits {
		text, ok := out[e.file]
		if !ok {
			var err error
			if text, err = os.ReadFile(filepath.Join(root, e.file)); err != nil {
				return nil, fmt.Errorf("read what %q changes: %w", m.name, err)
			}
		}
		if n := strings.Count(string(text), e.old); n != 1 {
			return nil, fmt.Errorf("%s has the text of %q %d times, want once:\n%s", e.file, m.name, n, e.old)
		}
		out[e.file] = []byte(strings.Replace(string(text), e.old, e.new, 1))
	}
	return out, nil
}

// overlay writes a mutant's files to a folder of their own, and the list by
// which the go command takes them for those of the tree.
func (m *mutant) overlay(t *testing.T) string {
	t.Helper()
	files, err := m.mutated()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	var list struct{ Replace map[string]string }
	list.Replace = map[string]string{}
	for name, text := range files {
		from, err := filepath.Abs(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(dir, strings.ReplaceAll(name, "/", "-"))
		if err := os.WriteFile(to, text, 0o600); err != nil {
			t.Fatal(err)
		}
		list.Replace[from] = to
	}
	body, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(path, body, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
