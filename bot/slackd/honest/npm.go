package honest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/gofrs/flock"
)

//go:embed package.json package-lock.json apps
var files embed.FS

// Judge runs one program of apps, which are tests for Node.js, and returns what
// it says. SLACKD_URL and SLACKD_TOKENS in env name the local Slack: its
// address, and the folder of its tokens.
func Judge(t testing.TB, program string, env ...string) string {
	t.Helper()
	return runIn(t, workshop(t), env, 4*time.Minute, node(t), "--test", "--test-reporter=spec", program)
}

// install is the node_modules of a folder's package-lock.json, in the cache.
// Processes that ask at the same time install once.
func install(t testing.TB, from fs.FS) string {
	t.Helper()
	lists := []string{"package.json", "package-lock.json"}
	sum := sha256.New()
	for _, name := range lists {
		text, err := fs.ReadFile(from, name)
		if err != nil {
			t.Fatal(err)
		}
		sum.Write(text)
	}
	home := filepath.Join(cacheDir(t), "npm", hex.EncodeToString(sum.Sum(nil)[:6]))
	modules := filepath.Join(home, "node_modules")
	if err := os.MkdirAll(filepath.Dir(home), 0o700); err != nil {
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
	fresh, err := os.MkdirTemp(filepath.Dir(home), "new-") //nolint:usetesting // It becomes the cache, which outlives the test.
	if err != nil {
		t.Fatal(err)
	}
	lay(t, from, fresh, lists...)
	// No package runs a script of its own: what they bring is enough.
	runIn(t, fresh, nil, 8*time.Minute, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
	if err := os.Rename(fresh, home); err != nil {
		t.Fatal(err)
	}
	return modules
}

func cacheDir(t testing.TB) string {
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
func node(t testing.TB) string {
	t.Helper()
	arch := map[string]string{"amd64": "x64", "arm64": "arm64"}[runtime.GOARCH]
	return filepath.Join(install(t, files), "node-linux-"+arch, "bin", "node")
}

// workshop is a folder with our programs beside the packages that they import.
func workshop(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	programs, err := fs.Glob(files, "apps/*.mjs")
	if err != nil {
		t.Fatal(err)
	}
	lay(t, files, dir, programs...)
	if err := os.Symlink(install(t, files), filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// lay writes files into a folder, by their last names.
func lay(t testing.TB, from fs.FS, dir string, names ...string) {
	t.Helper()
	for _, name := range names {
		text, err := fs.ReadFile(from, name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(name)), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// try runs a program and returns everything it wrote.
func try(t testing.TB, dir string, env []string, within time.Duration, program string, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...) //nolint:gosec // Tests run what they name.
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	cmd.WaitDelay = 5 * time.Second
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("run %s: %w", filepath.Base(program), err)
	}
	return out.String(), nil
}

// runIn is try for what has to succeed.
func runIn(t testing.TB, dir string, env []string, within time.Duration, program string, args ...string) string {
	t.Helper()
	out, err := try(t, dir, env, within, program, args...)
	if err != nil {
		t.Fatalf("%v: %s\n%s", err, strings.Join(args, " "), out)
	}
	return out
}
