package slurmctl_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/sim/slurmctl"
	"spillway.sh/spillway/slurm"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// local is a cluster of two nodes with eight GPUs each.
func local() slurmctl.Options {
	return slurmctl.Options{
		Nodes: []slurmctl.NodeSpec{
			{Name: "local1", CPUs: 8, MemoryMiB: 64000, GPUs: 8, GPUType: "a100"},
			{Name: "local2", CPUs: 8, MemoryMiB: 64000, GPUs: 8, GPUType: "a100"},
		},
		Overlays: 3,
	}
}

func machine(name string) slurmctl.NodeSpec {
	return slurmctl.NodeSpec{Name: name, CPUs: 8, MemoryMiB: 64000, GPUs: 8, GPUType: "a100", Features: []string{"cloud"}}
}

func adapter(c *slurmctl.Controller) *slurm.Cluster {
	return slurm.New(slurm.Options{Name: "rig", Exec: c.Exec, Log: slog.New(slog.DiscardHandler), Silence: -1})
}

// rental is one of so many machines.
func rental(machines int) *bridge.Rental {
	r := &bridge.Rental{ID: "r-0013", Origin: "gpu"}
	for i := range machines {
		r.Machines = append(r.Machines, bridge.Machine{Node: bridge.NodeName(r.ID, i)})
	}
	return r
}

func nodesOf(r *bridge.Rental) (names []string) {
	for _, m := range r.Machines {
		names = append(names, m.Node)
	}
	return names
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func observe(t *testing.T, c *slurm.Cluster) bridge.Queue {
	t.Helper()
	q, err := c.Observe(t.Context())
	must(t, err)
	return q
}

// The way of a rental through the adapter that the bridge uses: machines are
// parked, a gang is let in and runs there, is put back, comes back to where its
// checkpoint was, and all is dismissed.
func TestARentalsLifeOnTheSimulatedSlurm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := slurmctl.New(local())
		c, r := adapter(s), rental(2)
		s.Submit(slurmctl.Job{Name: "block", User: "bob", Nodes: 2, GPUs: 8, Work: time.Hour})
		gang := s.Submit(slurmctl.Job{
			Name: "gang", User: "alice", Nodes: 2, GPUs: 8, Limit: 20 * time.Minute, Restartable: true,
			Work: 10 * time.Minute, Checkpoint: time.Minute, Grace: 2 * time.Second,
		})
		time.Sleep(time.Second)
		q := observe(t, c)
		if len(q.Runs) != 1 || len(q.Demands) != 1 || q.Demands[0].Standing != bridge.StandingHelps {
			t.Fatalf("the queue is %+v", q)
		}
		for _, name := range nodesOf(r) {
			must(t, s.Register(machine(name)))
		}
		must(t, c.Admit(t.Context(), r, nodesOf(r)))
		must(t, c.Route(t.Context(), r, gang))
		time.Sleep(time.Second)
		q = observe(t, c)
		if diff := cmp.Diff(nodesOf(r), runOf(&q, gang).Nodes); diff != "" {
			t.Fatalf("the gang's nodes (-want +got):\n%s", diff)
		}
		if err := c.Dismiss(t.Context(), r, nodesOf(r)); !errors.Is(err, bridge.ErrBusy) {
			t.Errorf("dismiss while a job runs: %v", err)
		}
		time.Sleep(5*time.Minute + 30*time.Second)
		must(t, c.Requeue(t.Context(), gang))
		time.Sleep(3 * time.Second)
		eligible, err := c.Expedite(t.Context(), gang)
		must(t, err)
		t.Log("eligible at once:", eligible)
		must(t, c.Undrain(t.Context(), nodesOf(r), "dismissed"))
		time.Sleep(10 * time.Second)
		if run := func() bridge.Run { q := observe(t, c); return runOf(&q, gang) }(); run.Restarts != 1 {
			t.Fatalf("it runs as %+v", run)
		}
		time.Sleep(5*time.Minute + 5*time.Second) // of ten, five were saved
		word, err := c.Ending(t.Context(), gang)
		must(t, err)
		if word != "COMPLETED" {
			t.Errorf("the gang is %s", word)
		}
		must(t, c.Dismiss(t.Context(), r, nodesOf(r)))
		if q = observe(t, c); len(q.Nodes) != 2 || len(q.Overlays) != 0 {
			t.Errorf("left are %+v, %v", q.Nodes, q.Overlays)
		}
	})
}

func runOf(q *bridge.Queue, id bridge.JobID) bridge.Run {
	for _, r := range q.Runs {
		if r.Job == id {
			return r
		}
	}
	return bridge.Run{}
}

// busy is a cluster of 20 nodes with 50 jobs.
func busy(b *testing.B) *slurmctl.Controller {
	b.Helper()
	s := slurmctl.New(local())
	for i := range 18 {
		if err := s.Register(machine(bridge.NodeName("r-0013", i))); err != nil {
			b.Fatal(err)
		}
	}
	for range 50 {
		s.Submit(slurmctl.Job{Name: "job", User: "alice", GPUs: 8, Limit: time.Hour, Work: time.Hour})
	}
	return s
}

// BenchmarkCycle is what one observation of 50 jobs and 20 nodes costs, with the
// adapter's reading of it.
func BenchmarkCycle(b *testing.B) {
	c := adapter(busy(b))
	for b.Loop() {
		if _, err := c.Observe(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkReads is what the three answers of one observation cost.
func BenchmarkReads(b *testing.B) {
	s := busy(b)
	format := strings.Join(queueFields, ":|,") + ":|"
	for b.Loop() {
		for _, args := range [][]string{
			{"squeue", "-h", "-a", "--noconvert", "-O", format}, {"scontrol", "--details", "-o", "show", "nodes"}, {"scontrol", "-a", "-o", "show", "partitions"},
		} {
			if out, err := s.Exec(context.Background(), "", args...); err != nil || out.Code != 0 {
				b.Fatal(err, out.Code)
			}
		}
	}
}
