package reclaim

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/cloud/local/server"
	"spillway.sh/spillway/bridge/cloud/local/wire"
	"spillway.sh/spillway/bridge/desk"
	"spillway.sh/spillway/bridge/desk/socket"
	"spillway.sh/spillway/bridge/sandbox"
	"spillway.sh/spillway/bridge/sim/soak"
)

// steps is how long a job of the mix computes, in steps.
const steps = 100

// wanted is how many machines are taken, until when, and with what luck.
func wanted(t *testing.T) (int, time.Time, *rand.Rand) {
	n, end := 10, time.Now().Add(time.Hour)
	if soak.Long() {
		n, end = 100, soak.Until(25*time.Minute)
	}
	seed := uint64(time.Now().UnixNano())
	if s := os.Getenv("SPILLWAY_SEED"); s != "" {
		var err error
		if seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatalf("SPILLWAY_SEED: %v", err)
		}
	}
	t.Logf("SPILLWAY_SEED=%d", seed)
	return n, end, rand.New(rand.NewPCG(seed, 0))
}

// job is one job of the mix, or one task of an array.
type job struct {
	kind *kind
	id   bridge.JobID
	name string // of its log
}

// taking is one machine that was taken.
type taking struct {
	at       time.Time
	warned   bool
	killed   bool // and the daemon with it
	affected []bridge.JobID
}

// siege is a cluster whose machines are taken.
type siege struct {
	*rig
	dice    *rand.Rand
	scratch string
	jobs    []*job
	batches int
	takings []taking
}

// TestRandomReclaims takes machines back at random, with notice and without,
// under jobs of every kind, and once kills the daemon too.
func TestRandomReclaims(t *testing.T) {
	n, end, dice := wanted(t)
	s := &siege{rig: newRig(t, "22.05"), dice: dice}
	s.scratch = s.folder(s.cluster.SharedDir())
	var plain ward
	others, ctx := errgroup.WithContext(t.Context())
	others.Go(func() (err error) { plain, err = plainRequeue(ctx, t); return err })
	s.block()
	s.submit()
	for len(s.takings) < n && time.Now().Before(end) {
		s.until(3*time.Minute, "a machine to take", func() bool {
			if s.left() < 4 {
				s.submit()
			}
			return s.take(n)
		})
	}
	s.until(4*time.Minute, "all jobs done", func() bool { return s.left() == 0 })
	s.until(2*time.Minute, "all given back", func() bool { return len(s.rentals()) == 0 })
	if err := others.Wait(); err != nil {
		t.Error(err)
	}
	mine := s.judge()
	s.bootedFirst()
	s.books()
	t.Logf("%d machines taken, %d jobs:\n%s", len(s.takings), len(s.jobs), table(mine, plain))
	if mine.again.mean() > plain.again.mean()/2 {
		t.Errorf("running again after %s; plain Slurm needs %s", mine.again.mean(), plain.again.mean())
	}
}

// folder is a place that everybody may write to, on every machine.
func (r *rig) folder(shared string) string {
	dir := filepath.Join(shared, "home", "alice", "work")
	must(r.t, os.MkdirAll(dir, 0o777))
	must(r.t, os.Chmod(dir, 0o777))
	return dir
}

// block fills the local nodes, so that everything else needs rented ones.
func (s *siege) block() {
	id, err := s.cluster.Submit(s.t.Context(), sandbox.Alice, "#!/bin/sh\nsleep 7200\n", "-N2", "--exclusive", "--gres=gpu:8", "--mem=1000", "--job-name=block", "--output=/dev/null")
	must(s.t, err)
	_, err = s.cluster.WaitJob(s.t.Context(), id, "RUNNING")
	must(s.t, err)
}

// submit sends one job of each kind.
func (s *siege) submit() {
	for i := range kinds {
		k := &kinds[i]
		name := fmt.Sprintf("%s-%d", k.Name, s.batches)
		args := append([]string{"--job-name=" + name}, k.Args...)
		if k.Tasks > 0 {
			args = append(args, fmt.Sprintf("--array=1-%d", k.Tasks))
		}
		id, err := s.cluster.Submit(s.t.Context(), sandbox.Alice, k.script(s.scratch, steps), args...)
		must(s.t, err)
		if k.Tasks == 0 {
			s.jobs = append(s.jobs, &job{k, bridge.JobID(id), name})
			continue
		}
		for task := 1; task <= k.Tasks; task++ {
			s.jobs = append(s.jobs, &job{k, bridge.JobID(fmt.Sprintf("%s_%d", id, task)), fmt.Sprintf("%s-%d", name, task)})
		}
	}
	s.batches++
}

// left counts the jobs that are not done.
func (s *siege) left() (n int) {
	s.t.Helper()
	if _, err := s.cluster.Output(s.t.Context(), sandbox.Account{}, "pgrep", "-x", "slurmctld"); err != nil {
		s.t.Fatalf("slurmctld is dead: %v", err)
	}
	for _, j := range s.jobs {
		if s.record(j).Done == 0 {
			n++
		}
	}
	return n
}

func (s *siege) record(j *job) record {
	s.t.Helper()
	r, err := readRecord(s.scratch, j.name)
	must(s.t, err)
	return r
}

