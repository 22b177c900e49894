package slurmtest_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"spillway.sh/spillway/bridge/sandbox"
	"spillway.sh/spillway/slurm/slurmtest"
)

// rent starts a machine that joins the cluster by its own boot script.
func rent(ctx context.Context, t *testing.T, c *slurmtest.Cluster, name string) *sandbox.Machine {
	t.Helper()
	join := c.Join()
	m, err := sandbox.Start(ctx, sandbox.Spec{
		Dir: filepath.Join(c.Dir(), "machines"), Name: name,
		Image: join.Image, Network: join.Network, Binds: join.Binds, GPUs: 8,
		Init: join.Script(slurmtest.NodeShape{
			Name: name, CPUs: 8, MemoryMiB: 64000, GPUType: "a100", GPUs: 8, Feature: "cloud",
		}),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return m
}

func run(ctx context.Context, t *testing.T, c *slurmtest.Cluster, as sandbox.Account, words string) string {
	t.Helper()
	out, err := c.Output(ctx, as, strings.Fields(words)...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// admit lets job into a partition of its own over the machines and closes the
// door behind it.
func admit(ctx context.Context, t *testing.T, c *slurmtest.Cluster, job, partition, nodes string) {
	t.Helper()
	root := sandbox.Account{}
	run(ctx, t, c, root, "scontrol create PartitionName="+partition+" Nodes="+nodes+" MaxTime=INFINITE State=UP")
	run(ctx, t, c, root, "scontrol update JobId="+job+" Partition=gpu,"+partition)
	run(ctx, t, c, root, "scontrol update PartitionName="+partition+" State=DRAIN")
}

func TestRentedMachinesServeAPendingGangAndLeave(t *testing.T) {
	forEachVersion(t, func(t *testing.T, version string) {
		c := slurmtest.New(t, slurmtest.Options{Version: version, LocalNodes: 1})
		ctx := withLimit(t, 120*time.Second)
		must[slurmtest.Job](t)(c.WaitJob(ctx, must[string](t)(c.Submit(ctx, sandbox.Bob, gpuJob, "--gres=gpu:8")), "RUNNING"))
		gang := must[string](t)(c.Submit(ctx, sandbox.Alice, "#!/bin/bash\nsrun hostname\nsleep 600\n",
			"--gres=gpu:8", "--nodes=2", "--ntasks=2", "--output=gang"))

		rent(ctx, t, c, "sw-a")
		rent(ctx, t, c, "sw-b")
		for _, name := range []string{"sw-a", "sw-b"} {
			node := must[map[string]string](t)(c.WaitNode(ctx, name, "IDLE", "DYNAMIC_NORM"))
			if partitions, ok := node["Partitions"]; ok {
				t.Errorf("node %s joined partition %s by itself, want none", name, partitions)
			}
		}

		admit(ctx, t, c, gang, "sw-1", "sw-a,sw-b")
		start := time.Now()
		job := must[slurmtest.Job](t)(c.WaitJob(ctx, gang, "RUNNING"))
		t.Logf("admission to running: %.2f s", time.Since(start).Seconds())
		if job.Partition != "sw-1" || job.Fields["NodeList"] != "sw-[a-b]" && job.Fields["NodeList"] != "sw-a,sw-b" {
			t.Errorf("gang runs in %s on %s, want sw-1 on both rented machines", job.Partition, job.Fields["NodeList"])
		}

		if err := c.RestartController(ctx); err != nil {
			t.Fatal(err)
		}
		must[slurmtest.Job](t)(c.WaitJob(ctx, gang, "RUNNING"))
		if node := must[map[string]string](t)(c.Node(ctx, "sw-a")); !strings.Contains(node["State"], "DYNAMIC_NORM") {
			t.Errorf("node sw-a is %s after a restart of the controller, want DYNAMIC_NORM", node["State"])
		}
		gone(ctx, t, c, gang)
	})
}

// gone takes sw-a away from under the gang and expects Slurm to put the job
// back into the queue and to forget the node.
func gone(ctx context.Context, t *testing.T, c *slurmtest.Cluster, gang string) {
	t.Helper()
	root := sandbox.Account{}
	run(ctx, t, c, root, "scontrol update NodeName=sw-a State=DOWN Reason=reclaimed")
	job := must[slurmtest.Job](t)(c.WaitJob(ctx, gang, "PENDING"))
	if job.Fields["Restarts"] != "1" {
		t.Errorf("job %s has restarts=%s after its node went, want 1", gang, job.Fields["Restarts"])
	}
	run(ctx, t, c, root, "scontrol delete NodeName=sw-a")
	if node, err := c.Node(ctx, "sw-a"); err == nil {
		t.Errorf("node sw-a is still there: %s", node["State"])
	}
}

func TestAMachineOffTheNetworkGoesDown(t *testing.T) {
	c := slurmtest.New(t, slurmtest.Options{LocalNodes: -1, ExtraConf: "SlurmdTimeout=4"})
	ctx := withLimit(t, 60*time.Second)
	m := rent(ctx, t, c, "sw-a")
	must[map[string]string](t)(c.WaitNode(ctx, "sw-a", "IDLE", "DYNAMIC_NORM"))
	if err := m.Cut(ctx); err != nil {
		t.Fatal(err)
	}
	must[map[string]string](t)(c.WaitNode(ctx, "sw-a", "DOWN", "NOT_RESPONDING"))
}

// RootOnly is no wall for an overlay partition but a locked door: slurmctld
// checks it again when it schedules, against the job's owner.
func TestARootOnlyPartitionNeverStartsAnOrdinaryUsersJob(t *testing.T) {
	forEachVersion(t, func(t *testing.T, version string) {
		c := slurmtest.New(t, slurmtest.Options{Version: version, LocalNodes: -1})
		ctx := withLimit(t, 60*time.Second)
		rent(ctx, t, c, "sw-a")
		must[map[string]string](t)(c.WaitNode(ctx, "sw-a", "IDLE"))
		root := sandbox.Account{}
		id := must[string](t)(c.Submit(ctx, sandbox.Alice, "#!/bin/sh\ntrue\n", "--gres=gpu:8", "--hold"))
		run(ctx, t, c, root, "scontrol create PartitionName=sw-1 Nodes=sw-a State=UP RootOnly=YES")
		run(ctx, t, c, root, "scontrol update JobId="+id+" Partition=gpu,sw-1")
		run(ctx, t, c, root, "scontrol release "+id)
		waitReason(ctx, t, c, id, "PartitionConfig")
		run(ctx, t, c, root, "scontrol update PartitionName=sw-1 RootOnly=NO")
		must[slurmtest.Job](t)(c.WaitJob(ctx, id, "COMPLETED"))
	})
}

func waitReason(ctx context.Context, t *testing.T, c *slurmtest.Cluster, id, reason string) {
	t.Helper()
	for {
		job := must[slurmtest.Job](t)(c.Job(ctx, id))
		if job.State == "PENDING" && job.Fields["Reason"] == reason {
			return
		}
		if job.State != "PENDING" {
			t.Fatalf("job %s is %s, want PENDING for %s", id, job.State, reason)
		}
		select {
		case <-ctx.Done():
			t.Fatalf("job %s waits for %s, want %s", id, job.Fields["Reason"], reason)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// A partition that is drained lets in who was routed there before, and nobody else.
func TestADrainedPartitionKeepsOthersOut(t *testing.T) {
	forEachVersion(t, func(t *testing.T, version string) {
		c := slurmtest.New(t, slurmtest.Options{Version: version, LocalNodes: -1})
		ctx := withLimit(t, 60*time.Second)
		rent(ctx, t, c, "sw-a")
		must[map[string]string](t)(c.WaitNode(ctx, "sw-a", "IDLE"))
		mine := must[string](t)(c.Submit(ctx, sandbox.Alice, "#!/bin/sh\nsleep 1\n", "--gres=gpu:8"))
		other := must[string](t)(c.Submit(ctx, sandbox.Bob, gpuJob, "--gres=gpu:8"))
		admit(ctx, t, c, mine, "sw-1", "sw-a")
		must[slurmtest.Job](t)(c.WaitJob(ctx, mine, "RUNNING"))

		if id, err := c.Submit(ctx, sandbox.Bob, gpuJob, "--partition=sw-1"); err == nil {
			t.Errorf("bob submitted job %s to the drained partition", id)
		}
		// Refused on some versions, without effect on the others.
		_, _ = c.Output(ctx, sandbox.Bob, "scontrol", "update", "JobId="+other, "Partition=gpu,sw-1")
		must[slurmtest.Job](t)(c.WaitJob(ctx, mine, "COMPLETED"))
		if job := must[slurmtest.Job](t)(c.Job(ctx, other)); job.State != "PENDING" || job.Partition != "gpu" {
			t.Errorf("bob's job is %s in %s, want PENDING in gpu", job.State, job.Partition)
		}
	})
}
