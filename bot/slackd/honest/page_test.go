package honest

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const pageSource = "../web"

// buildPage builds the page of ../web, or the one of pictures, in a fresh
// folder with the locked compiler, and returns where it is.
func buildPage(t *testing.T, args ...string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "web")
	if err := os.CopyFS(dir, os.DirFS(pageSource)); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(dir, "dist")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(install(t, os.DirFS(pageSource)), filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	runIn(t, dir, nil, time.Minute, node(t), "node_modules/typescript/bin/tsc")
	runIn(t, dir, nil, time.Minute, node(t), append([]string{"build.mjs", "dist"}, args...)...)
	return filepath.Join(dir, "dist")
}

// contents are the files of a folder, by name.
func contents(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		out[name], err = os.ReadFile(filepath.Join(dir, name))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// sums are short enough to be shown.
func sums(files map[string][]byte) map[string]string {
	out := map[string]string{}
	for name, text := range files {
		out[name] = fmt.Sprintf("%d bytes, sha256 %x", len(text), sha256.Sum256(text))
	}
	return out
}

// TestPageIsBuiltFromItsSource is what `make page` runs with -update.
func TestPageIsBuiltFromItsSource(t *testing.T) {
	built := contents(t, buildPage(t))
	kept := filepath.Join(pageSource, "dist")
	if *update {
		if err := os.RemoveAll(kept); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(kept, 0o755); err != nil {
			t.Fatal(err)
		}
		for name, text := range built {
			if err := os.WriteFile(filepath.Join(kept, name), text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	if diff := cmp.Diff(sums(contents(t, kept)), sums(built)); diff != "" {
		t.Errorf("bot/slackd/web/dist is not what its source builds (run `make page`), -kept +built:\n%s", diff)
	}
}

func TestPageInABrowser(t *testing.T) {
	t.Log(Judge(t, "page.test.mjs", serve(t).env()...))
}
