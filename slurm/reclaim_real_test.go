package slurm_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/sandbox"
	"spillway.sh/spillway/slurm"
)

// Who gets which signal is a site's choice: the script, its steps, or both.
func TestS_F76_F77_SignalsReachThoseTheyAreFor(t *testing.T) {
	onEach(t, func(t *testing.T, s *site) {
		c, dir := s.adapter(sandbox.Account{}), s.desktop(t)
		const script = `#!/bin/bash
cd %s
trap 'echo script-USR1 >> got' USR1; trap 'echo script-USR2 >> got' USR2; trap 'echo script-TERM >> got' TERM
srun -n4 --overlap bash -c 'trap "echo rank-USR1 >> got.\$SLURM_PROCID" USR1; trap "echo rank-USR2 >> got.\$SLURM_PROCID" USR2; trap "sleep 2; echo rank-saved >> got.\$SLURM_PROCID" TERM
echo ready >> got.$SLURM_PROCID; while :; do sleep 0.1; done' &
while :; do sleep 0.1; done
`
		id := s.submit(t, fmt.Sprintf(script, dir), "--ntasks=4", "--mem-per-cpu=100")
		for rank := range 4 {
			s.holds(t, "ready", dir, fmt.Sprintf("got.%d", rank))
		}
		must(t, c.Signal(t.Context(), id, "USR1", "batch"))
		s.holds(t, "script-USR1", dir, "got")
		must(t, c.Signal(t.Context(), id, "SIGUSR2", "steps"))
		for rank := range 4 {
			s.holds(t, "rank-USR2", dir, fmt.Sprintf("got.%d", rank))
		}
		if got := read(t, dir, "got"); got != "script-USR1\n" {
			t.Errorf("the script got %q, want USR1 once", got)
		}
		if got := read(t, dir, "got.0"); got != "ready\nrank-USR2\n" {
			t.Errorf("rank 0 got %q, want USR2 once", got)
		}
		must(t, c.Signal(t.Context(), id, "USR1", "all"))
		for rank := range 4 {
			s.holds(t, "rank-USR1", dir, fmt.Sprintf("got.%d", rank))
		}
		// F77: the requeue's own TERM leaves all ranks KillWait for their save.
		must(t, c.Requeue(t.Context(), id))
		for rank := range 4 {
			s.holds(t, "rank-saved", dir, fmt.Sprintf("got.%d", rank))
		}
	})
}

// Without a word the machine is gone: no signal, no handler. The job goes on
// from its last regular checkpoint, which a kill in mid-write did not touch.
func TestS_F79_F81_KilledWithoutNoticeGoesOnFromAWholeCheckpoint(t *testing.T) {
	onEach(t, func(t *testing.T, s *site) {
		c, r, dir := s.adapter(sandbox.Account{}), rental(1), s.desktop(t)
		block := s.block(t)
		slow := `save() { printf %s "${step:0:1}" > ckpt.new; [ $step -ge 6 ] && echo writing-$step >> log && sleep 600; echo $step > ckpt.new; mv ckpt.new ckpt && echo saved-$step >> log; }`
		id := s.submit(t, trainer(dir, slow), "--gres=gpu:8", "--mem=1000", "--time=10")
		machine := s.rent(t, r)[nodesOf(r)[0]]
		must(t, c.Admit(t.Context(), r, nodesOf(r)))
		must(t, c.Route(t.Context(), r, id))
		s.holds(t, "writing-6", dir, "log")
		must(t, machine.Cut(t.Context()))
		pids, err := machine.Output(t.Context(), sandbox.Command{Args: []string{"pgrep", "slurm"}, Dir: "/"})
		must(t, err)
		_, err = machine.Output(t.Context(), sandbox.Command{Args: append([]string{"kill", "-KILL"}, strings.Fields(pids)...), Dir: "/"})
		must(t, err)
		must(t, c.Down(t.Context(), nodesOf(r), "machine gone"))
		s.must(t, sandbox.Account{}, "scancel", string(block))
		s.runsAgain(t, c, id, 1)
		s.holds(t, "start-1-4", dir, "log")
		must(t, c.Dismiss(t.Context(), r, nodesOf(r)))
		s.clear(t)
		s.recounts(t, c, true)
	})
}

