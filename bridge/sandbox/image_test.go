package sandbox_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"spillway.sh/spillway/bridge/sandbox"
)

// cancelAt cancels a build when it reports a line with the mark.
type cancelAt struct {
	mark   string
	cancel context.CancelFunc
}

func (c cancelAt) Write(p []byte) (int, error) {
	if strings.Contains(string(p), c.mark) {
		c.cancel()
	}
	return len(p), nil
}

func TestABuildThatFailsOrIsStoppedLeavesNoImage(t *testing.T) {
	for name, test := range map[string]struct {
		suite, stopAt, want string
	}{
		"a suite that does not exist": {"no-such-suite", "", "build image tiny: run mmdebstrap"},
		"stopped in the middle":       {"bookworm", "running apt-get update", "build image tiny: run mmdebstrap"},
	} {
		t.Run(name, func(t *testing.T) {
			cache := t.TempDir()
			t.Setenv("SPILLWAY_CACHE", cache)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var progress bytes.Buffer
			out := cancelAt{mark: "image tiny: nothing", cancel: cancel}
			if test.stopAt != "" {
				out.mark = test.stopAt
			}
			spec := sandbox.ImageSpec{Name: "tiny", Suite: test.suite, Packages: []string{"iproute2"}}
			_, err := sandbox.EnsureImage(ctx, spec, io.MultiWriter(&progress, out))
			if err == nil || !strings.HasPrefix(err.Error(), test.want) {
				t.Errorf("EnsureImage = %v, want %s", err, test.want)
			}
			if first, _, _ := strings.Cut(progress.String(), "\n"); first != "image tiny: building from Debian "+test.suite+" (one to two minutes, once)" {
				t.Errorf("first line of progress = %q", first)
			}
			path, err := spec.Path()
			if err != nil {
				t.Fatal(err)
			}
			for _, path := range []string{path, path + ".part"} {
				if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
					t.Errorf("%s after the build: %v, want none", path, err)
				}
			}
			if mounts, err := os.ReadFile("/proc/self/mountinfo"); err != nil || bytes.Contains(mounts, []byte(cache)) {
				t.Errorf("the build left mounts below %s (%v)", cache, err)
			}
		})
	}
}
