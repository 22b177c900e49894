package sandbox_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"spillway.sh/spillway/bridge/sandbox"
)

// starterVariable makes the test binary start a machine in the rig it names and
// wait to be killed.
const starterVariable = "SANDBOX_TEST_STARTER"

func TestMain(m *testing.M) {
	if rig := os.Getenv(starterVariable); rig != "" {
		if err := startAndWait(rig); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// startAndWait is the life of a process that starts two machines, says so, and
// is killed.
func startAndWait(rig string) error {
	ctx := context.Background()
	if err := sandbox.Claim(rig); err != nil {
		return err
	}
	spec, err := sandbox.SlurmImage("22.05", false)
	if err != nil {
		return err
	}
	image, err := sandbox.EnsureImage(ctx, spec, os.Stderr)
	if err != nil {
		return err
	}
	network, err := sandbox.CreateNetwork(ctx, filepath.Join(rig, "net"))
	if err != nil {
		return err
	}
	for _, detached := range []bool{false, true} {
		name := "bound"
		if detached {
			name = "detached"
		}
		if _, err := sandbox.Start(ctx, sandbox.Spec{
			Dir: filepath.Join(rig, "machines"), Name: name, Image: image, Network: network, Detached: detached,
		}); err != nil {
			return err
		}
	}
	fmt.Println("started")
	select {}
}

// killedStarter runs startAndWait in a process of its own, kills it, and
// returns once it is gone.
func killedStarter(t *testing.T, rig string) {
	t.Helper()
	starter := exec.CommandContext(t.Context(), os.Args[0])
	starter.Env = append(os.Environ(), starterVariable+"="+rig)
	starter.Stderr = os.Stderr
	out, err := starter.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := starter.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	if !lines.Scan() || lines.Text() != "started" {
		t.Fatalf("starter said %q", lines.Text())
	}
	if err := starter.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := starter.Wait(); !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("starter ended with %v, want a kill", err)
	}
}

// rig is one rig of a test: a network and what is needed to start machines on it.
type rig struct {
	dir     string
	image   sandbox.Image
	network *sandbox.Network
}

func newRig(t testing.TB) rig {
	t.Helper()
	spec, err := sandbox.SlurmImage("22.05", false)
	if err != nil {
		t.Fatal(err)
	}
	image, err := sandbox.EnsureImage(t.Context(), spec, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	network, err := sandbox.CreateNetwork(t.Context(), filepath.Join(dir, "net"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := sandbox.Sweep(context.Background(), dir); err != nil {
			t.Error(err)
		}
	})
	return rig{dir: dir, image: image, network: network}
}

func (r rig) start(t *testing.T, spec sandbox.Spec) *sandbox.Machine {
	t.Helper()
	spec.Dir, spec.Image, spec.Network = filepath.Join(r.dir, "machines"), r.image, r.network
	m, err := sandbox.Start(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return m
}

// shell runs lines on the machine as root and returns what they print.
func shell(t *testing.T, m *sandbox.Machine, lines string) string {
	t.Helper()
	out, err := m.Output(t.Context(), sandbox.Command{Args: []string{"sh", "-ec", lines}})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// eventually polls until ok says yes.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("not within 20 s: %s", what)
		}
		time.Sleep(20 * time.Millisecond)
	}
}
