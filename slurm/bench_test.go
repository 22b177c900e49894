package slurm_test

import (
	"context"
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
// slurmctld: the whole of Observe by text, and beside it the same by squeue
// --json. x-time and x-bytes are how many times dearer JSON is.
func BenchmarkReadQueue10k(b *testing.B) {
	c, err := slurmtest.Start(b.Context(), slurmtest.Options{Progress: os.Stderr, ExtraConf: "MaxJobCount=50000\nMaxArraySize=20001"})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := c.Close(context.Background()); err != nil { // b.Context has ended by then
			b.Error(err)
		}
	})
	submitMany(b, c)
	text := slurm.New(slurm.Options{Name: "rig", BinDir: c.BinDir(sandbox.Account{})})
	json := slurm.New(slurm.Options{Name: "rig", BinDir: c.BinDir(sandbox.Account{}), Read: slurm.JSON, Timeout: time.Minute})
	var textTook, jsonTook time.Duration
	for b.Loop() {
		textTook += observeMany(b, text)
		b.StopTimer()
		jsonTook += observeMany(b, json)
		b.StartTimer()
	}
	b.StopTimer()
	textBytes, jsonBytes := slurm.Spoken(b.Context(), b, text), slurm.Spoken(b.Context(), b, json)
	b.ReportMetric(float64(textBytes)/benchmarkJobs, "B/job")
	b.ReportMetric(float64(jsonBytes)/benchmarkJobs, "json-B/job")
	b.ReportMetric(jsonTook.Seconds()/float64(b.N), "json-s/op")
	b.ReportMetric(jsonTook.Seconds()/textTook.Seconds(), "x-time")
	b.ReportMetric(float64(jsonBytes)/float64(textBytes), "x-bytes")
}

// observeMany returns how long one cycle took.
func observeMany(b *testing.B, c *slurm.Cluster) time.Duration {
	b.Helper()
	began := time.Now()
	q, err := c.Observe(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	if len(q.Demands) < benchmarkJobs {
		b.Fatalf("%d jobs wait, want %d", len(q.Demands), benchmarkJobs)
	}
	return time.Since(began)
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
	if out, err := c.Output(b.Context(), sandbox.Account{}, "sh", "-c", "scontrol < "+path+" >/dev/null"); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
}
