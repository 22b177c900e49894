package slurm_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/sandbox"
	"spillway.sh/spillway/slurm"
	"spillway.sh/spillway/slurm/slurmtest"
)

// TestRights runs a rental's life on a cluster with accounting, whose SlurmUser
// is not root: as SlurmUser, and as an account with administrator rights. An
// ordinary account is refused with the way out.
func TestRights(t *testing.T) {
	c, err := slurmtest.Start(t.Context(), slurmtest.Options{
		Version: "24.11", Overlays: 3, LocalNodes: 1, Accounting: true, Enforce: "associations,limits", SlurmUser: "slurm", Progress: os.Stderr,
	})
	if err != nil {
		t.Fatal(err)
	}
	s := &site{Cluster: c}
	t.Cleanup(func() { must(t, c.Close(context.Background())) })
	s.gate = newGate(t, s)
	t.Cleanup(s.gate.close)
	owner, err := c.SlurmAccount()
	if err != nil {
		t.Fatal(err)
	}
	s.wait(t, s.submit(t, sleeper, "--exclusive", "--gres=gpu:8", "--mem=1000"), "RUNNING")

	r := rental(1)
	s.rent(t, r)
	id := s.submit(t, sleeper, "--gres=gpu:8", "--mem=1000")
	alice := s.adapter(sandbox.Alice)
	err = alice.Admit(t.Context(), r, nodesOf(r))
	if err == nil || !strings.Contains(err.Error(), "AdminLevel=Administrator") {
		t.Errorf("an ordinary account admits machines: %v", err)
	}
	findings, err := alice.Doctor(t.Context())
	must(t, err)
	if text := fmt.Sprint(findings); !strings.Contains(text, "{error rights ") {
		t.Errorf("doctor finds %s", text)
	}

	slurmUser := s.adapter(sandbox.Alice, func(o *slurm.Options) { o.BinDir = s.commandsAs(t, owner) })
	for _, who := range []struct {
		name string
		c    *slurm.Cluster
	}{{"SlurmUser", slurmUser}, {"administrator", s.adapter(sandbox.Operator)}} {
		t.Run(who.name, func(t *testing.T) { s.shortLife(t, who.c, r, id) })
	}
}

// shortLife admits, routes, explains and requeues, and empties the overlay.
func (s *site) shortLife(t *testing.T, c *slurm.Cluster, r *bridge.Rental, id bridge.JobID) {
	t.Helper()
	findings, err := c.Doctor(t.Context())
	must(t, err)
	for _, f := range findings {
		if f.Level == slurm.Error && f.Subject != "munge key" { // which is read by the test itself
			t.Errorf("doctor finds %+v", f)
		}
	}
	must(t, c.Admit(t.Context(), r, nodesOf(r)))
	must(t, c.Route(t.Context(), r, id))
	s.wait(t, id, "RUNNING")
	observe(t, c)
	must(t, c.Comment(t.Context(), id, "runs on "+string(r.ID)))
	must(t, c.Signal(t.Context(), id, "CONT", "all"))
	must(t, c.Admit(t.Context(), r, nil)) // nothing new is placed there
	must(t, c.Requeue(t.Context(), id))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	eventually(ctx, t, "the job to be eligible", func() (bool, string) {
		ok, err := c.Expedite(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		return ok, "not eligible"
	})
	must(t, c.Unroute(t.Context(), r, id))
	q := observe(t, c)
	if d := demand(t, &q, id); d.Partition != "gpu" || len(d.Overlays) > 0 || d.Restarts == 0 {
		t.Errorf("the job waits in %s and %v after %d restarts", d.Partition, d.Overlays, d.Restarts)
	}
}

// commandsAs makes a folder of commands that run as any account.
func (s *site) commandsAs(t *testing.T, as sandbox.Account) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"squeue", "scontrol", "scancel", "sdiag"} {
		text := fmt.Sprintf("#!/bin/sh\nexec nsenter %s -- /usr/bin/%s \"$@\"\n", strings.Join(sandbox.EnterArgs(s.Head().PID(), as), " "), name)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestAForeignJobIsUndone lets a user slip his job into an overlay while its
// door is open, and finds him out.
func TestAForeignJobIsUndone(t *testing.T) {
	onEach(t, func(t *testing.T, s *site) {
		c, r := s.adapter(sandbox.Account{}), rental(1)
		s.block(t)
		s.rent(t, r)
		must(t, c.Admit(t.Context(), r, nodesOf(r)))
		foreign := s.submit(t, sleeper, "--mem=100", "--hold")
		node, err := s.Node(t.Context(), nodesOf(r)[0])
		must(t, err)
		overlay := node["Partitions"]

		// With the door closed he does not get in, whatever scontrol tells him.
		_, _ = s.Output(t.Context(), sandbox.Alice, "scontrol", "update", "JobId="+string(foreign), "Partition=gpu,"+overlay)
		q := observe(t, c)
		if d := demand(t, &q, foreign); len(d.Overlays) > 0 {
			t.Fatalf("alice let her own job into %v", d.Overlays)
		}
		// A bridge that died in the middle of Route leaves it open.
		s.must(t, sandbox.Account{}, "scontrol", "update", "PartitionName="+overlay, "State=UP")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		eventually(ctx, t, "alice to slip in", func() (bool, string) {
			out, err := s.Output(ctx, sandbox.Alice, "scontrol", "update", "JobId="+string(foreign), "Partition=gpu,"+overlay)
			return err == nil, out
		})
		c = s.adapter(sandbox.Account{})
		q = observe(t, c)
		if nodes := q.Overlays[bridge.PartitionName(r.ID)]; len(nodes) > 0 {
			t.Errorf("an open overlay is shown as in order: %v", nodes)
		}
		if d := demand(t, &q, foreign); d.Partition != "gpu" || len(d.Overlays) != 1 || d.Overlays[0] != bridge.PartitionName(r.ID) {
			t.Errorf("the foreign job is shown in %s and %v", d.Partition, d.Overlays)
		}
		must(t, c.Admit(t.Context(), r, nodesOf(r)))
		must(t, c.Unroute(t.Context(), r, foreign))
		must(t, c.Unroute(t.Context(), r, foreign))
		s.must(t, sandbox.Account{}, "scontrol", "release", string(foreign))
		q = observe(t, c)
		if d := demand(t, &q, foreign); d.Partition != "gpu" || len(d.Overlays) > 0 {
			t.Errorf("the foreign job is still in %s and %v", d.Partition, d.Overlays)
		}
		must(t, c.Dismiss(t.Context(), r, nodesOf(r)))
	})
}
