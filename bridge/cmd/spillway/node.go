package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"time"

	"spillway.sh/spillway/bridge/node"
	"spillway.sh/spillway/slurm"
)

type nodeCmd struct {
	URL     string        `required:"" help:"Enrolment service of the bridge." placeholder:"https://HOST:PORT"`
	CA      string        `required:"" help:"File of the certificate authority to pin." placeholder:"FILE"`
	Ticket  string        `required:"" help:"File of the ticket; removed once it was used." placeholder:"FILE"`
	Dir     string        `help:"Folder of the agent, root's alone." default:"/var/lib/spillway/enrol" placeholder:"DIR"`
	Expires int64         `required:"" help:"End of the rental, in seconds since 1970." placeholder:"TIME"`
	Stale   time.Duration `help:"Off when the bridge was not heard of for so long and nothing runs." default:"15m"`
}

// Help says who runs it.
func (nodeCmd) Help() string {
	return `This is the agent of a rented machine. The boot script starts it as root; there is no need to run it by hand. It enrols,
checks whether the machine is fit, starts slurmd, follows the cloud's notices and reports. It switches the machine off
at the end of the rental, when the rental has ended, or when the bridge is silent and nothing runs; a machine that was lent over
SSH (spillway plugin pool) is cleaned and given back in place of that.

Programs in /etc/spillway/stage.d run before the checks, in the order of their names; one that fails makes the machine
unfit. Each has ten minutes, or what a line "# spillway-limit: 30m" in it says. /etc/spillway/ready is asked until it
ends well.`
}

// Run is the agent.
func (c *nodeCmd) Run(a *app) error {
	log := slog.New(slog.NewTextHandler(a.errs, nil))
	ca, err := os.ReadFile(c.CA)
	if err != nil {
		return fmt.Errorf("read the bridge's authority: %w", err)
	}
	link, err := node.NewLink(c.URL, string(ca), version)
	if err != nil {
		return err
	}
	defer link.Close()
	agent := node.New(node.Options{
		Bridge: link, Member: &slurm.Member{Log: log}, Clouds: append([][]node.Cloud{{node.NewOwned(c.Dir)}}, node.TheClouds()...), Dir: c.Dir, TicketFile: c.Ticket,
		Expires: time.Unix(c.Expires, 0).UTC(), Stale: c.Stale, Site: node.TheSite(), Clock: node.BootClock, Now: utcNow,
		Off: func(why string) { endMachine(log, c.Dir, why) }, Stopping: systemStops, Log: log,
	})
	return agent.Run(a.ctx)
}

// endMachine gives an owned machine back, and switches any other off.
func endMachine(log *slog.Logger, dir, why string) {
	owned, err := node.GiveBack(dir)
	switch {
	case err != nil:
		log.Error("give the machine back", "why", why, "err", err)
	case owned:
		log.Warn("give the machine back", "why", why)
	default:
		powerOff(log, why)
	}
}

// powerOff switches the machine off, in the ways that machines know.
func powerOff(log *slog.Logger, why string) {
	log.Warn("power off", "why", why)
	for _, line := range []string{"poweroff", "poweroff -f", "shutdown -h now"} {
		words := strings.Fields(line)
		out, err := exec.Command(words[0], words[1:]...).CombinedOutput()
		if err == nil {
			return
		}
		log.Error("power off", "command", line, "err", err, "said", strings.TrimSpace(string(out)))
	}
}

// systemStops reports whether systemd takes the whole machine down, and not only
// the agent.
func systemStops() bool {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	out, _ := exec.CommandContext(ctx, "systemctl", "is-system-running").Output() // It fails for every state but one.
	return strings.TrimSpace(string(out)) == "stopping"
}
