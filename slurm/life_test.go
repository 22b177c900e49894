package slurm_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/sandbox"
	"spillway.sh/spillway/slurm"
)

// TestARentalsLife goes the whole way on a real cluster: machines join by their
// own boot script and are parked, a gang is admitted and runs there, slurmctld
// restarts, the gang is requeued and comes back, and all is dismissed.
func TestARentalsLife(t *testing.T) {
	onEach(t, func(t *testing.T, s *site) {
		c, r := s.adapter(sandbox.Account{}), rental(2)
		block := s.block(t)
		gang := s.submit(t, sleeper, "-N2", "--gres=gpu:8", "--mem=1000", "--time=10", "--open-mode=append")
		bystander := s.submit(t, sleeper, "--gres=gpu:8", "--mem=1000")
		machines := s.rent(t, r)
		parked(t, c, r)

		began := time.Now()
		must(t, c.Admit(t.Context(), r, nodesOf(r)))
		must(t, c.Route(t.Context(), r, gang))
		s.wait(t, gang, "RUNNING")
		t.Logf("admit, route, running: %.2f s", time.Since(began).Seconds())
		running(t, c, r, gang)
		q := observe(t, c)
		if d := demand(t, &q, bystander); len(d.Overlays) > 0 {
			t.Errorf("the bystander may use %v", d.Overlays)
		}
		if err := c.Dismiss(t.Context(), r, nodesOf(r)); !errors.Is(err, bridge.ErrBusy) {
			t.Errorf("dismiss while a job runs: %v, want %v", err, bridge.ErrBusy)
		}

		restarted(t, s, r, gang)
		comesBack(t, s, r, gang)
		dismissed(t, s, r, gang, block, bystander)
		secretsAreRootsOnly(t, machines)
	})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// parked expects registered nodes that no job can start on.
func parked(t *testing.T, c *slurm.Cluster, r *bridge.Rental) {
	t.Helper()
	q := observe(t, c)
	for _, name := range nodesOf(r) {
		n := nodeOf(t, &q, name)
		if diff := cmp.Diff(r.Shape, n.Free); diff != "" || !n.Usable || !n.Responding || !n.Dynamic || len(n.Partitions) > 0 {
			t.Errorf("node %+v is not parked: free (-want +got):\n%s", n, diff)
		}
	}
}

// running expects the gang on the rental's machines, under the rental's name.
func running(t *testing.T, c *slurm.Cluster, r *bridge.Rental, gang bridge.JobID) {
	t.Helper()
	q := observe(t, c)
	overlay := bridge.PartitionName(r.ID)
	if diff := cmp.Diff(map[string][]string{overlay: nodesOf(r)}, q.Overlays); diff != "" {
		t.Errorf("overlays (-want +got):\n%s", diff)
	}
	for _, run := range q.Runs {
		if run.Job == gang {
			if run.Partition != overlay || !cmp.Equal(run.Nodes, nodesOf(r)) || !run.Restartable {
				t.Errorf("the gang runs as %+v", run)
			}
			return
		}
	}
	t.Errorf("the gang does not run: %+v", q.Runs)
}

func nodeOf(t *testing.T, q *bridge.Queue, name string) bridge.Node {
	t.Helper()
	for _, n := range q.Nodes {
		if n.Name == name {
			return n
		}
	}
	t.Fatalf("no node %s", name)
	return bridge.Node{}
}

// restarted restarts slurmctld under the running gang: membership is lost and
// put back, by an adapter that has no memory of what it did.
func restarted(t *testing.T, s *site, r *bridge.Rental, gang bridge.JobID) {
	t.Helper()
	must(t, s.RestartController(t.Context()))
	c := s.adapter(sandbox.Account{})
	s.wait(t, gang, "RUNNING")
	q := observe(t, c)
	if nodes, known := q.Overlays[bridge.PartitionName(r.ID)]; !known || len(nodes) > 0 {
		t.Errorf("after the restart the overlay holds %v, known %t; want it known and empty", nodes, known)
	}
	must(t, c.Admit(t.Context(), r, nodesOf(r)))
	running(t, c, r, gang)
}

// comesBack requeues the gang, which then starts on the very same machines.
func comesBack(t *testing.T, s *site, r *bridge.Rental, gang bridge.JobID) {
	t.Helper()
	c := s.adapter(sandbox.Account{})
	must(t, c.Requeue(t.Context(), gang))
	must(t, c.Requeue(t.Context(), gang)) // repeats safely
	took := eligible(t, c, gang)
	t.Logf("steps dead to eligible, on the same nodes: at most %.2f s", took.Seconds())
	job := s.wait(t, gang, "RUNNING")
	if job.Fields["Restarts"] != "1" {
		t.Errorf("the gang was restarted %s times, want once", job.Fields["Restarts"])
	}
	running(t, c, r, gang)
}

// eligible waits until a requeued job is eligible and returns for how long at
// most its steps were dead by then.
func eligible(t *testing.T, c *slurm.Cluster, id bridge.JobID) time.Duration {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	dead := time.Time{}
	eventually(ctx, t, "the job to be eligible", func() (bool, string) {
		asked := time.Now()
		q := observe(t, c)
		if dead.IsZero() && !slices.ContainsFunc(q.Runs, func(r bridge.Run) bool { return r.Job == id }) {
			dead = asked
		}
		ok, err := c.Expedite(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		return ok, "not eligible"
	})
	return time.Since(dead)
}

// dismissed takes the machines away from under the gang, as at a reclaim, and
// then all that is left of the rental.
func dismissed(t *testing.T, s *site, r *bridge.Rental, gang bridge.JobID, others ...bridge.JobID) {
	t.Helper()
	c := s.adapter(sandbox.Account{})
	observe(t, c)
	must(t, c.Drain(t.Context(), nodesOf(r)[:1], "reclaim"))
	must(t, c.Down(t.Context(), append(nodesOf(r), "sw-none-0"), "reclaimed"))
	s.wait(t, gang, "PENDING")
	t.Logf("steps dead to eligible, off its nodes: at most %.2f s", eligible(t, c, gang).Seconds())
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	eventually(ctx, t, "the nodes to be dismissed", func() (bool, string) {
		err := c.Dismiss(ctx, r, nodesOf(r))
		if err != nil && !errors.Is(err, bridge.ErrBusy) {
			t.Fatal(err)
		}
		return err == nil, "busy"
	})
	must(t, c.Dismiss(t.Context(), r, nodesOf(r))) // repeats safely
	q := observe(t, c)
	if d := demand(t, &q, gang); len(q.Overlays) > 0 || d.Partition != "gpu" || len(d.Overlays) > 0 {
		t.Errorf("the rental has left: overlays %v; the gang waits in %s and %v", q.Overlays, d.Partition, d.Overlays)
	}
	for _, n := range q.Nodes {
		if strings.HasPrefix(n.Name, "sw-") {
			t.Errorf("node %s is still there", n.Name)
		}
	}
	// F01: the gang is not set aside; with local nodes free it runs there.
	for _, id := range others {
		s.must(t, sandbox.Account{}, "scancel", string(id))
	}
	if ok, err := c.Expedite(t.Context(), gang); err != nil || !ok {
		t.Errorf("expedite the gang: %t, %v", ok, err)
	}
	eventually(ctx, t, "the gang to run locally", func() (bool, string) {
		job, err := s.Job(ctx, string(gang))
		return err == nil && job.State == "RUNNING", job.State + " " + job.Fields["Reason"]
	})
}

// secretsAreRootsOnly looks for what a machine must not leave lying about.
func secretsAreRootsOnly(t *testing.T, machines map[string]*sandbox.Machine) {
	t.Helper()
	for name, m := range machines {
		for path, mode := range map[string]os.FileMode{"/etc/munge/munge.key": 0o400, "/var/lib/spillway/enrol/lease": 0o600} {
			if info, err := os.Stat(m.Path(path)); err != nil || info.Mode().Perm() != mode {
				t.Errorf("%s on %s: %v, %v; want mode %o", path, name, info.Mode(), err, mode)
			}
		}
		if _, err := os.Stat(m.Path("/var/lib/spillway/enrol/answer")); err == nil {
			t.Errorf("the enrolment's answer lies about on %s", name)
		}
		ask := []string{"curl", "-sf", "-m", "2", "http://169.254.169.254/latest/meta-data/instance-id"}
		if out, err := m.Output(t.Context(), sandbox.Command{Args: ask, As: sandbox.Alice, Dir: "/"}); err == nil {
			t.Errorf("an ordinary user on %s reads %q from the metadata service", name, out)
		}
		if _, err := m.Output(t.Context(), sandbox.Command{Args: ask, Dir: "/"}); err != nil {
			t.Errorf("root on %s cannot read the metadata service: %v", name, err)
		}
	}
}

// TestS_F66_ALostGangLeavesNoGPUsBehind declares the machines of a running gang
// gone: while they still answer, and after their cables were cut. The gang must
// not end, and the GPUs it is given next must be free again after it. When all
// machines of a gang die at once, 22.05 loses count of those GPUs by itself and
// finds it again when slurmctld restarts.
func TestS_F66_ALostGangLeavesNoGPUsBehind(t *testing.T) {
	for name, cut := range map[string]bool{"answering": false, "cut off": true} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, s *site) { lostGang(t, s, cut) })
		})
	}
}

