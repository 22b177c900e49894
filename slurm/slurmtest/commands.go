package slurmtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"spillway.sh/spillway/bridge/sandbox"
)

// commandNames are the Slurm commands that BinDir offers.
var commandNames = []string{
	"sbatch", "squeue", "scontrol", "sinfo", "scancel", "srun", "salloc", "sdiag",
	"sacct", "sacctmgr", "sprio", "sshare",
}

// BinDir returns a folder with Slurm's commands for one of Accounts, or for
// root with the zero value. Calling them needs root, because they enter the
// head node; there they run as that account. A working folder below SharedDir
// is kept, any other becomes the account's home.
func (c *Cluster) BinDir(as sandbox.Account) string {
	name := as.Name
	if as.ID == 0 {
		name = "root"
	}
	return filepath.Join(c.dir, "bin", name)
}

func (c *Cluster) writeCommands() error {
	nsenter, err := exec.LookPath("nsenter")
	if err != nil {
		return fmt.Errorf("write commands: %w", err)
	}
	for _, account := range append(Accounts(), sandbox.Account{}) {
		dir := c.BinDir(account)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("write commands: %w", err)
		}
		for _, name := range commandNames {
			text := c.command(nsenter, account, name)
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
				return fmt.Errorf("write commands: %w", err)
			}
		}
	}
	return nil
}

func (c *Cluster) command(nsenter string, account sandbox.Account, name string) string {
	user := account.Name
	if account.ID == 0 {
		user = "root"
	}
	return fmt.Sprintf(`#!/bin/sh
case $PWD/ in %[1]s/*) d=$PWD ;; *) d=%[2]s ;; esac
exec %[3]s %[4]s -- /usr/bin/env -C "$d" -u SLURM_CONF PATH=/usr/bin:/bin HOME=%[2]s USER=%[5]s LOGNAME=%[5]s /usr/bin/%[6]s "$@"
`, c.options.SharedDir, account.Home(), nsenter, strings.Join(sandbox.EnterArgs(c.head.PID(), account), " "), user, name)
}
