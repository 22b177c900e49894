package slurm_test

import (
	"context"
	"errors"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/sandbox"
	"spillway.sh/spillway/slurm"
)

// everyKind sends one job of every kind, named after what it is.
const everyKind = `
printf '#!/bin/sh\nsleep 600\n' > j.sh
s() { n=$1; shift; sbatch --parsable -o /dev/null -J "$n" "$@" j.sh >/dev/null || echo "$n refused"; }
s plain -c 2 --mem=1000 -t 10
s nodes24 -N 2-4 --ntasks-per-node=2 --mem=3G
s percpu -n 4 -c 2 --mem-per-cpu=2000
s mem0 --mem=0
s nomem -n 3
s exclusive --exclusive --mem=100
s exclusiveuser --exclusive=user --mem=100
s typed --gres=gpu:a100:2 --mem=100
s untyped --gres=gpu:3 --mem=100
s gpus --gpus=4 --mem=100
s gpustyped --gpus=a100:4 --mem=100 -N 2
s pernode --gpus-per-node=a100:4 --mem=100 -N 2
s pertask --gpus-per-task=1 -n 4 --mem=100
s persocket --gpus-per-socket=1 --sockets-per-node=2 --mem=100
s feature -C 'ib&rack1' --mem=100
s featureparen -C 'ib&(rack1|ib)' --mem=100
s featurexor -C '[ib|rack1]' --mem=100 -N 2
s prefer --prefer=ib --mem=100
s nodelist -w local2 --mem=100
s exclude -x local2 --mem=100 -c 8
s contiguous --contiguous -N2 --mem=100
s switches --switches=1@10:00 -N 2 --mem=100
s licence -L fluent:2 --mem=100
s array -a 1-9:2,20-30%4 --mem=100
s arrayheld -a 1-200 -H --mem=100
s deadline --deadline=now+2hours -t 10 --mem=100
s dependency -d "afterok:$(squeue -h -n block -o %i)" --mem=100
s begin --begin=now+1hour --mem=100
s held -H --mem=100
s mincpus --mincpus=4 -n 2 --mem=100
s norequeue --no-requeue --mem=100
s 'na|me $x
new' --comment="$(printf 'a|b\n\037\036 c,d')" --mem=100
s nf-align --mem=100
s snake --comment=rule_map --mem=100
s long -p long -t 11 --mem=100
s both -p gpu,long -t 5 --mem=100
s nothreads --ntasks-per-core=1 --hint=nomultithread -n2 --mem=100
s memgpu --gpus=2 --mem-per-gpu=1000
s cpugpu --gpus=2 --cpus-per-gpu=3 --mem=100
s oversubscribe -s --mem=100
s partexclusive -p excl --mem=100
sbatch --parsable -J het -o /dev/null -n1 --mem=100 : -n2 --mem=200 j.sh >/dev/null
salloc --no-shell -J shell --mem=100 >/dev/null 2>&1 &
`

// TestEveryKindOfJobIsReadRight compares a real queue, as text and as JSON,
// with how the answers in testdata are understood.
func TestEveryKindOfJobIsReadRight(t *testing.T) {
	golden, err := os.ReadFile("testdata/queue.golden")
	if err != nil {
		t.Fatal(err)
	}
	onEach(t, func(t *testing.T, s *site) {
		// Features do not outlive slurmctld.
		s.must(t, sandbox.Account{}, "scontrol", "update", "NodeName=local1", "AvailableFeatures=ib,rack1", "ActiveFeatures=ib,rack1")
		s.must(t, sandbox.Account{}, "scontrol", "update", "NodeName=local2", "AvailableFeatures=ib", "ActiveFeatures=ib")
		s.block(t)
		began := time.Now()
		s.must(t, sandbox.Alice, "sh", "-c", "cd /home/alice\n"+everyKind)
		for _, format := range []slurm.Format{slurm.Text, slurm.JSON} {
			c := s.adapter(sandbox.Account{}, func(o *slurm.Options) { o.Read = format })
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			diff := ""
			// The reasons settle as the scheduler looks at job after job.
			eventually(ctx, t, string(format)+" to be understood", func() (bool, string) {
				q := observe(t, c)
				diff = cmp.Diff(worthBuying(string(golden)), worthBuying(understood(&q)))
				for _, d := range q.Demands {
					if d.Submitted.Before(began.Add(-time.Minute)) || d.Submitted.After(time.Now().Add(time.Minute)) {
						t.Fatalf("job %s was submitted at %v", d.Name, d.Submitted)
					}
				}
				return diff == "", diff
			})
		}
	})
}

