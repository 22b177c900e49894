package slurm_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/sandbox"
	"spillway.sh/spillway/slurm"
)

// desktop is a folder of alice's for one test, on every node.
func (s *site) desktop(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp(filepath.Join(s.SharedDir(), "home", "alice"), "desk-") //nolint:usetesting // Shared with the machines.
	must(t, err)
	must(t, os.Chmod(dir, 0o777))
	t.Cleanup(func() { must(t, os.RemoveAll(dir)) })
	return dir
}

// read returns a file's text, empty while there is none.
func read(t *testing.T, parts ...string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(parts...))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return string(data)
}

// holds waits until a file has a line.
func (s *site) holds(t *testing.T, line string, parts ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	eventually(ctx, t, "the line "+line, func() (bool, string) {
		text := read(t, parts...)
		return slices.Contains(strings.Split(text, "\n"), line), text + s.scene()
	})
}

// runsAgain waits until a requeued job, made eligible by us, runs for the
// wanted time, and returns how long that took.
func (s *site) runsAgain(t *testing.T, c *slurm.Cluster, id bridge.JobID, restarts int) time.Duration {
	t.Helper()
	began := time.Now()
	eligible(t, c, id)
	job := s.wait(t, id, "RUNNING")
	if got := job.Fields["Restarts"]; got != fmt.Sprint(restarts) {
		t.Errorf("job %s was restarted %s times, want %d", id, got, restarts)
	}
	return time.Since(began)
}

// mend puts the local nodes back into service, after the test's context has ended.
func (s *site) mend() {
	for _, name := range []string{"local1", "local2"} {
		for _, state := range []string{"RESUME", "UNDRAIN"} { // each refuses some states
			_, _ = s.Output(context.Background(), sandbox.Account{}, "scontrol", "update", "NodeName="+name, "State="+state)
		}
	}
}

// trainer counts steps, one line each, and saves every second one aside and by
// renaming; it goes on from what it finds. More says what it traps.
func trainer(dir, more string) string {
	return fmt.Sprintf(`#!/bin/bash
cd %s; step=0; [ -s ckpt ] && step=$(cat ckpt)
save() { echo $step > ckpt.new && mv ckpt.new ckpt && echo saved-$step >> log; }
echo start-${SLURM_RESTART_COUNT:-0}-$step >> log
%s
while [ $step -lt 400 ]; do
  sleep 0.25 & wait $!
  step=$((step + 1)); echo step-$step >> log
  [ $((step %% 2)) -eq 0 ] && save
done
`, dir, more)
}

// A job that is brought back while no node fits it is set aside by slurmctld
// with priority zero, and stays so when the node is there again.
func TestS_F01_SetAsideWhileItsNodeWasMissing(t *testing.T) {
	onEach(t, func(t *testing.T, s *site) {
		c := s.adapter(sandbox.Account{})
		features := func(list string) {
			t.Helper()
			s.must(t, sandbox.Account{}, "scontrol", "update", "NodeName=local1", "AvailableFeatures="+list, "ActiveFeatures="+list)
		}
		t.Cleanup(func() {
			_, _ = s.Output(context.Background(), sandbox.Account{}, "scontrol", "update", "NodeName=local1", "AvailableFeatures=ib,rack1", "ActiveFeatures=ib,rack1")
		})
		features("ib,rack1") // a slurmctld that was restarted has forgotten them
		id := s.submit(t, sleeper, "--constraint=rack1", "--gres=gpu:8", "--mem=1000")
		s.wait(t, id, "RUNNING")
		must(t, c.Requeue(t.Context(), id))
		features("ib") // what fits the job is gone
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		eventually(ctx, t, "the job to be set aside", func() (bool, string) {
			_, err := c.Expedite(ctx, id)
			job, jerr := s.Job(ctx, string(id))
			return err == nil && jerr == nil && job.Fields["Reason"] == "BadConstraints" && job.Fields["Priority"] == "0", fmt.Sprint(job.Fields["Reason"], err, jerr)
		})
		q := observe(t, c)
		if d := demand(t, &q, id); d.Standing != bridge.StandingHelps || d.Word != "BadConstraints" || d.Restarts != 1 {
			t.Errorf("it is seen as %s (%s), %d restarts: a replacement would never be bought for it", d.Standing, d.Word, d.Restarts)
		}
		features("ib,rack1") // and is there again
		if job, err := s.Job(ctx, string(id)); err != nil || job.Fields["Priority"] != "0" {
			t.Errorf("slurmctld took it back by itself: %v, %v", job.Fields, err)
		}
		must(t, c.Nudge(t.Context(), id))
		if job, err := s.Job(t.Context(), string(id)); err != nil || job.Fields["Priority"] == "0" {
			t.Errorf("it was nudged and is set aside yet: %v, %v", job.Fields, err)
		}
		s.wait(t, id, "RUNNING")
		must(t, c.Nudge(t.Context(), id)) // of a job that runs: nothing
		if err := c.Nudge(t.Context(), "999999"); !errors.Is(err, bridge.ErrNoJob) {
			t.Errorf("nudge nobody: %v", err)
		}
	})
}