func lostGang(t *testing.T, s *site, cut bool) {
	t.Helper()
	c, r := s.adapter(sandbox.Account{}), rental(2)
	block := s.block(t)
	gang := s.submit(t, sleeper, "-N2", "--gres=gpu:8", "--mem=1000", "--time=10")
	machines := s.rent(t, r)
	must(t, c.Admit(t.Context(), r, nodesOf(r)))
	must(t, c.Route(t.Context(), r, gang))
	s.wait(t, gang, "RUNNING")
	observe(t, c)
	if cut {
		for _, m := range machines {
			must(t, m.Cut(t.Context()))
		}
	}
	began := time.Now()
	must(t, c.Down(t.Context(), nodesOf(r), "reclaimed"))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	eligible(t, c, gang)
	t.Logf("machines gone to eligible: %.2f s", time.Since(began).Seconds())
	eventually(ctx, t, "the nodes to be dismissed", func() (bool, string) {
		err := c.Dismiss(ctx, r, nodesOf(r))
		return err == nil, fmt.Sprint(err)
	})
	s.must(t, sandbox.Account{}, "scancel", string(block))
	s.wait(t, gang, "RUNNING")
	s.clear(t)
	s.recounts(t, c, cut)
}

// recounts expects all local GPUs to be free. 22.05 loses count of them when a
// job of machines that died runs locally next, and counts anew when it restarts.
func (s *site) recounts(t *testing.T, c *slurm.Cluster, died bool) {
	t.Helper()
	if died && s.Version() == "22.05" {
		must(t, s.RestartController(t.Context()))
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	eventually(ctx, t, "all GPUs to be free", func() (bool, string) {
		q := observe(t, c)
		one, two := nodeOf(t, &q, "local1"), nodeOf(t, &q, "local2")
		return one.Free.GPUs+two.Free.GPUs == 16, s.scene()
	})
}