func understood(q *bridge.Queue) string {
	var lines []string
	for i := range q.Demands {
		lines = append(lines, slurm.Line(&q.Demands[i]))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n") + "\n"
}

// worthBuying makes one of the two standings that are bought for: which job of
// a partition shows Resources and which Priority is the scheduler's business.
func worthBuying(lines string) string {
	return strings.ReplaceAll(lines, " helps        ", " behind       ")
}

var rpcLine = regexp.MustCompile(`(?m)^\s+(REQUEST_\w+)\s+\(\s*\d+\)\s+count:(\d+)`)

// rpcs reads how often the controller was asked what.
func (s *site) rpcs(t *testing.T) map[string]int {
	t.Helper()
	out := map[string]int{}
	for _, match := range rpcLine.FindAllStringSubmatch(s.must(t, sandbox.Account{}, "sdiag"), -1) {
		n, err := strconv.Atoi(match[2])
		if err != nil {
			t.Fatal(err)
		}
		out[match[1]] = n
	}
	return out
}

// TestS_F88_ARealControllerCountsOneDumpACycle reads the controller's own count
// of requests over six cycles.
func TestS_F88_ARealControllerCountsOneDumpACycle(t *testing.T) {
	onEach(t, func(t *testing.T, s *site) {
		c := s.adapter(sandbox.Account{})
		observe(t, c)
		before := s.rpcs(t)
		for range 5 {
			observe(t, c)
		}
		if q := observe(t, c); q.Cost <= 0 || q.Cost > time.Minute {
			t.Errorf("a read costs the controller %s, as far as it says", q.Cost)
		}
		after := s.rpcs(t)
		got := map[string]int{}
		for _, name := range slices.Sorted(maps.Keys(after)) {
			if n := after[name] - before[name]; n >= 6 {
				got[name] = n
			}
		}
		// Partitions are asked for by squeue to tell hidden ones, by scontrol to
		// print a node's, and once more for the overlays.
		want := map[string]int{"REQUEST_JOB_INFO": 6, "REQUEST_NODE_INFO": 6, "REQUEST_PARTITION_INFO": 18}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("requests in 6 cycles (-want +got):\n%s", diff)
		}
	})
}

// TestS_F61_DrainsOfPeopleStay drains nodes that an administrator has drained.
func TestS_F61_DrainsOfPeopleStay(t *testing.T) {
	onEach(t, func(t *testing.T, s *site) {
		c := s.adapter(sandbox.Account{})
		t.Cleanup(func() {
			if _, err := s.Output(context.Background(), sandbox.Account{}, "scontrol", "update", "NodeName=local1,local2", "State=RESUME"); err != nil {
				t.Error(err)
			}
		})
		s.must(t, sandbox.Account{}, "scontrol", "update", "NodeName=local1", "State=DRAIN", "Reason=broken fan")
		must(t, c.Drain(t.Context(), []string{"local1", "local2", "sw-none-0"}, "spillway: a \"test\""))
		q := observe(t, c)
		for name, reason := range map[string]string{"local1": "broken fan", "local2": "spillway: a 'test'"} {
			if n := nodeOf(t, &q, name); n.Usable || !strings.HasPrefix(n.Reason, reason) {
				t.Errorf("node %s: usable %t, reason %q, want %q", name, n.Usable, n.Reason, reason)
			}
		}
	})
}

// TestS_F74_OneTaskOfAnArrayIsRequeued requeues, signals and expedites one of
// two running tasks by its own id.
func TestS_F74_OneTaskOfAnArrayIsRequeued(t *testing.T) {
	onEach(t, func(t *testing.T, s *site) {
		c := s.adapter(sandbox.Account{})
		t.Cleanup(func() {
			for _, name := range []string{"signalled.2", "trapped.1", "trapped.2"} {
				_ = os.Remove(s.SharedDir() + "/home/alice/" + name)
			}
		})
		id := s.submit(t, "#!/bin/sh\ntrap 'echo x >> signalled.$SLURM_ARRAY_TASK_ID' USR1\necho > trapped.$SLURM_ARRAY_TASK_ID\nwhile :; do sleep 0.2; done\n",
			"--array=1-4%2", "--mem=100", "--chdir=/home/alice")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		states := func() map[bridge.JobID]string {
			out := map[bridge.JobID]string{}
			q := observe(t, c)
			for _, r := range q.Runs {
				out[r.Job] = r.State
			}
			for _, d := range q.Demands {
				out[d.Job] = string(d.Standing)
			}
			return out
		}
		want := map[bridge.JobID]string{id: "policy", id + "_1": "RUNNING", id + "_2": "RUNNING"}
		eventually(ctx, t, "two tasks to run", func() (bool, string) {
			diff := cmp.Diff(want, states())
			return diff == "", diff
		})

		// A script that runs has not set its trap yet, and would die of the signal.
		eventually(ctx, t, "task 2 to have set its trap", func() (bool, string) {
			_, err := os.Stat(s.SharedDir() + "/home/alice/trapped.2")
			return err == nil, "not yet"
		})
		must(t, c.Signal(t.Context(), id+"_2", "SIGUSR1", "batch"))
		eventually(ctx, t, "the signal to arrive once", func() (bool, string) {
			data, err := os.ReadFile(s.SharedDir() + "/home/alice/signalled.2")
			return err == nil && string(data) == "x\n", string(data)
		})
		must(t, c.Requeue(t.Context(), id+"_1"))
		eventually(ctx, t, "task 1 to be eligible", func() (bool, string) {
			ok, err := c.Expedite(ctx, id+"_1")
			if err != nil {
				t.Fatal(err)
			}
			return ok, "not eligible"
		})
		job := s.wait(t, id+"_2", "RUNNING")
		if job.Fields["Restarts"] != "0" {
			t.Errorf("task 2 was restarted %s times", job.Fields["Restarts"])
		}
		if job = s.wait(t, id+"_1", "RUNNING", "PENDING"); job.Fields["Restarts"] != "1" {
			t.Errorf("task 1 was restarted %s times, want once", job.Fields["Restarts"])
		}
		if err := c.Signal(t.Context(), "999999", "USR1", "steps"); !errors.Is(err, bridge.ErrNoJob) {
			t.Errorf("signal to no job: %v", err)
		}
	})
}

