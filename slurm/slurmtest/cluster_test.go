package slurmtest_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"spillway.sh/spillway/bridge/sandbox"
	"spillway.sh/spillway/slurm/slurmtest"
)

// gpuJob holds a whole node until the cluster goes.
const gpuJob = "#!/bin/bash\nsleep 600\n"

// forEachVersion runs a test on all versions at the same time, as rigs must be
// able to.
func forEachVersion(t *testing.T, test func(t *testing.T, version string)) {
	for _, version := range slurmtest.Versions() {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			test(t, version)
		})
	}
}

// withLimit bounds a test's waiting.
func withLimit(t *testing.T, limit time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	return ctx
}

func must[T any](t *testing.T) func(T, error) T {
	return func(value T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

func TestAnOrdinaryUsersJobsFillTheLocalNodes(t *testing.T) { //nolint:tparallel // One rig of each version at a time, no more.
	forEachVersion(t, func(t *testing.T, version string) {
		c := slurmtest.New(t, slurmtest.Options{Version: version})
		ctx := withLimit(t, 60*time.Second)
		var ids []string
		for range 4 {
			ids = append(ids, must[string](t)(c.Submit(ctx, sandbox.Alice, gpuJob, "--gres=gpu:8")))
		}
		for _, id := range ids[:2] {
			job := must[slurmtest.Job](t)(c.WaitJob(ctx, id, "RUNNING"))
			if got := job.Fields["UserId"]; got != "alice(5001)" {
				t.Errorf("job %s runs as %s, want alice", id, got)
			}
		}
		for _, id := range ids[2:] {
			if job := must[slurmtest.Job](t)(c.Job(ctx, id)); job.State != "PENDING" {
				t.Errorf("job %s is %s while both nodes are taken, want PENDING", id, job.State)
			}
		}
	})
}

func TestAJobSeesItsGPUsAndItsHome(t *testing.T) { //nolint:tparallel // One rig of each version at a time, no more.
	forEachVersion(t, func(t *testing.T, version string) {
		c := slurmtest.New(t, slurmtest.Options{Version: version, LocalNodes: 1})
		ctx := withLimit(t, 60*time.Second)
		id := must[string](t)(c.Submit(ctx, sandbox.Bob,
			"#!/bin/bash\necho $(whoami) $(pwd) $(hostname) $CUDA_VISIBLE_DEVICES\n", "--gres=gpu:2", "--output=out"))
		must[slurmtest.Job](t)(c.WaitJob(ctx, id, "COMPLETED"))
		got := must[[]byte](t)(os.ReadFile(filepath.Join(c.SharedDir(), "home/bob/out")))
		if diff := cmp.Diff("bob /home/bob local1 0,1\n", string(got)); diff != "" {
			t.Errorf("output of the job (-want +got):\n%s", diff)
		}
	})
}

func TestCommandsOnThePathUseTheCluster(t *testing.T) {
	c := slurmtest.New(t, slurmtest.Options{LocalNodes: 1})
	ctx := withLimit(t, 60*time.Second)
	work := filepath.Join(c.SharedDir(), "home/alice/work")
	if err := errors.Join(os.Mkdir(work, 0o755), os.Chown(work, sandbox.Alice.ID, sandbox.Alice.ID)); err != nil {
		t.Fatal(err)
	}
	sbatch := exec.CommandContext(ctx, filepath.Join(c.BinDir(sandbox.Alice), "sbatch"), "--parsable", "--wrap", "true")
	sbatch.Dir = work
	id := strings.TrimSpace(string(must[[]byte](t)(sbatch.Output())))
	job := must[slurmtest.Job](t)(c.WaitJob(ctx, id, "COMPLETED"))
	got := map[string]string{"user": job.Fields["UserId"], "folder": job.Fields["WorkDir"]}
	if diff := cmp.Diff(map[string]string{"user": "alice(5001)", "folder": work}, got); diff != "" {
		t.Errorf("job sent from a shared folder (-want +got):\n%s", diff)
	}
	srun := exec.CommandContext(ctx, filepath.Join(c.BinDir(sandbox.Bob), "srun"), "sh", "-c", "whoami; hostname; pwd")
	srun.Stderr = os.Stderr
	if got := string(must[[]byte](t)(srun.Output())); got != "bob\nlocal1\n/home/bob\n" {
		t.Errorf("srun printed %q, want bob on local1 in his home", got)
	}
	squeue := exec.CommandContext(ctx, filepath.Join(c.BinDir(sandbox.Account{}), "squeue"), "-h", "-t", "all", "-u", "alice", "-o", "%i %u")
	if got := string(must[[]byte](t)(squeue.Output())); got != id+" alice\n" {
		t.Errorf("squeue printed %q, want the one job", got)
	}
}

func TestTheControllerGoesAndComesBack(t *testing.T) {
	c := slurmtest.New(t, slurmtest.Options{LocalNodes: 1})
	ctx := withLimit(t, 60*time.Second)
	id := must[string](t)(c.Submit(ctx, sandbox.Alice, gpuJob))
	must[slurmtest.Job](t)(c.WaitJob(ctx, id, "RUNNING"))

	if err := c.KillController(ctx); err != nil {
		t.Fatal(err)
	}
	if out, err := c.Output(withLimit(t, time.Second), sandbox.Alice, "squeue", "-h"); err == nil {
		t.Errorf("squeue answered %q without a controller", out)
	}
	if err := c.StartController(ctx); err != nil {
		t.Fatal(err)
	}
	must[slurmtest.Job](t)(c.WaitJob(ctx, id, "RUNNING"))

	if err := c.PauseController(ctx); err != nil {
		t.Fatal(err)
	}
	if out, err := c.Output(withLimit(t, time.Second), sandbox.Alice, "squeue", "-h"); err == nil {
		t.Errorf("squeue answered %q while the controller was stopped", out)
	}
	if err := c.ResumeController(ctx); err != nil {
		t.Fatal(err)
	}
	must[slurmtest.Job](t)(c.WaitJob(ctx, id, "RUNNING"))
}

func TestSlurmRunsUnderItsOwnAccount(t *testing.T) { //nolint:tparallel // One rig of each version at a time, no more.
	forEachVersion(t, func(t *testing.T, version string) {
		c := slurmtest.New(t, slurmtest.Options{Version: version, LocalNodes: 1, SlurmUser: "slurm"})
		ctx := withLimit(t, 60*time.Second)
		id := must[string](t)(c.Submit(ctx, sandbox.Alice, "#!/bin/sh\ntrue\n"))
		must[slurmtest.Job](t)(c.WaitJob(ctx, id, "COMPLETED"))
		// The daemon's own account has the rights of an administrator.
		slurm := must[sandbox.Account](t)(c.SlurmAccount())
		if _, err := c.Output(ctx, slurm, "scontrol", "create", "PartitionName=sw-1", "State=UP"); err != nil {
			t.Error(err)
		}
	})
}

func TestAccountingKnowsAnAdministratorWhoIsNotRoot(t *testing.T) { //nolint:tparallel // One rig of each version at a time, no more.
	forEachVersion(t, func(t *testing.T, version string) {
		c := slurmtest.New(t, slurmtest.Options{Version: version, LocalNodes: 1, Accounting: true, Enforce: "associations,limits"})
		ctx := withLimit(t, 60*time.Second)
		create := []string{"scontrol", "create", "PartitionName=sw-1", "State=UP"}
		if out, err := c.Output(ctx, sandbox.Alice, create...); err == nil {
			t.Errorf("alice made a partition: %q", out)
		}
		if _, err := c.Output(ctx, sandbox.Operator, create...); err != nil {
			t.Error(err)
		}
		id := must[string](t)(c.Submit(ctx, sandbox.Alice, "#!/bin/sh\ntrue\n"))
		job := must[slurmtest.Job](t)(c.WaitJob(ctx, id, "COMPLETED"))
		if got := job.Fields["Account"]; got != slurmtest.Account {
			t.Errorf("account of alice's job = %q, want %q", got, slurmtest.Account)
		}
		// slurmctld tells slurmdbd of jobs in its own time.
		for out := ""; out != "alice\n"; {
			out = must[string](t)(c.Output(ctx, sandbox.Alice, "sacct", "-n", "-P", "-o", "user", "-X"))
			select {
			case <-ctx.Done():
				t.Fatalf("sacct printed %q, want alice's one job", out)
			case <-time.After(100 * time.Millisecond):
			}
		}
	})
}

func TestAFolderWithALiveRigIsRefused(t *testing.T) {
	c := slurmtest.New(t, slurmtest.Options{LocalNodes: -1})
	if other, err := slurmtest.Start(t.Context(), slurmtest.Options{Dir: c.Dir(), LocalNodes: -1}); err == nil {
		t.Errorf("a second cluster started in %s", other.Dir())
	}
	if !c.Head().Alive() {
		t.Error("the refused cluster took the first one's head node away")
	}
}

func TestWrongOptionsAreNamed(t *testing.T) {
	for name, test := range map[string]struct {
		options slurmtest.Options
		want    string
	}{
		"a version nobody ships":       {slurmtest.Options{Version: "1.0"}, `start cluster: version "1.0" is not one of 22.05, 24.11, 26.05`},
		"an account nobody runs as":    {slurmtest.Options{SlurmUser: "joe"}, `start cluster: SlurmUser "joe" is not root or slurm`},
		"enforcing without accounting": {slurmtest.Options{Enforce: "limits"}, `start cluster: enforce "limits" needs accounting`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := slurmtest.Start(t.Context(), test.options)
			if err == nil || err.Error() != test.want {
				t.Errorf("Start = %v, want %s", err, test.want)
			}
		})
	}
}