// A job with a node of its own and all its memory comes back as it was.
func TestS_F02_ExclusiveJobComesBackWithItsShape(t *testing.T) {
	onEach(t, func(t *testing.T, s *site) {
		c := s.adapter(sandbox.Account{})
		s.submit(t, sleeper, "-w", "local2", "--exclusive", "--mem=1000")
		id := s.submit(t, sleeper, "--exclusive", "--mem=0", "--hold")
		q := observe(t, c)
		before := demand(t, &q, id).Shape
		if !before.Exclusive || before.MemoryMiB != 0 {
			t.Errorf("it is seen as %+v: a node with less than all would do", before)
		}
		s.must(t, sandbox.Account{}, "scontrol", "release", string(id))
		s.wait(t, id, "RUNNING")
		must(t, c.Requeue(t.Context(), id))
		s.must(t, sandbox.Account{}, "scontrol", "update", "NodeName=local1", "State=DRAIN", "Reason=test")
		t.Cleanup(func() { s.mend() })
		eligible(t, c, id)
		q = observe(t, c)
		d := demand(t, &q, id)
		if diff := cmp.Diff(before, d.Shape); diff != "" || d.Standing == bridge.StandingDoubtful {
			t.Errorf("it waits as %s (%s); shape (-before +after):\n%s", d.Standing, d.Word, diff)
		}
		s.must(t, sandbox.Account{}, "scontrol", "update", "NodeName=local1", "State=UNDRAIN")
		s.wait(t, id, "RUNNING")
	})
}

// The script means to requeue itself ten seconds after the signal; its node may
// be gone by then. The requeue from the controller's side does it.
func TestS_F03_RequeueDoesNotDependOnTheNode(t *testing.T) {
	onEach(t, func(t *testing.T, s *site) {
		c, dir := s.adapter(sandbox.Account{}), s.desktop(t)
		id := s.submit(t, trainer(dir, "trap 'save; sleep 10; scontrol requeue $SLURM_JOB_ID' USR1"), "--mem=100")
		s.holds(t, "step-3", dir, "log")
		must(t, c.Signal(t.Context(), id, "USR1", "batch"))
		must(t, c.Requeue(t.Context(), id))
		s.runsAgain(t, c, id, 1)
		s.holds(t, "step-8", dir, "log")
		if job := s.wait(t, id, "RUNNING"); job.Fields["Restarts"] != "1" {
			t.Errorf("restarted %s times, want once", job.Fields["Restarts"])
		}
	})
}

