package slurmctl_test

import (
	stdcmp "cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/engine"
	"spillway.sh/spillway/bridge/sandbox"
	"spillway.sh/spillway/bridge/sim/slurmctl"
	"spillway.sh/spillway/bridge/sim/soak"
	"spillway.sh/spillway/slurm/slurmtest"
)

var (
	first, second = bridge.NodeName("r-0013", 0), bridge.NodeName("r-0013", 1)
	pair          = rental(2)
	third         = bridge.NodeName("r-0013", 2)
	alone         = &bridge.Rental{ID: "r-0013", Origin: "gpu", Machines: []bridge.Machine{{Node: third}}}
)

const minute = time.Minute

// table goes through every command that the adapter has, what is refused
// included, and through what happens by itself.
var table = []step{
	{name: "an empty cluster", do: raw("squeue -h -a -O JobArrayID:10,State:12", "squeue -h -a -j 99 -O JobArrayID", "squeue -h -a -j 98,99 -O JobArrayID",
		"squeue -h -a -w nosuch -O JobArrayID", "squeue -h -a -p nosuch -O JobArrayID", "squeue -h -a -O Nosuch")},
	{name: "jobs of every kind", do: func(_ context.Context, p *play) string {
		p.submit(slurmctl.Job{Name: "block", Nodes: 2, GPUs: 8, MemoryMiB: 1000, Work: 20 * minute, Limit: 20 * minute, Restartable: true})
		p.side.wait(time.Second)
		p.submit(
			slurmctl.Job{Name: "gang", Nodes: 2, GPUs: 8, MemoryMiB: 1000, Work: 10 * minute, Limit: 10 * minute, Restartable: true, SaveOn: "USR1", Comment: "hello"},
			slurmctl.Job{Name: "single", GPUs: 8, CPUs: 2, MemoryMiB: 3072, Work: 10 * minute, Limit: 90 * minute, SaveOn: "USR1"},
			slurmctl.Job{Name: "array", Tasks: 4, Throttle: 2, GPUs: 8, MemoryMiB: 1000, Work: 10 * minute, Restartable: true},
			slurmctl.Job{Name: "held", Held: true, GPUs: 1, MemoryMiB: 100, Work: minute},
			slurmctl.Job{Name: "later", Begin: time.Now().Add(2 * time.Hour), GPUs: 1, MemoryMiB: 100, Work: minute},
		)
		return p.submit(slurmctl.Job{Name: "after", After: p.ids["gang"], GPUs: 1, MemoryMiB: 100, Work: minute})
	}},
	{name: "machines join", do: func(_ context.Context, p *play) string {
		p.side.join(first)
		p.side.join(second)
		return ""
	}},
	{name: "observed", do: func(ctx context.Context, p *play) string {
		p.called = append(p.called, "Observe")
		q, err := p.cluster.Observe(ctx)
		var b strings.Builder
		for i := range q.Demands {
			d := &q.Demands[i]
			fmt.Fprintf(&b, "%s %s %s %+v x%d x%d %s %s restartable=%t\n", p.named(string(d.Job)), d.Partition, d.Standing, d.Shape, d.Nodes, d.Count, d.TimeLimit, d.Word, d.Restartable)
		}
		for i := range q.Runs {
			fmt.Fprintf(&b, "%s runs on %s\n", p.named(string(q.Runs[i].Job)), q.Runs[i].Nodes)
		}
		for i := range q.Nodes {
			n := &q.Nodes[i]
			fmt.Fprintf(&b, "%s %v free %+v usable=%t\n", n.Name, n.States, n.Free, n.Usable)
		}
		return b.String() + p.said(err)
	}},
	{name: "its settings", do: settled},
	{name: "what is refused to the unknown", do: raw(
		"scontrol update PartitionName=spillway-doctor-asks State=UP", "scontrol update NodeName=nosuch State=DRAIN Reason=x", "scontrol update NodeName=local1,nosuch State=DRAIN Reason=x",
		"scontrol update NodeName=local1 State=DRAIN", "scontrol update NodeName=local1 State=UNDRAIN", "scontrol update NodeName="+first+" State=RESUME", "scontrol delete NodeName=nosuch", "scontrol delete PartitionName=nosuch",
		"scontrol requeue Incomplete 99", "scontrol release 99", "scontrol --oneliner show job 99", "scancel --signal=USR1 --batch --verbose 99", "scancel 99",
		"scontrol update JobId=99 StartTime=now", "scontrol update JobId=99 Partition=gpu", "scontrol update JobId=99 AdminComment=x",
		"scontrol update JobId={single} Partition=nosuch", "scontrol update JobId={single} Partition=sw-2", "scontrol update JobId={single} Partition=gpu,sw-2",
		"< create PartitionName=sw-0014 State=DRAIN Nodes=nosuch", "< update PartitionName=nosuch State=UP",
	)},
	{name: "a partition made at run time", do: raw("< create PartitionName=sw-0013 MaxTime=INFINITE State=DRAIN Nodes="+first+","+second+" PriorityJobFactor=1 PriorityTier=1 OverSubscribe=NO", "< create PartitionName=sw-0013 State=DRAIN")},
	{name: "and deleted", do: raw("scontrol delete PartitionName=sw-0013")},
	{name: "admitted", do: call("Admit", func(ctx context.Context, p *play) error { return p.cluster.Admit(ctx, pair, nodesOf(pair)) })},
	{name: "admitted again", do: call("Admit", func(ctx context.Context, p *play) error { return p.cluster.Admit(ctx, pair, nodesOf(pair)) })},
	{name: "routed", hides: []string{"single", "array"}, do: call("Route", func(ctx context.Context, p *play) error {
		return p.cluster.Route(ctx, pair, p.ids["gang"], p.ids["array"])
	})},
	{name: "unrouted", shows: []string{"single", "array"}, do: call("Unroute", func(ctx context.Context, p *play) error { return p.cluster.Unroute(ctx, pair, p.ids["array"]) })},
	{name: "explained", do: call("Comment", func(ctx context.Context, p *play) error {
		for _, name := range []string{"gang", "single", "array"} {
			if err := p.cluster.Comment(ctx, p.ids[name], "rented for you"); err != nil {
				return err
			}
		}
		return p.cluster.Comment(ctx, p.ids["single"], "")
	})},
	{name: "signalled", do: both(
		call("Signal", func(ctx context.Context, p *play) error {
			return p.cluster.Signal(ctx, p.ids["gang"], "SIGUSR1", "batch")
		}),
		call("Signal", func(ctx context.Context, p *play) error { return p.cluster.Signal(ctx, p.ids["gang"], "USR1", "steps") }),
		call("Signal", func(ctx context.Context, p *play) error { return p.cluster.Signal(ctx, p.ids["gang"], "USR1", "all") }),
		call("Signal", func(ctx context.Context, p *play) error {
			return p.cluster.Signal(ctx, p.ids["single"], "USR1", "batch")
		}),
	)},
	{name: "what is refused while it runs", do: both(
		call("Dismiss", func(ctx context.Context, p *play) error { return p.cluster.Dismiss(ctx, pair, nodesOf(pair)) }),
		raw("scontrol delete NodeName="+first, "scontrol delete PartitionName=sw-1", "scontrol update JobId={gang} Partition=gpu", "scontrol update JobId={gang} StartTime=now"),
		call("Expedite", func(ctx context.Context, p *play) error { _, err := p.cluster.Expedite(ctx, p.ids["gang"]); return err }),
		call("Nudge", func(ctx context.Context, p *play) error { return p.cluster.Nudge(ctx, p.ids["gang"]) }),
	)},
	{name: "selected", do: raw("squeue -h -a -p sw-1 -O JobArrayID:2,State:12,NodeList", "squeue -h -a -w "+second+" -O State", "squeue -h -a -j {array},{gang} -O State",
		"squeue -h -a -j {gang} -O UserName:64,RestartCnt:12")},
	{name: "drained", do: call("Drain", func(ctx context.Context, p *play) error { return p.cluster.Drain(ctx, nodesOf(pair), "reclaim") })},
	{name: "undrained", do: call("Undrain", func(ctx context.Context, p *play) error { return p.cluster.Undrain(ctx, nodesOf(pair), "reclaim") })},
	{name: "requeued", do: call("Requeue", func(ctx context.Context, p *play) error { return p.cluster.Requeue(ctx, p.ids["gang"]) })},
	{name: "requeued again while it waits", do: call("Requeue", func(ctx context.Context, p *play) error { return p.cluster.Requeue(ctx, p.ids["gang"]) })},
	{name: "brought forward", hides: []string{"single"}, do: call("Expedite", func(ctx context.Context, p *play) error { _, err := p.cluster.Expedite(ctx, p.ids["gang"]); return err })},
	{name: "slurmctld restarts", shows: []string{"single"}, do: func(_ context.Context, p *play) string { p.side.restart(); return "" }},
	{name: "admitted after the restart", do: call("Admit", func(ctx context.Context, p *play) error { return p.cluster.Admit(ctx, pair, nodesOf(pair)) })},
	{name: "a machine is gone", do: call("Down", func(ctx context.Context, p *play) error { return p.cluster.Down(ctx, []string{second}, "machine gone") })},
	{name: "the gang is let go", do: both(
		call("Unroute", func(ctx context.Context, p *play) error { return p.cluster.Unroute(ctx, pair, p.ids["gang"]) }),
		call("Dismiss", func(ctx context.Context, p *play) error { return p.cluster.Dismiss(ctx, pair, nodesOf(pair)) }),
	)},
	{name: "released", do: raw("scontrol release {held}", "scontrol release {array}_[0-3]")},
	{name: "cancelled", do: raw("scancel {gang}", "scancel {array}", "scancel {held}", "scancel {block}")},
	{name: "what is refused when it is over", do: both(
		raw("scontrol update JobId={block} Partition=gpu", "scontrol update JobId={block} StartTime=now", "scontrol update JobId={block} AdminComment=x", "scontrol release {block}",
			"scontrol update JobId={array} AdminComment=x", "scancel --signal=USR1 --batch --verbose {block}", "scancel {block}", "scontrol requeue Incomplete {block}"),
		call("Requeue", func(ctx context.Context, p *play) error { return p.cluster.Requeue(ctx, p.ids["block"]) }),
		call("Comment", func(ctx context.Context, p *play) error { return p.cluster.Comment(ctx, p.ids["block"], "too late") }),
		call("Requeue", func(ctx context.Context, p *play) error { return p.cluster.Requeue(ctx, p.ids["single"]) }),
		func(ctx context.Context, p *play) string {
			p.called = append(p.called, "Ending")
			word, err := p.cluster.Ending(ctx, p.ids["block"])
			_, none := p.cluster.Ending(ctx, "99")
			return word + " " + p.said(err) + " " + p.said(none)
		},
	)},
	{name: "short and deaf ones", do: func(_ context.Context, p *play) string {
		return p.submit(
			slurmctl.Job{Name: "quick", GPUs: 1, MemoryMiB: 100, Work: time.Second},
			slurmctl.Job{Name: "broken", GPUs: 1, MemoryMiB: 100, Work: time.Second, Fails: true},
			deaf("requeued", true), deaf("ended", false), deaf("asked", true), deaf("told", false),
		)
	}},
	{name: "while the deaf ones end", wait: time.Millisecond, hides: []string{"asked", "told"}, do: raw("scontrol requeue Incomplete {requeued}", "scancel {ended}")},
	{name: "what is refused while they do", wait: 15 * time.Second, shows: []string{"asked", "told"}, do: both(
		raw("scontrol requeue Incomplete {asked}", "scancel {told}", "scontrol requeue Incomplete {asked}", "scontrol update JobId={asked} StartTime=now",
			"scontrol update JobId={asked} AdminComment=on~its~way", "scancel --signal=USR1 --batch --verbose {asked}", "scontrol update JobId={asked} Partition=gpu",
			"scontrol update JobId={told} AdminComment=x", "scontrol release {told}"),
		call("Expedite", func(ctx context.Context, p *play) error {
			_, err := p.cluster.Expedite(ctx, p.ids["asked"])
			return err
		}),
	)},
	{name: "the rest goes", do: raw("scancel {requeued}", "scancel {asked}", "scancel {single}", "scancel {later}", "scancel {after}")},
}