// TestFinalAnswers has what is not to be tried again.
func TestFinalAnswers(t *testing.T) {
	onEach(t, func(t *testing.T, s *site) {
		c, r := s.adapter(sandbox.Account{}), rental(1)
		id := s.submit(t, sleeper, "--no-requeue", "--mem=100")
		s.wait(t, id, "RUNNING")
		if err := c.Requeue(t.Context(), id); !errors.Is(err, bridge.ErrNotRestartable) {
			t.Errorf("requeue of a job that must not be: %v", err)
		}
		for what, err := range map[string]error{
			"requeue": c.Requeue(t.Context(), "999999"),
			"comment": c.Comment(t.Context(), "999999", "x"),
			"unroute": errors.Join(bridge.ErrNoJob, c.Unroute(t.Context(), r, "999999")), // nothing to undo
		} {
			if !errors.Is(err, bridge.ErrNoJob) {
				t.Errorf("%s of no job: %v", what, err)
			}
		}
		if ok, err := c.Expedite(t.Context(), "999999"); ok || !errors.Is(err, bridge.ErrNoJob) {
			t.Errorf("expedite of no job: %t, %v", ok, err)
		}
		if err := c.Route(t.Context(), r, id); err == nil {
			t.Error("a job was routed to a rental that has no overlay")
		}
		if err := c.Admit(t.Context(), r, []string{"local1"}); err == nil {
			t.Error("a node of the site was admitted")
		}
		if err := c.Dismiss(t.Context(), r, []string{"local1"}); err == nil {
			t.Error("a node of the site was dismissed")
		}
		must(t, c.Dismiss(t.Context(), r, nodesOf(r))) // never were there
	})
}

// TestCommentsAreWrittenOnce looks at the job's own record for what was written.
func TestCommentsAreWrittenOnce(t *testing.T) {
	onEach(t, func(t *testing.T, s *site) {
		c := s.adapter(sandbox.Account{})
		id := s.submit(t, sleeper, "--hold", "--mem=100")
		array := s.submit(t, sleeper, "--hold", "--array=1-5", "--mem=100")
		other := s.submit(t, sleeper, "--hold", "--mem=100")
		s.must(t, sandbox.Account{}, "scontrol", "update", "JobId="+string(other), "AdminComment=by hand")
		observe(t, c)
		const text = "waits for \"approval\": 12.40 of 10.00 EUR, a=b\nask team"
		for _, job := range []bridge.JobID{id, array, other} {
			must(t, c.Comment(t.Context(), job, text))
		}
		for job, want := range map[bridge.JobID]string{
			id: "AdminComment=spillway: waits for 'approval': 12.40 of 10.00 EUR, a=b ask team ", other: "AdminComment=by hand ",
			array: "AdminComment=spillway: waits for 'approval'",
		} {
			if out := s.must(t, sandbox.Account{}, "scontrol", "-o", "show", "job", string(job)); !strings.Contains(out, want) {
				t.Errorf("job %s says %s, want %s", job, out, want)
			}
		}
		writes := s.rpcs(t)["REQUEST_UPDATE_JOB"]
		observe(t, c)
		must(t, c.Comment(t.Context(), id, text))
		must(t, s.adapter(sandbox.Account{}).Comment(t.Context(), "999998", ""))
		if now := s.rpcs(t)["REQUEST_UPDATE_JOB"]; now != writes {
			t.Errorf("an unchanged comment was written: %d updates, then %d", writes, now)
		}
		must(t, c.Comment(t.Context(), id, ""))
		if out := s.must(t, sandbox.Account{}, "scontrol", "-o", "show", "job", string(id)); strings.Contains(out, "AdminComment=spillway") {
			t.Errorf("the comment is still there: %s", out)
		}
	})
}