// A script that calls every end a good one must not make its job COMPLETED.
func TestS_F05_ScriptThatExitsWellAtTermComesBack(t *testing.T) {
	onEach(t, func(t *testing.T, s *site) {
		c, dir := s.adapter(sandbox.Account{}), s.desktop(t)
		id := s.submit(t, trainer(dir, "trap 'save; exit 0' TERM"), "--mem=100")
		s.holds(t, "step-3", dir, "log")
		must(t, c.Requeue(t.Context(), id))
		s.runsAgain(t, c, id, 1)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		eventually(ctx, t, "the second run, which traps the signal", func() (bool, string) {
			text := read(t, dir, "log")
			_, second, _ := strings.Cut(text, "start-1-")
			return strings.Contains(second, "step-"), text
		})
		if state, err := c.Ending(t.Context(), id); err != nil || state != "RUNNING" {
			t.Errorf("it is %s, %v", state, err)
		}
		// Without the requeue the same signal ends it, and Ending tells.
		must(t, c.Signal(t.Context(), id, "TERM", "batch"))
		eventually(ctx, t, "the job's end", func() (bool, string) {
			state, err := c.Ending(ctx, id)
			return err == nil && state == "COMPLETED", fmt.Sprint(state, err)
		})
		if _, err := c.Ending(ctx, "999999"); !errors.Is(err, bridge.ErrNoJob) {
			t.Errorf("the end of nobody: %v", err)
		}
	})
}

// What may not be requeued is never made so, never submitted again, and keeps
// its machine until that is gone; then it ends once, and nothing takes its place.
func TestS_F69_F71_F72_NoRequeueIsHonoured(t *testing.T) {
	onEach(t, func(t *testing.T, s *site) {
		c, dir := s.adapter(sandbox.Account{}), s.desktop(t)
		id := s.submit(t, trainer(dir, "trap save USR1"), "--mem=100", "--no-requeue", "--job-name=once")
		s.holds(t, "step-3", dir, "log")
		must(t, c.Drain(t.Context(), []string{"local1"}, "reclaim"))
		must(t, c.Signal(t.Context(), id, "USR1", "batch"))
		if err := c.Requeue(t.Context(), id); !errors.Is(err, bridge.ErrNotRestartable) {
			t.Errorf("requeue: %v, want %v", err, bridge.ErrNotRestartable)
		}
		if job := s.wait(t, id, "RUNNING"); job.Fields["Requeue"] != "0" || job.Fields["Restarts"] != "0" {
			t.Errorf("Requeue=%s Restarts=%s", job.Fields["Requeue"], job.Fields["Restarts"])
		}
		steps := strings.Count(read(t, dir, "log"), "step-")
		s.holds(t, fmt.Sprintf("step-%d", steps+2), dir, "log") // it uses its last seconds
		must(t, c.Down(t.Context(), []string{"local1"}, "reclaim"))
		t.Cleanup(func() { s.mend() })
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		eventually(ctx, t, "the job's end", func() (bool, string) {
			state, err := c.Ending(ctx, id)
			return err == nil && state == "NODE_FAIL", fmt.Sprint(state, err)
		})
		if left := s.must(t, sandbox.Account{}, "squeue", "-h", "-a", "--name=once"); strings.TrimSpace(left) != "" {
			t.Errorf("something took its place: %s", left)
		}
		if n := strings.Count(read(t, dir, "log"), "start-"); n != 1 {
			t.Errorf("it was started %d times", n)
		}
	})
}

