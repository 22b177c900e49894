package node_test

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"spillway.sh/spillway/bridge"
)

func TestAFitMachineJoinsAndReports(t *testing.T) {
	in(t, func(r *rig) {
		r.start()
		r.pass(time.Second)
		last := r.last()
		if last.Health != bridge.HealthFit || r.started() != 1 || last.Busy || last.GPUPM != -1 || last.Notice != nil {
			t.Errorf("%d starts, report %+v", r.started(), last)
		}
		for _, c := range last.Checks {
			if !c.OK {
				t.Errorf("check %s of a fit machine: %s", c.Name, c.Got)
			}
		}
		n := len(r.reports)
		r.pass(time.Minute)
		if more := len(r.reports) - n; more < 11 || more > 13 {
			t.Errorf("%d reports in a minute, want one every five seconds", more)
		}
		if _, err := os.Stat(r.path("ticket")); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the used ticket is still there: %v", err)
		}
		kept, err := os.ReadFile(r.path("agent/grant.json"))
		if err != nil || strings.Contains(string(kept), "secret") || strings.Contains(string(kept), "\"lease\": \"lease\"") {
			t.Errorf("what is kept holds secrets: %s, %v", kept, err)
		}
	})
}

func TestARestartedAgentGoesOnWithoutEnrollingAgain(t *testing.T) {
	in(t, func(r *rig) {
		r.start()
		r.pass(time.Minute)
		r.end()
		r.start()
		r.pass(time.Minute)
		if r.enrols != 1 || r.started() != 2 || r.last().Health != bridge.HealthFit {
			t.Errorf("%d enrolments, %d starts, %s", r.enrols, r.started(), r.last().Health)
		}
		r.isOn()
	})
}

// A restart between the answer and the writing of its secrets enrols again: the
// ticket is still good.
func TestARestartBeforeTheSecretsAreWrittenEnrolsAgain(t *testing.T) {
	in(t, func(r *rig) {
		r.broken = errors.New("no disk")
		r.start()
		r.pass(time.Minute)
		r.end()
		r.set(func() { r.broken = nil })
		r.start()
		r.pass(time.Minute)
		if r.enrols != 2 || r.last().Health != bridge.HealthFit {
			t.Errorf("%d enrolments, %s", r.enrols, r.last().Health)
		}
	})
}

// F38: what fails while the machine gets ready is told by name, in the machine's
// own words, and is tried again.
func TestS_F38_AFailedPreparationIsTold(t *testing.T) {
	in(t, func(r *rig) {
		r.broken = errors.New("munge refuses its key")
		r.start()
		r.pass(20 * time.Second)
		last := r.last()
		if last.Health != bridge.HealthChecking || len(last.Stages) != 1 || last.Stages[0].OK || last.Stages[0].Text != "munge refuses its key" || r.started() > 0 {
			t.Fatalf("%+v with %d starts", last, r.started())
		}
		r.set(func() { r.broken = nil })
		r.pass(time.Minute)
		if last := r.last(); last.Health != bridge.HealthFit || !last.Stages[0].OK {
			t.Errorf("once it is well: %+v", last)
		}
	})
}

// F47 and F83: nothing joins before the machine is what was asked for. What may
// still come is waited for.
func TestS_F47_S_F83_NothingJoinsBeforeItsMountsAreThere(t *testing.T) {
	in(t, func(r *rig) {
		r.grant.Wants.Mounts = []string{r.path("home")}
		r.start()
		r.pass(30 * time.Second)
		if last := r.last(); last.Health != bridge.HealthChecking || last.Checks[0].Name != "mounts" || last.Checks[0].OK || r.started() > 0 {
			t.Fatalf("%d starts, %+v", r.started(), last)
		}
		if err := os.Mkdir(r.path("home"), 0o755); err != nil {
			t.Fatal(err)
		}
		r.pass(10 * time.Second)
		if last := r.last(); last.Checks[0].Got != r.path("home")+": not mounted" {
			t.Errorf("a plain folder passes for a mount: %+v", last.Checks[0])
		}
		r.write("mounts", "1 0 8:1 / / rw - ext4 /dev/sda rw\n2 1 0:40 / "+r.path("home")+" rw - nfs4 head:/home rw\n")
		r.pass(10 * time.Second)
		if last := r.last(); last.Health != bridge.HealthFit || r.started() != 1 {
			t.Errorf("%d starts, %+v", r.started(), last)
		}
	})
}

func TestS_F83_AMachineWithoutItsMountsIsUnfit(t *testing.T) {
	in(t, func(r *rig) {
		r.grant.Wants.Mounts, r.grant.Wants.Patience = []string{r.path("home")}, 30*time.Second
		r.start()
		r.pass(time.Minute)
		last := r.last()
		if last.Health != bridge.HealthUnfit || r.started() > 0 || !strings.Contains(last.Checks[0].Got, "no such file") {
			t.Errorf("%d starts, %+v", r.started(), last)
		}
		r.isOn() // It is the bridge that gives it back.
	})
}

func TestAWrongNumberOfGPUsIsUnfitAtOnce(t *testing.T) {
	in(t, func(r *rig) {
		r.grant.Wants.GPUs = 8
		if err := mknod(r.path("dev/nvidia0"), r.path("dev/nvidia1"), r.path("dev/nvidia2")); err != nil {
			t.Fatal(err)
		}
		r.write("dev/nvidia3", "a file is no device")
		r.start()
		r.pass(time.Second)
		last := r.last()
		if last.Health != bridge.HealthUnfit || last.Checks[0].Name != "gpus" || last.Checks[0].Got != "3, by their device nodes" || last.Checks[0].Want != "8" || r.started() > 0 {
			t.Errorf("%d starts, %+v", r.started(), last)
		}
	})
}

