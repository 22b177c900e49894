package honest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/gofrs/flock"
	"go.uber.org/goleak"
)

var update = flag.Bool("update", false, "write pictures and the page's dist anew")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// install is the node_modules of a folder's package-lock.json, in the cache.
// Processes that ask at the same time install once.
func install(t *testing.T, folder string) string {
	t.Helper()
	sum := sha256.New()
	for _, name := range []string{"package.json", "package-lock.json"} {
		text, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		sum.Write(text)
	}
	cache := cacheDir(t)
	home := filepath.Join(cache, "npm", hex.EncodeToString(sum.Sum(nil)[:6]))
	modules := filepath.Join(home, "node_modules")
	if err := os.MkdirAll(filepath.Dir(home), 0o755); err != nil {
		t.Fatal(err)
	}
	lock := flock.New(home + ".lock")
	if err := lock.Lock(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := lock.Close(); err != nil {
			t.Error(err)
		}
	}()
	if _, err := os.Stat(modules); err == nil {
		return modules
	}
	fresh, err := os.MkdirTemp(filepath.Dir(home), "new-")
	if err != nil {
		t.Fatal(err)
	}
	copyInto(t, fresh, filepath.Join(folder, "package.json"), filepath.Join(folder, "package-lock.json"))
	// No package runs a script of its own: what they bring is enough.
	runIn(t, fresh, nil, 8*time.Minute, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
	if err := os.Rename(fresh, home); err != nil {
		t.Fatal(err)
	}
	return modules
}

func cacheDir(t *testing.T) string {
	t.Helper()
	if dir := os.Getenv("SPILLWAY_CACHE"); dir != "" {
		return dir
	}
	base, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(base, "spillway")
}

// node is the Node.js among the packages: Debian 12's own is older than
// Slack's clients allow.
func node(t *testing.T) string {
	t.Helper()
	arch := map[string]string{"amd64": "x64", "arm64": "arm64"}[runtime.GOARCH]
	return filepath.Join(install(t, "."), "node-linux-"+arch, "bin", "node")
}

// workshop is a folder with copies of our programs beside the packages that
// they import.
func workshop(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	programs, err := filepath.Glob("apps/*.mjs")
	if err != nil || len(programs) == 0 {
		t.Fatalf("find programs: %d, %v", len(programs), err)
	}
	copyInto(t, dir, programs...)
	if err := os.Symlink(install(t, "."), filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	return dir
}

func copyInto(t *testing.T, dir string, files ...string) {
	t.Helper()
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(name)), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// try runs a program and returns everything it wrote.
func try(t *testing.T, dir string, env []string, within time.Duration, program string, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	cmd.WaitDelay = 5 * time.Second
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.String(), err
}

// runIn is try for what has to succeed.
func runIn(t *testing.T, dir string, env []string, within time.Duration, program string, args ...string) string {
	t.Helper()
	out, err := try(t, dir, env, within, program, args...)
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", filepath.Base(program), strings.Join(args, " "), err, out)
	}
	return out
}