// While its old steps end, a requeued job is never in neither list.
func TestS_F80_CompletingWhileRequeuedIsCounted(t *testing.T) {
	onEach(t, func(t *testing.T, s *site) {
		c, dir := s.adapter(sandbox.Account{}), s.desktop(t)
		id := s.submit(t, trainer(dir, "trap '' TERM"), "--mem=100") // dies with KillWait
		s.holds(t, "step-2", dir, "log")
		must(t, c.Requeue(t.Context(), id))
		completing := 0
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		eventually(ctx, t, "the job to run again", func() (bool, string) {
			q := observe(t, c)
			runs := slices.IndexFunc(q.Runs, func(r bridge.Run) bool { return r.Job == id })
			waits := slices.ContainsFunc(q.Demands, func(d bridge.Demand) bool { return d.Job == id })
			if runs < 0 && !waits {
				t.Fatalf("the job is in neither list\n%s", s.scene())
			}
			if runs >= 0 && strings.Contains(q.Runs[runs].State, "COMPLETING") {
				completing++
			}
			_, err := c.Expedite(ctx, id)
			return err == nil && runs >= 0 && q.Runs[runs].Restarts == 1 && q.Runs[runs].State == "RUNNING", s.scene()
		})
		if completing == 0 {
			t.Error("it was never seen completing: this test shows nothing")
		}
	})
}

// The machine's own shutdown ends slurmd before the script: the controller was
// told first, so nothing hangs on what the node would have said.
func TestS_F40_NodeThatStopsFirstHoldsNothingUp(t *testing.T) {
	onEach(t, func(t *testing.T, s *site) {
		c, r := s.adapter(sandbox.Account{}), rental(1)
		dir := s.desktop(t)
		s.block(t)
		id := s.submit(t, trainer(dir, ""), "--gres=gpu:8", "--mem=1000", "--time=10")
		machine := s.rent(t, r)[nodesOf(r)[0]]
		must(t, c.Admit(t.Context(), r, nodesOf(r)))
		must(t, c.Route(t.Context(), r, id))
		s.holds(t, "saved-4", dir, "log")
		observe(t, c)
		must(t, c.Drain(t.Context(), nodesOf(r), "reclaim"))
		pids, err := machine.Output(t.Context(), sandbox.Command{Args: []string{"pgrep", "-x", "slurmd"}, Dir: "/"})
		must(t, err)
		_, err = machine.Output(t.Context(), sandbox.Command{Args: append([]string{"kill", "-KILL"}, strings.Fields(pids)...), Dir: "/"})
		must(t, err)
		began := time.Now()
		must(t, c.Requeue(t.Context(), id))
		must(t, machine.Cut(t.Context())) // and then it is off
		must(t, c.Down(t.Context(), nodesOf(r), "machine gone"))
		eligible(t, c, id)
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("eligible after %s", took)
		}
		if job := s.wait(t, id, "PENDING"); job.Fields["Restarts"] != "1" {
			t.Errorf("restarted %s times, want once", job.Fields["Restarts"])
		}
		must(t, c.Dismiss(t.Context(), r, nodesOf(r)))
	})
}

