package sim_test

import (
	"context"
	"maps"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/sim"
	"spillway.sh/spillway/bridge/sim/crash"
	"spillway.sh/spillway/bridge/sim/invariant"
	"spillway.sh/spillway/bridge/sim/slurmctl"
)

// tale is one thing that happens to slurmctld at one moment of a gang's way out.
type tale struct {
	t    *testing.T
	w    *sim.World
	gang bridge.JobID
	// made and leaving are set by calls of the bridge.
	made, leaving atomic.Bool
	struck        bool
}

// nodes are the machines of ours that slurmctld knows.
func (s *tale) nodes() []string {
	_, nodes := s.w.Slurm.Truth()
	var out []string
	for _, n := range nodes {
		out = append(out, n.Name)
	}
	return out
}

// away reports whether the gang runs on rented machines.
func (s *tale) away() bool {
	jobs, _ := s.w.Slurm.Truth()
	ours := s.nodes()
	for i := range jobs {
		if j := &jobs[i]; j.ID == s.gang && j.State == "RUNNING" {
			return slices.ContainsFunc(j.Nodes, func(n string) bool { return slices.Contains(ours, n) })
		}
	}
	return false
}

// moments are the stages of the way.
var moments = map[string]func(*tale) bool{
	"when machines are bought":  func(s *tale) bool { return s.made.Load() },
	"when the first has joined": func(s *tale) bool { return len(s.nodes()) > 0 },
	"while the gang runs there": (*tale).away,
	"when machines are let go":  func(s *tale) bool { return s.leaving.Load() },
}

// blows are what happens to slurmctld, its nodes or its jobs.
var blows = map[string]func(*tale){
	"slurmctld restarts":    func(s *tale) { s.w.Slurm.Restart(false) },
	"slurmctld hangs":       func(s *tale) { s.w.Slurm.Hang(time.Minute) },
	"slurmctld loses all":   func(s *tale) { s.w.Slurm.Restart(true) },
	"a node is renamed":     (*tale).rename,
	"a node is reserved":    (*tale).reserve,
	"the gang is cancelled": func(s *tale) { s.w.Slurm.Cancel(s.gang) },
}

// rename has a machine's slurmd come back under another name, which an admin
// takes away after a while.
func (s *tale) rename() {
	const stray = "stray"
	name := s.last()
	if name == "" {
		return // it has not joined yet
	}
	s.w.Slurm.Lose(name)
	if err := s.w.Slurm.Register(slurmctl.NodeSpec{Name: stray, CPUs: 16, MemoryMiB: 64_000}); err != nil {
		s.t.Error(err)
	}
	s.w.Errand(2*time.Hour, func(ctx context.Context) {
		out, err := s.w.Slurm.Exec(ctx, "", "scontrol", "delete", "NodeName="+stray)
		if err != nil || out.Code != 0 {
			s.t.Errorf("delete the stray node: %v %s", err, out.Stderr)
		}
	})
}

// reserve gives a machine to somebody's maintenance, for two hours.
func (s *tale) reserve() {
	name := s.last()
	if name == "" {
		return
	}
	s.w.Slurm.Reserve("maintenance", name)
	s.w.Errand(2*time.Hour, func(context.Context) { s.w.Slurm.Reserve("maintenance") })
}

func (s *tale) last() string {
	nodes := s.nodes()
	if len(nodes) == 0 {
		return ""
	}
	return nodes[len(nodes)-1]
}

// ended reports whether the gang is over. Its machines are let go after that, and
// what needs one must not come too late.
func (s *tale) ended() bool {
	jobs, _ := s.w.Slurm.Truth()
	return slices.ContainsFunc(jobs, func(j invariant.Job) bool { return j.ID == s.gang && j.State == "COMPLETED" })
}

// watch strikes as soon as the moment is there. What needs a node waits for one.
func (s *tale) watch(moment func(*tale) bool, blow func(*tale), needsNode bool) {
	var again func(context.Context)
	again = func(context.Context) {
		if s.last() == "" && needsNode || !moment(s) && (!needsNode || !s.ended()) {
			s.w.Errand(2*time.Second, again)
			return
		}
		s.struck = true
		blow(s)
	}
	s.w.Errand(time.Minute, again)
}

// around sees when machines have been bought, and when they are about to be let
// go.
func (s *tale) around(ctx context.Context, c *crash.Call, do func(context.Context) error) error {
	if c.Port == "Scheduler" && c.Method == "Dismiss" {
		s.leaving.Store(true)
	}
	err := do(ctx)
	if c.Port == "Cloud" && c.Method == "Create" && err == nil {
		s.made.Store(true)
	}
	return err
}

// TestSlurmctldTroubleAtEveryStage brings six troubles of a scheduler to four
// stages of a gang's way out: whatever it is, the books balance, no job is lost
// or run twice by us, nothing that runs loses its machine, and all is given back.
func TestSlurmctldTroubleAtEveryStage(t *testing.T) {
	for _, what := range slices.Sorted(maps.Keys(blows)) {
		for _, when := range slices.Sorted(maps.Keys(moments)) {
			t.Run(what+"/"+when, func(t *testing.T) {
				for n := range rounds(1, 50, 15*time.Second) {
					tell(t, n, what, when)
				}
			})
		}
	}
}

func tell(t *testing.T, n uint64, what, when string) {
	t.Helper()
	s := &tale{t: t}
	setup := sim.Setup{Seed: n, Length: 4 * time.Hour, Jobs: -1, Wrap: func(_ int, p sim.Ports) sim.Ports { return crash.Through(p, s.around) }}
	play(t, setup, func(ctx context.Context, w *sim.World) {
		s.w = w
		w.Errand(time.Minute, func(context.Context) {
			w.Submit(slurmctl.Job{Name: "block", User: "dee", Account: "p2", Nodes: 4, CPUs: 16, Work: 3 * time.Hour, Limit: 3 * time.Hour})
			s.gang = w.Submit(slurmctl.Job{
				Name: "gang", User: "ana", Account: "p3", Nodes: 4, CPUs: 16, Work: 40 * time.Minute, Limit: 90 * time.Minute,
				Restartable: true, Checkpoint: 5 * time.Minute, Grace: 5 * time.Second,
			})
		})
		s.watch(moments[when], blows[what], strings.HasPrefix(what, "a node"))
		if err := w.Play(ctx); err != nil {
			t.Error(err)
		}
		if !s.struck {
			t.Error("the moment never came")
		}
		for _, kind := range w.Slurm.Asked() {
			if !slices.Contains(compared(t), kind) {
				t.Errorf("the bridge asks %q, which is not compared with the real Slurm", kind)
			}
		}
	})
}

// compared are the kinds of commands whose answers are those of the real one, by
// slurmctl's own test.
func compared(t *testing.T) []string {
	t.Helper()
	data, err := os.ReadFile("slurmctl/testdata/asked.txt")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(data)), "\n")
}
