package ordeal

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/cloud/local/wire"
	"spillway.sh/spillway/bridge/cmd/spillway/stage"
)

// Told to end in the middle of a create call, once, twice, or killed while it
// ends: it ends well within what a supervisor waits, and the next one finds what
// was under way each time.
func TestToldToEnd(t *testing.T) {
	r := newTrial(t, "end")
	for _, c := range []struct {
		name    string
		signals []syscall.Signal
		within  time.Duration
		clean   bool
	}{
		{"once", []syscall.Signal{syscall.SIGTERM}, 10 * time.Second, true},
		{"twice", []syscall.Signal{syscall.SIGTERM, syscall.SIGTERM}, 10 * time.Second, false},
		{"and killed for it", []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL}, 10 * time.Second, false},
	} {
		r.start()
		r.fault(wire.Fault{Kind: wire.FaultSlow, Op: "create", Delay: wire.Duration(3 * time.Second), Count: 1})
		r.submit(1)
		r.until(time.Minute, "it is creating", func() bool { return r.has(bridge.StateLaunching) })
		at := time.Now()
		for _, s := range c.signals {
			_ = r.daemon.Process.Signal(s) // it may have ended at the first one
		}
		err := r.daemon.Wait()
		if took := time.Since(at); took > c.within {
			t.Errorf("told to end %s it took %s, %s is enough", c.name, took, c.within)
		}
		if exit := (*exec.ExitError)(nil); c.clean && err != nil || err != nil && !errors.As(err, &exit) {
			t.Errorf("told to end %s it ended with %v", c.name, err)
		}
	}
	r.start()
	r.over(len(r.jobs))
}

// A daemon that waits for something at its end, here for its Slack that does
// not answer and would be given ten seconds, waits no longer when told again.
func TestToldTwiceEndsAtOnce(t *testing.T) {
	r, _ := newTrialWithSlack(t, "twice")
	r.start()
	child := r.child("slackd")
	t.Cleanup(func() { _ = syscall.Kill(child, syscall.SIGKILL) }) // it may have ended
	must(t, syscall.Kill(child, syscall.SIGSTOP))
	r.signal(syscall.SIGTERM)
	r.pause(time.Second)
	if stage.Ended(r.daemon) {
		t.Fatal("it did not wait: nothing is shown by a second signal")
	}
	at := time.Now()
	r.signal(syscall.SIGTERM)
	err := r.daemon.Wait()
	var exit *exec.ExitError
	if took := time.Since(at); took > 4*time.Second || !errors.As(err, &exit) {
		t.Errorf("told twice it ended after %s with %v, want at once and by the signal", took, err)
	}
}

// child is the daemon's child that runs a subcommand.
func (r *trial) child(name string) int {
	r.t.Helper()
	lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", r.daemon.Process.Pid))
	must(r.t, err)
	for _, list := range lists {
		text, _ := os.ReadFile(list) // its thread may have ended
		for id := range strings.FieldsSeq(string(text)) {
			line, _ := os.ReadFile(filepath.Join("/proc", id, "cmdline")) // it may have ended
			if args := strings.Split(string(line), "\x00"); len(args) > 1 && args[1] == name {
				pid, err := strconv.Atoi(id)
				must(r.t, err)
				return pid
			}
		}
	}
	r.t.Fatalf("the daemon has no child %s", name)
	return 0
}
