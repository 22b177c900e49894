package slurmctl

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"spillway.sh/spillway/slurm"
)

// answer is what a command writes, and its exit status.
type answer struct {
	out, err bytes.Buffer
	code     int
}

func (a *answer) printf(format string, args ...any) { fmt.Fprintf(&a.out, format, args...) }

// fail writes a line of an error and ends with 1 or more.
func (a *answer) fail(format string, args ...any) {
	fmt.Fprintf(&a.err, format+"\n", args...)
	a.code = max(1, a.code)
}

// unknown refuses what this simulation does not know.
func (a *answer) unknown(args ...string) {
	a.fail("not implemented in this simulation: %s", strings.Join(args, " "))
	a.code = 2
}

// trouble is a request that did not reach slurmctld, or was not answered.
func (a *answer) trouble(r request, what string) {
	a.fail("%s", strings.ReplaceAll(r.trouble, "%s", what))
	a.code = max(a.code, r.code)
}

// What commands say when slurmctld is not there, or does not answer.
const (
	away   = "Unable to contact slurm controller (connect failure)"
	silent = "Socket timed out on send/recv operation"
)

// request is one message to slurmctld: what it does to the cluster, and how the
// command words a failure to reach it.
type request struct {
	do      func(*answer)
	trouble string // where %s stands for what went wrong
	code    int    // of that; 0 means 1
}

// Exec runs one command as slurm.Options.Exec does. While slurmctld hangs, a
// command waits as long as Slurm's own do.
func (c *Controller) Exec(ctx context.Context, input string, args ...string) (slurm.Output, error) {
	a := &answer{}
	c.note(input, args)
	for _, r := range c.parse(a, input, args) {
		if err := c.send(ctx, a, r); err != nil {
			return slurm.Output{}, err
		}
	}
	return slurm.Output{Stdout: a.out.Bytes(), Stderr: a.err.Bytes(), Code: a.code}, nil
}

// parse turns a command into what it asks of slurmctld; what it cannot be is
// answered at once.
func (c *Controller) parse(a *answer, input string, args []string) []request {
	if len(args) == 0 {
		a.unknown("no command")
		return nil
	}
	switch args[0] {
	case "squeue":
		return c.squeue(a, args[1:])
	case "scontrol":
		return c.scontrol(a, input, args[1:])
	case "scancel":
		return c.scancel(a, args[1:])
	case "sdiag":
		if len(args) == 1 {
			return []request{{do: c.sdiag, trouble: "slurm_get_statistics: %s", code: 255}}
		}
	}
	a.unknown(args...)
	return nil
}

// send does what a request asks, now or when slurmctld is awake again. The error
// is the context's: the command was ended before.
func (c *Controller) send(ctx context.Context, a *answer, r request) error {
	for tries := time.Duration(1); ; tries++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		c.mu.Lock()
		now := c.advance()
		switch {
		case c.awake(now):
			r.do(a)
			c.mu.Unlock()
			return nil
		case !c.stopped:
			return c.await(ctx, a, r, now)
		}
		c.mu.Unlock()
		if tries*time.Second >= c.options.MessageTimeout {
			a.trouble(r, away)
			return nil
		}
		if err := pause(ctx, time.Second); err != nil {
			return err
		}
	}
}

// await has a request wait for a slurmctld that hangs: it is read there when it
// wakes up, whether or not somebody still waits. It is called with the lock held.
func (c *Controller) await(ctx context.Context, a *answer, r request, now time.Time) error {
	late := make(chan *answer, 1)
	c.held = append(c.held, message{now, func() {
		a := &answer{}
		r.do(a)
		late <- a
	}})
	wait := min(c.hungUntil.Sub(now), c.options.MessageTimeout)
	c.mu.Unlock()
	if err := pause(ctx, wait); err != nil {
		return err
	}
	c.Advance()
	select {
	case said := <-late:
		a.out.Write(said.out.Bytes())
		a.err.Write(said.err.Bytes())
		a.code = max(a.code, said.code)
	default:
		a.trouble(r, silent)
	}
	return nil
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

func atoi(s string) int {
	n, _ := strconv.Atoi(s) // What is no number is no id: 0.
	return n
}

// count notes a request for sdiag.
func (c *Controller) count(kind string) {
	if c.calls[kind] == 0 {
		c.kinds = append(c.kinds, kind)
	}
	c.calls[kind]++
}

// Hang makes slurmctld do nothing for a while. What is sent to it meanwhile is
// done after that, whether or not the sender still waits.
func (c *Controller) Hang(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hungUntil = later(c.advance().Add(d), c.hungUntil)
}

// Stop ends slurmctld. Machines and jobs go on.
func (c *Controller) Stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.advance()
	c.stopped, c.hungUntil, c.held = true, time.Time{}, nil
}

// Restart starts slurmctld, after Stop or in place of the one that runs. What is
// not in slurm.conf is as the saved state has it, but partitions: those made at
// run time are gone, with the jobs that run there or may, and the declared ones
// have the nodes of slurm.conf. A cold one comes back without its saved state:
// jobs and dynamic nodes are unknown to it.
func (c *Controller) Restart(cold bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.advance()
	c.stopped, c.hungUntil, c.held, c.booted = false, time.Time{}, nil, now
	c.calls, c.kinds = map[string]int{}, nil
	if cold {
		c.forgetAll(now)
	}
	c.declare(cold)
	for _, j := range c.active {
		if j.ended() || j.completing {
			continue
		}
		for _, name := range j.partition {
			if c.partition(name) == nil {
				c.orphan(j, now)
				break
			}
		}
	}
	c.look(now)
}

// orphan ends a job whose partition is no longer there.
func (c *Controller) orphan(j *job, now time.Time) {
	if j.state == running {
		c.endRun(j, nodeFail, "node-fail", now)
		return
	}
	j.state, j.reason, j.end = nodeFail, "NodeDown", now
	c.depend(now)
}

// forgetAll is what the loss of the saved state costs: local nodes end the jobs
// that nobody knows, dynamic ones are not asked any more.
func (c *Controller) forgetAll(now time.Time) {
	for _, j := range c.active {
		if !j.ended() {
			c.stopWork(j, now)
			c.closeStart(j, now, "lost")
			j.state, j.completing, j.end = lost, false, now
		}
		j.forgotten = true
	}
	c.active, c.byID = nil, map[int][]*job{}
	c.reserved = map[string][]string{}
	for name, n := range c.nodes {
		if n.dynamic {
			c.dropNode(name)
			continue
		}
		*n = node{NodeSpec: n.NodeSpec, gone: n.gone, lastBusy: now, started: n.started}
	}
}

// named are the jobs that an id means: a job, a task, all tasks of an array, or
// "27_[1-3,5]".
func (c *Controller) named(id string) []*job {
	base, tasks, some := strings.Cut(id, "_")
	list := c.byID[atoi(base)]
	if !some {
		return append([]*job(nil), list...)
	}
	want := map[int]bool{}
	tasks, _, _ = strings.Cut(strings.Trim(tasks, "[]"), "%")
	for _, t := range expand("[" + tasks + "]") {
		want[atoi(t)] = true
	}
	var out []*job
	for _, j := range list {
		if j.task >= 0 && want[j.task] {
			out = append(out, j)
		}
	}
	return out
}
