package slurmtest

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"spillway.sh/spillway/bridge/sandbox"
)

// Job is what Slurm tells of one job.
type Job struct {
	// ID is the job id.
	ID string
	// State is the long name, for instance "RUNNING".
	State string
	// Partition is the partition it runs in, or those it may run in.
	Partition string
	// Fields holds everything `scontrol show job` prints, by its names.
	Fields map[string]string
}

// Output runs a program on the head node as an account, in /, and returns
// what it printed; a failure is a *sandbox.ExitError.
func (c *Cluster) Output(ctx context.Context, as sandbox.Account, args ...string) (string, error) {
	return c.head.Output(ctx, sandbox.Command{Args: args, As: as, Dir: "/"})
}

// Submit sends a batch script with plain sbatch as an account, from its home
// folder, and returns the job id. Args are sbatch's options.
func (c *Cluster) Submit(ctx context.Context, as sandbox.Account, script string, args ...string) (string, error) {
	out, err := c.head.Output(ctx, sandbox.Command{
		Args:  append([]string{"sbatch", "--parsable"}, args...),
		As:    as,
		Stdin: strings.NewReader(script),
	})
	if err != nil {
		return "", fmt.Errorf("submit job: %w", err)
	}
	id, _, _ := strings.Cut(strings.TrimSpace(out), ";")
	return id, nil
}

// Job returns what Slurm tells of a job. Slurm forgets it some minutes after its end.
func (c *Cluster) Job(ctx context.Context, id string) (Job, error) {
	out, err := c.Output(ctx, sandbox.Account{}, "scontrol", "-o", "show", "job", id)
	if err != nil {
		return Job{}, fmt.Errorf("show job %s: %w", id, err)
	}
	line, _, _ := strings.Cut(out, "\n")
	fields := parseFields(line)
	return Job{ID: fields["JobId"], State: fields["JobState"], Partition: fields["Partition"], Fields: fields}, nil
}

// Node returns what `scontrol show node` prints of a node, by its names.
func (c *Cluster) Node(ctx context.Context, name string) (map[string]string, error) {
	out, err := c.Output(ctx, sandbox.Account{}, "scontrol", "-o", "show", "node", name)
	if err != nil {
		return nil, fmt.Errorf("show node %s: %w", name, err)
	}
	return parseFields(out), nil
}

// WaitJob waits until the job is in one of the states and returns it. A job
// that ended in another state is an error at once.
func (c *Cluster) WaitJob(ctx context.Context, id string, states ...string) (Job, error) {
	var job Job
	err := poll(ctx, fmt.Sprintf("job %s to be %s", id, strings.Join(states, " or ")), func() (bool, string, error) {
		var err error
		if job, err = c.Job(ctx, id); err != nil {
			if ctx.Err() != nil {
				return false, err.Error(), nil //nolint:nilerr // The poll ends with the context's own error.
			}
			return false, "", err
		}
		if slices.Contains(states, job.State) {
			return true, "", nil
		}
		if slices.Contains(finalStates, job.State) {
			return false, "", fmt.Errorf("wait for job %s: it ended as %s", id, job.State)
		}
		return false, job.State + " " + job.Fields["Reason"], nil
	})
	return job, err
}

// WaitNode waits until the node's state has all of the flags, for instance
// "IDLE", "DYNAMIC_NORM", and returns its fields.
func (c *Cluster) WaitNode(ctx context.Context, name string, flags ...string) (map[string]string, error) {
	var fields map[string]string
	err := poll(ctx, fmt.Sprintf("node %s to be %s", name, strings.Join(flags, "+")), func() (bool, string, error) {
		var err error
		if fields, err = c.Node(ctx, name); err != nil {
			return false, err.Error(), nil //nolint:nilerr // Not registered yet.
		}
		have := strings.Split(fields["State"], "+")
		for _, flag := range flags {
			if !slices.Contains(have, flag) {
				return false, fields["State"], nil
			}
		}
		return true, "", nil
	})
	return fields, err
}

var finalStates = []string{
	// Not NODE_FAIL: a job is shown so while it is on its way back to the queue.
	"COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "PREEMPTED", "BOOT_FAIL", "DEADLINE", "OUT_OF_MEMORY",
}

// parseFields splits a line of Key=Value words. Values with spaces lose all
// but their first word, which no caller here reads.
func parseFields(line string) map[string]string {
	fields := map[string]string{}
	for word := range strings.FieldsSeq(line) {
		if key, value, ok := strings.Cut(word, "="); ok {
			fields[key] = value
		}
	}
	return fields
}
