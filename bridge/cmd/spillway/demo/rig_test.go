package demo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"spillway.sh/spillway/bridge/cmd/spillway/stage"
)

// exe is the binary under test, built once.
var exe string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "spillway-exe-")
	if err == nil {
		exe, err = stage.Build(context.Background(), dir)
	}
	code := 1
	if err == nil {
		code = m.Run()
	}
	if err = errors.Join(err, os.RemoveAll(dir)); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

func newRig(t *testing.T) *rig {
	t.Helper()
	dir, err := os.MkdirTemp("", "spillway-kill-") //nolint:usetesting // Users of the cluster enter it; none but its owner enters t.TempDir.
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	r := &rig{Stage: &stage.Stage{Dir: dir, Exe: exe}}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
		defer cancel()
		if err := r.close(ctx); err != nil {
			t.Error(err)
		}
	})
	for _, start := range []func(context.Context) error{
		func(ctx context.Context) error { return r.startCluster(ctx, "22.05", os.Stderr) }, r.startClouds, r.startDaemon,
	} {
		if err := start(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// wait polls until a condition holds, at the earliest after a time.
func wait(ctx context.Context, t *testing.T, what string, ok func() bool, after time.Duration) {
	t.Helper()
	timer := time.NewTimer(after)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			t.Fatalf("wait until %s: %v", what, ctx.Err())
		case <-timer.C:
			if ok() {
				return
			}
			timer.Reset(100 * time.Millisecond)
		}
	}
}

// The ordinary binary has no crash points, whatever its environment says.
func TestTheBinaryHasNoCrashPoints(t *testing.T) {
	program, err := os.ReadFile(exe)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(program, []byte("SPILLWAY_CONFIG")) || bytes.Contains(program, []byte("SPILLWAY_CRASH_AT")) {
		t.Error("names of environment variables are not found, or the one of crash points is")
	}
}
