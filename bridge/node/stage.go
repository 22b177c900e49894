package node

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"spillway.sh/spillway/bridge"
)

const (
	stageLimit = 10 * time.Minute
	hookLimit  = 10 * time.Minute
	wordsMost  = 200 // bytes kept of what a program says last
)

// runStages runs the site's programs one after the other, in the order of their
// names, and tells how each went. It stops at the first that fails and returns
// what to say of it.
func (a *Agent) runStages(ctx context.Context) (failed string) {
	entries, err := os.ReadDir(a.o.Site.Stages)
	if errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	if err != nil {
		return err.Error()
	}
	for _, e := range entries {
		path := filepath.Join(a.o.Site.Stages, e.Name())
		if strings.HasPrefix(e.Name(), ".") || !isProgram(path) {
			continue
		}
		began := a.o.Clock()
		s := bridge.Stage{Name: e.Name()}
		limit := limitOf(path)
		words, err := a.runHook(ctx, path, limit)
		if s.Took, s.Text, s.OK = a.o.Clock()-began, words, err == nil; err != nil {
			s.Text = strings.TrimPrefix(words+": "+err.Error(), ": ")
		}
		a.stage(s)
		a.o.Log.Info("stage", "name", s.Name, "ok", s.OK, "took", s.Took, "text", s.Text)
		if err != nil {
			return s.Name + ": " + s.Text
		}
	}
	return ""
}

var limitLine = regexp.MustCompile(`(?m)^#\s*spillway-limit:\s*([0-9a-z.]+)\s*$`)

// limitOf is the time a program asks for in a comment near its beginning, for
// example "# spillway-limit: 30m", else the usual.
func limitOf(path string) time.Duration {
	f, err := os.Open(path)
	if err != nil {
		return stageLimit
	}
	defer f.Close()
	head := make([]byte, 2<<10)
	n, _ := f.Read(head) // One that cannot be read cannot be run either.
	if m := limitLine.FindSubmatch(head[:n]); m != nil {
		if d, err := time.ParseDuration(string(m[1])); err == nil && d > 0 {
			return d
		}
	}
	return stageLimit
}

func (a *Agent) runHook(ctx context.Context, path string, limit time.Duration) (words string, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("not done within %s", limit))
	defer cancel()
	return runProgram(ctx, []string{"SPILLWAY_NODE=" + a.grant.Node}, path)
}

// askReady runs the site's own check.
func askReady(ctx context.Context, path string) finding {
	words, err := runProgram(ctx, nil, path)
	if err != nil {
		return finding{got: strings.TrimPrefix(words+": "+err.Error(), ": "), want: path + " ends well"}
	}
	return finding{ok: true, got: words}
}

// runProgram runs a program with all it starts, and returns the last it said.
func runProgram(ctx context.Context, env []string, path string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Dir = "/"
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	return fmt.Sprintf("%.*s", wordsMost, lines[len(lines)-1]), err
}

// output runs a program and returns what it printed.
func output(ctx context.Context, path string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if ctx.Err() != nil {
		err = fmt.Errorf("no answer in time: %w", context.Cause(ctx))
	}
	if err != nil {
		return "", fmt.Errorf("run %s: %w", filepath.Base(path), err)
	}
	return string(out), nil
}
