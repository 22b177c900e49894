package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"os/user"
	"syscall"

	"spillway.sh/spillway/bridge/cmd/spillway/demo"
)

type demoCmd struct {
	format
	Auto      bool   `help:"Answer the question by itself, as a person who is not the requester."`
	Scheduler string `help:"slurm: a real one, in machines of its own. sim: a simulated world, for which no root is needed." enum:"slurm,sim" default:"slurm"`
	Cloud     string `help:"local: the local clouds in their own words. aws: in EC2's words, by the driver of AWS." enum:"local,aws" default:"local"`
	Seed      uint64 `help:"Which simulated world." default:"1"`
	Slurm     string `help:"Version of Slurm: 22.05, 24.11 or 26.05." default:"22.05" placeholder:"VERSION"`
	Keep      string `help:"Keep the servers' logs in this folder when the demo fails." placeholder:"DIR"`
}

// Help gives examples.
func (demoCmd) Help() string {
	return `Examples:
  spillway demo
  spillway demo --auto
  spillway demo --auto --output json | tail -n 1
  spillway demo --cloud aws
  spillway demo --scheduler sim
  spillway demo --scheduler sim --auto --seed 7

A real slurmctld with two local nodes overflows into two local clouds. It needs root for network namespaces; as another
user it names each step that does and asks sudo. Everything it starts is gone at the end, also after Ctrl-C.

With --scheduler sim the same program plays against a simulated cluster and simulated clouds, inside one process and
anywhere, in about a minute; the bridge is killed once on the way. What must always hold is checked all along, and one
violation makes the exit status that of a failure. The same seed is the same world.`
}

// Run plays the demo.
func (c *demoCmd) Run(a *app) error {
	if c.Scheduler == "sim" {
		return demo.RunSim(a.ctx, demo.SimOptions{Seed: c.Seed, Auto: c.Auto, JSON: c.Output == "json", Out: a.out, Err: a.errs, In: a.in})
	}
	exe, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	if os.Geteuid() != 0 {
		return c.asRoot(a, exe)
	}
	// An impatient second Ctrl-C must not end the cleaning up.
	held := make(chan os.Signal, 1)
	signal.Notify(held, syscall.SIGINT, syscall.SIGTERM)
	defer signal.Stop(held)
	return demo.Run(a.ctx, demo.Options{
		Version: c.Slurm, Auto: c.Auto, JSON: c.Output == "json", Out: a.out, Err: a.errs, Exe: exe, Keep: c.Keep, EC2: c.Cloud == "aws",
	})
}

// asRoot names what needs root and replaces this process by itself under sudo.
// The caller's cache is kept, so that the image is built once for both.
func (c *demoCmd) asRoot(a *app, exe string) error {
	sudo, err := exec.LookPath("sudo")
	if err != nil {
		return errors.New("the demo needs root for network namespaces and mounts, and there is no sudo: run it as root")
	}
	who := "you"
	if u, err := user.Current(); err == nil {
		who = u.Username
	}
	fmt.Fprintf(a.errs, `The demo needs root for four steps, and asks sudo once on behalf of %s:
  1. building the image with Slurm in it, once (kept in your cache folder)
  2. a network bridge and namespaces that stand for the machines
  3. mounting each machine's own root file system over that image
  4. running slurmctld, slurmd and munge inside those machines
Nothing of the host's own configuration is changed.
`, who)
	args := []string{"sudo"}
	if cache, err := os.UserCacheDir(); err == nil && os.Getenv("SPILLWAY_CACHE") == "" {
		args = append(args, "SPILLWAY_CACHE="+cache+"/spillway")
	} else if own := os.Getenv("SPILLWAY_CACHE"); own != "" {
		args = append(args, "SPILLWAY_CACHE="+own)
	}
	args = append(args, exe)
	return syscall.Exec(sudo, append(args, os.Args[1:]...), os.Environ()) //nolint:gosec // It runs this very program.
}
