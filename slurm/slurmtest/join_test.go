package slurmtest_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"spillway.sh/spillway/bridge/sandbox"
	"spillway.sh/spillway/slurm/slurmtest"
)

// rent starts a machine that joins the cluster by its own boot script.
func rent(ctx context.Context, t *testing.T, c *slurmtest.Cluster, name string) {
	t.Helper()
	shape := slurmtest.NodeShape{Name: name, CPUs: 8, MemoryMiB: 64000, GPUType: "a100", GPUs: 8, Feature: "cloud"}
	boot(ctx, t, c, shape, c.Join().Script(shape))
}

func boot(ctx context.Context, t *testing.T, c *slurmtest.Cluster, shape slurmtest.NodeShape, script []byte) {
	t.Helper()
	join := c.Join()
	m, err := sandbox.Start(ctx, sandbox.Spec{
		Dir: filepath.Join(c.Dir(), "machines"), Name: shape.Name,
		Image: join.Image, Network: join.Network, Binds: join.Binds, GPUs: shape.GPUs, Init: script,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
}

func run(ctx context.Context, t *testing.T, c *slurmtest.Cluster, as sandbox.Account, words string) string {
	t.Helper()
	out, err := c.Output(ctx, as, strings.Fields(words)...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// blocked starts a cluster whose local nodes are taken by bob.
func blocked(ctx context.Context, t *testing.T, options slurmtest.Options) *slurmtest.Cluster {
	t.Helper()
	c := slurmtest.New(t, options)
	for range len(c.Nodes()) {
		id := must[string](t)(c.Submit(ctx, sandbox.Bob, gpuJob, "--gres=gpu:8"))
		must[slurmtest.Job](t)(c.WaitJob(ctx, id, "RUNNING"))
	}
	return c
}

// route lets a pending job into a partition beside its own. Slurm answers with
// an error although it has done so when the job cannot start at once, so only
// the job tells.
func route(ctx context.Context, t *testing.T, c *slurmtest.Cluster, job, partition string) {
	t.Helper()
	for {
		_, err := c.Output(ctx, sandbox.Account{}, "scontrol", "update", "JobId="+job, "Partition=gpu,"+partition)
		if got := must[slurmtest.Job](t)(c.Job(ctx, job)); strings.Contains(got.Partition, partition) {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("job %s does not get into %s: %v", job, partition, err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// admit puts machines into an overlay partition, lets one job in and closes
// the door behind it.
func admit(ctx context.Context, t *testing.T, c *slurmtest.Cluster, job, partition, nodes string) {
	t.Helper()
	root := sandbox.Account{}
	run(ctx, t, c, root, "scontrol update PartitionName="+partition+" Nodes="+nodes+" State=UP")
	route(ctx, t, c, job, partition)
	run(ctx, t, c, root, "scontrol update PartitionName="+partition+" State=DRAIN")
}

func TestRentedMachinesServeAPendingGangAndLeave(t *testing.T) { //nolint:tparallel // One rig of each version at a time, no more.
	forEachVersion(t, func(t *testing.T, version string) {
		ctx := withLimit(t, 120*time.Second)
		c := blocked(ctx, t, slurmtest.Options{Version: version, Overlays: 1})
		gang := must[string](t)(c.Submit(ctx, sandbox.Alice, "#!/bin/bash\nsrun hostname > gang\nsleep 600\n",
			"--gres=gpu:8", "--nodes=2", "--ntasks=2"))

		rent(ctx, t, c, "sw-a")
		rent(ctx, t, c, "sw-b")
		for _, name := range []string{"sw-a", "sw-b"} {
			node := must[map[string]string](t)(c.WaitNode(ctx, name, "IDLE", "DYNAMIC_NORM"))
			if partitions, ok := node["Partitions"]; ok {
				t.Errorf("node %s joined partition %s by itself, want none", name, partitions)
			}
		}

		start := time.Now()
		admit(ctx, t, c, gang, "sw-1", "sw-a,sw-b")
		job := must[slurmtest.Job](t)(c.WaitJob(ctx, gang, "RUNNING"))
		t.Logf("admission to running: %.2f s", time.Since(start).Seconds())
		nodes := run(ctx, t, c, sandbox.Account{}, "scontrol show hostnames "+job.Fields["NodeList"])
		if job.Partition != "sw-1" || nodes != "sw-a\nsw-b\n" {
			t.Errorf("gang runs in %s on %q, want sw-1 on both rented machines", job.Partition, nodes)
		}
		waitLines(ctx, t, filepath.Join(c.SharedDir(), "home/alice/gang"), "sw-a", "sw-b")

		survivesRestart(ctx, t, c, gang)
		comesBack(ctx, t, c, gang)
	})
}

// survivesRestart restarts the controller under the running gang.
func survivesRestart(ctx context.Context, t *testing.T, c *slurmtest.Cluster, gang string) {
	t.Helper()
	if err := c.RestartController(ctx); err != nil {
		t.Fatal(err)
	}
	must[slurmtest.Job](t)(c.WaitJob(ctx, gang, "RUNNING"))
	node := must[map[string]string](t)(c.Node(ctx, "sw-a"))
	if _, ok := node["Partitions"]; ok || !strings.Contains(node["State"], "DYNAMIC_NORM") {
		t.Errorf("node sw-a is %s in %q after a restart, want DYNAMIC_NORM in no partition", node["State"], node["Partitions"])
	}
	run(ctx, t, c, sandbox.Account{}, "scontrol update PartitionName=sw-1 Nodes=sw-a,sw-b")
	must[slurmtest.Job](t)(c.WaitJob(ctx, gang, "RUNNING"))
}

// comesBack takes sw-a away from under the gang and expects Slurm to put the
// job back into the queue and to forget the node.
func comesBack(ctx context.Context, t *testing.T, c *slurmtest.Cluster, gang string) {
	t.Helper()
	root := sandbox.Account{}
	start := time.Now()
	run(ctx, t, c, root, "scontrol update NodeName=sw-a State=DOWN Reason=reclaimed")
	job := must[slurmtest.Job](t)(c.WaitJob(ctx, gang, "PENDING"))
	t.Logf("node down to job requeued: %.2f s", time.Since(start).Seconds())
	if job.Fields["Restarts"] != "1" {
		t.Errorf("job %s has restarts=%s after its node went, want 1", gang, job.Fields["Restarts"])
	}
	run(ctx, t, c, root, "scontrol delete NodeName=sw-a")
	if node, err := c.Node(ctx, "sw-a"); err == nil {
		t.Errorf("node sw-a is still there: %s", node["State"])
	}
}

// waitLines waits until the file holds exactly these lines, in any order.
func waitLines(ctx context.Context, t *testing.T, path string, want ...string) {
	t.Helper()
	for {
		data, _ := os.ReadFile(path) // It may not be there yet.
		got := strings.Fields(string(data))
		slices.Sort(got)
		if slices.Equal(got, want) {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s holds %q, want %q", path, got, want)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// A partition made at run time does not survive slurmctld, and takes the jobs
// that run in it along: Slurm ends them for good. Overlays are declared in
// slurm.conf for that reason.
func TestAPartitionMadeAtRunTimeIsLostWithItsJobs(t *testing.T) { //nolint:tparallel // One rig of each version at a time, no more.
	forEachVersion(t, func(t *testing.T, version string) {
		ctx := withLimit(t, 120*time.Second)
		c := blocked(ctx, t, slurmtest.Options{Version: version, LocalNodes: 1})
		rent(ctx, t, c, "sw-a")
		must[map[string]string](t)(c.WaitNode(ctx, "sw-a", "IDLE"))
		id := must[string](t)(c.Submit(ctx, sandbox.Alice, gpuJob, "--gres=gpu:8"))
		run(ctx, t, c, sandbox.Account{}, "scontrol create PartitionName=sw-1 Nodes=sw-a MaxTime=INFINITE State=UP")
		route(ctx, t, c, id, "sw-1")
		must[slurmtest.Job](t)(c.WaitJob(ctx, id, "RUNNING"))
		if err := c.RestartController(ctx); err != nil {
			t.Fatal(err)
		}
		must[slurmtest.Job](t)(c.WaitJob(ctx, id, "NODE_FAIL"))
	})
}

// RootOnly is no wall for an overlay partition but a locked door: slurmctld
// checks it again when it schedules, against the job's owner.
func TestARootOnlyPartitionNeverStartsAnOrdinaryUsersJob(t *testing.T) { //nolint:tparallel // One rig of each version at a time, no more.
	forEachVersion(t, func(t *testing.T, version string) {
		ctx := withLimit(t, 120*time.Second)
		c := blocked(ctx, t, slurmtest.Options{Version: version, LocalNodes: 1, Overlays: 1})
		rent(ctx, t, c, "sw-a")
		must[map[string]string](t)(c.WaitNode(ctx, "sw-a", "IDLE"))
		root := sandbox.Account{}
		id := must[string](t)(c.Submit(ctx, sandbox.Alice, "#!/bin/sh\ntrue\n", "--gres=gpu:8"))
		run(ctx, t, c, root, "scontrol update PartitionName=sw-1 Nodes=sw-a State=UP RootOnly=YES")
		route(ctx, t, c, id, "sw-1")
		waitReason(ctx, t, c, id, "PartitionConfig")
		run(ctx, t, c, root, "scontrol update PartitionName=sw-1 RootOnly=NO")
		must[slurmtest.Job](t)(c.WaitJob(ctx, id, "COMPLETED"))
	})
}

func waitReason(ctx context.Context, t *testing.T, c *slurmtest.Cluster, id, reason string) {
	t.Helper()
	for {
		job := must[slurmtest.Job](t)(c.Job(ctx, id))
		if job.State != "PENDING" {
			t.Fatalf("job %s is %s, want PENDING for %s", id, job.State, reason)
		}
		if job.Fields["Reason"] == reason {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("job %s waits for %s, want %s", id, job.Fields["Reason"], reason)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// A drained partition lets in who was routed there before, and nobody else.
func TestADrainedPartitionKeepsOthersOut(t *testing.T) { //nolint:tparallel // One rig of each version at a time, no more.
	forEachVersion(t, func(t *testing.T, version string) {
		ctx := withLimit(t, 120*time.Second)
		c := blocked(ctx, t, slurmtest.Options{Version: version, LocalNodes: 1, Overlays: 1})
		rent(ctx, t, c, "sw-a")
		must[map[string]string](t)(c.WaitNode(ctx, "sw-a", "IDLE"))
		mine := must[string](t)(c.Submit(ctx, sandbox.Alice, "#!/bin/sh\nsleep 1\n", "--gres=gpu:8"))
		other := must[string](t)(c.Submit(ctx, sandbox.Bob, gpuJob, "--gres=gpu:8"))
		admit(ctx, t, c, mine, "sw-1", "sw-a")

		if id, err := c.Submit(ctx, sandbox.Bob, gpuJob, "--partition=sw-1"); err == nil {
			t.Errorf("bob submitted job %s to the drained partition", id)
		}
		// Refused or without effect, depending on the version.
		_, _ = c.Output(ctx, sandbox.Bob, "scontrol", "update", "JobId="+other, "Partition=gpu,sw-1")
		must[slurmtest.Job](t)(c.WaitJob(ctx, mine, "COMPLETED"))
		if job := must[slurmtest.Job](t)(c.Job(ctx, other)); job.State != "PENDING" || job.Partition != "gpu" {
			t.Errorf("bob's job is %s in %s, want PENDING in gpu", job.State, job.Partition)
		}
	})
}

func TestMachinesJoinWithAnyGPUsOrWithoutFiles(t *testing.T) { //nolint:tparallel // One rig of each version at a time, no more.
	forEachVersion(t, func(t *testing.T, version string) {
		ctx := withLimit(t, 120*time.Second)
		c := slurmtest.New(t, slurmtest.Options{Version: version, LocalNodes: -1, Overlays: 1})
		other := slurmtest.NodeShape{Name: "other", CPUs: 4, MemoryMiB: 32000, GPUType: "h100", GPUs: 2}
		fetched := slurmtest.NodeShape{Name: "fetched", CPUs: 8, MemoryMiB: 64000, GPUType: "a100", GPUs: 8}
		boot(ctx, t, c, other, c.Join().Script(other))
		boot(ctx, t, c, fetched, c.Join().ConfiglessScript(fetched))
		for _, shape := range []slurmtest.NodeShape{other, fetched} {
			node := must[map[string]string](t)(c.WaitNode(ctx, shape.Name, "IDLE", "DYNAMIC_NORM"))
			want := fmt.Sprintf("gpu:%s:%d", shape.GPUType, shape.GPUs)
			if node["State"] != "IDLE+DYNAMIC_NORM" || node["Gres"] != want {
				t.Errorf("node %s is %s with %s, want IDLE+DYNAMIC_NORM with %s", shape.Name, node["State"], node["Gres"], want)
			}
		}
	})
}
