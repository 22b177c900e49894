package slurm

import (
	"context"
	"fmt"
	"strings"
	"time"

	"spillway.sh/spillway/bridge"
)

// Probe is a job of ours that tries one machine out. It is sent by plain
// sbatch, with the rights of whoever runs the command, and held until it is aimed.
type Probe struct {
	Name      string
	Script    string
	Partition string // empty: the cluster's default
	Account   string // empty: the sender's default
	GPUs      int
	GPUType   string // empty: any
	CPUs      int
	MemoryMiB int64
	Limit     time.Duration
}

// SubmitProbe sends a probe, held by its sender, and returns its id.
func (c *Cluster) SubmitProbe(ctx context.Context, p *Probe) (bridge.JobID, error) {
	args := []string{
		"sbatch", "--parsable", "--hold", "--no-requeue", "--nodes=1", "--ntasks=1", "--job-name=" + p.Name, "--output=/dev/null",
		fmt.Sprintf("--cpus-per-task=%d", max(p.CPUs, 1)), fmt.Sprintf("--time=%d", max(int(p.Limit.Minutes()), 1)), "--chdir=/",
	}
	if p.MemoryMiB > 0 {
		args = append(args, fmt.Sprintf("--mem=%dM", p.MemoryMiB))
	}
	if p.Partition != "" {
		args = append(args, "--partition="+p.Partition)
	}
	if p.Account != "" {
		args = append(args, "--account="+p.Account)
	}
	if p.GPUs > 0 {
		gpu := fmt.Sprintf("--gres=gpu:%d", p.GPUs)
		if p.GPUType != "" {
			gpu = fmt.Sprintf("--gres=gpu:%s:%d", p.GPUType, p.GPUs)
		}
		args = append(args, gpu)
	}
	out, err := c.feed(ctx, p.Script, args...)
	if err != nil {
		return "", fmt.Errorf("send probe: %w", explained(err))
	}
	id, _, _ := strings.Cut(strings.TrimSpace(string(out)), ";")
	if id == "" {
		return "", fmt.Errorf("send probe: sbatch names no job")
	}
	return bridge.JobID(id), nil
}

// Aim lets a held probe go, to one node and no other.
func (c *Cluster) Aim(ctx context.Context, id bridge.JobID, node string) error {
	if err := c.write(ctx, "update", "JobId="+string(id), "ReqNodeList="+node); err != nil {
		return fmt.Errorf("aim probe %s at %s: %w", id, node, err)
	}
	if err := c.write(ctx, "release", string(id)); err != nil {
		return fmt.Errorf("let probe %s go: %w", id, err)
	}
	return nil
}

// ProbeSays returns a probe's state as Slurm calls it, and its comment, in which
// it says what it found: whatever file it were to write might be what is broken.
func (c *Cluster) ProbeSays(ctx context.Context, id bridge.JobID) (state, comment string, err error) {
	out, err := c.run(ctx, "squeue", "--noheader", "--states=all", "--jobs="+string(id), "--format=%T %k")
	if err != nil {
		return "", "", fmt.Errorf("ask for probe %s: %w", id, explained(err))
	}
	state, comment, _ = strings.Cut(strings.TrimSpace(string(out)), " ")
	return state, comment, nil
}

// Cancel ends a job of ours; one that has ended already is no error.
func (c *Cluster) Cancel(ctx context.Context, id bridge.JobID) error {
	if _, err := c.run(ctx, "scancel", string(id)); err != nil && !says(err, "invalid job id") {
		return fmt.Errorf("cancel job %s: %w", id, explained(err))
	}
	return nil
}
