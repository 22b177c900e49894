package slurm

import (
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"spillway.sh/spillway/bridge"
)

var update = flag.Bool("update", false, "write golden files anew")

// versions are those whose answers lie in testdata.
var versions = []string{"22.05", "24.11"}

// captured is when the answers in testdata were taken.
var captured = time.Date(2026, 11, 30, 13, 32, 30, 0, time.UTC)

// stand is a directory of commands that answer with files and keep a record of
// having been called.
type stand struct {
	dir string
	t   *testing.T
}

// newStand answers like the controller of a version.
func newStand(t *testing.T, version string) *stand {
	t.Helper()
	s := &stand{dir: t.TempDir(), t: t}
	for _, name := range []string{"jobs.txt", "jobs.json", "nodes.txt", "partitions.txt", "config.txt"} {
		s.answer(name, s.fixture(version, name))
	}
	s.command("squeue", `case "$*" in
*--json*) exec cat "$d/jobs.json" ;;
esac
nonce=${*##*Name:?}
sed "s/NONCE/$nonce/g" "$d/jobs.txt"
`)
	s.command("scontrol", `case "$*" in
*"show nodes") exec cat "$d/nodes.txt" ;;
*"show partitions") exec cat "$d/partitions.txt" ;;
*"show config") exec cat "$d/config.txt" ;;
esac
`)
	return s
}

func (s *stand) fixture(version, name string) string {
	s.t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", version, name))
	if err != nil {
		s.t.Fatal(err)
	}
	return string(data)
}

func (s *stand) answer(name, text string) {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

// command puts a shell script in place of a Slurm command.
func (s *stand) command(name, script string) {
	s.t.Helper()
	text := fmt.Sprintf("#!/bin/sh\nd=%s\necho \"%s $*\" >> $d/calls\n%s", s.dir, name, script)
	path := filepath.Join(s.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		s.t.Fatal(err)
	}
}

// called returns how often a command line that contains the words was run.
func (s *stand) called(words string) int {
	s.t.Helper()
	n := 0
	for line := range strings.Lines(s.readCalls()) {
		if strings.Contains(line, words) {
			n++
		}
	}
	return n
}

func (s *stand) cluster(change ...func(*Options)) *Cluster {
	o := Options{Name: "rig", BinDir: s.dir, Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return captured }}
	for _, f := range change {
		f(&o)
	}
	return New(o)
}

// line says how one demand is understood, without what differs between
// clusters: ids, times, priorities.
func line(d *bridge.Demand) string {
	shape := d.Shape
	memory := shape.MemoryMiB
	shape.MemoryMiB = 0
	hurdle := d.Hurdle
	// 22.05 writes gres:gpu, later versions gres/gpu.
	hurdle = strings.ReplaceAll(hurdle, "gres:", "gres/")
	name := strings.ReplaceAll(d.Name, "\n", `\n`)
	out := fmt.Sprintf("%-14s %-12s %s, %d MiB | nodes %d count %d | restart %t | limit %s | comment %q", name, d.Standing, shape, memory,
		d.Nodes, d.Count, d.Restartable, d.TimeLimit, d.Comment)
	if hurdle != "" {
		out += " | " + hurdle
	}
	return out
}

// TestWhatControllersAnswered reads a queue with a job of every kind, from
// both versions, as text and as JSON, and expects the same of all four.
func TestWhatControllersAnswered(t *testing.T) {
	golden := filepath.Join("testdata", "queue.golden")
	// Of these there is no record in both: 24.11 refuses the constraint.
	onlyOnce := []string{"featurecount"}
	for _, version := range versions {
		for _, format := range []Format{Text, JSON} {
			t.Run(version+"/"+string(format), func(t *testing.T) {
				c := newStand(t, version).cluster(func(o *Options) { o.Read = format })
				q, err := c.Observe(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				var lines []string
				for i := range q.Demands {
					if d := &q.Demands[i]; !slices.Contains(onlyOnce, d.Name) {
						lines = append(lines, line(d))
					}
				}
				slices.Sort(lines)
				got := strings.Join(lines, "\n") + "\n"
				if *update && version == versions[0] && format == Text {
					if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
						t.Fatal(err)
					}
				}
				want, err := os.ReadFile(golden)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(string(want), got); diff != "" {
					t.Errorf("understood differently (-want +got):\n%s", diff)
				}
			})
		}
	}
}

// TestTheRestOfAnObservation checks runs, nodes and overlays.
func TestTheRestOfAnObservation(t *testing.T) {
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			q, err := newStand(t, version).cluster().Observe(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if len(q.Runs) != 1 {
				t.Fatalf("%d runs, want 1", len(q.Runs))
			}
			run := q.Runs[0]
			if diff := cmp.Diff([]string{"local1", "local2"}, run.Nodes); diff != "" || run.State != "RUNNING" || run.User != "alice" || run.TimeLimit != 20*time.Minute || run.Started.IsZero() {
				t.Errorf("run %+v", run)
			}
			nodes := map[string]bridge.Node{}
			for _, n := range q.Nodes {
				nodes[n.Name] = n
			}
			local := nodes["local1"]
			if local.Shape.GPUs != 8 || local.Shape.GPUType != "a100" || local.Free.GPUs != 0 || local.Free.CPUs != 0 || !local.Usable || local.Dynamic {
				t.Errorf("local1 %+v", local)
			}
			rented := nodes["sw-0013-1"]
			if rented.Free.GPUs != 8 || rented.Free.MemoryMiB != 64000 || !rented.Usable || !rented.Dynamic || !rented.Responding {
				t.Errorf("sw-0013-1 %+v", rented)
			}
			if diff := cmp.Diff(map[string][]string{"sw-0013": {"sw-0013-1"}}, q.Overlays); diff != "" {
				t.Errorf("overlays (-want +got):\n%s", diff)
			}
		})
	}
}
