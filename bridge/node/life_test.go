package node_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func mknod(paths ...string) error {
	for _, p := range paths {
		if err := unix.Mknod(p, unix.S_IFCHR|0o600, int(unix.Mkdev(1, 3))); err != nil {
			return err
		}
	}
	return nil
}

const over = "the rental is over"

func TestTheMachineIsOffAtItsEndWhateverRuns(t *testing.T) {
	in(t, func(r *rig) {
		r.busy = true
		r.start()
		r.pass(59 * time.Minute)
		r.isOn()
		r.pass(90 * time.Second)
		r.isOff(time.Hour, over)
	})
}

func TestAnExtensionIsFollowed(t *testing.T) {
	in(t, func(r *rig) {
		r.start()
		r.pass(30 * time.Minute)
		r.set(func() { r.grant.Expires = r.began.Add(2 * time.Hour) })
		r.pass(time.Hour)
		r.isOn()
		if text, err := os.ReadFile(r.path("agent/end")); err != nil || strings.TrimSpace(string(text)) != "7200" {
			t.Errorf("the boot script is told %q, %v; want 7200 s of being up", text, err)
		}
		r.pass(31 * time.Minute)
		r.isOff(2*time.Hour, over)
	})
}

func TestAnEndThatComesNearerIsFollowedToo(t *testing.T) {
	in(t, func(r *rig) {
		r.start()
		r.pass(10 * time.Minute)
		r.set(func() { r.grant.Expires = r.began.Add(20 * time.Minute) })
		r.pass(11 * time.Minute)
		r.isOff(20*time.Minute, over)
	})
}

// A poweroff that does not work is tried again.
func TestAMachineThatStaysOnIsSwitchedOffAgain(t *testing.T) {
	in(t, func(r *rig) {
		r.stuck = true
		r.start()
		r.pass(62 * time.Minute)
		if n := len(r.off); n < 3 || n > 5 {
			t.Errorf("switched off %d times in two minutes", n)
		}
		r.end()
	})
}

func TestARentalThatHasEndedIsOffAtOnce(t *testing.T) {
	in(t, func(r *rig) {
		r.busy = true
		r.start()
		r.pass(10 * time.Minute)
		r.set(func() { r.gone = true })
		r.pass(10 * time.Second)
		r.isOff(10*time.Minute, "the rental has ended")
	})
}

// Clocks that are stepped, on either side, end nothing early or late.
func TestClocksThatStepEndNothing(t *testing.T) {
	for name, step := range map[string]time.Duration{"ahead": 48 * time.Hour, "back": -48 * time.Hour} {
		t.Run("the machine's, "+name, func(t *testing.T) {
			in(t, func(r *rig) {
				r.start()
				r.pass(10 * time.Minute)
				r.set(func() { r.wrong = step })
				r.pass(49 * time.Minute)
				r.isOn()
				r.pass(90 * time.Second)
				r.isOff(time.Hour, over)
			})
		})
		t.Run("the machine's from the start, "+name, func(t *testing.T) {
			in(t, func(r *rig) {
				r.wrong = step
				r.grant.Wants.Off = []string{"clock"}
				r.start()
				r.pass(59 * time.Minute)
				r.isOn()
				r.pass(90 * time.Second)
				r.isOff(time.Hour, over)
			})
		})
		t.Run("the bridge's and all it says, "+name, func(t *testing.T) {
			in(t, func(r *rig) {
				r.ahead = step
				r.grant.Wants.Off = []string{"clock"}
				r.start()
				r.pass(59 * time.Minute)
				r.isOn()
				r.pass(90 * time.Second)
				r.isOff(time.Hour, over)
			})
		})
	}
}

// A machine whose clock says that it is over already waits for the bridge's word.
func TestAClockThatIsAheadIsNotBelievedAtOnce(t *testing.T) {
	in(t, func(r *rig) {
		r.wrong, r.down = 48*time.Hour, true
		r.grant.Wants.Off = []string{"clock"}
		r.start()
		r.pass(4 * time.Minute)
		r.isOn()
		r.set(func() { r.down = false })
		r.pass(55 * time.Minute)
		r.isOn()
		r.pass(90 * time.Second)
		r.isOff(time.Hour, over)
	})
}

func TestAMachineWithAWrongClockIsUnfit(t *testing.T) {
	in(t, func(r *rig) {
		r.wrong = 10 * time.Minute
		r.grant.Wants.Patience = 20 * time.Second
		r.start()
		r.pass(10 * time.Second)
		if c := r.last().Checks[0]; c.Name != "clock" || c.OK || c.Got != "+600.0 s from the bridge's" || c.Want != "within 1m0s" {
			t.Errorf("%+v", c)
		}
		r.set(func() { r.wrong = 0 }) // The time service has set it.
		r.pass(10 * time.Second)
		if r.last().Health != "fit" {
			t.Errorf("%+v", r.last())
		}
	})
}

// An agent that cannot reach the bridge keeps a machine that works, and switches
// off one that only costs.
func TestABridgeThatIsAwayEndsOnlyWhatIsIdle(t *testing.T) {
	t.Run("idle", func(t *testing.T) {
		in(t, func(r *rig) {
			r.start()
			r.pass(5 * time.Minute)
			r.set(func() { r.down = true })
			r.pass(14 * time.Minute)
			r.isOn()
			r.pass(2 * time.Minute)
			r.isOff(20*time.Minute, "")
			if !strings.HasPrefix(r.off[0], "the bridge was not heard of for 15m") {
				t.Errorf("%s", r.off)
			}
		})
	})
	t.Run("busy, then idle", func(t *testing.T) {
		in(t, func(r *rig) {
			r.busy = true
			r.start()
			r.pass(5 * time.Minute)
			r.set(func() { r.down = true })
			r.pass(40 * time.Minute)
			r.isOn()
			r.set(func() { r.busy = false })
			r.pass(30 * time.Second)
			r.isOff(45*time.Minute, "")
		})
	})
	t.Run("busy to the end", func(t *testing.T) {
		in(t, func(r *rig) {
			r.busy = true
			r.start()
			r.pass(5 * time.Minute)
			r.set(func() { r.down = true })
			r.pass(56 * time.Minute)
			r.isOff(time.Hour, over)
		})
	})
	t.Run("away for a while", func(t *testing.T) {
		in(t, func(r *rig) {
			r.start()
			for range 4 {
				r.set(func() { r.down = true })
				r.pass(10 * time.Minute)
				r.set(func() { r.down = false })
				r.pass(time.Minute)
			}
			r.isOn()
		})
	})
	t.Run("from the start", func(t *testing.T) {
		in(t, func(r *rig) {
			r.down = true
			r.start()
			r.pass(16 * time.Minute)
			r.isOff(15*time.Minute, "")
			if r.enrols < 20 || r.enrols > 60 {
				t.Errorf("asked %d times", r.enrols)
			}
		})
	})
	t.Run("the tags tell of an extension", func(t *testing.T) {
		in(t, func(r *rig) {
			r.busy = true
			r.start()
			r.pass(5 * time.Minute)
			r.set(func() { r.down, r.tag = true, r.began.Add(90*time.Minute).UTC() })
			r.pass(80 * time.Minute)
			r.isOn()
			r.pass(6 * time.Minute)
			r.isOff(90*time.Minute, over)
		})
	})
}

func TestAMachineThatIsRefusedIsOff(t *testing.T) {
	in(t, func(r *rig) {
		r.refuses = true
		r.start()
		r.pass(time.Second)
		r.isOff(0, "refused for good")
	})
}
