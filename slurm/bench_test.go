package slurm_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"spillway.sh/spillway/bridge/sandbox"
	"spillway.sh/spillway/slurm"
	"spillway.sh/spillway/slurm/slurmtest"
)

// benchmarkJobs is how many jobs wait, each a record of its own.
const benchmarkJobs = 10_000

// BenchmarkReadQueue10k reads 10,000 different pending jobs from a real
// slurmctld: the whole of Observe, and squeue --json beside it, with nothing
// done to its output. x-time and x-bytes are how many times dearer JSON is.
func BenchmarkReadQueue10k(b *testing.B) {
	c, err := slurmtest.Start(b.Context(), slurmtest.Options{Progress: os.Stderr, ExtraConf: "MaxJobCount=50000\nMaxArraySize=20001"})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = c.Close(b.Context()) })
	submitMany(b, c)
	adapter := slurm.New(slurm.Options{Name: "rig", BinDir: c.BinDir(sandbox.Account{})})
	var text, json time.Duration
	var bytes int64
	for b.Loop() {
		began := time.Now()
		q, err := adapter.Observe(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		text += time.Since(began)
		if len(q.Demands) < benchmarkJobs {
			b.Fatalf("%d jobs wait, want %d", len(q.Demands), benchmarkJobs)
		}
		b.StopTimer()
		began = time.Now()
		out, err := c.Output(b.Context(), sandbox.Account{}, "squeue", "-a", "--json")
		if err != nil {
			b.Fatal(err)
		}
		json += time.Since(began)
		bytes = int64(len(out))
		b.StartTimer()
	}
	b.StopTimer()
	spoken := slurm.Spoken(b.Context(), b, adapter)
	b.ReportMetric(float64(spoken)/benchmarkJobs, "B/job")
	b.ReportMetric(float64(bytes)/benchmarkJobs, "json-B/job")
	b.ReportMetric(json.Seconds()/float64(b.N), "json-s/op")
	b.ReportMetric(json.Seconds()/text.Seconds(), "x-time")
	b.ReportMetric(float64(bytes)/float64(spoken), "x-bytes")
}

// submitMany sends one held array and makes each of its tasks a record of its
// own with a name and sizes of its own, which is many times faster than as many
// calls of sbatch.
func submitMany(b *testing.B, c *slurmtest.Cluster) {
	b.Helper()
	id, err := c.Submit(b.Context(), sandbox.Alice, sleeper, "--hold", "--mem=100", fmt.Sprintf("--array=0-%d", benchmarkJobs), "--output=/dev/null")
	if err != nil {
		b.Fatal(err)
	}
	var commands strings.Builder
	for i := range benchmarkJobs {
		fmt.Fprintf(&commands, "update JobId=%s_%d Name=train-%d TimeLimit=%d MinMemoryNode=%d Gres=gpu:%d\n", id, i, i, 10+i%500, 1000+i, 1+i%8)
	}
	path := filepath.Join(c.SharedDir(), "updates")
	if err := os.WriteFile(path, []byte(commands.String()), 0o644); err != nil {
		b.Fatal(err)
	}
	if out, err := c.Output(b.Context(), sandbox.Account{}, "sh", "-c", "scontrol < "+path+" 2>&1 | grep -c error; scontrol release "+id); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
}
