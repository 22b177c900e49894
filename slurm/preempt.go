package slurm

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"spillway.sh/spillway/bridge"
)

// Drain keeps new jobs off nodes. Nodes that somebody else has drained keep
// his reason; nodes that are gone are fine.
func (c *Cluster) Drain(ctx context.Context, nodes []string, why string) error {
	return c.setState(ctx, nodes, "DRAIN", why, func(n node) bool {
		return !hasAny(n.States, "DRAIN", "DRAINED", "DRAINING")
	})
}

// Down tells Slurm that nodes are gone. Jobs on them that may be requeued are
// requeued first: when Slurm does that by itself while a node still answers,
// the end of the old script can end the job for good, and 22.05 then loses
// count of the GPUs that the job is given next. The other jobs end at once. The
// nodes are drained too, so that one that still answers does not return to
// service and take its jobs again. Those that are down or deleted already are
// fine.
func (c *Cluster) Down(ctx context.Context, nodes []string, why string) error {
	if err := c.Drain(ctx, nodes, why); err != nil {
		return fmt.Errorf("set nodes down: %w", err)
	}
	there, err := c.showNodes(ctx, nodes)
	if err != nil {
		return fmt.Errorf("set nodes down: %w", err)
	}
	held := slices.DeleteFunc(known(nodes, there), func(name string) bool {
		return !hasAny(there[name].States, "ALLOCATED", "MIXED") || hasAny(there[name].States, "DOWN")
	})
	if err := c.vacate(ctx, held); err != nil {
		return fmt.Errorf("set nodes down: %w", err)
	}
	return c.setState(ctx, nodes, "DOWN", why, func(n node) bool { return !hasAny(n.States, "DOWN") })
}

// vacateMost is how long a job may take to leave nodes that are to be declared
// down. On nodes that are dead already it never does.
const vacateMost = time.Second

// vacate requeues the jobs on nodes and gives them a moment to leave.
func (c *Cluster) vacate(ctx context.Context, nodes []string) error {
	ctx, cancel := context.WithTimeout(ctx, c.options.Timeout)
	defer cancel()
	began := time.Now()
	for len(nodes) > 0 {
		jobs, err := c.listJobs(ctx, "-w", joinHosts(nodes))
		if err != nil {
			return err
		}
		left := 0
		for i := range jobs {
			err := c.Requeue(ctx, jobs[i].ID)
			switch {
			case err == nil:
				left++
			case !errors.Is(err, bridge.ErrNotRestartable) && !errors.Is(err, bridge.ErrNoJob):
				return err
			}
		}
		if left == 0 || time.Since(began) > vacateMost {
			return nil
		}
	}
	return nil
}

// setState sets the state of those nodes that exist and need it, in one call.
func (c *Cluster) setState(ctx context.Context, names []string, state, why string, needs func(node) bool) error {
	nodes, err := c.showNodes(ctx, names)
	if err != nil {
		return fmt.Errorf("set nodes %s: %w", strings.ToLower(state), err)
	}
	var todo []string
	for _, name := range known(names, nodes) {
		if needs(nodes[name]) {
			todo = append(todo, name)
		}
	}
	if len(todo) == 0 {
		return nil
	}
	err = c.write(ctx, "update", "NodeName="+joinHosts(todo), "State="+state, "Reason="+reasonFor(why))
	if err != nil {
		return fmt.Errorf("set nodes %s: %w", strings.ToLower(state), err)
	}
	return nil
}

var signalName = regexp.MustCompile(`^[A-Z0-9]{1,12}$`)

// Signal sends a signal to a job's batch script ("batch"), its steps ("steps",
// also the empty string), or both ("all").
func (c *Cluster) Signal(ctx context.Context, id bridge.JobID, signal, to string) error {
	signal = strings.TrimPrefix(strings.ToUpper(signal), "SIG")
	if !signalName.MatchString(signal) {
		return fmt.Errorf("signal job %s: no signal %q", id, signal)
	}
	args := []string{"scancel", "--signal=" + signal}
	switch to {
	case "batch":
		args = append(args, "--batch")
	case "all":
		args = append(args, "--full")
	case "steps", "":
	default:
		return fmt.Errorf("signal job %s: to %q is not batch, steps or all", id, to)
	}
	// For a task of an array slurmctld sends the signal and answers "try again",
	// and scancel would send it again every few seconds. It says so when verbose.
	_, err := c.run(ctx, append(args, "--verbose", string(id))...)
	switch {
	case says(err, again):
		return nil
	case noJob(err):
		err = bridge.ErrNoJob
	}
	if err != nil {
		return fmt.Errorf("signal job %s: %w", id, err)
	}
	return nil
}

