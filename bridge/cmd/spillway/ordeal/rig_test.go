package ordeal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"text/template"
	"time"

	"github.com/google/go-cmp/cmp"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/cloud/local/server"
	"spillway.sh/spillway/bridge/cloud/local/wire"
	"spillway.sh/spillway/bridge/cmd/spillway/stage"
	"spillway.sh/spillway/bridge/desk"
	"spillway.sh/spillway/bridge/desk/socket"
	"spillway.sh/spillway/bridge/sandbox"
)

// ground is what all trials of this package stand on: the first one starts it.
var (
	ground stage.Stage
	raised = sync.OnceValue(raise)
)

func TestMain(m *testing.M) {
	code := 1
	dir, err := os.MkdirTemp("", "spillway-ordeal-")
	if err == nil {
		ground.Dir = dir
		if err = os.Chmod(dir, 0o755); err == nil {
			code = m.Run()
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		err = errors.Join(err, ground.Close(ctx))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// raise starts cluster and clouds and fills the local nodes, so that all else
// needs rented ones.
func raise() (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute) // A first run builds an image.
	defer cancel()
	if ground.Exe, err = stage.Build(ctx, ground.Dir); err != nil {
		return err
	}
	if err := ground.StartCluster(ctx, "22.05", 40, os.Stderr); err != nil {
		return err
	}
	if err := errors.Join(ground.StartClouds(ctx, []byte(world)), ground.PrepareDaemon()); err != nil {
		return err
	}
	return block(ctx)
}

// block has a job on each local node that takes all of it.
func block(ctx context.Context) error {
	id, err := ground.Cluster.Submit(ctx, sandbox.Alice, "#!/bin/sh\nsleep 7200\n", "-N2", "--exclusive", "--gres=gpu:8", "--mem=1000", "--job-name=block", "--output=/dev/null")
	if err == nil {
		_, err = ground.Cluster.WaitJob(ctx, id, "RUNNING")
	}
	return err
}

// trial is one test's daemon with a store of its own, on the common ground.
type trial struct {
	*stage.Stage
	t      *testing.T
	name   string // of its cluster in its configuration, and in the tags of its machines
	edits  []string
	daemon *exec.Cmd
	client *socket.Client
	jobs   []*job
	sent   int // jobs
}

// newTrial prepares a daemon that does not run yet. Texts of its configuration
// and policy are replaced, one by the next.
func newTrial(t *testing.T, name string, edits ...string) *trial {
	t.Helper()
	must(t, raised())
	r := &trial{Stage: &ground, t: t, name: name, edits: edits}
	must(t, os.MkdirAll(r.own(), 0o755))
	must(t, os.WriteFile(r.own("policy.yaml"), []byte(strings.NewReplacer(edits...).Replace(policy)), 0o600))
	r.configure("daemon", r.Enrol())
	r.client = socket.NewClient(r.socket("daemon"))
	t.Cleanup(func() {
		r.client.Close()
		if t.Failed() {
			t.Log(r.scene())
		}
		must(t, stage.End(r.daemon))
		if t.Failed() {
			logs, _ := filepath.Glob(r.own("*.log")) // for its text alone
			for _, log := range logs {
				if text, err := os.ReadFile(log); err == nil {
					t.Logf("last of %s:\n%s", filepath.Base(log), text[max(0, len(text)-8000):])
				}
			}
		}
	})
	return r
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (r *trial) own(parts ...string) string {
	return r.Path(append([]string{"trial", r.name}, parts...)...)
}
func (r *trial) socket(who string) string { return r.own(who + ".sock") }
func (r *trial) config(who string) string { return r.own(who + ".yaml") }
func (r *trial) log(who string) string    { return filepath.Join("trial", r.name, who) }

// configure writes a daemon's configuration. All of a trial have one store.
func (r *trial) configure(who, enrol string) {
	r.t.Helper()
	f, err := os.Create(r.config(who))
	must(r.t, err)
	text := strings.NewReplacer(r.edits...).Replace(config)
	must(r.t, template.Must(template.New("").Parse(text)).Execute(f, map[string]any{
		"Name": r.name, "State": r.own("state"), "Socket": r.socket(who), "Policy": r.own("policy.yaml"),
		"Bin": r.Cluster.BinDir(sandbox.Account{}), "MungeKey": r.MungeKey(), "Controller": r.Cluster.Join().Controller,
		"URL": r.CloudURL(), "Token": r.Token("stratus-test"), "Enrol": enrol,
	}))
	must(r.t, f.Close())
}

// start starts the daemon and waits until it answers.
func (r *trial) start() {
	r.t.Helper()
	var err error
	r.daemon, err = r.StartDaemon(r.t.Context(), r.log("daemon"), r.config("daemon"), r.socket("daemon"))
	must(r.t, err)
}

func (r *trial) signal(s syscall.Signal) {
	r.t.Helper()
	must(r.t, r.daemon.Process.Signal(s))
}

// until polls for a condition.
func (r *trial) until(limit time.Duration, what string, ok func() bool) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), limit)
	defer cancel()
	for !ok() {
		select {
		case <-ctx.Done():
			r.t.Fatalf("after %s not: %s\n%s", limit, what, r.scene())
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// pause lets a while pass in which nothing is awaited.
func (r *trial) pause(d time.Duration) {
	select {
	case <-time.After(d):
	case <-r.t.Context().Done():
	}
}

// scene is what a person would look at first.
func (r *trial) scene() string {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	out, err := r.Cluster.Output(ctx, sandbox.Account{}, "sh", "-c", "squeue -a; sinfo -a -N -o '%N %P %T %E'")
	return fmt.Sprintf("%s%v\n%s%s", out, err, r.command("status"), r.command("rentals")+r.command("news"))
}

// command runs one of the command line's and returns what it printed.
func (r *trial) command(args ...string) string {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, r.Exe, append(args, "--config", r.config("daemon"))...).CombinedOutput()
	if err != nil {
		return fmt.Sprintf("%s(%v)\n", out, err)
	}
	return string(out)
}

// status is what is wrong just now.
func (r *trial) problems() string {
	a, err := socket.Call(r.t.Context(), r.client, desk.AskStatus, desk.StatusRequest{})
	if err != nil {
		return err.Error()
	}
	return strings.Join(a.Problems, "\n")
}

// rentals are those that are open; ok is false while nobody answers.
func (r *trial) rentals() (open []desk.Rental, ok bool) {
	a, err := socket.Call(r.t.Context(), r.client, desk.AskRentals, desk.RentalsRequest{})
	return a.Rentals, err == nil
}

// has reports whether some rental is in one of the states.
func (r *trial) has(states ...bridge.State) bool {
	open, _ := r.rentals()
	return slices.ContainsFunc(open, func(q desk.Rental) bool { return slices.Contains(states, q.State) })
}

// job is one submission of alice's.
type job struct{ id, name string }

// submit sends a job that needs a machine of its own for so many seconds, or
// until it is finished.
func (r *trial) submit(seconds int, args ...string) *job {
	r.t.Helper()
	r.sent++
	j := &job{name: fmt.Sprintf("%s-%d", r.name, r.sent)}
	log := filepath.Join(r.Scratch(sandbox.Alice), j.name+".log")
	script := fmt.Sprintf(`#!/bin/bash
#SBATCH --nodes=1 --ntasks-per-node=1 --cpus-per-task=4 --mem=2000 --gres=gpu:a100:8 --time=10 --requeue --output=/dev/null
echo start $SLURMD_NODENAME >> %[1]s
for i in $(seq %[2]d); do [ -e %[1]s.finish ] && break; sleep 1; done
echo done >> %[1]s
`, log, seconds)
	var err error
	j.id, err = r.Cluster.Submit(r.t.Context(), sandbox.Alice, script, append([]string{"--job-name=" + j.name}, args...)...)
	must(r.t, err)
	r.jobs = append(r.jobs, j)
	return j
}

// finish has a job end now.
func (r *trial) finish(j *job) {
	r.t.Helper()
	must(r.t, os.WriteFile(filepath.Join(r.Scratch(sandbox.Alice), j.name+".log.finish"), nil, 0o644))
}

// record is how often a job said that it began and that it ended.
func (r *trial) record(j *job) (starts, ends int) {
	text, err := os.ReadFile(filepath.Join(r.Scratch(sandbox.Alice), j.name+".log"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		r.t.Fatal(err)
	}
	return strings.Count(string(text), "start "), strings.Count(string(text), "done\n")
}

func (r *trial) runs(j *job) bool { n, _ := r.record(j); return n > 0 }

// over waits until all has ended and compares what jobs, cloud and books say:
// each job done, started once; no machine left, none twice, none unknown to the
// books; what was paid is what the cloud bills.
func (r *trial) over(most int) {
	r.t.Helper()
	r.until(2*time.Minute, "all jobs are done", func() bool {
		return !slices.ContainsFunc(r.jobs, func(j *job) bool { _, n := r.record(j); return n == 0 })
	})
	for _, j := range r.jobs {
		got, err := r.Cluster.WaitJob(r.t.Context(), j.id, "COMPLETED")
		starts, ends := r.record(j)
		if err != nil || got.State != "COMPLETED" || starts != 1 || ends != 1 {
			r.t.Errorf("job %s is %s, %v: started %d times and ended %d times, want once", j.id, got.State, err, starts, ends)
		}
	}
	r.returned(most)
}

// returned is over, of machines and money alone.
func (r *trial) returned(most int) {
	r.t.Helper()
	var judged server.Judgement
	r.until(90*time.Second, "all is given back", func() bool {
		open, ok := r.rentals()
		judged = r.judge()
		return ok && len(open) == 0 && len(judged.Live) == 0
	})
	if diff := cmp.Diff([][]string{nil, nil, nil, nil}, [][]string{judged.Doubles, judged.Overlaps, judged.Late, judged.Untagged}); diff != "" {
		r.t.Errorf("doubles, overlaps, late, untagged (-want +got):\n%s", diff)
	}
	if judged.Machines > most {
		r.t.Errorf("%d machines were rented, at most %d were needed", judged.Machines, most)
	}
	books, err := socket.Call(r.t.Context(), r.client, desk.AskLedger, desk.LedgerRequest{})
	must(r.t, err)
	if !books.Balanced {
		r.t.Errorf("the books do not balance: %v", books.Problems)
	}
	spend, err := socket.Call(r.t.Context(), r.client, desk.AskSpend, desk.SpendRequest{})
	must(r.t, err)
	i := slices.IndexFunc(spend.Accounts, func(a desk.Balance) bool { return a.Account == "test/research/vision" })
	if i < 0 || spend.Accounts[i].Posted.Micro != judged.CostMicro["USD"] || spend.Accounts[i].Held.Micro != 0 {
		r.t.Errorf("the cloud bills %d; the books: %+v", judged.CostMicro["USD"], spend.Accounts)
	}
}

// judge is what the cloud's ledger proves of this trial's machines.
func (r *trial) judge() server.Judgement {
	r.t.Helper()
	all, err := server.ReadLedger(r.Path("cloud", "ledger.jsonl"))
	must(r.t, err)
	mine := map[string]bool{}
	var entries []wire.Entry
	for i := range all {
		if all[i].Kind == wire.EntryStart && all[i].Tags[bridge.TagCluster] == r.name {
			mine[all[i].Machine] = true
		}
		if mine[all[i].Machine] {
			entries = append(entries, all[i])
		}
	}
	judged, err := server.Judge(entries, time.Now())
	must(r.t, err)
	return judged
}

// fault asks the cloud for one.
func (r *trial) fault(f wire.Fault) {
	r.t.Helper()
	must(r.t, r.Fault(r.t.Context(), f))
}

// must runs a program on the head node as root.
func (r *trial) must(args ...string) string {
	r.t.Helper()
	out, err := r.Cluster.Output(r.t.Context(), sandbox.Account{}, args...)
	must(r.t, err)
	return out
}
