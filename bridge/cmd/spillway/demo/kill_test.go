package demo

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"spillway.sh/spillway/bridge/cmd/spillway/stage"
	"spillway.sh/spillway/bridge/desk"
	"spillway.sh/spillway/bridge/desk/socket"
	"spillway.sh/spillway/bridge/sandbox"
)

// exe is the binary under test, built once.
var exe string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "spillway-exe-")
	if err == nil {
		exe, err = stage.Build(context.Background(), dir)
	}
	code := 1
	if err == nil {
		code = m.Run()
	}
	if err = errors.Join(err, os.RemoveAll(dir)); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

// scene is how long the scenario takes when nobody is killed.
const scene = 15 * time.Second

// moments are when the daemon is killed: spread over the scene with a seed that
// is printed and may be given.
func moments(t *testing.T) []time.Duration {
	n := 5
	if os.Getenv("SPILLWAY_SOAK") != "" {
		n = 50
	}
	seed := uint64(time.Now().UnixNano())
	if s := os.Getenv("SPILLWAY_SEED"); s != "" {
		var err error
		if seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatalf("SPILLWAY_SEED: %v", err)
		}
	}
	t.Logf("SPILLWAY_SEED=%d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	out := make([]time.Duration, n)
	for i := range out {
		// One in each n-th of the scene, so that few kills still cover all of it.
		out[i] = scene*time.Duration(i)/time.Duration(n) + time.Duration(r.Int64N(int64(scene)/int64(n)))
	}
	return out
}

// A daemon that is killed at any moment and started again reaches the same end:
// every job done once, no machine left, none rented twice, books and bill equal.
func TestKilledAtAnyMoment(t *testing.T) {
	r := newRig(t)
	before := bill{}
	for i, at := range moments(t) {
		name := fmt.Sprintf("%d after %s", i, at.Round(10*time.Millisecond))
		t.Run(name, func(t *testing.T) { before = killOnce(t, r, i, at, before) })
		if t.Failed() {
			text, _ := os.ReadFile(r.path("spillway.log"))
			t.Fatalf("the daemon's log:\n%s", text[max(0, len(text)-8000):])
		}
	}
}

func newRig(t *testing.T) *rig {
	t.Helper()
	dir, err := os.MkdirTemp("", "spillway-kill-") //nolint:usetesting // Users of the cluster enter it; none but its owner enters t.TempDir.
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	r := &rig{Stage: &stage.Stage{Dir: dir, Exe: exe}}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
		defer cancel()
		if err := r.close(ctx); err != nil {
			t.Error(err)
		}
	})
	for _, start := range []func(context.Context) error{
		func(ctx context.Context) error { return r.startCluster(ctx, "22.05", os.Stderr) }, r.startClouds, r.startDaemon,
	} {
		if err := start(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// bill is what the books and the clouds have summed up so far.
type bill struct{ Machines int }

// killOnce plays the scene with one kill and checks its end.
func killOnce(t *testing.T, r *rig, run int, at time.Duration, before bill) bill {
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	p := &play{rig: r}
	for i, steps := range []int{24, 24, 8, 8} {
		j := &job{Name: fmt.Sprintf("train-%d-%d", run, i), Nodes: 1, Steps: steps}
		id, err := r.cluster.Submit(ctx, sandbox.Alice, j.script(p.scratch()))
		if err != nil {
			t.Fatal(err)
		}
		j.ID = id
		p.jobs = append(p.jobs, j)
	}
	wait(ctx, t, "the moment", func() bool { return true }, at)
	if err := r.daemon.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = r.daemon.Wait() // It was killed: that is its status.
	if err := r.startDaemon(ctx); err != nil {
		t.Fatal(err)
	}
	return p.checkEnd(ctx, t, before)
}

// checkEnd waits for the end of the scene and judges it.
func (p *play) checkEnd(ctx context.Context, t *testing.T, before bill) bill {
	for _, j := range p.jobs {
		wait(ctx, t, j.Name+" is done", func() bool {
			r, err := readRecord(p.scratch(), j.Name)
			return err == nil && r.Done
		}, 0)
		got, err := p.rig.cluster.WaitJob(ctx, j.ID, "COMPLETED")
		if err != nil {
			t.Fatal(err)
		}
		r, err := readRecord(p.scratch(), j.Name)
		if err != nil {
			t.Fatal(err)
		}
		if got.State != "COMPLETED" || len(r.Starts) != 1 {
			t.Errorf("%s is %s and was started %d times, want once", j.Name, got.State, len(r.Starts))
		}
	}
	wait(ctx, t, "all is given back", func() bool {
		open, err := p.openRentals(ctx)
		judged, jerr := p.rig.judge(time.Now())
		return err == nil && jerr == nil && open == 0 && len(judged.Live) == 0
	}, 0)
	judged, err := p.rig.judge(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([][]string{nil, nil, nil, nil}, [][]string{judged.Doubles, judged.Overlaps, judged.Late, judged.Untagged}); diff != "" {
		t.Errorf("doubles, overlaps, late, untagged (-want +got):\n%s", diff)
	}
	if n := judged.Machines - before.Machines; n > 2 {
		t.Errorf("%d machines were rented for two jobs", n)
	}
	c := socket.NewClient(p.rig.socket())
	defer c.Close()
	books, err := socket.Call(ctx, c, desk.AskLedger, desk.LedgerRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if !books.Balanced {
		t.Errorf("the books do not balance: %v", books.Problems)
	}
	var s Summary
	if err := p.fromBooks(ctx, &s); err != nil {
		t.Fatal(err)
	}
	if s.CostMicro != judged.CostMicro["USD"] || s.HeldMicro != 0 {
		t.Errorf("books: %d posted and %d held, clouds: %d billed", s.CostMicro, s.HeldMicro, judged.CostMicro["USD"])
	}
	return bill{judged.Machines}
}

// wait polls until a condition holds, at the earliest after a time.
func wait(ctx context.Context, t *testing.T, what string, ok func() bool, after time.Duration) {
	t.Helper()
	timer := time.NewTimer(after)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			t.Fatalf("wait until %s: %v", what, ctx.Err())
		case <-timer.C:
			if ok() {
				return
			}
			timer.Reset(100 * time.Millisecond)
		}
	}
}

// A second daemon on the same store is refused and harms nothing.
func TestSecondDaemonIsRefused(t *testing.T) {
	r := newRig(t)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, exe, "run", "--config", r.config()).CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() < 1 {
		t.Fatalf("the second daemon ended with %v: %s", err, out)
	}
	p := &play{rig: r}
	if _, err := p.openRentals(ctx); err != nil {
		t.Errorf("the first daemon no longer answers: %v", err)
	}
}