// take has the cloud take one machine on which a job works, and reports
// whether it found one. The daemon dies with the middle one.
func (s *siege) take(n int) bool {
	s.pause(time.Duration(s.dice.Int64N(int64(4 * time.Second))))
	type victim struct {
		id   string
		jobs []bridge.JobID
	}
	var choice []victim
	for _, r := range s.rentals() {
		if r.Pool.Market != bridge.Spot || r.State != bridge.StateAdmitted {
			continue
		}
		for _, m := range r.Machines {
			if jobs := s.on(m.Node, r.Running); m.State == bridge.MachineJoined && len(jobs) > 0 {
				choice = append(choice, victim{m.ID, jobs})
			}
		}
	}
	if len(choice) == 0 {
		return false
	}
	slices.SortFunc(choice, func(a, b victim) int { return strings.Compare(a.id, b.id) })
	v := choice[s.dice.IntN(len(choice))]
	x := taking{at: time.Now(), warned: s.dice.IntN(10) < 7, killed: len(s.takings) == n/2, affected: v.jobs}
	f := wire.Fault{Kind: wire.CommandReclaim, Instance: v.id}
	if x.warned {
		f.Kind = wire.CommandNotice
	}
	if err := s.fault(f); err != nil {
		return false // it ended meanwhile
	}
	s.takings = append(s.takings, x)
	if x.killed {
		s.pause(time.Duration(s.dice.Int64N(int64(2 * time.Second))))
		must(s.t, s.daemon.Process.Kill())
		<-s.daemon.over
		s.daemon = s.process("spillway-again", "run", "--config", s.path("spillway.yaml"))
	}
	return true
}

// on are the jobs that have work to do on a node and are not about to end.
func (s *siege) on(node string, running []bridge.JobID) []bridge.JobID {
	var out []bridge.JobID
	for _, j := range s.jobs {
		if !slices.Contains(running, j.id) {
			continue
		}
		r := s.record(j)
		if n := len(r.Runs); n == 0 || r.Done > 0 || r.Runs[n-1].Last > steps-20 || !slices.Contains(s.hosts(r.Runs[n-1].Nodes), node) {
			continue
		}
		out = append(out, j.id)
	}
	return out
}

func (r *rig) pause(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.t.Context().Done():
	}
}

// hosts expands a list of nodes.
func (s *siege) hosts(list string) []string {
	if !strings.Contains(list, "[") {
		return strings.Split(list, ",")
	}
	out, err := s.cluster.Output(s.t.Context(), sandbox.Account{}, "scontrol", "show", "hostnames", list)
	must(s.t, err)
	return strings.Fields(out)
}

// judge reads the jobs' own logs and what Slurm says of them.
func (s *siege) judge() ward {
	w := ward{name: "Spillway"}
	for _, j := range s.jobs {
		r := s.record(j)
		got, err := s.cluster.Job(s.t.Context(), string(j.id))
		if len(r.Runs) == 0 || r.Done != 1 || r.Runs[len(r.Runs)-1].Last != steps || err == nil && got.State != "COMPLETED" {
			w.jobsLost++
			s.t.Errorf("%s (%s) is %s: done %d times, runs %+v", j.name, j.id, got.State, r.Done, r.Runs)
		}
		if twice := r.overlaps(); len(twice) > 0 {
			w.twice++
			s.t.Errorf("%s (%s) ran twice at once: %s", j.name, j.id, strings.Join(twice, "; "))
		}
		if j.kind.OnDemand && len(r.Runs) != 1 {
			s.t.Errorf("%s may not be requeued and was started %d times", j.name, len(r.Runs))
		}
		w.add(&r)
		for i := range len(r.Runs) - 1 {
			if lost := r.lost(i); lost > interval {
				s.t.Errorf("%s (%s) lost %d steps, more than the %d between two checkpoints: %+v", j.name, j.id, lost, interval, r.Runs)
			}
		}
	}
	for _, x := range s.takings {
		for _, j := range s.jobs {
			if !slices.Contains(x.affected, j.id) {
				continue
			}
			r := s.record(j)
			if i := slices.IndexFunc(r.Runs, func(run run) bool { return run.Start.After(x.at) }); i > 0 && !x.killed {
				w.reclaimed.add(r.Runs[i].Start.Sub(x.at))
			}
		}
	}
	return w
}

// bootedFirst checks that no job ever ran on a machine that had not joined.
func (s *siege) bootedFirst() {
	joined := map[string]time.Time{}
	for after := int64(0); ; {
		a, err := socket.Call(s.t.Context(), s.client, desk.AskNews, desk.NewsRequest{After: after + 1, Limit: 1000})
		must(s.t, err)
		for _, n := range a.News {
			if n.Kind == bridge.NewsJoined {
				joined[n.Node] = n.At
			}
		}
		if len(a.News) == 0 {
			break
		}
		after = a.Next
	}
	seen := 0
	for _, j := range s.jobs {
		for _, run := range s.record(j).Runs {
			for _, node := range s.hosts(run.Nodes) {
				at, ok := joined[node]
				if seen++; !ok || at.After(run.Start) {
					s.t.Errorf("S-F44, S-F68: run %d of %s began on %s at %s, which joined at %s", run.No, j.name, node, run.Start.Format(time.TimeOnly), at.Format(time.TimeOnly))
				}
			}
		}
	}
	if seen == 0 {
		s.t.Error("nothing ran on rented machines")
	}
}

// books compares what was paid with what the cloud says.
func (s *siege) books() {
	books, err := socket.Call(s.t.Context(), s.client, desk.AskLedger, desk.LedgerRequest{})
	must(s.t, err)
	entries, err := server.ReadLedger(s.path("cloud", "ledger.jsonl"))
	must(s.t, err)
	judged, err := server.Judge(entries, time.Now())
	must(s.t, err)
	if !books.Balanced || len(judged.Live)+len(judged.Doubles)+len(judged.Overlaps)+len(judged.Late)+len(judged.Untagged) > 0 {
		s.t.Errorf("books balanced: %t %v; live %v, doubles %v, overlaps %v, late %v, untagged %v", books.Balanced, books.Problems,
			judged.Live, judged.Doubles, judged.Overlaps, judged.Late, judged.Untagged)
	}
}
