package slurmtest

import (
	"context"
	"os"

	"spillway.sh/spillway/bridge/sim/soak"
)

// TB is what New needs of *testing.T.
type TB interface {
	Helper()
	Context() context.Context
	Cleanup(func())
	Failed() bool
	Fatalf(format string, args ...any)
	Logf(format string, args ...any)
}

// Versions are the Slurms of the tests: those of every push, and with
// SPILLWAY_SOAK the newest one too.
func Versions() []string {
	if soak.Long() {
		return []string{"22.05", "24.11", "26.05"}
	}
	return []string{"22.05", "24.11"}
}

// New starts a cluster for a test and closes it with the test. A test that
// failed gets the end of the daemons' logs. Without root the test fails.
func New(t TB, options Options) *Cluster {
	t.Helper()
	if options.Progress == nil {
		options.Progress = os.Stderr // A first run builds images: minutes without a word look like a hang.
	}
	c, err := Start(t.Context(), options)
	if err != nil {
		t.Fatalf("%v", err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("last words of the cluster:%s", c.lastWords())
		}
		// The test's own context has ended by now.
		if err := c.Close(context.Background()); err != nil {
			t.Fatalf("%v", err)
		}
	})
	return c
}
