// Command spillway lets the overflow of a queue run into the cloud, inside a
// budget, and lets it drain again. `spillway run` is the daemon; the other
// commands ask it over its Unix socket, or read its store while it is down.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	_ "time/tzdata" // budgets have zones, also on hosts that have none

	"github.com/alecthomas/kong"

	"spillway.sh/spillway/bridge/desk"
)

// version is set by the build.
var version = "dev"

// commands is the whole command line. One file of this folder is one command.
type commands struct {
	Config string `help:"Configuration file of the daemon." default:"/etc/spillway/spillway.yaml" env:"SPILLWAY_CONFIG" placeholder:"FILE"`
	Socket string `help:"Socket of the daemon (default: the configuration's, else ${socket})." env:"SPILLWAY_SOCKET" placeholder:"FILE"`
	Lang   string `help:"Language of explanations: en or zh (default: from LANG)." enum:",en,zh" default:"" env:"SPILLWAY_LANG"`

	Queue       queueCmd       `cmd:"" group:"ask" help:"What waits, and what Spillway says of it."`
	Explain     explainCmd     `cmd:"" group:"ask" help:"Why one job waits, and what would change that."`
	Rentals     rentalsCmd     `cmd:"" group:"ask" help:"What is rented; one rental with its whole story."`
	Spend       spendCmd       `cmd:"" group:"ask" help:"Limits, what was spent, what is held, what is left."`
	Checkpoints checkpointsCmd `cmd:"" group:"ask" help:"A job's newest complete checkpoint, and how often to write."`
	Budget      budgetCmd      `cmd:"" group:"ask" help:"What one project may spend, and what holds money there."`
	Report      reportCmd      `cmd:"" group:"ask" help:"What a project spent in this day, week or month, with a forecast."`
	Prices      pricesCmd      `cmd:"" group:"ask" help:"What machines cost now."`
	Clouds      cloudsCmd      `cmd:"" group:"ask" help:"How clouds and their pools are, and what they answered."`
	Plan        planCmd        `cmd:"" group:"ask" help:"What would be done now and why; nothing is done."`
	News        newsCmd        `cmd:"" group:"ask" help:"What happened; with --follow, as it happens."`
	Status      statusCmd      `cmd:"" group:"ask" help:"How Spillway is, and what it sees."`
	Whoami      whoamiCmd      `cmd:"" group:"ask" help:"Who you are taken for, and what you may do."`

	Quote   quoteCmd   `cmd:"" group:"rent" help:"What machines would cost; nothing is rented."`
	Rent    rentCmd    `cmd:"" group:"rent" help:"Rent machines."`
	Extend  extendCmd  `cmd:"" group:"rent" help:"Let a rental live longer."`
	Keep    keepCmd    `cmd:"" group:"rent" help:"Keep a rental for a time though no job runs on it."`
	Cancel  cancelCmd  `cmd:"" group:"rent" help:"Take back a request that waits for a yes."`
	Release releaseCmd `cmd:"" group:"rent" help:"Give machines back."`
	Approve approveCmd `cmd:"" group:"rent" help:"Say yes to a rental that waits; without an id, list them."`
	Deny    denyCmd    `cmd:"" group:"rent" help:"Say no to a rental that waits."`
	Freeze  freezeCmd  `cmd:"" group:"rent" help:"No new spending from now on. Releases go on."`
	Thaw    thawCmd    `cmd:"" group:"rent" help:"Let spending go on after a freeze."`

	Run         runCmd         `cmd:"" group:"site" help:"The daemon."`
	Node        nodeCmd        `cmd:"" group:"site" help:"The agent of a rented machine; its boot script starts it."`
	Ledger      ledgerCmd      `cmd:"" group:"site" help:"Prove that the books balance."`
	Bill        billCmd        `cmd:"" group:"site" help:"Compare a provider's bill with the books, and correct them by it."`
	Doctor      doctorCmd      `cmd:"" group:"site" help:"Look for what is in the way on this cluster, and print the lines to change."`
	Adopt       adoptCmd       `cmd:"" group:"site" help:"Rebuild a lost store from the machines that the clouds list."`
	Cloud       cloudCmd       `cmd:"" group:"site" help:"Clouds: examine one, try one, or a plugin for one."`
	Drill       drillCmd       `cmd:"" group:"site" help:"Try an offer out: rent one machine, run a probe on it, give it back."`
	Bot         botCmd         `cmd:"" group:"site" help:"The Slack bot: its doctor, the local Slack's page."`
	Plugin      pluginCmd      `cmd:"" group:"site" help:"The plugins that come with Spillway: machines by SSH, machines by ticket."`
	CheckConfig checkConfigCmd `cmd:"" group:"site" help:"Read configuration and policy, and say every mistake."`
	Localcloud  localcloudCmd  `cmd:"" group:"site" help:"A cloud on this host, for tests and demonstrations."`
	Slackd      slackdCmd      `cmd:"" group:"site" help:"A Slack on this host with a web page, for tests and demonstrations."`
	Demo        demoCmd        `cmd:"" group:"site" help:"The main job on this host: a real Slurm overflows into local clouds, and drains."`
	Version     versionCmd     `cmd:"" group:"site" help:"Version of this command, and of the daemon."`
	Completion  completionCmd  `cmd:"" group:"site" help:"Completion of commands for bash or zsh."`
}

