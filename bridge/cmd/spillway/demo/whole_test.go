package demo

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// wantKeys are the keys of the summary, which others read.
var wantKeys = []string{
	"admit_to_run_p95_seconds", "approvals", "cost_micro", "currency", "held_micro", "jobs_completed", "jobs_total",
	"ledger_balanced", "lost_work_seconds", "machines_left", "machines_rented", "notice_to_drained_max_seconds",
	"reclaims", "resumed", "stopped_to_eligible_max_seconds", "submit_to_create_p95_seconds", "wait_mean_seconds",
}

// The demo as a person runs it: the last line of standard output is one JSON
// object with the promised keys and a good end, and nothing is left behind.
func TestDemoEndsWellAndLeavesNothing(t *testing.T) {
	got := runDemo(t)
	if diff := cmp.Diff(wantKeys, slices.Sorted(maps.Keys(got))); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
	for key, want := range map[string]any{
		"jobs_total": 8.0, "jobs_completed": 8.0, "machines_left": 0.0, "reclaims": 1.0, "resumed": 1.0, "held_micro": 0.0,
		"ledger_balanced": true, "currency": "USD",
	} {
		if got[key] != want {
			t.Errorf("%s is %v, want %v", key, got[key], want)
		}
	}
	nothingLeft(t)
}

// The same story, rented by the driver of AWS from the same clouds in EC2's words.
func TestDemoByTheDriverOfAWSEndsWellAndLeavesNothing(t *testing.T) {
	got := runDemo(t, "--cloud", "aws")
	for key, want := range map[string]any{
		"jobs_total": 8.0, "jobs_completed": 8.0, "machines_left": 0.0, "reclaims": 1.0, "resumed": 1.0, "held_micro": 0.0, "ledger_balanced": true,
	} {
		if got[key] != want {
			t.Errorf("%s is %v, want %v", key, got[key], want)
		}
	}
	nothingLeft(t)
}

// runDemo runs the demo and returns the object on its last line.
func runDemo(tb testing.TB, more ...string) map[string]any {
	tb.Helper()
	var out, story bytes.Buffer
	c := exec.CommandContext(tb.Context(), exe, append([]string{"demo", "--auto", "--output", "json"}, more...)...)
	c.Stdout, c.Stderr = &out, &story
	if err := c.Run(); err != nil {
		tb.Fatalf("the demo ended with %v:\n%s%s", err, story.Bytes(), out.Bytes())
	}
	tb.Logf("%s\n%s", story.Bytes(), out.Bytes())
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	var got map[string]any
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &got); err != nil {
		tb.Fatalf("last line: %v: %s", err, lines[len(lines)-1])
	}
	return got
}

// BenchmarkDemo reports the latencies of the whole product against a real
// slurmctld, in seconds. The limits they are held against are in the readme.
func BenchmarkDemo(b *testing.B) {
	sum := map[string]float64{}
	for b.Loop() {
		for key, v := range runDemo(b) {
			if f, ok := v.(float64); ok && strings.HasSuffix(key, "_seconds") {
				sum[key] += f
			}
		}
	}
	for key, v := range sum {
		b.ReportMetric(v/float64(b.N), strings.TrimSuffix(key, "_seconds")+"-s")
	}
}

// Ctrl-C at any moment cleans up.
func TestInterruptedDemoLeavesNothing(t *testing.T) {
	for _, at := range []time.Duration{500 * time.Millisecond, 4 * time.Second, 14 * time.Second} {
		t.Run(at.String(), func(t *testing.T) {
			c := exec.CommandContext(t.Context(), exe, "demo", "--auto")
			var story bytes.Buffer
			c.Stdout, c.Stderr = &story, &story
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			wait(t.Context(), t, "the moment", func() bool { return true }, at)
			for range 2 { // People press it twice.
				if err := c.Process.Signal(syscall.SIGINT); err != nil {
					t.Fatal(err)
				}
				wait(t.Context(), t, "the second press", func() bool { return true }, 300*time.Millisecond)
			}
			var exit *exec.ExitError
			if err := c.Wait(); !errors.As(err, &exit) || exit.ExitCode() < 1 {
				t.Errorf("an interrupted demo ended with %v, want an exit code that says so:\n%s", err, story.Bytes())
			}
			nothingLeft(t)
		})
	}
}

// nothingLeft looks for what a demo could leave: folders, links, processes.
func nothingLeft(t *testing.T) {
	t.Helper()
	const mark = "spillway-demo-"
	dirs, err := filepath.Glob(filepath.Join(os.TempDir(), mark+"*"))
	if err != nil || len(dirs) > 0 {
		t.Errorf("folders are left: %v, %v", dirs, err)
	}
	aliases, err := filepath.Glob("/sys/class/net/*/ifalias")
	if err != nil {
		t.Fatal(err)
	}
	left, err := holding(aliases, mark)
	if err != nil || len(left) > 0 {
		t.Errorf("network links are left: %v, %v", left, err)
	}
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	left, err = holding(lines, mark)
	if err != nil || len(left) > 0 {
		t.Errorf("processes are left: %v, %v", left, err)
	}
}

// holding returns the files whose text has a mark in it. A file that is gone
// meanwhile holds nothing.
func holding(paths []string, mark string) ([]string, error) {
	var out []string
	for _, p := range paths {
		text, err := os.ReadFile(p)
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("look for leftovers: %w", err)
		}
		if bytes.Contains(text, []byte(mark)) {
			out = append(out, p+": "+string(bytes.ReplaceAll(text, []byte{0}, []byte{' '})))
		}
	}
	return out, nil
}
