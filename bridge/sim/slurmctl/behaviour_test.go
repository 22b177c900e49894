package slurmctl_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/sim/invariant"
	"spillway.sh/spillway/bridge/sim/slurmctl"
)

// run runs one command and returns what it wrote, in one text.
func run(t *testing.T, c *slurmctl.Controller, args ...string) (text string, code int) {
	t.Helper()
	out, err := c.Exec(t.Context(), "", args...)
	must(t, err)
	return string(out.Stdout) + string(out.Stderr), out.Code
}

// jobOf is the truth about a job.
func jobOf(t *testing.T, c *slurmctl.Controller, id bridge.JobID) invariant.Job {
	t.Helper()
	jobs, _ := c.Truth()
	for i := range jobs {
		if jobs[i].ID == id {
			return jobs[i]
		}
	}
	t.Fatalf("no job %s", id)
	return invariant.Job{}
}

// What it does not know it refuses: a simulator that said yes to everything
// would prove nothing.
func TestUnknownCommandsAreRefused(t *testing.T) {
	c := slurmctl.New(local())
	c.Submit(slurmctl.Job{Name: "one", User: "alice", Work: time.Hour})
	for _, command := range []string{
		"sinfo", "sbatch", "squeue", "squeue -h -a", "squeue -a -O State", "squeue -h -a --json", "squeue -h -a -O State -t all", "scontrol reconfigure",
		"scontrol hold 1", "scontrol requeue 1", "scontrol requeuehold 1", "scontrol show reservations", "scontrol show nodes", "scontrol -d -o show nodes",
		"scontrol update JobId=1 Nice=7", "scontrol update JobId=1 StartTime=tomorrow", "scontrol update NodeName=local1 State=POWER_DOWN", "scontrol update NodeName=local1 Weight=2",
		"scontrol update PartitionName=gpu MaxTime=7", "scontrol update PartitionName=gpu RootOnly=YES", "scontrol delete JobId=1", "scontrol create NodeName=x",
		"scancel -u alice", "scancel --signal=NOSUCH 1", "scancel --batch 1", "sdiag -r", "",
	} {
		text, code := run(t, c, strings.Fields(command)...)
		if code == 0 || !strings.Contains(text, "not implemented in this simulation") {
			t.Errorf("%q: %d %q", command, code, text)
		}
	}
}

// A slurmctld that hangs does what it was sent when it wakes up, also for those
// who have given up by then.
func TestWhatAHangingSlurmctldWasSentIsDoneLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, began := slurmctl.New(local()), time.Now()
		id := c.Submit(slurmctl.Job{Name: "one", User: "alice", GPUs: 8, Work: 30 * time.Second})
		time.Sleep(time.Second)
		c.Hang(time.Minute)
		text, code := run(t, c, "scontrol", "update", "NodeName=local1", "State=DRAIN", "Reason=disk")
		if code != 1 || text != "slurm_update error: Socket timed out on send/recv operation\n" || time.Since(began) != 11*time.Second {
			t.Errorf("after %s: %d %q", time.Since(began), code, text)
		}
		time.Sleep(40 * time.Second)
		if job := jobOf(t, c, id); job.State != "RUNNING" {
			t.Errorf("the job is %s while nobody looks", job.State)
		}
		text, code = run(t, c, "squeue", "-h", "-a", "-O", "State:8") // the last ten seconds are waited for
		if code != 0 || text != "" || time.Since(began) != 61*time.Second {
			t.Errorf("after %s: %d %q", time.Since(began), code, text)
		}
		if text, _ = run(t, c, "scontrol", "-o", "show", "node", "local1"); !strings.Contains(text, "State=IDLE+DRAIN ") {
			t.Errorf("the node is %s", text)
		}
	})
}

func TestStoppedSlurmctldIsNotReached(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, began := slurmctl.New(local()), time.Now()
		c.Stop()
		text, code := run(t, c, "squeue", "-h", "-a", "-O", "State")
		if code != 1 || text != "slurm_load_jobs error: Unable to contact slurm controller (connect failure)\n" || time.Since(began) != 9*time.Second {
			t.Errorf("after %s: %d %q", time.Since(began), code, text)
		}
		time.AfterFunc(3*time.Second, func() { c.Restart(false) })
		if text, code = run(t, c, "squeue", "-h", "-a", "-O", "State"); code != 0 || text != "" {
			t.Errorf("one that comes back meanwhile: %d %q", code, text)
		}
	})
}

