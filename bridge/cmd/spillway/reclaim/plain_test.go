package reclaim

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"text/tabwriter"
	"time"

	"spillway.sh/spillway/bridge/sandbox"
	"spillway.sh/spillway/slurm/slurmtest"
)

// spans are times of one kind.
type spans []time.Duration

func (s *spans) add(d time.Duration) { *s = append(*s, d) }

func (s spans) mean() time.Duration {
	var sum time.Duration
	for _, d := range s {
		sum += d
	}
	return (sum / time.Duration(max(len(s), 1))).Round(100 * time.Millisecond)
}

func (s spans) longest() time.Duration {
	var most time.Duration
	for _, d := range s {
		most = max(most, d)
	}
	return most.Round(100 * time.Millisecond)
}

// ward is how jobs fared whose machines were taken.
type ward struct {
	name      string
	jobsLost  int
	twice     int
	lost      spans // work done again, per restart
	again     spans // from the last sign of the old run to the first of the new
	reclaimed spans // from the notice, or the taking, to the first sign of the new run
}

func (w *ward) add(r *record) {
	for i := range len(r.Runs) - 1 {
		w.lost.add(time.Duration(r.lost(i)) * stepLength)
		w.again.add(r.Runs[i+1].Start.Sub(r.Runs[i].End))
	}
}

// table puts them side by side.
func table(wards ...ward) string {
	var out strings.Builder
	t := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "\trestarts\tjobs lost\trun twice at once\twork lost (mean, most)\treclaim to running again (mean, most)\tat a standstill (mean, most)")
	for _, w := range wards {
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%s, %s\t%s, %s\t%s, %s\n", w.name, len(w.again), w.jobsLost, w.twice, w.lost.mean(), w.lost.longest(),
			w.reclaimed.mean(), w.reclaimed.longest(), w.again.mean(), w.again.longest())
	}
	_ = t.Flush()
	return out.String()
}

// plainRequeue is what Slurm does by itself when a machine dies: it waits until
// the node is silent for SlurmdTimeout (30 s here, 300 at a site), requeues, and
// keeps the job back for two minutes. Nodes to run on again are free: nothing
// has to boot.
func plainRequeue(ctx context.Context, t *testing.T) (ward, error) {
	w := ward{name: "plain Slurm"}
	c, err := slurmtest.Start(ctx, slurmtest.Options{LocalNodes: 4, Progress: os.Stderr})
	if err != nil {
		return w, err
	}
	defer func() {
		if err := c.Close(context.WithoutCancel(ctx)); err != nil {
			t.Error(err)
		}
	}()
	dir := filepath.Join(c.SharedDir(), "home", "alice", "work")
	if err := errors.Join(os.MkdirAll(dir, 0o777), os.Chmod(dir, 0o777)); err != nil {
		return w, err
	}
	for i := range kinds {
		if k := &kinds[i]; slices.Contains(plainKinds, k.Name) {
			if _, err := c.Submit(ctx, sandbox.Alice, k.script(dir, 40), "--job-name="+k.Name, "--exclusive"); err != nil {
				return w, err
			}
		}
	}
	began := map[string]time.Time{}
	for _, name := range plainKinds {
		r, err := awaitRecord(ctx, dir, name, func(r *record) bool { return len(r.Runs) == 1 && r.Runs[0].Last >= 14 })
		if err != nil {
			return w, err
		}
		began[name] = time.Now()
		if err := die(c, r.Runs[0].Nodes); err != nil {
			return w, err
		}
	}
	for _, name := range plainKinds {
		r, err := awaitRecord(ctx, dir, name, func(r *record) bool { return r.Done > 0 })
		if err != nil {
			return w, err
		}
		if len(r.overlaps()) > 0 {
			w.twice++
		}
		w.add(&r)
		if len(r.Runs) > 1 {
			w.reclaimed.add(r.Runs[1].Start.Sub(began[name]))
		}
	}
	return w, nil
}

// plainKinds are the jobs that are compared.
var plainKinds = []string{"train-single", "exit-zero"}

// die ends a node at once, with all that runs on it.
func die(c *slurmtest.Cluster, node string) error {
	for _, m := range c.Nodes() {
		if m.Name() == node {
			return syscall.Kill(m.PID(), syscall.SIGKILL)
		}
	}
	return fmt.Errorf("no node %s", node)
}

// awaitRecord polls a job's log.
func awaitRecord(ctx context.Context, dir, name string, ok func(*record) bool) (record, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	for {
		r, err := readRecord(dir, name)
		if err != nil || ok(&r) {
			return r, err
		}
		select {
		case <-ctx.Done():
			return r, fmt.Errorf("wait for plain job %s: %w: %+v", name, ctx.Err(), r)
		case <-time.After(100 * time.Millisecond):
		}
	}
}
