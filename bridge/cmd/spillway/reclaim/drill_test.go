package reclaim

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"spillway.sh/spillway/bridge/cloud/local/wire"
	"spillway.sh/spillway/bridge/cmd/spillway/drill"
	"spillway.sh/spillway/bridge/desk"
	"spillway.sh/spillway/bridge/desk/socket"
	"spillway.sh/spillway/bridge/sandbox"
	"spillway.sh/spillway/slurm/slurmtest"
)

// TestDrill tries offers out with the real binary: a machine that is fit, one
// that comes with fewer GPUs than were paid for, and a folder that is not
// there. Whatever comes of it, nothing is left.
func TestDrill(t *testing.T) {
	// An idle machine is one whose probe has not started yet.
	s := &siege{rig: newRigOn(t, slurmtest.Options{Version: "22.05", Overlays: 30}, "idle: 3s", "idle: 1m")}
	s.scratch = s.folder(s.cluster.SharedDir())
	s.until(time.Minute, "cluster and offers are seen", func() bool {
		a, err := socket.Call(t.Context(), s.client, desk.AskQuote, desk.QuoteRequest{Wish: desk.Wish{Machines: 1, Type: "s.gpu8", Seconds: 180, Project: "vision"}})
		return err == nil && len(a.Offers) > 0 && a.Offers[0].Outcome == desk.AtOnce
	})
	got, said, code := s.drill(s.scratch)
	if code != 0 || !got.Fit || got.Cost.Micro <= 0 || got.Held.Micro <= got.Cost.Micro {
		t.Errorf("a machine that is fit: exit %d, %+v\n%s", code, got, said)
	}
	var names []string
	for _, step := range got.Steps {
		names = append(names, step.Name)
	}
	want := []string{"order", "create", "boot, check and join", "let in", "start of the job", "gpus", "disk", "network", "checkpoint-write", "checkpoint-read", "give back and settle"}
	if !slices.Equal(names, want) {
		t.Errorf("steps %q, want %q", names, want)
	}
	if n := strings.Count(said, "\n["); n != len(want)-1 || !strings.Contains(said, "[###########]") {
		t.Errorf("the bar shows %d steps:\n%s", n+1, said)
	}
	s.nothingLeft("a drill that went well")

	must(t, s.fault(wire.Fault{Kind: wire.FaultWrongGPUs, Op: "create", Count: 1}))
	got, said, code = s.drill(s.scratch)
	if code != 7 || got.Fit || len(got.Wrong) == 0 || !strings.Contains(strings.Join(got.Wrong, " "), "gpus: 7, by their device nodes, not 8") {
		t.Errorf("a machine with seven GPUs: exit %d, %+v\n%s", code, got, said)
	}
	s.nothingLeft("a drill of an unfit machine")

	s.untoldDrills()
}

// untoldDrills are those that the first were not: a folder that is not there or
// takes nothing, and one that is broken off.
func (s *siege) untoldDrills() {
	_, said, code := s.drill(filepath.Join(s.scratch, "missing"))
	if code != 2 || !strings.Contains(said, "is no folder here") {
		s.t.Errorf("a folder that is not there: exit %d\n%s", code, said)
	}

	closed := filepath.Join(s.scratch, "closed")
	must(s.t, os.Mkdir(closed, 0o555))
	got, said, code := s.drillBy(s.asOrdinaryUser, closed)
	want := []string{"checkpoint-write: ", "checkpoint-read: "}
	if code != 7 || got.Fit || len(got.Wrong) != 2 || !strings.HasPrefix(got.Wrong[0], want[0]) || !strings.HasPrefix(got.Wrong[1], want[1]) || !strings.Contains(got.Wrong[0], "Permission denied") {
		s.t.Errorf("a folder that takes nothing: exit %d, %+v\n%s", code, got, said)
	}
	s.nothingLeft("a drill that could not write")

	got, said, code = s.drillBy(s.interrupted, s.scratch)
	if n := len(got.Wrong); code != 7 || n != 1 || !strings.HasSuffix(got.Wrong[0], ": interrupted") || got.Steps[len(got.Steps)-1].Name != "give back and settle" {
		s.t.Errorf("a drill that is interrupted: exit %d, %+v\n%s", code, got, said)
	}
	s.nothingLeft("a drill that was interrupted")
}

// asOrdinaryUser runs the probe as alice, by the commands on PATH, as for
// somebody who cannot read the configuration.
func (s *siege) asOrdinaryUser(c *exec.Cmd) error {
	for i, arg := range c.Args {
		if arg == "--config" {
			c.Args[i+1] = s.path("unread.yaml")
		}
	}
	c.Args = append(c.Args, "--socket", s.path("spillway.sock"))
	c.Env = append(os.Environ(), "PATH="+s.cluster.BinDir(sandbox.Alice)+":"+os.Getenv("PATH"))
	return c.Run()
}

// interrupted presses Ctrl-C once something is rented.
func (s *siege) interrupted(c *exec.Cmd) error {
	must(s.t, c.Start())
	s.until(time.Minute, "something is rented", func() bool { return len(s.rentals()) > 0 })
	must(s.t, c.Process.Signal(os.Interrupt))
	return c.Wait()
}

// drill runs the command and returns its answer, what it told on the way, and
// its exit code.
func (s *siege) drill(dir string) (drill.Result, string, int) {
	s.t.Helper()
	return s.drillBy((*exec.Cmd).Run, dir)
}

func (s *siege) drillBy(run func(*exec.Cmd) error, dir string) (drill.Result, string, int) {
	s.t.Helper()
	c := exec.CommandContext(s.t.Context(), exe, "drill", "--config", s.path("spillway.yaml"), "--type", "s.gpu8", "--spot", "-A", "vision",
		"--dir", dir, "--size", "8", "--within", "3m", "--yes", "-o", "json")
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	err := run(c)
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		s.t.Fatal(err)
	}
	var r drill.Result
	if out.Len() > 0 {
		must(s.t, json.Unmarshal(out.Bytes(), &r))
	}
	s.t.Logf("%s\n%s", errs.String(), out.String())
	return r, errs.String(), c.ProcessState.ExitCode()
}

// nothingLeft checks that no rental, job or file of a drill remains.
func (s *siege) nothingLeft(what string) {
	s.t.Helper()
	s.until(time.Minute, "all given back after "+what, func() bool { return len(s.rentals()) == 0 })
	s.until(time.Minute, "the probe is gone after "+what, func() bool { return !strings.Contains(s.queue(), "drill") })
	files, err := filepath.Glob(filepath.Join(s.scratch, ".spillway-drill*"))
	must(s.t, err)
	if len(files) > 0 {
		s.t.Errorf("%s leaves %q", what, files)
	}
}