// describeCodes ends every help page.
const about = `Spillway rents machines for the jobs a cluster cannot start, inside a budget, and gives them back.

Exit codes: 0 done; 1 something went wrong; 2 the command line is not understood; 3 not found; 4 not allowed;
5 conflict, or over budget; 6 the daemon is not running or not ready; 7 a check found something.`

// The exit codes.
const (
	exitOK = iota
	exitFailed
	exitUsage
	exitNotFound
	exitForbidden
	exitConflict
	exitUnavailable
	exitFound
)

var exitOf = map[desk.ErrorKind]int{
	desk.BadRequest: exitUsage, desk.NotFound: exitNotFound, desk.Forbidden: exitForbidden, desk.Conflict: exitConflict,
	desk.OverBudget: exitConflict, desk.Unavailable: exitUnavailable, desk.Internal: exitFailed,
}

// errFound ends a check that found something, after it was printed.
var errFound = errors.New("a check found something")

func main() { os.Exit(start(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

// leave carries an exit code out of the parser's own exits (--help).
type leave int

// start runs one command line and returns its exit code.
func start(args []string, in *os.File, out, errs io.Writer) (code int) {
	defer func() {
		if v := recover(); v != nil {
			l, ok := v.(leave)
			if !ok {
				panic(v)
			}
			code = int(l)
		}
	}()
	var c commands
	parser, err := newParser(&c, out, errs)
	if err != nil {
		fmt.Fprintln(errs, "spillway:", err)
		return exitFailed
	}
	if completing() {
		completeWords(parser)
		return exitOK
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	parsed, err := parser.Parse(args)
	if err != nil {
		return usage(errs, err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	a := &app{ctx: ctx, commands: &c, in: in, out: out, errs: errs}
	defer a.close()
	return finish(errs, parsed.Run(a))
}

func newParser(c *commands, out, errs io.Writer) (*kong.Kong, error) {
	return kong.New(c,
		kong.Name("spillway"), kong.Description(about), kong.Writers(out, errs), kong.Exit(func(code int) { panic(leave(code)) }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true, WrapUpperBound: 110}),
		kong.Vars{"socket": defaultSocket, "pluginstate": pluginState},
		kong.ExplicitGroups([]kong.Group{
			{Key: "ask", Title: "Ask:"}, {Key: "rent", Title: "Rent and decide:"}, {Key: "site", Title: "Run it:"},
		}),
	)
}

// usage says what of the command line is not understood.
func usage(w io.Writer, err error) int {
	fmt.Fprintf(w, "spillway: %s\n", err)
	help := "spillway --help"
	var pe *kong.ParseError
	if errors.As(err, &pe) && pe.Context != nil {
		if cmd := pe.Context.Command(); cmd != "" {
			word, _, _ := strings.Cut(cmd, " ")
			help = "spillway " + word + " --help"
		}
	}
	fmt.Fprintf(w, "See: %s\n", help)
	return exitUsage
}

// finish says an error in up to three lines and returns its exit code.
func finish(w io.Writer, err error) int {
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, errFound):
		return exitFound
	}
	e := desk.AsError(err)
	fmt.Fprintf(w, "spillway: %s\n", here(e.Wrong))
	if e.Understood != "" {
		fmt.Fprintf(w, "Understood: %s\n", e.Understood)
	}
	if e.Try != "" {
		fmt.Fprintf(w, "Try: %s\n", e.Try)
	}
	return exitOf[e.Kind]
}
