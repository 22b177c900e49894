package ordeal

import (
	"errors"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/cloud/local/wire"
)

// Told to end in the middle of a create call, the daemon ends well within what
// a supervisor waits; told twice, at once; and killed while it ends, as if it
// had been killed before. The next one finds what was under way each time.
func TestToldToEnd(t *testing.T) {
	r := newTrial(t, "end")
	for _, c := range []struct {
		name    string
		signals []syscall.Signal
		within  time.Duration
		clean   bool
	}{
		{"once", []syscall.Signal{syscall.SIGTERM}, 10 * time.Second, true},
		{"twice", []syscall.Signal{syscall.SIGTERM, syscall.SIGTERM}, time.Second, false},
		{"and killed for it", []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL}, time.Second, false},
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
