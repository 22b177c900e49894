package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"
)

var update = flag.Bool("update", false, "write what is printed into the scripts as what is wanted")

func TestMain(m *testing.M) {
	testscript.Main(looking{m}, map[string]func(){"spillway": main})
}

// looking runs tests and then looks for goroutines that outlive them.
type looking struct{ *testing.M }

// Run is that of the tests, and fails too when one is left.
func (l looking) Run() int {
	code := l.M.Run()
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// TestScripts runs what people type, as processes of their own. A script says:
//
//	exits CODE spillway ...    run it, and want exactly this exit code
//	daemon                     a desk on the socket: a real store, policy and
//	                           decisions, with a queue and offers that stand still
//	stop                       end it; the store stays
//	be NAME [GROUP...]         who the daemon takes the next callers for
//	hour N                     move its clock to noon plus N hours
//	cloud                      a local cloud with one machine of this store, and a configuration for it
//	tamper SQL                 change the store behind everybody's back
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script", UpdateScripts: *update, RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("SPILLWAY_SOCKET", e.WorkDir+"/s")
			e.Setenv("SPILLWAY_CONFIG", e.WorkDir+"/spillway.yaml")
			e.Setenv("LANG", "C.UTF-8")
			e.Values[standKey{}] = &stand{dir: e.WorkDir}
			return meAsAdmin(e.WorkDir + "/policy.yaml")
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":  exits,
			"daemon": func(ts *testscript.TestScript, _ bool, _ []string) { ts.Check(standOf(ts).open(ts.Defer)) },
			"stop":   func(ts *testscript.TestScript, _ bool, _ []string) { ts.Check(standOf(ts).close()) },
			"be":     func(ts *testscript.TestScript, _ bool, args []string) { standOf(ts).be(args[0], args[1:]) },
			"hour": func(ts *testscript.TestScript, _ bool, args []string) {
				n, err := strconv.Atoi(args[0])
				ts.Check(err)
				standOf(ts).hour(n)
			},
			"cloud":  func(ts *testscript.TestScript, _ bool, _ []string) { ts.Check(standOf(ts).cloud(ts)) },
			"tamper": func(ts *testscript.TestScript, _ bool, args []string) { ts.Check(standOf(ts).tamper(args[0])) },
		},
	})
}

// meAsAdmin lets whoever runs the tests see everything while the daemon is
// down: then the person is the real one.
func meAsAdmin(policy string) error {
	text, err := os.ReadFile(policy)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	me, err := user.Current()
	if err != nil || me.Username == "root" {
		return err
	}
	text = bytes.Replace(text, []byte("admins: [root]"), []byte("admins: [root, "+me.Username+"]"), 1)
	return os.WriteFile(policy, text, 0o600)
}

// exits wants one exit code.
func exits(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	if ee, ok := errors.AsType[*exec.ExitError](err); ok {
		got = ee.ExitCode()
	} else if err != nil {
		ts.Fatalf("run %v: %v", args[1:], err)
	}
	if got != want {
		ts.Fatalf("%v ended with %d, want %d", args[1:], got, want)
	}
}