// deaf is a job whose script does not hear SIGTERM.
func deaf(name string, restartable bool) slurmctl.Job {
	return slurmctl.Job{Name: name, GPUs: 2, MemoryMiB: 100, Work: 10 * minute, Limit: 10 * minute, Grace: killWait, Restartable: restartable}
}

// killWait is long enough for what is asked while a job ends.
const killWait = 10 * time.Second

// silence is what slurmctld makes of a machine that does not answer any more. It
// takes its time, and is compared when there is time.
var silence = []step{
	{name: "a third machine serves a job", do: func(ctx context.Context, p *play) string {
		p.side.join(third)
		p.submit(
			slurmctl.Job{Name: "blocks", Nodes: 2, GPUs: 8, MemoryMiB: 1000, Work: 20 * minute, Limit: 20 * minute},
			slurmctl.Job{Name: "stays", GPUs: 8, MemoryMiB: 1000, Work: 20 * minute, Limit: 20 * minute, Restartable: true},
		)
		return p.said(errors.Join(p.cluster.Admit(ctx, alone, []string{third}), p.cluster.Route(ctx, alone, p.ids["stays"])))
	}},
	{name: "it falls silent", wait: minute, do: func(_ context.Context, p *play) string { p.side.lose(third); return "" }},
	{name: "its record goes", do: call("Dismiss", func(ctx context.Context, p *play) error { return p.cluster.Dismiss(ctx, alone, []string{third}) })},
}

