package ordeal

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/cloud/local/wire"
	"spillway.sh/spillway/bridge/desk"
	"spillway.sh/spillway/bridge/sandbox"
	"spillway.sh/spillway/bridge/sim/soak"
)

// hang is how long slurmctld is silent: longer than a look at it counts.
func hang() time.Duration {
	if soak.Long() {
		return time.Minute
	}
	return 6 * time.Second
}

// quick has looks at the scheduler count for less, so that a shorter hang is as
// long to the daemon as a minute is at a site.
var quick = []string{"limits: {", "limits: {max_queue_age: 3s, read: 3s, write: 3s, "}

// slurmctld hangs while one machine works and another boots, and restarts under
// a running job: no job is lost or run twice, no machine ended or rented twice.
func TestT13_ControllerHangsAndRestarts(t *testing.T) {
	r := newTrial(t, "control", quick...)
	r.start()
	first := r.submit(500)
	r.until(time.Minute, "it runs", func() bool { return r.runs(first) })
	second := r.submit(1)
	r.until(time.Minute, "a second machine boots", func() bool { return len(r.judge().Live) == 2 })
	ctx := t.Context()
	must(t, r.Cluster.PauseController(ctx))
	resumed := false
	t.Cleanup(func() {
		if !resumed {
			must(t, r.Cluster.ResumeController(context.WithoutCancel(ctx)))
		}
	})
	r.until(20*time.Second, "a person is told", func() bool { return strings.Contains(r.problems(), "queue/control") })
	r.pause(hang())
	if n := len(r.judge().Live); n != 2 {
		t.Errorf("%d machines are left of two after slurmctld was silent", n)
	}
	must(t, r.Cluster.ResumeController(ctx))
	resumed = true
	r.until(time.Minute, "the second job runs", func() bool { return r.runs(second) })
	must(t, r.Cluster.StopController(ctx))
	r.pause(2 * time.Second)
	must(t, r.Cluster.StartController(ctx))
	r.pause(2 * time.Second) // in which the first job goes on
	r.finish(first)
	r.over(2)
}

// While machines boot or wait for jobs, a job is cancelled, and an administrator
// takes a node out of Slurm, drains one, and reserves one: all go back in good
// order, and what people wrote at a node is not read as ours.
func TestT13_NodesInOthersHands(t *testing.T) {
	r := newTrial(t, "others", append(quick, "idle: 1s", "idle: 2m")...)
	r.start()
	r.until(30*time.Second, "offers", func() bool { return r.problems() == "" })
	r.fault(wire.Fault{Kind: wire.FaultSlowBoot, Op: "create", Delay: wire.Duration(4 * time.Second), Count: 1})
	j := r.submit(1)
	r.until(time.Minute, "the job's machine boots", func() bool { return len(r.judge().Live) == 1 && r.has(bridge.StateJoining) })
	r.must("scancel", j.id)
	meddle := []func(node string){
		func(node string) { r.must("scontrol", "delete", "nodename="+node) },
		func(node string) { r.must("scontrol", "update", "nodename="+node, "state=drain", "reason=hands off") },
		r.reserve,
	}
	for i := range meddle {
		if out := r.command("rent", "8xa100", "for", "5m", "on-demand", "project", "vision", "--yes", "--key", strconv.Itoa(i)); strings.Contains(out, "exit status") {
			t.Fatalf("a person cannot rent: %s", out)
		}
	}
	var open []desk.Rental
	r.until(time.Minute, "three machines are in", func() bool {
		open, _ = r.rentals()
		return len(open) == len(meddle) && !slices.ContainsFunc(open, func(q desk.Rental) bool { return q.State != bridge.StateAdmitted })
	})
	for i, f := range meddle {
		f(open[i].Machines[0].Node)
	}
	r.pause(3 * time.Second)
	if n := len(r.judge().Live); n != len(meddle) {
		t.Errorf("%d machines are left of %d that people rented", n, len(meddle))
	}
	t.Logf("with their nodes in others' hands:\n%s", r.must("sinfo", "-aNo", "%N %P %T %E"))
	r.command("release", "--all", "--now")
	r.returned(1 + len(meddle))
	if r.runs(j) {
		t.Error("the job ran though it was cancelled")
	}
	r.until(30*time.Second, "their nodes are gone from Slurm", func() bool {
		seen := r.must("sinfo", "-aNh", "-o", "%N")
		return !slices.ContainsFunc(open, func(q desk.Rental) bool { return strings.Contains(seen, q.Machines[0].Node) })
	})
}

// reserve reserves a node for root until the test ends.
func (r *trial) reserve(node string) {
	r.t.Helper()
	r.must("scontrol", "create", "reservation", "reservationname=maint", "nodes="+node, "starttime=now", "duration=30", "users=root", "flags=maint,ignore_jobs")
	r.t.Cleanup(func() {
		_, _ = r.Cluster.Output(context.WithoutCancel(r.t.Context()), sandbox.Account{}, "scontrol", "delete", "reservationname=maint")
	})
}

// slurmctld comes back without its state: it knows no job and no machine any
// more. What it lost is lost by it; the machines go back, and a job that is sent
// again runs.
func TestT13_ControllerForgetsEverything(t *testing.T) {
	r := newTrial(t, "forgets", quick...)
	r.start()
	j := r.submit(500)
	r.until(time.Minute, "it runs", func() bool { return r.runs(j) })
	ctx := t.Context()
	must(t, r.Cluster.KillController(ctx))
	r.must("sh", "-c", "rm -rf /var/lib/slurm/slurmctld/*")
	must(t, r.Cluster.StartController(ctx))
	filled := false
	t.Cleanup(func() {
		if !filled {
			must(t, block(context.WithoutCancel(ctx)))
		}
	})
	r.until(90*time.Second, "the machine goes back", func() bool { return len(r.judge().Live) == 0 })
	must(t, block(ctx))
	filled, r.jobs = true, nil // Slurm lost the job
	r.submit(1)
	r.over(2)
}
