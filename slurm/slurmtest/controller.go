package slurmtest

import (
	"context"
	"fmt"
)

const (
	// mungeScript starts the authentication daemon; it returns when the daemon listens.
	mungeScript = `install -d -o munge -g munge -m 755 /run/munge
setpriv --reuid=munge --regid=munge --clear-groups munged`

	// foldersScript makes the daemons' folders for the account given.
	foldersScript = `install -d -o %[1]s /var/lib/slurm /var/lib/slurm/slurmctld /var/log/slurm
install -d /var/lib/slurm/slurmd`

	// waitControllerScript returns when slurmctld answers.
	waitControllerScript = `until scontrol ping | grep -q UP; do sleep 0.05; done`

	// controllerPID prints slurmctld's process number inside the head node.
	controllerPID = `cat /run/slurmctld.pid`

	waitControllerGone = `while kill -0 $pid 2>/dev/null; do sleep 0.05; done`
)

// StopController ends slurmctld in good order.
func (c *Cluster) StopController(ctx context.Context) error {
	return c.control(ctx, "stop", "pid=$("+controllerPID+")\nkill -TERM $pid\n"+waitControllerGone)
}

// KillController ends slurmctld as a crash does.
func (c *Cluster) KillController(ctx context.Context) error {
	return c.control(ctx, "kill", "pid=$("+controllerPID+")\nkill -KILL $pid\n"+waitControllerGone)
}

// StartController starts slurmctld and returns when it answers.
func (c *Cluster) StartController(ctx context.Context) error {
	return c.control(ctx, "start", "slurmctld\n"+waitControllerScript)
}

// RestartController stops and starts slurmctld, as a change of slurm.conf needs it.
func (c *Cluster) RestartController(ctx context.Context) error {
	if err := c.StopController(ctx); err != nil {
		return err
	}
	return c.StartController(ctx)
}

// PauseController keeps slurmctld from answering until ResumeController: its
// connections are accepted and stay silent.
func (c *Cluster) PauseController(ctx context.Context) error {
	return c.control(ctx, "pause", "kill -STOP $("+controllerPID+")")
}

// ResumeController lets a paused slurmctld go on.
func (c *Cluster) ResumeController(ctx context.Context) error {
	return c.control(ctx, "resume", "kill -CONT $("+controllerPID+")")
}

func (c *Cluster) control(ctx context.Context, verb, lines string) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	if err := c.script(ctx, c.head, lines); err != nil {
		return fmt.Errorf("%s controller: %w", verb, err)
	}
	return nil
}
