package slurm_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/sandbox"
	"spillway.sh/spillway/slurm"
	"spillway.sh/spillway/slurm/slurmtest"
)

// site is a real cluster that the tests of one version share.
type site struct {
	*slurmtest.Cluster
	gate *gate
}

// sites are started when the first test needs them and closed by TestMain.
var sites = struct {
	sync.Mutex
	all map[string]*site
}{all: map[string]*site{}}

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && (os.Args[1] == "node" || os.Args[1] == "version") {
		os.Exit(agent(os.Args[1:]))
	}
	code := m.Run()
	for _, s := range sites.all {
		s.gate.close()
		if err := s.Close(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// onEach runs a test on a real cluster of each version. The cluster's queue is
// empty before and after.
func onEach(t *testing.T, test func(t *testing.T, s *site)) {
	t.Helper()
	for _, version := range slurmtest.Versions() {
		t.Run(version, func(t *testing.T) {
			s := siteOf(t, version)
			t.Cleanup(func() { s.clear(t); s.noNodeIsLeft(t) })
			test(t, s)
		})
	}
}

func siteOf(t *testing.T, version string) *site {
	t.Helper()
	sites.Lock()
	defer sites.Unlock()
	if s := sites.all[version]; s != nil {
		return s
	}
	c, err := slurmtest.Start(t.Context(), slurmtest.Options{
		Version: version, Overlays: 3, Progress: os.Stderr,
		ExtraConf: "Licenses=fluent:3\nMaxJobCount=50000\nPartitionName=long Nodes=local2 MaxTime=10 State=UP\n" +
			"PartitionName=excl Nodes=local2 OverSubscribe=EXCLUSIVE\n",
	})
	if err != nil {
		t.Fatal(err)
	}
	s := &site{Cluster: c}
	sites.all[version] = s
	s.gate = newGate(t, s)
	s.must(t, sandbox.Account{}, "scontrol", "update", "NodeName=local1", "AvailableFeatures=ib,rack1", "ActiveFeatures=ib,rack1")
	s.must(t, sandbox.Account{}, "scontrol", "update", "NodeName=local2", "AvailableFeatures=ib", "ActiveFeatures=ib")
	return s
}

// adapter is the thing under test, using the cluster's commands as an account.
func (s *site) adapter(as sandbox.Account, change ...func(*slurm.Options)) *slurm.Cluster {
	o := slurm.Options{
		Silence: -1, // the daemons of these tests' nodes answer
		Name:    "rig", BinDir: s.BinDir(as), MungeKeyFile: s.Head().Path("/etc/munge/munge.key"),
		Log: slog.New(slog.DiscardHandler),
	}
	for _, f := range change {
		f(&o)
	}
	return slurm.New(o)
}

// must runs a command on the head node.
func (s *site) must(t *testing.T, as sandbox.Account, args ...string) string {
	t.Helper()
	out, err := s.Output(t.Context(), as, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// clear ends all jobs and waits until the local nodes are free.
func (s *site) clear(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for _, user := range []string{"alice", "bob", "root"} {
		if _, err := s.Output(ctx, sandbox.Account{}, "scancel", "--user="+user); err != nil {
			t.Error(err)
		}
		if _, err := s.Output(ctx, sandbox.Account{}, "scancel", "--user="+user, "--signal=KILL", "--full"); err != nil {
			t.Log(err)
		}
	}
	eventually(ctx, t, "the queue to be empty", func() (bool, string) {
		out, err := s.Output(ctx, sandbox.Account{}, "squeue", "-h", "-a")
		return err == nil && strings.TrimSpace(out) == "", out
	})
}

// noNodeIsLeft says of the test that forgot a rented node that it did: the tests
// after it would see the node.
func (s *site) noNodeIsLeft(t *testing.T) {
	t.Helper()
	out, err := s.Output(context.Background(), sandbox.Account{}, "scontrol", "-o", "show", "nodes")
	if err != nil {
		t.Error(err)
	}
	for line := range strings.Lines(out) {
		if name, ok := strings.CutPrefix(line, "NodeName=sw-"); ok {
			t.Errorf("the test leaves node sw-%s behind", strings.Fields(name)[0])
		}
	}
}

// submit sends a job as alice.
func (s *site) submit(t *testing.T, script string, args ...string) bridge.JobID {
	t.Helper()
	id, err := s.Submit(t.Context(), sandbox.Alice, script, append([]string{"--output=/dev/null"}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	return bridge.JobID(id)
}

// wait waits for a job to be in one of the states.
func (s *site) wait(t *testing.T, id bridge.JobID, states ...string) slurmtest.Job {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	job, err := s.WaitJob(ctx, string(id), states...)
	if err != nil {
		t.Fatalf("%v\n%s", err, s.scene())
	}
	return job
}

// scene is what a person would look at first.
func (s *site) scene() string {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	out, err := s.Output(ctx, sandbox.Account{}, "sh", "-c", "squeue -a; scontrol -o show nodes | cut -c1-600; scontrol -o show partitions | cut -c1-120; tail -n 30 /var/log/slurm/slurmctld.log")
	if err != nil {
		return err.Error()
	}
	return out
}

const sleeper = "#!/bin/sh\nsleep 600\n"

// block fills the local nodes, so that what follows waits.
func (s *site) block(t *testing.T) bridge.JobID {
	t.Helper()
	id := s.submit(t, sleeper, "-N2", "--exclusive", "--gres=gpu:8", "--mem=1000", "--job-name=block", "--time=20")
	s.wait(t, id, "RUNNING")
	return id
}

// eventually polls until ask says yes.
func eventually(ctx context.Context, t *testing.T, what string, ask func() (bool, string)) {
	t.Helper()
	for {
		ok, seen := ask()
		if ok {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("waited for %s in vain; last seen: %s", what, seen)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func observe(t *testing.T, c *slurm.Cluster) bridge.Queue {
	t.Helper()
	q, err := c.Observe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// demand finds a job that waits; it must be there.
func demand(t *testing.T, q *bridge.Queue, id bridge.JobID) bridge.Demand {
	t.Helper()
	for _, d := range q.Demands {
		if d.Job == id {
			return d
		}
	}
	t.Fatalf("job %s does not wait", id)
	return bridge.Demand{}
}