// realOnly are methods of the adapter that no simulated cluster answers: they
// read files of the host, or run no command at all.
var realOnly = []string{"Name", "UserData", "Enrolment"}

// The simulator's Slurm is worth as much as its likeness to the real one: the
// same table, played against both, comes to the same. What it does not compare,
// the simulated one must not be asked: see asked.txt, which the simulator's own
// tests are held to.
func TestSimulatedSlurmAnswersAsTheRealOne(t *testing.T) {
	table := table
	if soak.Long() {
		table = slices.Concat(table, silence)
	}
	want, asked, called := simulate(t, table)
	compareAsked(t, asked)
	adapter := reflect.TypeFor[engine.Scheduler]()
	for method := range adapter.Methods() {
		if name := method.Name; !slices.Contains(called, name) && !slices.Contains(realOnly, name) {
			t.Errorf("the table does not call %s", name)
		}
	}
	r := &actual{t: t, machines: map[string]*sandbox.Machine{}}
	r.cluster = slurmtest.New(t, slurmtest.Options{Overlays: 3, KillWait: int(killWait.Seconds())})
	t.Cleanup(func() {
		for name := range r.machines {
			r.lose(name)
		}
	})
	p := newPlay(t, r)
	for i := range table {
		s := &table[i]
		began := time.Now()
		got := p.do(t.Context(), s)
		if diff := difference(got, want[i].did); diff != "" {
			t.Errorf("%s: answers (-real +simulated):\n%s", s.name, diff)
		}
		shows := p.look(t.Context())
		for time.Since(began) < max(patience, 2*s.wait) && shows != want[i].shows {
			time.Sleep(100 * time.Millisecond)
			shows = p.look(t.Context())
		}
		if diff := difference(shows, want[i].shows); diff != "" {
			t.Errorf("%s: what it shows (-real +simulated):\n%s", s.name, diff)
		}
		t.Logf("%s: %.1f s", s.name, time.Since(began).Seconds())
	}
}