// A job that is put back goes on from what it saved last.
func TestWorkThatIsSaved(t *testing.T) {
	for name, c := range map[string]struct {
		job    slurmctl.Job
		signal string
		whole  time.Duration // from the second start to the end
	}{
		"nothing":                      {slurmctl.Job{}, "", 10 * time.Minute},
		"the last checkpoint":          {slurmctl.Job{Checkpoint: 3 * time.Minute}, "", 4 * time.Minute},
		"what SIGTERM left time for":   {slurmctl.Job{SaveOn: "TERM", SaveTakes: time.Second, Grace: 2 * time.Second}, "", 150 * time.Second},
		"not what SIGTERM cut short":   {slurmctl.Job{SaveOn: "TERM", SaveTakes: 3 * time.Second, Grace: 2 * time.Second}, "", 10 * time.Minute},
		"what a signal asked for":      {slurmctl.Job{SaveOn: "USR1", SaveTakes: 10 * time.Second}, "USR1", 170 * time.Second},
		"not what was not saved whole": {slurmctl.Job{SaveOn: "USR1", SaveTakes: time.Minute}, "USR1", 10 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := slurmctl.New(local())
				j := c.job
				j.Name, j.User, j.GPUs, j.Work, j.Restartable = "one", "alice", 8, 10*time.Minute, true
				id := s.Submit(j)
				time.Sleep(500*time.Millisecond + 7*time.Minute)
				if c.signal != "" {
					run(t, s, "scancel", "--signal="+c.signal, "--batch", "--verbose", string(id))
				}
				time.Sleep(30 * time.Second)
				run(t, s, "scontrol", "requeue", "Incomplete", string(id))
				time.Sleep(20 * time.Minute)
				got := jobOf(t, s, id)
				if len(got.Starts) != 2 || got.State != "COMPLETED" || got.Restarts != 1 {
					t.Fatalf("it came to %+v", got)
				}
				// Of a second's parts, passes take half ones.
				if ran := got.Starts[1].End.Sub(got.Starts[1].At).Round(time.Second); ran != c.whole {
					t.Errorf("the second run took %s, want %s", ran, c.whole)
				}
			})
		})
	}
}

// A signal that a job does not handle is its end.
func TestSignalThatIsNotHandled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := slurmctl.New(local())
		id := c.Submit(slurmctl.Job{Name: "one", User: "alice", Work: time.Hour})
		time.Sleep(time.Second)
		run(t, c, "scancel", "--signal=WINCH", "--batch", string(id))
		time.Sleep(time.Second)
		if job := jobOf(t, c, id); job.State != "RUNNING" {
			t.Errorf("after SIGWINCH it is %s", job.State)
		}
		run(t, c, "scancel", "--signal=USR1", "--batch", string(id))
		time.Sleep(time.Second)
		if job := jobOf(t, c, id); job.State != "FAILED" {
			t.Errorf("after SIGUSR1 it is %s", job.State)
		}
	})
}

// A machine that falls silent takes its jobs along when slurmctld has noticed.
func TestSilentMachine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := slurmctl.New(local())
		again := c.Submit(slurmctl.Job{Name: "again", User: "alice", GPUs: 8, Work: time.Hour, Restartable: true})
		never := c.Submit(slurmctl.Job{Name: "never", User: "alice", GPUs: 8, Work: time.Hour})
		time.Sleep(time.Second)
		c.Lose("local1")
		c.Lose("local2")
		for at, want := range map[time.Duration]string{10 * time.Second: "MIXED", 20 * time.Second: "MIXED+NOT_RESPONDING", 45 * time.Second: "DOWN+NOT_RESPONDING"} {
			time.AfterFunc(at, func() {
				if text, _ := run(t, c, "scontrol", "-o", "show", "node", "local1"); !strings.Contains(text, "State="+want+" ") {
					t.Errorf("after %s the node is %s, want %s", at, text, want)
				}
			})
		}
		time.Sleep(50 * time.Second)
		if job := jobOf(t, c, again); job.State != "PENDING" || job.Restarts != 1 || job.Starts[0].Why != "node-fail" {
			t.Errorf("the restartable one is %+v", job)
		}
		if job := jobOf(t, c, never); job.State != "NODE_FAIL" || job.Restarts != 0 {
			t.Errorf("the other is %+v", job)
		}
		must(t, c.Register(local().Nodes[0]))
		time.Sleep(3 * time.Minute)
		if job := jobOf(t, c, again); job.State != "RUNNING" || job.Nodes[0] != "local1" {
			t.Errorf("it has not come back: %+v", job)
		}
	})
}

