//go:build crashpoints

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"

	"spillway.sh/spillway/bot"
	"spillway.sh/spillway/bridge/calendar"
	"spillway.sh/spillway/bridge/desk"
	"spillway.sh/spillway/bridge/engine"
	"spillway.sh/spillway/bridge/enrol"
	"spillway.sh/spillway/bridge/sim/crash"
	gpus "spillway.sh/spillway/bridge/usage"
)

// A binary with crash points kills itself at one, for tests of what it leaves:
// SPILLWAY_CRASH_AT="Cloud.Create 1 after" go run -tags crashpoints …

// crashVariable names the points, with commas between them: it dies at the first.
const crashVariable = "SPILLWAY_CRASH_AT"

var doom = crash.New(os.Getenv(crashVariable))

// die is the hook round every call: at its point the process is no more, as by
// kill -9. It says where, so that a test knows which of several it was.
func die(ctx context.Context, c *crash.Call, do func(context.Context) error) error {
	err := doom.Around(1)(ctx, c, do)
	if errors.Is(err, crash.ErrKilled) {
		passed := doom.Passed(1)
		fmt.Fprintln(os.Stderr, "killed at "+passed[len(passed)-1])
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL) // nothing comes after it
		select {}
	}
	return err
}

// through puts the hook round a port, whatever its kind.
func through[T any](port T) T {
	switch p := any(&port).(type) {
	case *engine.Scheduler:
		*p = crash.Scheduler("", *p, die)
	case *engine.Cloud:
		*p = crash.Cloud(*p, die)
	case *engine.Store:
		*p = crash.Store(*p, die)
	case *desk.Writer:
		*p = crash.Writer(*p, die)
	case *desk.Loop:
		*p = crash.Loop(*p, die)
	case *desk.Finder:
		*p = crash.Finder(*p, die)
	case *calendar.Store:
		*p = crash.Calendar(*p, die)
	case *gpus.Store:
		*p = crash.Usage(*p, die)
	case *enrol.Rentals:
		*p = crash.Rentals(*p, die)
	case *bot.Box:
		*p = crash.Box(*p, die)
	case *bot.Slack:
		*p = crash.Slack(*p, die)
	default:
		panic(fmt.Sprintf("no crash points for a %T", port))
	}
	return port
}