// noJob reports whether a command failed because the job has ended.
func noJob(err error) bool {
	return says(err, "invalid job id", "already completing or completed", "job/step already", "no active jobs")
}

// Requeue puts a running job back. Slurm ends its steps (SIGTERM, KillWait,
// SIGKILL); Expedite makes it eligible after that. A job that waits already is
// fine. It fails with bridge.ErrNotRestartable for a job submitted with
// --no-requeue or without a script, and with bridge.ErrNoJob for one that has
// ended: Slurm would run that again, were it not told to take incomplete ones only.
func (c *Cluster) Requeue(ctx context.Context, id bridge.JobID) error {
	err := c.write(ctx, "requeue", "Incomplete", string(id))
	switch {
	case err == nil, says(err, "pending execution"):
		if _, err := c.records(ctx, id); err != nil {
			return fmt.Errorf("requeue job %s: %w", id, err)
		}
		return nil
	case says(err, "presently disabled", "only batch jobs"):
		return fmt.Errorf("requeue job %s: %w", id, bridge.ErrNotRestartable)
	case noJob(err):
		if _, gone := c.records(ctx, id); gone != nil {
			return fmt.Errorf("requeue job %s: %w", id, gone)
		}
		return nil // its steps are just ending
	}
	return fmt.Errorf("requeue job %s: %w", id, err)
}

// Expedite makes a requeued job eligible now, cutting Slurm's delay of two
// minutes, and reports whether it is. It also wakes a job that Slurm set aside
// with BadConstraints while its nodes were missing.
func (c *Cluster) Expedite(ctx context.Context, id bridge.JobID) (bool, error) {
	eligible, err := c.expedite(ctx, id)
	if err != nil {
		return false, fmt.Errorf("expedite job %s: %w", id, err)
	}
	return eligible, nil
}

func (c *Cluster) expedite(ctx context.Context, id bridge.JobID) (bool, error) {
	jobs, err := c.records(ctx, id)
	if err != nil {
		return false, err
	}
	for i := range jobs {
		j := &jobs[i]
		if !j.pending() {
			// Running again, or its steps are still ending.
			if j.State == "RUNNING" || j.State == "CONFIGURING" {
				continue
			}
			return false, nil
		}
		if !c.delayed(j) {
			if err := c.wake(ctx, j); err != nil {
				return false, err
			}
			continue
		}
		if c.shifted(j) {
			return false, nil
		}
		if eligible, err := c.bringForward(ctx, j); err != nil || !eligible {
			return false, err
		}
	}
	return true, nil
}

// bringForward cuts the delay of a job that waits, and reports whether it is
// over: one that is shifted by the margin has it yet before it.
func (c *Cluster) bringForward(ctx context.Context, j *job) (bool, error) {
	start := "now"
	returns, err := c.mayReturn(ctx, j.ID)
	if err != nil {
		return false, err
	}
	if returns {
		start = fmt.Sprintf("now+%d", int(margin.Seconds()))
	}
	// It may complain, for instance of an overlay without nodes, and do what
	// was asked; what is read back decides.
	wrote := c.write(ctx, "update", "JobId="+address(j), "StartTime="+start)
	again, err := c.records(ctx, j.ID)
	if err != nil {
		return false, err
	}
	for k := range again {
		switch {
		case !again[k].pending() || !c.delayed(&again[k]):
		case c.shifted(&again[k]):
			return false, nil
		default:
			return false, wrote
		}
	}
	return true, nil
}

// margin keeps a requeued job from starting on the same node in the second in
// which its old credential was revoked there: slurmd takes the new one for the
// old, and slurmctld then ends the job for good.
const margin = 2 * time.Second

// mayReturn reports whether a job could start on a node that it ran on before:
// one of them takes jobs, or it is not known which they were.
func (c *Cluster) mayReturn(ctx context.Context, id bridge.JobID) (bool, error) {
	c.mu.Lock()
	names := c.ran[id]
	c.mu.Unlock()
	if len(names) == 0 {
		return true, nil
	}
	nodes, err := c.showNodes(ctx, names)
	if err != nil {
		return false, err
	}
	for _, n := range nodes {
		if n.Usable {
			return true, nil
		}
	}
	return false, nil
}

// shifted reports whether a job is so near to being eligible that it was put
// there for the sake of the margin.
func (c *Cluster) shifted(j *job) bool {
	return !j.Eligible.After(c.options.Now().Add(2 * margin))
}

// delayed reports whether a requeued job waits for nothing but Slurm's delay.
func (c *Cluster) delayed(j *job) bool {
	return j.Restarts > 0 && j.Dependency == "" && j.Priority != 0 && j.Eligible.After(c.options.Now().Add(time.Second))
}