// Without its saved state slurmctld knows neither jobs nor rented machines.
func TestColdRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := slurmctl.New(local())
		must(t, c.Register(machine("sw-0013-0")))
		runs := c.Submit(slurmctl.Job{Name: "runs", User: "alice", GPUs: 8, Work: time.Hour, Restartable: true})
		waits := c.Submit(slurmctl.Job{Name: "waits", User: "alice", Nodes: 2, GPUs: 8, Work: time.Hour})
		time.Sleep(time.Second)
		c.Restart(true)
		if text, code := run(t, c, "squeue", "-h", "-a", "-O", "State"); text != "" || code != 0 {
			t.Errorf("the queue is %q", text)
		}
		for _, id := range []bridge.JobID{runs, waits} {
			if job := jobOf(t, c, id); job.State != "LOST" {
				t.Errorf("job %s is %s", id, job.State)
			}
		}
		if _, nodes := c.Truth(); len(nodes) != 0 {
			t.Errorf("it knows %v", nodes)
		}
		if next := c.Submit(slurmctl.Job{Name: "next", User: "alice", Work: time.Minute}); next != "3" {
			t.Errorf("the next job is %s: an id came twice", next)
		}
	})
}

// Jobs behind one that waits start where they delay nobody.
func TestBackfill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := slurmctl.New(local())
		c.Submit(slurmctl.Job{Name: "half", User: "alice", GPUs: 8, Work: time.Hour, Limit: time.Hour})
		time.Sleep(time.Second)
		wide := c.Submit(slurmctl.Job{Name: "wide", User: "alice", Nodes: 2, GPUs: 8, Work: time.Hour, Limit: time.Hour})
		long := c.Submit(slurmctl.Job{Name: "long", User: "alice", GPUs: 8, Work: time.Minute, Limit: 2 * time.Hour})
		short := c.Submit(slurmctl.Job{Name: "short", User: "alice", GPUs: 8, Work: time.Minute, Limit: 10 * time.Minute})
		time.Sleep(10 * time.Second)
		got := map[bridge.JobID]string{}
		for _, id := range []bridge.JobID{wide, long, short} {
			got[id] = jobOf(t, c, id).State
		}
		if diff := cmp.Diff(map[bridge.JobID]string{wide: "PENDING", long: "PENDING", short: "RUNNING"}, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		time.Sleep(time.Hour)
		if got := jobOf(t, c, wide).State; got != "RUNNING" {
			t.Errorf("the wide one is %s after the half one's limit", got)
		}
	})
}

// The same calls at the same times give the same answers.
func TestSameCallsSameAnswers(t *testing.T) {
	tell := func() (text string) {
		synctest.Test(t, func(t *testing.T) {
			c := slurmctl.New(local())
			for i := range 40 {
				c.Submit(slurmctl.Job{Name: "job", User: "alice", Nodes: 1 + i%2, GPUs: 1 + i%8, Work: time.Duration(1+i%7) * time.Minute, Limit: 10 * time.Minute, Restartable: i%3 > 0})
				if i%5 == 0 {
					run(t, c, "scontrol", "requeue", "Incomplete", "1")
				}
				time.Sleep(17 * time.Second)
				for _, command := range []string{"squeue -h -a -O JobArrayID:6,State:12,StartTime:12,PriorityLong:12,NodeList:20,Reason:60", "scontrol --details -o show nodes"} {
					out, _ := run(t, c, strings.Fields(command)...)
					text += out
				}
			}
		})
		return text
	}
	if diff := cmp.Diff(tell(), tell()); diff != "" {
		t.Errorf("(-first +second):\n%s", diff)
	}
}
