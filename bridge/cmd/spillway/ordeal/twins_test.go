package ordeal

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/cloud/local/wire"
	"spillway.sh/spillway/bridge/cmd/spillway/stage"
	"spillway.sh/spillway/bridge/desk/socket"
	"spillway.sh/spillway/bridge/sim/soak"
)

// heirs is a trial whose daemon is replaced by another one on the same store
// while it is stopped, as when the lock lies on a file system that forgets
// locks. All of them give machines the same address to come to.
type heirs struct {
	*trial
	stopped *exec.Cmd
	who     string // that is stopped
	leads   string
	n       int
}

func newHeirs(t *testing.T, name string) *heirs {
	t.Helper()
	must(t, raised())
	r := &heirs{leads: "daemon"}
	r.trial = newTrial(t, name, `listen: "{{.Enrol}}"`, `listen: "{{.Enrol}}", advertise: "https://`+ground.Enrol()+`"`)
	r.configure("daemon", r.Gateway("7444"))
	t.Cleanup(func() {
		if r.stopped != nil {
			_ = r.stopped.Process.Signal(syscall.SIGCONT) // it may have ended
			must(t, stage.End(r.stopped))
		}
	})
	return r
}

// replace stops the daemon that leads and starts another one, which listens at
// an address of its own.
func (r *heirs) replace(listen string) {
	r.t.Helper()
	r.stopped, r.who = r.daemon, r.leads
	must(r.t, r.stopped.Process.Signal(syscall.SIGSTOP))
	at := time.Now()
	must(r.t, os.Remove(r.own("state", "spillway.lock")))
	r.n++
	r.leads = fmt.Sprint("heir", r.n)
	r.configure(r.leads, listen)
	var err error
	r.daemon, err = r.StartDaemon(r.t.Context(), r.log(r.leads), r.config(r.leads), r.socket(r.leads))
	must(r.t, err)
	r.client.Close()
	r.client = socket.NewClient(r.socket(r.leads))
	r.pause(time.Until(at.Add(3 * time.Second))) // longer than two of its looks
}

// late lets the one that was stopped go on: it must say why it ends, and end.
func (r *heirs) late(moment string) {
	r.t.Helper()
	must(r.t, r.stopped.Process.Signal(syscall.SIGCONT))
	r.until(15*time.Second, "the one stopped "+moment+" has ended", func() bool { return stage.Ended(r.stopped) })
	var exit *exec.ExitError
	if err := r.stopped.Wait(); !errors.As(err, &exit) || exit.ExitCode() < 1 {
		r.t.Errorf("%s: it ended with %v, want an exit code that says so", moment, err)
	}
	if log := r.Log(r.log(r.who)); !strings.Contains(log, "spillway: ") || !strings.Contains(log, bridge.ErrEpoch.Error()) {
		r.t.Errorf("%s: it does not say that another has taken over:\n%s", moment, log)
	}
}

// A daemon that was stopped for longer than anybody waits, while another one
// took over its store, ends when it goes on, whatever it was doing: with a clear
// message, without a write that is accepted and without a second machine.
func TestT11_PausedDaemonComesBackTooLate(t *testing.T) {
	for n := range passes() {
		r := newHeirs(t, fmt.Sprint("heirs", n))
		r.start()
		r.until(30*time.Second, "a first look", func() bool { return r.problems() == "" })
		r.replace(r.Gateway("7445"))
		r.fault(wire.Fault{Kind: wire.FaultSlow, Op: "create", Delay: wire.Duration(5 * time.Second), Count: 1})
		j := r.submit(1)
		r.until(time.Minute, "the second creates", func() bool { return r.has(bridge.StateLaunching) })
		r.late("before it reserved")
		r.replace(r.Enrol())
		r.late("inside a create call")
		r.until(time.Minute, "the third has it run", func() bool { return r.runs(j) })
		r.fault(wire.Fault{Kind: wire.FaultSlow, Op: "terminate", Delay: wire.Duration(4 * time.Second), Count: 1})
		r.until(time.Minute, "it drains", func() bool { return r.has(bridge.StateDraining, bridge.StateReleasing) })
		r.replace(r.Gateway("7446"))
		r.late("while it drained")
		r.over(1)
	}
}

// passes is how often it is played.
func passes() int {
	if soak.Long() {
		return 10
	}
	return 1
}

// With its lock in place no second one starts.
func TestT11_SecondDaemonIsRefused(t *testing.T) {
	r := newTrial(t, "refused")
	r.start()
	r.configure("second", r.Gateway("7444"))
	out, err := exec.CommandContext(t.Context(), r.Exe, "run", "--config", r.config("second")).CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() < 1 || !strings.Contains(string(out), "store is in use") {
		t.Errorf("the second daemon ended with %v: %s", err, out)
	}
	if _, ok := r.rentals(); !ok {
		t.Error("the first no longer answers")
	}
}
