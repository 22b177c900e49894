package slurm

import (
	"context"
	"fmt"
	"strings"

	"spillway.sh/spillway/bridge"
)

// Undrain puts nodes back into service that are drained with exactly that
// reason. Those drained for another, or by somebody else, stay as they are, and
// so do those that are down.
func (c *Cluster) Undrain(ctx context.Context, names []string, why string) error {
	nodes, err := c.showNodes(ctx, names)
	if err != nil {
		return fmt.Errorf("undrain nodes: %w", err)
	}
	var todo []string
	for _, name := range known(names, nodes) {
		n := nodes[name]
		if hasAny(n.States, "DRAIN", "DRAINED", "DRAINING") && reasonOf(n.Reason) == reasonFor(why) {
			todo = append(todo, name)
		}
	}
	if len(todo) == 0 {
		return nil
	}
	if err := c.write(ctx, "update", "NodeName="+joinHosts(todo), "State=UNDRAIN"); err != nil {
		return fmt.Errorf("undrain nodes: %w", err)
	}
	return nil
}

// reasonOf is the text of a node's reason, without who gave it and when.
func reasonOf(reason string) string {
	text, _, _ := strings.Cut(reason, " [")
	return strings.TrimSpace(text)
}

// Nudge makes slurmctld look anew at a requeued job that it set aside, with
// priority zero, because its nodes were missing when it came back. Whether
// they are there now is the scheduler's to find.
func (c *Cluster) Nudge(ctx context.Context, id bridge.JobID) error {
	jobs, err := c.records(ctx, id)
	if err != nil {
		return fmt.Errorf("nudge job %s: %w", id, err)
	}
	for i := range jobs {
		if err := c.wake(ctx, &jobs[i]); err != nil {
			return fmt.Errorf("nudge job %s: %w", id, err)
		}
	}
	return nil
}

func (c *Cluster) wake(ctx context.Context, j *job) error {
	if j.Restarts == 0 || reasonWord(j.Reason) != "BadConstraints" {
		return nil
	}
	return c.write(ctx, "release", address(j))
}

// Ending is Slurm's word for how a job has ended, or for its state while it
// has not. Slurm forgets a job some minutes after its end (MinJobAge).
func (c *Cluster) Ending(ctx context.Context, id bridge.JobID) (string, error) {
	out, err := c.run(ctx, "scontrol", "--oneliner", "show", "job", string(id))
	if noJob(err) {
		err = bridge.ErrNoJob
	}
	if err != nil {
		return "", fmt.Errorf("ask for the end of job %s: %w", id, err)
	}
	state := parseRecordLine(strings.TrimSpace(string(out)))["JobState"]
	if state == "" {
		return "", fmt.Errorf("ask for the end of job %s: %w", id, bridge.ErrNoJob)
	}
	return state, nil
}