// A job that its owner cancels while it is being brought back stays gone.
func TestS_F67_CancelledMeanwhileStaysGone(t *testing.T) {
	onEach(t, func(t *testing.T, s *site) {
		c := s.adapter(sandbox.Account{})
		id := s.submit(t, sleeper, "--mem=100")
		s.wait(t, id, "RUNNING")
		must(t, c.Requeue(t.Context(), id))
		s.must(t, sandbox.Alice, "scancel", string(id))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		eventually(ctx, t, "everybody to know", func() (bool, string) {
			_, err := c.Expedite(ctx, id)
			return errors.Is(err, bridge.ErrNoJob), fmt.Sprint(err)
		})
		// Slurm would run it again: "scontrol requeue" takes jobs that have ended.
		for what, err := range map[string]error{"requeue": c.Requeue(ctx, id), "signal": c.Signal(ctx, id, "USR1", "batch")} {
			if !errors.Is(err, bridge.ErrNoJob) {
				t.Errorf("%s: %v, want %v", what, err, bridge.ErrNoJob)
			}
		}
		if state, err := c.Ending(ctx, id); err != nil || state != "CANCELLED" {
			t.Errorf("it is %s, %v", state, err)
		}
		done := s.submit(t, "#!/bin/sh\ntrue\n", "--mem=100")
		eventually(ctx, t, "a job that is done", func() (bool, string) {
			state, err := c.Ending(ctx, done)
			return err == nil && state == "COMPLETED", fmt.Sprint(state, err)
		})
		if err := c.Requeue(ctx, done); !errors.Is(err, bridge.ErrNoJob) {
			t.Errorf("requeue of a job that is done: %v, want %v", err, bridge.ErrNoJob)
		}
		if state, err := c.Ending(ctx, done); err != nil || state != "COMPLETED" {
			t.Errorf("the job that was done is %s, %v", state, err)
		}
	})
}

// One actor requeues: a job that did it itself is not restarted twice.
func TestS_F73_RequeuedByItselfAndByUs(t *testing.T) {
	onEach(t, func(t *testing.T, s *site) {
		c, dir := s.adapter(sandbox.Account{}), s.desktop(t)
		id := s.submit(t, trainer(dir, "trap 'save; echo requeues >> log; scontrol requeue $SLURM_JOB_ID' USR1"), "--mem=100")
		s.holds(t, "step-3", dir, "log")
		must(t, c.Signal(t.Context(), id, "USR1", "batch"))
		s.holds(t, "requeues", dir, "log")
		must(t, c.Requeue(t.Context(), id)) // while it ends
		s.wait(t, id, "PENDING")
		must(t, c.Requeue(t.Context(), id))
		took := s.runsAgain(t, c, id, 1)
		if took > 30*time.Second {
			t.Errorf("it ran again after %s: its two minutes were not cut", took)
		}
		s.holds(t, "step-8", dir, "log")
		if job := s.wait(t, id, "RUNNING"); job.Fields["Restarts"] != "1" {
			t.Errorf("restarted %s times, want once", job.Fields["Restarts"])
		}
	})
}

// A handler that hangs dies with KillWait; the job goes on from its older
// checkpoint, and not before the old script is dead.
func TestS_F75_HandlerThatHangsIsEnded(t *testing.T) {
	onEach(t, func(t *testing.T, s *site) {
		c, dir := s.adapter(sandbox.Account{}), s.desktop(t)
		hang := "trap 'while :; do echo hangs >> hang; sleep 0.2; done' USR1; trap '' TERM"
		id := s.submit(t, trainer(dir, hang), "--mem=100")
		s.holds(t, "saved-4", dir, "log")
		must(t, c.Signal(t.Context(), id, "USR1", "batch"))
		s.holds(t, "hangs", dir, "hang")
		must(t, c.Requeue(t.Context(), id))
		s.runsAgain(t, c, id, 1)
		hung := strings.Count(read(t, dir, "hang"), "hangs")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		eventually(ctx, t, "the second run, from a checkpoint", func() (bool, string) {
			text := read(t, dir, "log")
			at := strings.Index(text, "start-1-")
			return at > 0 && !strings.HasPrefix(text[at:], "start-1-0\n") && strings.Contains(text[at:], "saved-"), text
		})
		if n := strings.Count(read(t, dir, "hang"), "hangs"); n != hung {
			t.Errorf("two runs at once: the old handler still writes, %d and then %d lines", hung, n)
		}
	})
}
