package slurm_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"spillway.sh/spillway/bridge/node"
	"spillway.sh/spillway/slurm"
)

// agent lets this test's own program be the agent of its machines, with the
// parts that spillway node is made of and the flags that the boot script gives.
func agent(args []string) int {
	if args[0] == "version" {
		return 0
	}
	flags := map[string]string{}
	for i := 1; i+1 < len(args); i += 2 {
		flags[args[i]] = args[i+1]
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	if err := runAgent(ctx, flags); err != nil {
		fmt.Fprintln(os.Stderr, "agent:", err)
		return 1
	}
	return 0
}

func runAgent(ctx context.Context, flags map[string]string) error {
	ca, err := os.ReadFile(flags["--ca"])
	if err != nil {
		return err
	}
	link, err := node.NewLink(flags["--url"], string(ca), "test")
	if err != nil {
		return err
	}
	expires, err := strconv.ParseInt(flags["--expires"], 10, 64)
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	return node.New(node.Options{
		Bridge: link, Member: &slurm.Member{Log: log}, Clouds: node.TheClouds(), Dir: flags["--dir"], TicketFile: flags["--ticket"],
		Expires: time.Unix(expires, 0), Site: node.TheSite(), Clock: node.BootClock, Now: time.Now, Log: log,
		Off: func(why string) {
			log.Info("power off", "why", why)
			_ = exec.Command("poweroff").Run()
		},
	}).Run(ctx)
}