// patience is how long the real one is given to come to what the simulated one
// shows. Its backfill looks at the queue every five seconds, and hosts are slow.
const patience = 30 * time.Second

// difference is the lines that only one of two texts has.
func difference(truth, simulated string) string {
	left, right := strings.Split(truth, "\n"), strings.Split(simulated, "\n")
	if truth == simulated {
		return ""
	}
	var b strings.Builder
	for _, line := range left {
		if !slices.Contains(right, line) {
			b.WriteString("- " + line + "\n")
		}
	}
	for _, line := range right {
		if !slices.Contains(left, line) {
			b.WriteString("+ " + line + "\n")
		}
	}
	if b.Len() == 0 {
		return "the same lines in another order or number:\n- " + strings.Join(left, "\n- ") + "\n+ " + strings.Join(right, "\n+ ")
	}
	return b.String()
}

// simulate plays the table against the simulated cluster.
func simulate(t *testing.T, table []step) (out []outcome, asked, called []string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		o := local()
		o.KillWait = killWait
		s := simulated{slurmctl.New(o)}
		p := newPlay(t, s)
		for i := range table {
			did := p.do(t.Context(), &table[i])
			s.wait(stdcmp.Or(table[i].wait, 6*time.Second))
			out = append(out, outcome{did, p.look(t.Context())})
		}
		asked, called = s.Asked(), p.called
	})
	return out, asked, called
}

var update = flag.Bool("update", false, "write the list of compared commands anew")

// compareAsked holds the list of commands that are compared.
func compareAsked(t *testing.T, asked []string) {
	t.Helper()
	text := strings.Join(asked, "\n") + "\n"
	const file = "testdata/asked.txt"
	if *update {
		must(t, os.WriteFile(file, []byte(text), 0o600))
	}
	data, err := os.ReadFile(file)
	must(t, err)
	if diff := cmp.Diff(string(data), text); diff != "" {
		t.Errorf("%s (-file +compared now):\n%s", file, diff)
	}
}