// A checkpoint place that is full or read-only loses the save, and nothing
// else: the requeue waits for no handler, and the older checkpoint counts.
func TestCheckpointDiskThatTakesNothingMore(t *testing.T) {
	onEach(t, func(t *testing.T, s *site) {
		c, dir := s.adapter(sandbox.Account{}), s.desktop(t)
		place := filepath.Join(dir, "place")
		must(t, os.Mkdir(place, 0o777))
		must(t, os.Chmod(place, 0o777))
		id := s.submit(t, trainer(dir, `[ -s place/ckpt ] && step=$(cat place/ckpt); echo from-$step >> log
save() { if echo $step > place/new && mv place/new place/ckpt; then echo saved-$step >> log; else echo failed-$step >> log; fi; }
trap save USR1`), "--mem=100")
		s.holds(t, "saved-4", dir, "log")
		must(t, os.Chmod(place, 0o555))
		must(t, c.Signal(t.Context(), id, "USR1", "batch"))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		eventually(ctx, t, "a save that fails", func() (bool, string) {
			text := read(t, dir, "log")
			return strings.Contains(text, "failed-"), text
		})
		older := strings.TrimSpace(read(t, place, "ckpt"))
		must(t, c.Requeue(t.Context(), id))
		s.runsAgain(t, c, id, 1)
		eventually(ctx, t, "the second run", func() (bool, string) {
			text := read(t, dir, "log")
			return strings.Count(text, "from-") == 2, text
		})
		if text := read(t, dir, "log"); !strings.HasSuffix(text[:strings.LastIndex(text, "from-")+len("from-"+older)], "from-"+older) {
			t.Errorf("it did not go on from step %s:\n%s", older, text)
		}
	})
}

// The first run's output is gone after a requeue, unless the job appends to
// it: what doctor says of JobFileAppend.
func TestS_F78_OutputOfTheFirstRun(t *testing.T) {
	onEach(t, func(t *testing.T, s *site) {
		c, dir := s.adapter(sandbox.Account{}), s.desktop(t)
		const script = "#!/bin/bash\necho run-${SLURM_RESTART_COUNT:-0}\nsleep 600\n"
		ids := map[string]bridge.JobID{}
		for _, mode := range []string{"truncate", "append"} {
			ids[mode] = s.submit(t, script, "--mem=100", "--open-mode="+mode, "--output="+filepath.Join(dir, mode))
		}
		for mode, id := range ids {
			s.holds(t, "run-0", dir, mode)
			must(t, c.Requeue(t.Context(), id))
		}
		for mode, kept := range map[string]bool{"truncate": false, "append": true} {
			s.runsAgain(t, c, ids[mode], 1)
			s.holds(t, "run-1", dir, mode)
			if got := read(t, dir, mode); strings.Contains(got, "run-0\n") != kept {
				t.Errorf("%s: the output is %q; want the first run's in it: %t", mode, got, kept)
			}
		}
		found, err := c.Doctor(t.Context())
		must(t, err)
		if !slices.ContainsFunc(found, func(f slurm.Finding) bool { return f.Subject == "JobFileAppend" && f.Level == slurm.Note }) {
			t.Errorf("doctor does not say it: %+v", found)
		}
	})
}

// A drain is taken back only where it is ours and for that reason.
func TestUndrainLeavesOthersDrains(t *testing.T) {
	onEach(t, func(t *testing.T, s *site) {
		c := s.adapter(sandbox.Account{})
		t.Cleanup(func() { s.mend() })
		drained := func(name string) bool {
			t.Helper()
			q := observe(t, c)
			return !nodeOf(t, &q, name).Usable
		}
		s.must(t, sandbox.Account{}, "scontrol", "update", "NodeName=local1", "State=DRAIN", "Reason=disk")
		must(t, c.Drain(t.Context(), []string{"local1", "local2"}, "spillway: reclaim"))
		must(t, c.Undrain(t.Context(), []string{"local1", "local2", "sw-none-0"}, "spillway: reclaim"))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		eventually(ctx, t, "our drain to go", func() (bool, string) { return !drained("local2"), s.scene() }) // it answers a ping first
		if !drained("local1") {
			t.Error("an administrator's drain was taken back")
		}
		must(t, c.Drain(t.Context(), []string{"local2"}, "release"))
		must(t, c.Undrain(t.Context(), []string{"local2"}, "spillway: reclaim"))
		if !drained("local2") {
			t.Error("a drain for a release was taken back by a notice that was called off")
		}
	})
}