func TestACheckThatIsTurnedOffIsNotMade(t *testing.T) {
	in(t, func(r *rig) {
		r.grant.Wants.GPUs, r.grant.Wants.Off = 8, []string{"gpus", "xid"}
		r.start()
		r.pass(time.Second)
		if last := r.last(); last.Health != bridge.HealthFit || len(last.Checks) != 2 {
			t.Errorf("%+v", last)
		}
	})
}

func TestTheSitesOwnCheckIsAskedUntilItEndsWell(t *testing.T) {
	in(t, func(r *rig) {
		r.write("ready", "#!/bin/sh\necho not yet\nexit 1\n")
		r.start()
		r.pass(20 * time.Second)
		if last := r.last(); last.Health != bridge.HealthChecking || !strings.HasPrefix(last.Checks[0].Got, "not yet: exit status 1") {
			t.Errorf("%+v", last)
		}
		r.write("ready", "#!/bin/sh\necho all there\n")
		r.pass(10 * time.Second)
		if last := r.last(); last.Health != bridge.HealthFit || r.started() != 1 {
			t.Errorf("%+v", last)
		}
	})
}

func TestNoticesAreToldAtOnceOnceAndTakenBack(t *testing.T) {
	in(t, func(r *rig) {
		r.every = time.Minute
		r.start()
		r.pass(10 * time.Second)
		n, seen := len(r.reports), r.began.Add(10*time.Second)
		at := r.began.Add(10 * time.Minute)
		r.set(func() { r.notice = &bridge.Warning{Source: "x", Advice: true} })
		r.pass(2 * time.Second)
		if last := r.last(); len(r.reports) != n+1 || last.Notice == nil || !last.Notice.Advice || last.Notice.Seen.Sub(seen) > time.Second {
			t.Fatalf("an advice: %d more reports, %+v", len(r.reports)-n, last.Notice)
		}
		r.set(func() { r.notice = &bridge.Warning{Source: "x", At: at} })
		r.pass(2 * time.Second)
		first := r.last()
		if want := (&bridge.Warning{Source: "x", At: at.UTC(), Seen: first.Notice.Seen}); !cmp.Equal(first.Notice, want) || len(r.reports) != n+2 {
			t.Errorf("the notice: %d more reports, %+v", len(r.reports)-n, first.Notice)
		}
		r.pass(20 * time.Second) // The same, twenty times over, is no news.
		if len(r.reports) != n+2 {
			t.Errorf("a notice that repeats was told %d times", len(r.reports)-n-1)
		}
		r.set(func() { r.notice = &bridge.Warning{Source: "x", At: at.Add(-time.Minute)} })
		r.pass(2 * time.Second)
		if last := r.last(); !last.Notice.At.Equal(at.Add(-time.Minute)) || !last.Notice.Seen.Equal(first.Notice.Seen) {
			t.Errorf("a notice that moved: %+v", last.Notice)
		}
		r.set(func() { r.blind = errors.New("time-out") })
		r.pass(30 * time.Second)
		if r.last().Notice == nil {
			t.Error("a service that does not answer takes a notice back")
		}
		r.set(func() { r.blind, r.notice = nil, nil })
		r.pass(2 * time.Second)
		if r.last().Notice != nil {
			t.Errorf("a notice that was taken back: %+v", r.last().Notice)
		}
	})
}

func TestBlindnessIsTold(t *testing.T) {
	in(t, func(r *rig) {
		r.start()
		r.pass(10 * time.Second)
		r.set(func() { r.blind = errors.New("time-out") })
		r.pass(50 * time.Second)
		if r.last().Checks[0].Name == "notices" {
			t.Error("blind after less than a minute")
		}
		r.pass(20 * time.Second)
		last := r.last()
		if c := last.Checks[0]; c.Name != "notices" || c.OK || c.Got != "played: time-out" || last.Health != bridge.HealthFit {
			t.Errorf("%+v", last)
		}
		r.set(func() { r.blind = nil })
		r.pass(10 * time.Second)
		if r.last().Checks[0].Name == "notices" {
			t.Error("still blind")
		}
	})
}

// F40: a machine that is shut down tells the cluster before its daemon stops, and
// waits for its job to be brought to safety.
func TestS_F40_AShutdownIsToldBeforeTheDaemonStops(t *testing.T) {
	in(t, func(r *rig) {
		r.busy = true
		r.start()
		r.pass(10 * time.Second)
		r.set(func() { r.stopping = true })
		r.stop()
		r.pass(5 * time.Second)
		if last := r.last(); last.Notice == nil || last.Notice.Source != "shutdown" || last.Notice.At.IsZero() {
			t.Fatalf("%+v", last.Notice)
		}
		select {
		case <-r.done:
			t.Fatal("the agent did not wait for the job")
		default:
		}
		r.set(func() { r.busy = false })
		r.pass(2 * time.Second)
		select {
		case err := <-r.done:
			r.done <- err
		default:
			t.Error("the agent holds up a machine on which nothing runs")
		}
	})
}

func TestAnAgentThatIsRenewedSaysNothing(t *testing.T) {
	in(t, func(r *rig) {
		r.busy = true
		r.start()
		r.pass(10 * time.Second)
		r.end()
		if r.last().Notice != nil {
			t.Errorf("%+v", r.last().Notice)
		}
		r.isOn()
	})
}
